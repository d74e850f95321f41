// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// IovCursor: a place in a list of memory pieces, from which bytes are taken or to which they are put.
//
// Owner: whoever walks; a small value, copy it to remember a place. The list and the memory are borrowed and must outlive it.
// Threads: one. Blocking: never. Cannot fail: every call stops at the end of the list and says how far it came.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <span>

namespace linnet {

class IovCursor {
public:
    IovCursor() noexcept = default;
    explicit IovCursor(std::span<const iovec> pieces) noexcept;

    [[nodiscard]] std::size_t remaining() const noexcept { return remaining_; }
    [[nodiscard]] bool done() const noexcept { return remaining_ == 0; }

    // The longest contiguous bytes at the cursor; empty only when done.
    [[nodiscard]] std::span<std::byte> front() const noexcept;

    // Moves on by `bytes`, at most to the end; returns how far.
    std::size_t advance(std::size_t bytes) noexcept;

    // Bytes from the list to `to` (gather, to send), or from `from` to the list (scatter, to receive). Moves on; returns how many.
    std::size_t copy_out(std::span<std::byte> to) noexcept;
    std::size_t copy_in(std::span<const std::byte> from) noexcept;

    // Describes the next bytes, `limit` at most, in `to` for readv or writev, without moving. Returns the number of pieces written;
    // `bytes` is what they hold, less than asked when `to` is too short.
    std::size_t describe(std::span<iovec> to, std::size_t limit, std::size_t& bytes) const noexcept;

private:
    void skip_empty() noexcept;

    // Invariant: either remaining_ is 0, or piece_ is not empty and offset_ lies within its first element.
    std::span<const iovec> pieces_;
    std::size_t offset_{0};
    std::size_t remaining_{0};
};

}   // namespace linnet
