// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// LossRate: the share of frames that a network loses, by what a link that is used says of itself, and what that costs.
//
// A single look that finds losses is not believed: a host too busy for one burst of segments drops all of it, which counts as dozens of frames, though it
// takes one recovery and says nothing of the network. What a network loses, it loses in the next look as well.
//
// The counts of a link begin with it, so who opens another one says so. What was seen is believed for `kHolds`: a network is only known to lose nothing by
// using it again. Pure; one thread at a time. See docs/model.md section 2.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "model/cost.h"

namespace linnet::model {

class LossRate {
public:
    static constexpr std::uint64_t kFrames = 512;   // a share is of so many at least
    static constexpr std::uint64_t kFew = 2;        // of them: no loss worth the name; nor is, of many,
    static constexpr std::uint64_t kLeastOneIn = 4096;   // fewer than that
    static constexpr Nanos kHolds = std::chrono::seconds{10};

    // What link `link` has sent, in all, and sent once more since it was lost; that may become less, when it turns out not to have been lost.
    void look(std::uint64_t link, std::uint64_t frames, std::uint64_t again, std::size_t frame_bytes, TimePoint now) noexcept
    {
        if (link != link_ || frames < frames_) {
            link_ = link;
            frames_ = again_ = 0;
        }
        again_ = std::min(again_, again);
        if (frames - frames_ < kFrames || frame_bytes == 0) {
            return;
        }
        const std::uint64_t lost = again - again_;
        const bool counts = lost > kFew && lost * kLeastOneIn >= frames - frames_;
        const double seen = counts ? static_cast<double>(lost) / static_cast<double>(frames - frames_) : 0;
        if (const double known = share(now); known != 0) {
            share_ = (known + seen) / 2;
        } else {
            const bool again_seen = suspected_ != 0 && seen != 0 && now - seen_at_ < kHolds;
            share_ = again_seen ? (suspected_ + seen) / 2 : 0;
            suspected_ = again_seen ? 0 : seen;
        }
        frame_bytes_ = static_cast<double>(frame_bytes);
        frames_ = frames;
        again_ = again;
        seen_at_ = now;
    }
    [[nodiscard]] double share(TimePoint now) const noexcept { return now - seen_at_ < kHolds && share_ * kLeastOneIn >= 1 ? share_ : 0; }
    // What losses add to the time of a message where each lost frame costs `lost_ns`.
    [[nodiscard]] Line cost(double lost_ns, TimePoint now) const noexcept
    {
        const double of_a_frame = share(now) * lost_ns;
        return of_a_frame == 0 ? Line{} : Line{of_a_frame, of_a_frame / frame_bytes_};
    }

private:
    std::uint64_t link_{0};
    std::uint64_t frames_{0};   // as of the last look that counted
    std::uint64_t again_{0};
    double share_{0};
    double suspected_{0};       // by the last look, while nothing is known
    double frame_bytes_{1};
    TimePoint seen_at_{};
};

}   // namespace linnet::model
