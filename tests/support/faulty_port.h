// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FaultyPort: a real FramePort behind which frames get lost, come twice, late, or damaged, by a seed; and sends are refused now and then.
//
// Owner: the FrameTransport that is given it. Threads: as the real one; the faults of sends have a generator of their own.
#pragma once

#include <memory>
#include <random>
#include <vector>

#include "transport/frames/port.h"

namespace linnet::testing {

struct FrameFaults {
    double lose{0};
    double twice{0};
    double late{0};     // held back until some later frames have come
    double damage{0};   // one bit
    double refuse{0};   // a send takes only a part of what it was offered
};

class FaultyPort final : public frames::FramePort {
public:
    FaultyPort(std::unique_ptr<frames::FramePort> real, const FrameFaults& faults, std::uint64_t seed)
        : real_{std::move(real)}, faults_{faults}, random_{seed}, send_random_{seed + 1}
    {
    }

    [[nodiscard]] const char* name() const noexcept override { return real_->name(); }
    [[nodiscard]] Status open(wire::EndpointName& name) override { return real_->open(name); }
    [[nodiscard]] unsigned channels() const noexcept override { return real_->channels(); }
    [[nodiscard]] frames::PortLimits limits(unsigned channel) const noexcept override { return real_->limits(channel); }
    [[nodiscard]] std::uint64_t listens_unnamed() const noexcept override { return real_->listens_unnamed(); }
    void close() noexcept override { real_->close(); }
    [[nodiscard]] bool prepare_call(const wire::EndpointName& callee, std::span<const frames::Candidate> ways, std::string& why_not) override
    {
        return real_->prepare_call(callee, ways, why_not);
    }
    [[nodiscard]] unsigned routes(const wire::EndpointName& name, std::span<frames::Candidate> out) const override { return real_->routes(name, out); }
    [[nodiscard]] std::size_t frame_bytes(const frames::Route& to) const noexcept override { return real_->frame_bytes(to); }
    void came_through(const frames::Route& from, std::size_t bytes) noexcept override { real_->came_through(from, bytes); }
    [[nodiscard]] InetAddress address(const frames::Route& peer) const noexcept override { return real_->address(peer); }
    [[nodiscard]] std::string text(const frames::Route& peer) const override { return real_->text(peer); }
    [[nodiscard]] std::string local_text(const frames::Route& peer) const override { return real_->local_text(peer); }
    [[nodiscard]] std::size_t send(unsigned channel, std::span<const flow::TxFrame> frames) noexcept override;
    void send_single(unsigned channel, const frames::Route& to, std::span<const std::byte> frame) noexcept override
    {
        real_->send_single(channel, to, frame);
    }
    [[nodiscard]] std::size_t receive(unsigned channel, std::span<frames::RxFrame> out) noexcept override;
    bool aim(unsigned channel, const frames::Aim& aim) noexcept override { return real_->aim(channel, aim); }
    [[nodiscard]] frames::Route source(unsigned channel, const frames::RxFrame& frame) const noexcept override
    {
        return channels_[channel].shown[frame.source].from;
    }
    [[nodiscard]] bool next_evidence(frames::Evidence& out) noexcept override { return real_->next_evidence(out); }
    [[nodiscard]] std::uint64_t kernel_drops(unsigned channel) const noexcept override { return real_->kernel_drops(channel); }
    [[nodiscard]] int wait_descriptor() const noexcept override { return real_->wait_descriptor(); }
    [[nodiscard]] bool prepare_sleep() noexcept override;

private:
    struct Frame {
        std::vector<std::byte> bytes;
        frames::Route from;
        unsigned wait{0};   // frames that come first
    };
    struct Channel {
        std::vector<Frame> shown;   // by the last receive()
        std::vector<Frame> ready;
        std::vector<Frame> held;
    };
    [[nodiscard]] bool happens(double probability) { return std::uniform_real_distribution<>{}(random_) < probability; }
    void arrived(Channel& ch, Frame frame);

    std::unique_ptr<frames::FramePort> real_;
    FrameFaults faults_;
    std::mt19937_64 random_;
    std::mt19937_64 send_random_;   // under the lock of the lane channel or of the bulk one: tests that refuse sends have one sending thread
    std::array<Channel, frames::kChannels> channels_;
};

}   // namespace linnet::testing
