// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Calls: the attempts of an opener, one address of its peer after the other, and what came of them.
//
// A name tells every address of its process; which of them can be reached is known in the end by trying. In the first round each address gets its chance,
// in the second those that did not answer get the rest of the time. Owner: an opening link. Threads: the holder of the token. Blocking: never.
#pragma once

#include <algorithm>
#include <array>
#include <chrono>
#include <span>
#include <string>

#include "base/clock.h"
#include "base/status.h"
#include "wire/name.h"

namespace linnet {

template <class Target>
struct Calls {
    // How long an address may leave the first call unanswered while others wait: over TCP the first packet and two repetitions of it (after 1 and 3 s) get
    // their chance. More would make a filter that drops packets cost that much for each peer, less would give up a busy host.
    static constexpr Nanos kFirstPatience = std::chrono::milliseconds{3500};

    struct Call {
        Target to;
        bool made{false};        // somebody was asked: there was a route
        bool unanswered{false};  // it ran out of time before anybody answered
        Status why{Status::kOk};
        std::string text;        // why it came to nothing
    };
    std::array<Call, wire::kNameAddressesMax> call{};   // the most promising first
    unsigned count{0};
    unsigned next{0};
    bool again{false};           // second round
    TimePoint limit{};           // of all calls together

    // The one that is under way.
    [[nodiscard]] Call& current() noexcept { return call[next - 1]; }

    // Goes on to the next one. Null: none is left, and verdict() and text() say what came of them.
    [[nodiscard]] Call* advance(TimePoint now) noexcept
    {
        const auto waits = [](const Call& c) { return c.unanswered; };
        if (next == count && !again && now < limit && std::any_of(call.begin(), call.begin() + count, waits)) {
            again = true;
            next = 0;
        }
        while (next < count && again && !call[next].unanswered) {
            ++next;
        }
        return next == count ? nullptr : &call[next++];
    }

    // How long the current one may take: each that is left in this round gets an equal part of the time that is left.
    [[nodiscard]] Nanos share(TimePoint now) const noexcept { return std::max(Nanos::zero(), limit - now) / (count - next + 1); }
    // The same until somebody answers.
    [[nodiscard]] Nanos patience(TimePoint now) const noexcept { return count > 1 && !again ? std::min(share(now), kFirstPatience) : share(now); }

    // Silence leaves hope, and so does anything but a plain "nobody is here"; only when all who could be asked said that, it is believed.
    [[nodiscard]] Status verdict() const noexcept
    {
        Status worst = Status::kUnreachable;
        bool soft = false;
        for (const Call& c : std::span{call}.first(count)) {
            if (!c.made) {
                continue;
            }
            if (c.why == Status::kTimedOut) {
                return c.why;
            }
            worst = soft ? worst : c.why;
            soft = soft || c.why != Status::kRefused;
        }
        return worst;
    }

    [[nodiscard]] std::string text() const
    {
        if (count == 1) {
            return call[0].text;
        }
        std::string all = "none of its " + std::to_string(count) + " addresses could be reached:";
        for (unsigned i = 0; i < count; ++i) {
            all += (i == 0 ? " (" : "; (") + std::to_string(i + 1) + ") " + call[i].text;
        }
        return all;
    }
};

}   // namespace linnet
