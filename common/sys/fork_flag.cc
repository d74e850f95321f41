// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ForkFlag bodies.
#include "sys/fork_flag.h"

#include <new>

namespace linnet {

Status ForkFlag::raise(const Log& log) noexcept
{
    if (const Status s = page_.map(log); failed(s)) {
        return s;
    }
    if (!page_.wipes()) {
        LINNET_LOG(log, kWarn, "madvise(MADV_WIPEONFORK) is refused here: a child of fork() that calls Linnet will not be refused");
    }
    word_ = new (page_.bytes().data()) std::uint32_t{kRaised};
    return Status::kOk;
}

}   // namespace linnet
