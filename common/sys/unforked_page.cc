// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// UnforkedPage: mmap(2), madvise(2).
#include "sys/unforked_page.h"

#include <sys/mman.h>

#include <cerrno>

#include "sys/error.h"

namespace linnet {

Status UnforkedPage::map(const Log& log) noexcept
{
    void* const page = ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED) {
        return log_errno(log, "mmap of a page that children do not inherit", errno);
    }
    wipes_ = ::madvise(page, kBytes, MADV_WIPEONFORK) == 0;
    page_ = static_cast<std::byte*>(page);
    return Status::kOk;
}

UnforkedPage::~UnforkedPage()
{
    if (page_ != nullptr) {
        ::munmap(page_, kBytes);
    }
}

}   // namespace linnet
