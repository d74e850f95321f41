// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Fd: closing.
#include "sys/fd.h"

#include <unistd.h>

namespace linnet {

void Fd::reset(int fd) noexcept
{
    const int old = std::exchange(fd_, fd);
    if (old >= 0 && old != fd) {
        ::close(old);
    }
}

}   // namespace linnet
