// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// SimPort: a FramePort to a network in memory, where a test decides about each frame.
//
// A port is called at its number, which a name carries as an IPv4 address 0.0.0.n. Threads: one.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "sys/event_fd.h"
#include "transport/frames/port.h"

namespace linnet::testing {

class SimPort;

struct SimFrames {
    struct Frame {
        std::uint32_t from;
        std::uint32_t to;
        std::vector<std::byte> bytes;
        unsigned channel{0};   // that it left from
        [[nodiscard]] wire::FrameHead head() const
        {
            wire::FrameHead h;
            std::memcpy(&h, bytes.data(), sizeof h);
            return h;
        }
        [[nodiscard]] wire::OpenStep step() const
        {
            return head().kind == wire::FrameKind::kOpen ? static_cast<wire::OpenStep>(bytes[sizeof(wire::FrameHead)]) : wire::OpenStep::kNone;
        }
    };
    std::map<std::uint32_t, SimPort*> ports;
    std::vector<Frame> sent;                             // all, also those that were lost
    std::function<bool(const Frame&)> lose;              // true: it does not arrive
    std::size_t hello_bytes{0};                          // of hellos, at least; as ports find it when they are opened
    [[nodiscard]] std::size_t count(std::uint32_t from, wire::OpenStep step) const
    {
        std::size_t n = 0;
        for (const Frame& f : sent) {
            n += f.from == from && f.step() == step ? 1 : 0;
        }
        return n;
    }
};

class SimPort final : public frames::FramePort {
public:
    struct Address {
        std::uint32_t number;
        std::uint32_t zero;
    };
    SimPort(SimFrames& net, std::uint32_t number, unsigned channels, std::size_t frame_bytes, const Log& log)
        : net_{net}, number_{number}, channels_{channels}, frame_bytes_{frame_bytes}, event_{EventFd::open(log).value()}
    {
    }
    ~SimPort() override { close(); }

    [[nodiscard]] const char* name() const noexcept override { return "sim"; }
    [[nodiscard]] Status open(wire::EndpointName& name) override
    {
        net_.ports[number_] = this;
        wire::NameAddress a;
        a.bytes[3] = static_cast<std::uint8_t>(number_);
        return wire::add_address(name, a) ? Status::kOk : Status::kInvalid;
    }
    [[nodiscard]] unsigned channels() const noexcept override { return channels_; }
    [[nodiscard]] frames::PortLimits limits(unsigned) const noexcept override { return {frame_bytes_, 256, 16, Nanos::max(), net_.hello_bytes}; }
    void came_through(const frames::Route& from, std::size_t bytes) noexcept override { came.emplace_back(from.as<Address>().number, bytes); }
    void close() noexcept override { net_.ports.erase(number_); }
    [[nodiscard]] unsigned routes(const wire::EndpointName& name, std::span<frames::Candidate> out) const override
    {
        unsigned n = 0;
        for (const wire::NameAddress& a : wire::NameAddresses{name}) {
            out[n++].route = frames::Route::of(Address{a.bytes[3], 0});
        }
        if (n == 0) {
            out[n++].refusal = "no address";
        }
        return n;
    }
    [[nodiscard]] std::size_t frame_bytes(const frames::Route&) const noexcept override { return frame_bytes_; }
    [[nodiscard]] std::string text(const frames::Route& peer) const override { return "port " + std::to_string(peer.as<Address>().number); }
    [[nodiscard]] std::string local_text(const frames::Route&) const override { return "port " + std::to_string(number_); }
    [[nodiscard]] std::size_t send(unsigned channel, std::span<const flow::TxFrame> frames) noexcept override
    {
        for (const flow::TxFrame& f : frames) {
            std::vector<std::byte> bytes{f.head.begin(), f.head.begin() + f.head_bytes};
            bytes.insert(bytes.end(), f.payload.begin(), f.payload.end());
            put(channel, *static_cast<const frames::Route*>(f.route), std::move(bytes));
        }
        return frames.size();
    }
    void send_single(unsigned channel, const frames::Route& to, std::span<const std::byte> frame) noexcept override
    {
        put(channel, to, {frame.begin(), frame.end()});
    }
    [[nodiscard]] std::size_t receive(unsigned channel, std::span<frames::RxFrame> out) noexcept override
    {
        shown_[channel].clear();
        apart_[channel].clear();
        std::size_t n = 0;
        for (; n < out.size() && !inbox_[channel].empty(); ++n) {
            shown_[channel].push_back(std::move(inbox_[channel].front()));
            inbox_[channel].pop_front();
        }
        const frames::Aim aim = std::exchange(aim_[channel], {});
        bool in_row = true;
        for (std::size_t i = 0; i < n; ++i) {
            out[i] = {shown_[channel][i].bytes, static_cast<std::uint32_t>(i), nullptr};
            in_row = in_row && i < aim.blocks && out[i].bytes.size() == aim.head_bytes + aim.block_bytes;
            if (in_row) {   // as a kernel that scatters: whatever it is
                std::byte* const to = aim.to + i * aim.block_bytes;
                std::byte* const from = shown_[channel][i].bytes.data() + aim.head_bytes;
                std::copy(from, from + aim.block_bytes, to);
                std::fill(from, from + aim.block_bytes, std::byte{0xee});
                out[i].payload = to;
                apart_[channel].push_back({from, to, aim.block_bytes});
                ++aimed;
            }
        }
        return n;
    }
    bool aim(unsigned channel, const frames::Aim& aim) noexcept override
    {
        aim_[channel] = aim;
        return true;
    }
    void gather(unsigned channel) noexcept override
    {
        for (const Apart& a : apart_[channel]) {
            std::copy(a.to, a.to + a.bytes, a.from);
        }
        apart_[channel].clear();
        ++gathered;
    }
    [[nodiscard]] frames::Route source(unsigned channel, const frames::RxFrame& frame) const noexcept override
    {
        return frames::Route::of(Address{shown_[channel][frame.source].from, 0});
    }
    [[nodiscard]] bool next_evidence(frames::Evidence& out) noexcept override
    {
        if (evidence.empty()) {
            return false;
        }
        out = {frames::Route::of(Address{evidence.front().first, 0}), evidence.front().second};
        evidence.pop_front();
        return true;
    }
    [[nodiscard]] std::uint64_t kernel_drops(unsigned) const noexcept override { return drops; }
    [[nodiscard]] int wait_descriptor() const noexcept override { return event_.get(); }

    // What the test says: nobody at that number, and the errno.
    std::deque<std::pair<std::uint32_t, int>> evidence;
    std::uint64_t drops{0};
    std::vector<std::pair<std::uint32_t, std::size_t>> came;   // what opening frames said of paths
    std::size_t aimed{0};      // frames that were read to where they were expected
    std::size_t gathered{0};   // guesses that were wrong

    void arrive(unsigned channel, SimFrames::Frame frame) { inbox_[channel].push_back(std::move(frame)); }

private:
    // A peer's bulk frames go to its bulk queue: like a socket of its own, which one is said by the channel that they leave from.
    void put(unsigned channel, const frames::Route& to, std::vector<std::byte> bytes)
    {
        SimFrames::Frame f{number_, to.as<Address>().number, std::move(bytes), channel};
        net_.sent.push_back(f);
        const auto it = net_.ports.find(f.to);
        if (it != net_.ports.end() && !(net_.lose && net_.lose(f))) {
            it->second->arrive(channel % it->second->channels_, std::move(f));
        }
    }

    struct Apart {
        std::byte* from;
        std::byte* to;
        std::size_t bytes;
    };

    SimFrames& net_;
    std::uint32_t number_;
    unsigned channels_;
    std::size_t frame_bytes_;
    EventFd event_;
    std::array<std::deque<SimFrames::Frame>, frames::kChannels> inbox_;
    std::array<std::vector<SimFrames::Frame>, frames::kChannels> shown_;
    std::array<frames::Aim, frames::kChannels> aim_;
    std::array<std::vector<Apart>, frames::kChannels> apart_;
};

}   // namespace linnet::testing
