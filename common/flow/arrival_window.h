// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ArrivalWindow: how many frames may be on their way to us at a time, by what was lost on it.
//
// Credit keeps our own ring from overflowing; the port of a switch in front of us holds less, nobody tells how much, and all our senders meet there. What we
// lend is what can stand in its queue, so the receiver finds the measure: more while nothing is missing, and when frames are, as much as came through, and less
// by as much as CUBIC would take (RFC 9438, 4.6): a TCP connection that shares the queue keeps its part of it.
// Losses of less than one in `kNoise` are the network's own, not a queue that overflows. Pure; one thread at a time. See docs/flow.md section 5.
#pragma once

#include <algorithm>
#include <cstdint>

namespace linnet::flow {

class ArrivalWindow {
public:
    static constexpr std::uint32_t kFirst = 256;   // frames
    static constexpr std::uint32_t kLeast = 32;    // 10 Gbit/s for a round trip of 40 us
    static constexpr std::uint32_t kMost = 1u << 16;

    [[nodiscard]] std::uint32_t size() const noexcept { return size_; }

    // `count` frames came and `missing` before them did not; `lent` may be on their way. Returns whether size() changed.
    bool arrived(std::uint32_t count, std::uint32_t missing, std::uint32_t lent) noexcept
    {
        came_ += count;
        missed_ += missing;
        const std::uint32_t before_it = size_;
        if (missed_ == 0 && 2 * lent >= size_) {
            grow(count);
        }
        if (came_ + missed_ >= std::min(size_, std::max(lent, kLeast))) {
            judge(lent);
        }
        return size_ != before_it;
    }

private:
    static constexpr std::uint32_t kNoise = 64;   // one in so many
    static constexpr std::uint32_t kStep = 4;     // frames more for each window that came whole, or
    static constexpr std::uint32_t kShare = 32;   // a share of it
    static constexpr std::uint32_t kKeptOfTen = 7;

    void grow(std::uint32_t count) noexcept
    {
        if (!overflowed_) {
            size_ = std::min(size_ + count, kMost);   // doubles with each window
            return;
        }
        gained_ += count * std::max(kStep, size_ / kShare);
        size_ = std::min(size_ + gained_ / size_, kMost);
        gained_ %= size_;
    }

    void judge(std::uint32_t lent) noexcept
    {
        const std::uint32_t all = came_ + missed_;
        if (missed_ * kNoise > all) {
            overflowed_ = true;
            gained_ = 0;
            const std::uint64_t was = std::min(size_, std::max(lent, kLeast));   // more was not tried
            size_ = std::max(static_cast<std::uint32_t>(std::min(was * came_ / all, was * kKeptOfTen / 10)), kLeast);
        }
        came_ = missed_ = 0;
    }

    std::uint32_t size_{kFirst};
    std::uint32_t came_{0};     // since the last verdict
    std::uint32_t missed_{0};
    std::uint32_t gained_{0};   // towards the next frame more, in parts of 1 / size_
    bool overflowed_{false};
};

}   // namespace linnet::flow
