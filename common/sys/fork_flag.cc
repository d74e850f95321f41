// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ForkFlag: mmap(2), madvise(2).
#include "sys/fork_flag.h"

#include <sys/mman.h>

#include <cerrno>

#include "sys/error.h"

namespace linnet {

Status ForkFlag::raise(const Log& log) noexcept
{
    void* const page = ::mmap(nullptr, sizeof *word_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return log_errno(log, "mmap of the fork flag", errno);
    }
    if (::madvise(page, sizeof *word_, MADV_WIPEONFORK) != 0) {
        LINNET_LOG(log, kWarn, "madvise(MADV_WIPEONFORK) errno %d: a child of fork() that calls Linnet will not be refused", errno);
    }
    word_ = static_cast<std::uint32_t*>(page);
    *word_ = kRaised;
    return Status::kOk;
}

ForkFlag::~ForkFlag()
{
    if (word_ != nullptr) {
        ::munmap(word_, sizeof *word_);
    }
}

}   // namespace linnet
