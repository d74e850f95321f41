// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Data: the bytes of one message, wherever they lie.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace linnet::proto {

using PackFn = void (*)(void* arg, std::uint64_t offset, void* to, std::size_t bytes) noexcept;
using UnpackFn = void (*)(void* arg, std::uint64_t offset, const void* from, std::size_t bytes) noexcept;

// A small value; what it points at is the host's. Threads: one at a time per request. Forms: contiguous (the usual one), a vector, or functions.
struct Data {
    std::byte* base{nullptr};
    std::uint64_t length{0};
    const iovec* iov{nullptr};
    std::size_t iov_count{0};
    PackFn pack{nullptr};
    UnpackFn unpack{nullptr};
    void* arg{nullptr};

    [[nodiscard]] bool contiguous() const noexcept { return iov == nullptr && pack == nullptr && unpack == nullptr; }
    [[nodiscard]] std::span<const std::byte> view(std::uint64_t offset, std::size_t bytes) const noexcept { return {base + offset, bytes}; }
    // Copy out of or into the message; [offset, offset + size) lies within it.
    void gather(std::uint64_t offset, std::span<std::byte> to) const noexcept;
    void scatter(std::uint64_t offset, std::span<const std::byte> from) const noexcept;
};

}   // namespace linnet::proto
