// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// RareQuestion: when a poller asks again what costs a system call and mostly has no answer, as epoll for sockets that nothing comes to.
//
// So rarely that it takes one part in kShare of the poller's time: where a system call is slow (some virtual machines and sandboxes need 1.5 us for one),
// half of all messages that the poller waits for elsewhere would come while it asks. What is found later for that came by a socket that costs such a
// call for each message.
//
// Threads: one.
#pragma once

#include <algorithm>

#include "progress/ticks.h"

namespace linnet {

class RareQuestion {
public:
    static constexpr Ticks kShare = 8;
    static constexpr unsigned kRow = 16;   // of so many costs the least counts: a processor that was taken away only ever adds time

    // Never more often than once in `shortest`.
    explicit RareQuestion(Ticks shortest) noexcept : shortest_{shortest}, pause_{shortest} {}

    [[nodiscard]] bool due(Ticks now) const noexcept { return now - asked_ >= pause_; }
    // It was asked at `asked`, and had no answer at `answered`.
    void was_in_vain(Ticks asked, Ticks answered) noexcept
    {
        asked_ = asked;
        least_ = std::min(least_, answered - asked);
        if (++asks_ == kRow) {
            pause_ = std::max(shortest_, kShare * least_);
            least_ = kNone;
            asks_ = 0;
        }
    }
    void had_answer(Ticks asked) noexcept { asked_ = asked; }
    void ask_at_once() noexcept { asked_ = 0; }

private:
    static constexpr Ticks kNone = ~Ticks{0};

    Ticks shortest_;
    Ticks pause_;
    Ticks asked_{0};
    Ticks least_{kNone};
    unsigned asks_{0};
};

}   // namespace linnet
