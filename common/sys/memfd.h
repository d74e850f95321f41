// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Shared memory without a name: memfd, and mappings that undo themselves.
#pragma once

#include <cstddef>
#include <span>
#include <utility>

#include "base/log.h"
#include "base/status.h"
#include "sys/fd.h"

namespace linnet {

// A new memory file of `bytes` zeroes, sealed against growing and shrinking, so that who maps it can never be sent SIGBUS. `name` is
// seen in /proc/<pid>/fd only ("/memfd:name").
[[nodiscard]] Result<Fd> create_memfd(const char* name, std::size_t bytes, const Log& log) noexcept;

// What somebody else's descriptor is, before it is mapped.
struct MemfdInfo {
    std::size_t bytes{0};
    bool fixed_size{false};   // sealed against shrinking: safe to map
};
// Logs nothing: what it fails on came from outside, and the caller knows whether that matters.
[[nodiscard]] Result<MemfdInfo> inspect_memfd(int fd) noexcept;

enum class MapAccess : unsigned char { kReadOnly, kReadWrite };

// Owner of one mapping, or of none. Threads: one at a time; what is mapped is shared with other processes, and the atomics in it order it.
class Mapping {
public:
    Mapping() noexcept = default;
    // The first `bytes` of `fd`, shared. The descriptor may be closed afterwards.
    [[nodiscard]] static Result<Mapping> map(int fd, std::size_t bytes, MapAccess access, const Log& log) noexcept;
    ~Mapping() { reset(); }
    Mapping(Mapping&& other) noexcept : bytes_{std::exchange(other.bytes_, {})} {}
    Mapping& operator=(Mapping&& other) noexcept;

    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return bytes_; }
    [[nodiscard]] bool valid() const noexcept { return !bytes_.empty(); }
    // A child of fork() does not get the mapping: it has no business there.
    void exclude_from_fork() const noexcept;
    // Gives the memory behind the whole pages of `part`, of this mapping, back to the system; they read as zeroes from now on, to all who map them.
    void discard(std::span<std::byte> part) const noexcept;
    void reset() noexcept;

private:
    std::span<std::byte> bytes_;
};

}   // namespace linnet
