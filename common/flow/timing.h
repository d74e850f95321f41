// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Timing: round-trip estimate, reordering window, probe timeout. Pure.
//
// After RFC 6298 (estimate), RFC 8985 (RACK-TLP) and RFC 9002 (probe timeout), with the floors of a local network.
#pragma once

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace linnet::flow {

struct Timing {
    // A peer that polls answers within a round trip; one that sleeps or lost its core is silent for a scheduler's slice (4 ms at 250 Hz). Shorter
    // floors resend for nothing, longer ones make a lost tail cost more than a millisecond.
    Nanos probe_floor_polling{std::chrono::microseconds{200}};
    Nanos probe_floor_sleeping{std::chrono::milliseconds{5}};
    // Who asks in vain asks again after twice the time; but where others fill the port in front of the receiver, question after question is lost, and the
    // port would stand idle once they have gone: so the first `probe_brisk` of them wait no longer than `probe_soon`, or than the first of them did.
    // A question is a frame, the answer to it at most the asker's share of what may be on the way.
    Nanos probe_soon{std::chrono::milliseconds{15}};
    unsigned probe_brisk{16};
    Nanos probe_max{std::chrono::milliseconds{200}};
    Nanos ack_delay{std::chrono::microseconds{50}};        // an acknowledgement waits this long for a frame to ride on
    Nanos ack_delay_sleeping{std::chrono::milliseconds{4}};   // of a lane where one of the two sleeps; then the other asks later than this
    Nanos reorder_floor{std::chrono::microseconds{20}};    // frames of one path overtake each other by less
    Nanos idle_return{std::chrono::milliseconds{10}};      // unused credit goes back after this
    Nanos keep_alive{std::chrono::seconds{10}};            // of silence, after which the peer is asked whether it is there; 0: never
    Nanos ask_again{std::chrono::milliseconds{500}};       // while it does not answer that
};

class RttEstimate {
public:
    void sample(Nanos rtt) noexcept
    {
        rtt = std::max(rtt, Nanos{1});
        latest_ = rtt;
        if (smoothed_ == Nanos{0}) {
            smoothed_ = rtt;
            variation_ = rtt / 2;
            least_ = rtt;
            return;
        }
        const Nanos error = rtt > smoothed_ ? rtt - smoothed_ : smoothed_ - rtt;
        variation_ += (error - variation_) / 4;
        smoothed_ += (rtt - smoothed_) / 8;
        least_ = std::min(least_, rtt);
    }
    [[nodiscard]] bool known() const noexcept { return smoothed_ != Nanos{0}; }
    [[nodiscard]] Nanos smoothed() const noexcept { return smoothed_; }
    [[nodiscard]] Nanos variation() const noexcept { return variation_; }
    [[nodiscard]] Nanos latest() const noexcept { return latest_; }
    [[nodiscard]] Nanos least() const noexcept { return least_; }

private:
    Nanos smoothed_{0};
    Nanos variation_{0};
    Nanos latest_{0};
    Nanos least_{0};
};

// How much later than expected a frame may come before it counts as lost. `widened`: how often that was found wrong, up to 4.
[[nodiscard]] inline Nanos reorder_window(const Timing& t, const RttEstimate& rtt, unsigned widened) noexcept
{
    return std::max(t.reorder_floor, rtt.least() / 4) * (1 + widened);
}

// From the last frame sent or the last news, whichever is later, to the first probe.
[[nodiscard]] inline Nanos probe_timeout(const Timing& t, const RttEstimate& rtt, bool peer_polls) noexcept
{
    const Nanos floor = peer_polls ? t.probe_floor_polling : t.probe_floor_sleeping;
    const Nanos delay = peer_polls ? t.ack_delay : t.ack_delay_sleeping;   // which the peer's stamps leave out
    const Nanos wait = rtt.known() ? rtt.smoothed() + 4 * rtt.variation() + delay : Nanos{0};
    return std::min(std::max(wait, floor), t.probe_max);
}

// From a probe to the next, `first` after which the first one went out. `tries`: probes in a row without news.
[[nodiscard]] inline Nanos backed_off(const Timing& t, Nanos first, unsigned tries) noexcept
{
    if (tries == 0) {
        return first;
    }
    const auto doubled = [&](Nanos wait, unsigned times) { return std::min(wait * (1 << std::min(times, 10u)), std::max(first, t.probe_max)); };
    const Nanos soon = std::max(first, t.probe_soon);
    return tries <= t.probe_brisk ? std::min(doubled(first, tries), soon) : doubled(soon, tries - t.probe_brisk);
}

}   // namespace linnet::flow
