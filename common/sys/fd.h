// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Fd: a file descriptor that closes itself.
//
// Every descriptor in Linnet is CLOEXEC from the moment it exists (the callers' O_CLOEXEC, SOCK_CLOEXEC...): a program that the
// application starts must not keep our peers' connections alive.
#pragma once

#include <utility>

namespace linnet {

// Owner of one descriptor, or of none. Threads: one at a time. Blocking: closing a TCP socket does not linger. Closing cannot be
// retried (the number is free again even after EINTR) and its errors say nothing that we could act upon.
class Fd {
public:
    Fd() noexcept = default;
    explicit Fd(int fd) noexcept : fd_{fd} {}
    ~Fd() { reset(); }
    Fd(Fd&& other) noexcept : fd_{other.release()} {}
    Fd& operator=(Fd&& other) noexcept
    {
        if (this != &other) {
            reset(other.release());
        }
        return *this;
    }

    [[nodiscard]] int get() const noexcept { return fd_; }
    [[nodiscard]] bool valid() const noexcept { return fd_ >= 0; }
    explicit operator bool() const noexcept { return valid(); }
    // Gives the descriptor away without closing it.
    [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
    void reset(int fd = -1) noexcept;

private:
    int fd_{-1};
};

}   // namespace linnet
