// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// PathChoice: which of several paths to a peer the long messages take, from what they took so far.
//
// What it is     A state machine without I/O and without a clock. Its owner times transfers and moves the link to where it is wanted.
// Owner          session/, one per peer that has several paths.
// Threads        One at a time (the lock of the session).
// Blocking       Never; allocates nothing.
// Failure        None. A path that cannot be opened is told by failed().
// See            docs/model.md section 3
//
//   state      link is at    event                                              to
//   at home    home          a trial is due                                     trial: wanted() is the other path
//   trial      home, other   moved(other)                                       measured there
//              other         enough transfers, faster by `gain`                 at home there
//              other         enough transfers, or two at twice the time         at home: wanted() is home again
//              any           failed(other), or nothing for trial_patience       likewise
//   trial      home          put_off(other)                                     at home; the same later, by chance
//   any        any           moved(elsewhere): the link broke, the peer chose   at home there
//
// A path may stand *behind* the others: it is tried only while home loses frames and takes longer than it should, and left again for one that is no worse. Then
// and there what transfers take on the average counts, not the least of it, which losses do not show.
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"
#include "model/chance.h"
#include "model/cost.h"
#include "model/samples.h"

namespace linnet::model {

class PathChoice {
public:
    struct Config {
        double gain{0.8};              // a path must take at most so much of the time that the present one takes
        unsigned warm_up{2};           // transfers after a move that do not count: a window opens, pages are touched
        unsigned trial_transfers{8};   // with these
        unsigned trial_apart{64};      // transfers between the end of a trial and the next, and
        Nanos trial_pause{std::chrono::seconds{1}};
        Nanos trial_patience{std::chrono::seconds{20}};   // from the decision until enough transfers were seen
        Nanos retry_first{std::chrono::seconds{10}};      // until a path that lost a trial gets another; doubles
        Nanos retry_max{std::chrono::seconds{320}};
        double slower{1.5};            // a transfer that takes so much longer than it should is late
        unsigned slower_row{6};        // that many late ones in a row: the path has changed
    };
    static constexpr unsigned kMost = 4;
    static constexpr unsigned kNone = kMost;

    // `seed`: of the chance by which those whose trials were put off do not meet again.
    explicit PathChoice(const Config& config, std::uint64_t seed = 0) noexcept : config_{config}, chance_{seed} {}

    // In the order of preference; the first is where the link is. Returns its index, or kNone when there are kMost.
    unsigned add(const Line& expected, bool behind = false) noexcept;
    [[nodiscard]] unsigned paths() const noexcept { return count_; }

    // A transfer over `path` is over.
    void sample(unsigned path, std::uint64_t bytes, Nanos took, TimePoint now) noexcept;
    // The present path loses frames, as its owner sees.
    void loses(bool frames) noexcept
    {
        if (at_ == home_) {
            lossy_ = frames ? lossy_ + 1 : 0;
        }
    }
    // The link is up on `path`, whoever moved it there.
    void moved(unsigned path, TimePoint now) noexcept;
    // It could not be moved there.
    void failed(unsigned path, TimePoint now) noexcept;
    // The peer has no time for a trial there: somebody else has one. It says nothing about the path. None that is behind the others is tried sooner.
    void put_off(unsigned path, TimePoint now) noexcept;

    // Where the link should be, and where it is.
    [[nodiscard]] unsigned wanted() const noexcept { return trial_ != kNone ? trial_ : home_; }
    [[nodiscard]] unsigned at() const noexcept { return at_; }
    // Is it wanted there for a trial? Else because it is home.
    [[nodiscard]] bool tries(unsigned path) const noexcept { return path < count_ && path == trial_; }

    // What a transfer over `path` takes: as measured, else as expected.
    [[nodiscard]] Line cost(unsigned path) const noexcept;
    [[nodiscard]] bool measured(unsigned path) const noexcept { return !paths_[path].samples.empty(); }

private:
    struct Path {
        Line expected;
        Samples samples;
        bool behind{false};
        double bytes{0};          // of the last transfers, the newest weighing most: what they take on the average
        double ns{0};
        bool tried{false};
        unsigned lost{0};         // trials in a row
        TimePoint due{};          // when it may be tried (again)
    };

    void watch_for_change(std::uint64_t bytes, Nanos took, TimePoint now) noexcept;
    void judge_trial(TimePoint now) noexcept;
    void average(Path& p, double bytes, double ns) const noexcept;
    [[nodiscard]] bool promises_more(unsigned path) const noexcept;
    [[nodiscard]] bool helps(unsigned path) const noexcept;
    void begin_trial(TimePoint now) noexcept;
    void end_trial(bool won, TimePoint now) noexcept;
    [[nodiscard]] double usual_time(unsigned path) const noexcept { return cost(path).at(usual_bytes_); }
    // For the trial of a path behind the others, or beside one.
    [[nodiscard]] bool by_average() const noexcept { return trial_ != kNone && (paths_[trial_].behind || paths_[home_].behind); }
    [[nodiscard]] double average_time(unsigned path) const noexcept
    {
        const Path& p = paths_[path];
        return p.bytes > 0 ? p.ns / p.bytes * usual_bytes_ : usual_time(path);
    }
    [[nodiscard]] double trial_time(unsigned path) const noexcept { return by_average() ? average_time(path) : usual_time(path); }

    const Config config_;
    Chance chance_;
    std::array<Path, kMost> paths_{};
    unsigned count_{0};
    unsigned home_{0};
    unsigned at_{0};
    unsigned trial_{kNone};
    unsigned seen_{0};                // transfers since the last move
    unsigned apart_{0};               // transfers at home since the last trial
    unsigned late_{0};                // in a row
    bool changed_{false};             // home has become slower since the last trial
    TimePoint trial_began_{};
    TimePoint trial_ended_{};
    std::uint64_t late_bytes_{0};     // the best of the row
    Nanos late_took_{};
    double usual_bytes_{0};
    unsigned lossy_{0};               // calls of loses() in a row, at home, that said so
};

}   // namespace linnet::model
