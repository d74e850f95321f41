// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TwoHosts: two simulated hosts with a connection, whose frames a test carries by hand.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "flow/machine.h"
#include "support/seed.h"
#include "unit/flow/sim.h"

namespace linnet::flow {

class TwoHosts : public ::testing::Test {
protected:
    void join(const Machine::Config& config = {}, std::uint32_t first = 0)
    {
        a = &sim.add(config);
        b = &sim.add(config);
        a->join(*b, first);
    }
    void TearDown() override
    {
        for (const auto& h : sim.hosts) {
            EXPECT_EQ(h->faults, "");
        }
    }
    // The next frame that `h` wants to send, as it would be on the network.
    std::vector<std::byte> frame_of(sim::Host& h)
    {
        TxFrame f;
        if (h.machine.produce(sim.now, {&f, 1}) == 0) {
            return {};
        }
        std::vector<std::byte> bytes(f.head.begin(), f.head.begin() + f.head_bytes);
        bytes.insert(bytes.end(), f.payload.begin(), f.payload.end());
        return bytes;
    }
    // Of nothing: of no kind.
    static wire::FrameHead head_of(const std::vector<std::byte>& frame)
    {
        wire::FrameHead h;
        h.kind = wire::FrameKind::kNone;
        std::memcpy(&h, frame.data(), std::min(frame.size(), sizeof h));
        return h;
    }
    // The frame with another head.
    template <class Change>
    static std::vector<std::byte> changed(std::vector<std::byte> frame, Change change)
    {
        wire::FrameHead h = head_of(frame);
        change(h);
        std::memcpy(frame.data(), &h, sizeof h);
        return frame;
    }
    // A train of 30 blocks, ready to be sent.
    void thirty_blocks()
    {
        Machine::Config config;
        config.first_credit = 40;
        join(config);
        const std::size_t block = a->machine.block_payload();
        a->send_bulk(30 * block, 30 * block);
        a->give();
    }
    // The first ten of them arrive.
    void ten_of_thirty_blocks()
    {
        thirty_blocks();
        for (unsigned i = 0; i < 30; ++i) {
            const auto frame = frame_of(*a);
            ASSERT_EQ(head_of(frame).kind, wire::FrameKind::kBlock);
            if (i < 10) {
                b->take(b->machine.receive(frame, sim.now));
            }
        }
    }
    static bool write(sim::Host& h, std::size_t bytes)
    {
        const std::vector<std::byte> packet(bytes, std::byte{5});
        return h.machine.write_lane(h.lane, packet, {});
    }

    sim::Sim sim{testing::test_seed(3)};
    sim::Host* a{nullptr};
    sim::Host* b{nullptr};
};

}   // namespace linnet::flow
