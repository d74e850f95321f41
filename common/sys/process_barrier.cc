// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ProcessBarrier: the system calls.
#include "sys/process_barrier.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/assert.h"

namespace linnet {

bool ProcessBarrier::prepare() noexcept
{
    works_ = ::syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    return works_;
}

// Once registered it cannot fail.
void ProcessBarrier::run() const noexcept
{
    const long failed = ::syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0);
    LINNET_ASSERT(failed == 0);
}

}   // namespace linnet
