// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// LaneChoice.
#include "model/lane_choice.h"

#include <algorithm>

namespace linnet::model {

unsigned LaneChoice::add(const Line& expected) noexcept
{
    if (count_ == kMost) {
        return kNone;
    }
    paths_[count_].expected = expected;
    return count_++;
}

double LaneChoice::cost_ns(unsigned path, std::uint64_t bytes, bool alone) const noexcept
{
    const auto size = static_cast<double>(bytes);
    const Path& own = paths_[path];
    const double here = alone_ns(own, size);
    if (own.bulk < count_ && own.bulk != path) {
        const Path& other = paths_[own.bulk];
        // The question and the answer. One that waits for a core does so wherever the lane is if the message is so long that it is asked for there, too; what
        // then goes with the announcement on a wide path covers the rest of the question.
        const bool always = bytes > config_.asked_beyond;
        const double asked = 2 * own.expected.fixed_ns + (always ? 0 : asking_waits_ns_);
        if (always || asked + alone_ns(other, size) < here) {
            return asked + (alone ? alone_ns(other, size) : other.expected.per_byte_ns * size);
        }
    }
    return alone ? here : own.expected.per_byte_ns * size;
}

bool LaneChoice::in_row(std::uint64_t bytes, Nanos gap) const noexcept
{
    constexpr double kWithin = 2;   // the times of a message; they are expected ones, and the machine may be a slow one
    return at_ != kNone && static_cast<double>(gap.count()) <= kWithin * cost_ns(at_, bytes, true);
}

bool LaneChoice::message(std::uint64_t bytes, bool alone) noexcept
{
    if (at_ == kNone) {
        return false;
    }
    const double here = cost_ns(at_, bytes, alone);
    const double worth = worth_ns();
    bool ask = false;
    for (unsigned i = 0; i < count_; ++i) {
        if (i != at_) {
            Path& p = paths_[i];
            p.lost_ns = std::max(0.0, p.lost_ns + here - cost_ns(i, bytes, alone));
            ask = ask || p.lost_ns >= worth;
        }
    }
    return ask;
}

unsigned LaneChoice::wanted(TimePoint now) noexcept
{
    unsigned best = at_;
    double most = worth_ns();
    for (unsigned i = 0; i < count_; ++i) {
        Path& p = paths_[i];
        if (now < p.due) {
            p.lost_ns = 0;   // not asked again at each message
        } else if (i != at_ && p.lost_ns >= most) {
            best = i;
            most = p.lost_ns;
        }
    }
    return best;
}

void LaneChoice::moved(unsigned path, TimePoint now) noexcept
{
    if (path == at_) {
        return;
    }
    worth_ = now - moved_at_ < config_.soon ? std::min(2 * worth_, config_.worth_max) : config_.worth;
    moved_at_ = now;
    at_ = path;
    for (Path& p : paths_) {
        p.lost_ns = 0;
    }
    if (path < count_) {
        paths_[path].failures = 0;
    }
}

void LaneChoice::moved_by_peer(unsigned path, TimePoint now) noexcept
{
    if (path != at_ && at_ < count_) {
        paths_[at_].due = now + config_.retry_first;
    }
    moved(path, now);
}

// Two hosts whose last places for listeners are taken by callers refuse each other; who is refused at the same time must not come back at the same time.
void LaneChoice::failed(unsigned path, TimePoint now) noexcept
{
    if (path < count_) {
        Path& p = paths_[path];
        const Nanos pause = std::min(config_.retry_first * (1u << std::min(p.failures, 10u)), config_.retry_max);
        p.due = now + pause + chance_.up_to(pause / 4);
        ++p.failures;
        p.lost_ns = 0;
    }
}

}   // namespace linnet::model
