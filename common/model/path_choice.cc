// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// PathChoice bodies.
#include "model/path_choice.h"

#include <algorithm>

namespace linnet::model {

namespace {
constexpr double kUsualShare = 1.0 / 8;    // of the newest transfer in what is the usual size
constexpr unsigned kHopelessAfter = 2;     // transfers
constexpr double kHopeless = 2;            // times what home takes
constexpr double kAverageKeeps = 15.0 / 16;
constexpr unsigned kLossyFor = 16;         // transfers
constexpr double kMostOfAverage = 16;      // times the average: more of a single transfer is a stop, not the path
}   // namespace

unsigned PathChoice::add(const Line& expected, bool behind) noexcept
{
    if (count_ == kMost) {
        return kNone;
    }
    paths_[count_].expected = expected;
    paths_[count_].behind = behind;
    return count_++;
}

Line PathChoice::cost(unsigned path) const noexcept
{
    const Path& p = paths_[path];
    return p.samples.line(p.expected).value_or(p.expected);
}

void PathChoice::sample(unsigned path, std::uint64_t bytes, Nanos took, TimePoint now) noexcept
{
    if (path != at_ || path >= count_) {
        return;   // from before a move
    }
    const auto size = static_cast<double>(bytes);
    usual_bytes_ = usual_bytes_ == 0 ? size : usual_bytes_ + (size - usual_bytes_) * kUsualShare;
    if (++seen_ > config_.warm_up) {
        watch_for_change(bytes, took, now);
        paths_[at_].samples.add(bytes, took, now);
        average(paths_[at_], size, static_cast<double>(took.count()));
    }
    if (trial_ != kNone) {
        judge_trial(now);
    } else {
        ++apart_;
        begin_trial(now);
    }
}

void PathChoice::average(Path& p, double bytes, double ns) const noexcept
{
    const double most = p.bytes > 0 ? kMostOfAverage * p.ns / p.bytes * bytes : ns;
    p.bytes = p.bytes * kAverageKeeps + bytes;
    p.ns = p.ns * kAverageKeeps + std::min(ns, most);
}

// What is kept is the least, which a path that became slower will not reach again: forget it then. The best of the row is the new beginning.
void PathChoice::watch_for_change(std::uint64_t bytes, Nanos took, TimePoint now) noexcept
{
    Path& p = paths_[at_];
    const auto line = p.samples.line(p.expected);
    const auto ns = static_cast<double>(took.count());
    if (!line || ns <= config_.slower * line->at(static_cast<double>(bytes))) {
        late_ = 0;
        return;
    }
    const auto rate = [](std::uint64_t b, Nanos t) { return static_cast<double>(b) / static_cast<double>(std::max<std::int64_t>(t.count(), 1)); };
    if (late_++ == 0 || rate(bytes, took) > rate(late_bytes_, late_took_)) {
        late_bytes_ = bytes;
        late_took_ = took;
    }
    if (late_ < config_.slower_row) {
        return;
    }
    late_ = 0;
    p.samples.forget();
    p.samples.add(late_bytes_, late_took_, now);
    if (at_ == home_) {
        changed_ = true;
        for (Path& other : paths_) {
            other.due = TimePoint{};
            other.lost = 0;
        }
    }
}

// By expectation alone: what home takes was measured, and is no match for a hope.
bool PathChoice::promises_more(unsigned path) const noexcept
{
    return !paths_[path].tried && paths_[path].expected.at(usual_bytes_) < config_.gain * paths_[home_].expected.at(usual_bytes_);
}

// A path behind the others, while home loses frames: for so long that its average shows it.
bool PathChoice::helps(unsigned path) const noexcept
{
    return lossy_ >= kLossyFor && usual_time(path) < config_.gain * average_time(home_);
}

void PathChoice::begin_trial(TimePoint now) noexcept
{
    if (at_ != home_ || seen_ <= config_.warm_up) {
        return;
    }
    const bool settled = now - trial_ended_ >= config_.trial_pause && (apart_ >= config_.trial_apart || changed_);
    const bool compares = seen_ >= config_.warm_up + config_.trial_transfers;   // home has been measured enough for it
    unsigned best = kNone;
    for (unsigned i = 0; i < count_; ++i) {
        const bool wanted = paths_[i].behind ? compares && helps(i) : settled || (compares && promises_more(i));
        if (i == home_ || now < paths_[i].due || !wanted) {
            continue;
        }
        const bool first = best == kNone || (!paths_[i].tried && paths_[best].tried);
        const bool same = best != kNone && paths_[i].tried == paths_[best].tried;
        best = first || (same && usual_time(i) < usual_time(best)) ? i : best;
    }
    if (best == kNone) {
        changed_ = changed_ && !settled;
        return;
    }
    trial_ = best;
    trial_began_ = now;
    paths_[best].samples.forget();   // it is judged by what it does now
    paths_[best].bytes = paths_[best].ns = 0;
}

void PathChoice::judge_trial(TimePoint now) noexcept
{
    const bool there = at_ == trial_;
    const unsigned counted = there && seen_ > config_.warm_up ? seen_ - config_.warm_up : 0;
    const bool comes_back = paths_[home_].behind && !paths_[trial_].behind;
    const double enough = comes_back ? 1 / config_.gain : config_.gain;
    if (counted >= config_.trial_transfers) {
        end_trial(trial_time(trial_) < enough * trial_time(home_), now);
    } else if (now - trial_began_ >= config_.trial_patience || (counted >= kHopelessAfter && trial_time(trial_) > kHopeless * trial_time(home_))) {
        end_trial(false, now);
    }
}

void PathChoice::end_trial(bool won, TimePoint now) noexcept
{
    Path& tried = paths_[trial_];
    tried.tried = true;
    if (won) {
        tried.lost = 0;
        paths_[home_].due = now + config_.retry_first;
        paths_[home_].tried = true;
        home_ = trial_;
        changed_ = false;
    } else {
        const Nanos pause = config_.retry_first * (1LL << std::min(tried.lost, 20u));
        tried.due = now + std::min(pause, config_.retry_max);
        ++tried.lost;
    }
    trial_ = kNone;
    trial_ended_ = now;
    apart_ = 0;
}

void PathChoice::moved(unsigned path, TimePoint now) noexcept
{
    if (path >= count_) {
        return;
    }
    at_ = path;
    seen_ = late_ = 0;
    if (path == trial_ || path == home_) {
        return;
    }
    trial_ = kNone;   // the link broke and was opened where it could be, or the peer had it moved
    trial_ended_ = now;
    paths_[home_].due = paths_[path].behind ? now : now + config_.retry_first;   // whether it helps here shall be seen soon
    home_ = path;
    apart_ = 0;
}

void PathChoice::failed(unsigned path, TimePoint now) noexcept
{
    if (path == trial_) {
        end_trial(false, now);
    } else if (path == home_ && path != at_) {   // on the way back from a trial: then the trial was the better choice
        home_ = at_;
        paths_[path].due = now + config_.retry_first;
    }
}

void PathChoice::put_off(unsigned path, TimePoint now) noexcept
{
    if (path != trial_ || path == at_) {
        return failed(path, now);
    }
    trial_ = kNone;
    const TimePoint due = now + config_.trial_pause + chance_.up_to(config_.trial_pause);
    for (Path& p : paths_) {
        p.due = &p == &paths_[path] || p.behind ? std::max(p.due, due) : p.due;
    }
}

}   // namespace linnet::model
