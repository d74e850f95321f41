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
    static constexpr Ticks kMost = 25;     // times the shortest pause: no longer one
    static constexpr unsigned kRow = 16;   // of so many costs the least counts: a processor that was taken away only ever adds time

    // Never more often than once in `shortest`.
    explicit RareQuestion(Ticks shortest) noexcept : shortest_{shortest}, pause_{shortest}, wait_{shortest} {}

    [[nodiscard]] bool due(Ticks now) const noexcept { return now - asked_ >= wait_; }
    // It was asked at `asked`, and had no answer at `answered`.
    void was_in_vain(Ticks asked, Ticks answered) noexcept
    {
        asked_ = asked;
        least_ = std::min(least_, answered - asked);
        if (++asks_ == kRow) {
            pause_ = std::clamp(kShare * least_, shortest_, kMost * shortest_);
            least_ = kNone;
            asks_ = 0;
        }
        wait_ = pause_;
    }
    // There may be more where that came from.
    void had_answer(Ticks asked) noexcept
    {
        asked_ = asked;
        wait_ = shortest_;
    }
    void ask_at_once() noexcept { asked_ = 0; }

private:
    static constexpr Ticks kNone = ~Ticks{0};

    Ticks shortest_;
    Ticks pause_;              // while there are no answers
    Ticks wait_;               // from the last question to the next
    Ticks asked_{0};
    Ticks least_{kNone};
    unsigned asks_{0};
};

}   // namespace linnet
