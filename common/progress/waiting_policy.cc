// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Spin: the next step of a thread that polled and found nothing.
#include "progress/waiting_policy.h"

#include <utility>

namespace linnet {

Spin::Step Spin::next(Ticks now, Ticks gap, const Crowd& crowd, bool may_sleep) noexcept
{
    breaks_ = 0;
    if (spent_ == 0) {
        began_ = now - gap;
    }
    spent_ += gap;
    // Of the gap behind a yield others had the most. Who waits takes it for its own, and looks again at once whether they are still there.
    since_yield_ = std::exchange(yielded_, false) && !may_sleep ? 0 : since_yield_ + gap;
    if (budget_.policy == ProgressPolicy::kBlock && may_sleep) {
        return Step::kSleep;
    }
    const bool sleeps = may_sleep && budget_.policy != ProgressPolicy::kSpin;
    if (crowd.contended()) {
        if (crowd.yields_are_dear(now)) {
            // Asleep we keep our claim to the core, and get it when the answer comes; polling uses the claim up, and a yield gives it away.
            if ((sleeps ? spent_ : since_yield_) < budget_.between_yields) {
                return Step::kPoll;
            }
            since_yield_ = 0;
            yielded_ = !sleeps;
            return sleeps ? Step::kSleep : Step::kYield;
        }
        if (sleeps && yields_ >= kYieldsWhenContended) {
            return Step::kSleep;
        }
        // Who only tests may have work of its own between two calls, which a yield at each would cut into pieces shorter than the switch.
        if (!may_sleep && since_yield_ < budget_.between_yields) {
            return Step::kPoll;
        }
        ++yields_;
        since_yield_ = 0;
        yielded_ = true;
        return Step::kYield;
    }
    if (sleeps && spent_ >= budget_.spin) {
        since_yield_ = 0;
        spent_out_ = true;
        return Step::kSleep;
    }
    if (since_yield_ >= budget_.between_yields << crowd.calm()) {
        since_yield_ = 0;
        yielded_ = true;
        return Step::kYield;
    }
    return Step::kPoll;
}

}   // namespace linnet
