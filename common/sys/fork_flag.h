// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ForkFlag: tells a process from the child that it forked.
#pragma once

#include <cstdint>

#include "base/log.h"
#include "base/status.h"
#include "sys/unforked_page.h"

namespace linnet {

// A word on a page that children of fork() do not inherit: reading it costs one load and needs no handler, so it also works in a library that may be unloaded.
// Owner: whoever must not go on in a child. Threads: is_original() any, also in the child; raise() once, before.
class ForkFlag {
public:
    // Errors: kNoMemory, logged. A kernel that cannot wipe (before Linux 4.14, some sandboxes) gets a warning: children then look original.
    [[nodiscard]] Status raise(const Log& log) noexcept;
    // False before raise() and in a child of fork().
    [[nodiscard]] bool is_original() const noexcept { return word_ != nullptr && *word_ == kRaised; }

private:
    static constexpr std::uint32_t kRaised = 0x4c495645;

    UnforkedPage page_;
    std::uint32_t* word_{nullptr};
};

}   // namespace linnet
