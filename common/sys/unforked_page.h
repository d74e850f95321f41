// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// UnforkedPage: memory of this process that a child of fork() does not inherit: there it reads as zeros. See madvise(2), MADV_WIPEONFORK.
#pragma once

#include <cstddef>
#include <span>

#include "base/log.h"
#include "base/status.h"

namespace linnet {

class UnforkedPage {
public:
    static constexpr std::size_t kBytes = 64;   // of use; it takes a page

    UnforkedPage() noexcept = default;
    ~UnforkedPage();
    UnforkedPage(const UnforkedPage&) = delete;
    UnforkedPage& operator=(const UnforkedPage&) = delete;

    // Once. Errors: kNoMemory, logged. A kernel that cannot wipe (before Linux 4.14, some sandboxes) makes it an ordinary page: wipes() says so.
    [[nodiscard]] Status map(const Log& log) noexcept;
    [[nodiscard]] bool wipes() const noexcept { return wipes_; }
    // Zeros at first; empty before map().
    [[nodiscard]] std::span<std::byte> bytes() const noexcept { return {page_, page_ != nullptr ? kBytes : 0}; }

private:
    std::byte* page_{nullptr};
    bool wipes_{false};
};

}   // namespace linnet
