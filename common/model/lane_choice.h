// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// LaneChoice: which of several paths to a peer its lane should take, by the messages that the two exchange.
//
// What it is     A state machine without I/O and without a clock of its own. For each path it sums up how much sooner the messages would have come, had the
//                lane been on it; a sum that would fall below zero begins again (the cumulative sum test of Page, Biometrika 41, 1954), so that what was long
//                ago does not count against what is now. A path whose sum is worth a move is wanted. A lane so loses to the best path at most what moves cost.
// Owner          session/, one per peer that several paths reach.
// Threads        One at a time (the lock of the session).
// Blocking       Never; allocates nothing.
// Failure        None. A path that cannot be opened is told by failed().
// See            docs/model.md section 4
#pragma once

#include <array>
#include <cstdint>

#include "base/clock.h"
#include "model/chance.h"
#include "model/cost.h"

namespace linnet::model {

class LaneChoice {
public:
    struct Config {
        Nanos worth{std::chrono::microseconds{400}};      // time lost that a move is worth: what one takes of the cores
        double worth_asks{2};                             // and the waits for cores of so many questions: hello, welcome, confirm, and what goes out again
        Nanos worth_max{std::chrono::milliseconds{64}};   // it doubles with each move that comes
        Nanos soon{std::chrono::milliseconds{200}};       // so soon after another, up to here; a later one sets it back
        Nanos retry_first{std::chrono::seconds{10}};      // until a path that failed is tried again; doubles
        Nanos retry_max{std::chrono::seconds{320}};       // then; each time up to a quarter is added by chance
        std::uint64_t asked_beyond{UINT64_MAX};           // bytes: a longer message is asked for wherever the lane is
    };
    static constexpr unsigned kMost = 4;
    static constexpr unsigned kNone = kMost;

    // `seed`: of the chance by which those who stood in each other's way do not meet again.
    explicit LaneChoice(const Config& config, std::uint64_t seed = 0) noexcept : config_{config}, chance_{seed}, worth_{config.worth} {}

    // Half a round trip of a message, expected. The first is where the lane is. Returns its index, or kNone when there are kMost.
    unsigned add(const Line& expected) noexcept;
    // It is another line now.
    void expect(unsigned path, const Line& expected) noexcept { paths_[path].expected = expected; }
    // A message alone that is longer than `bytes` takes `ns` longer than that: it does not fit a frame.
    void frame_holds(unsigned path, double bytes, double ns) noexcept { paths_[path].frame_bytes = bytes, paths_[path].more_frames_ns = ns; }
    // Long messages of a lane on `path` are announced there and go over `other` as bulk data, where that pays. kNone or `path`, as at first: they stay.
    void bulk_goes(unsigned path, unsigned other) noexcept { paths_[path].bulk = other; }
    // A question and its answer take so much longer than two messages: both sides wait for a core in between.
    void asking_waits(double ns) noexcept { asking_waits_ns_ = ns; }
    [[nodiscard]] unsigned paths() const noexcept { return count_; }

    // Does a message of `bytes` that comes `gap` after another one of the same direction belong to a row with it: are both on their way together?
    [[nodiscard]] bool in_row(std::uint64_t bytes, Nanos gap) const noexcept;
    // A message of `bytes` was sent or has come. `alone`: it is not in a row with the one before it, as in a ping-pong; else only its bytes take their time,
    // and the question and the answer if there are such. True: time to ask wanted().
    bool message(std::uint64_t bytes, bool alone) noexcept;
    // Where the lane should be: at(), if nowhere else.
    [[nodiscard]] unsigned wanted(TimePoint now) noexcept;
    [[nodiscard]] unsigned at() const noexcept { return at_; }
    // The lane is on `path` (kNone: on none of these), whoever moved it there.
    void moved(unsigned path, TimePoint now) noexcept;
    // Likewise, by the peer, beside the path where it was: for a reason that is not known here. It is not moved back there for `retry_first`.
    void moved_by_peer(unsigned path, TimePoint now) noexcept;
    // It could not be moved there.
    void failed(unsigned path, TimePoint now) noexcept;

    // What a message takes whose lane is on `path`. A long one may leave the lane for another path, for a question and an answer.
    [[nodiscard]] double cost_ns(unsigned path, std::uint64_t bytes, bool alone) const noexcept;

private:
    struct Path {
        Line expected;
        double frame_bytes{0};
        double more_frames_ns{0};
        unsigned bulk{kNone};
        double lost_ns{0};        // by not being on it
        unsigned failures{0};     // in a row
        TimePoint due{};          // when it may be tried (again)
    };

    [[nodiscard]] static double alone_ns(const Path& path, double size) noexcept
    {
        return path.expected.at(size) + (size > path.frame_bytes ? path.more_frames_ns : 0);
    }

    // Time lost that a move is worth now. Where ranks share cores each step of it waits for several of them to have one, and so do the messages meanwhile.
    [[nodiscard]] double worth_ns() const noexcept { return static_cast<double>(worth_.count()) + config_.worth_asks * asking_waits_ns_; }

    const Config config_;
    Chance chance_;
    std::array<Path, kMost> paths_{};
    unsigned count_{0};
    unsigned at_{0};
    double asking_waits_ns_{0};
    Nanos worth_;
    TimePoint moved_at_{};
};

}   // namespace linnet::model
