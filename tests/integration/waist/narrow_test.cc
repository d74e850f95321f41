// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// A path between two hosts that gets narrower than the frames in the midst of messages: the kernel does not cut runs of datagrams apart any more, and takes
// each alone, which it sends in fragments.
#include <algorithm>
#include <array>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>

#include "integration/waist/two_hosts.h"

namespace linnet::testing {
namespace {

class NarrowPath : public TwoHosts {
protected:
    // Datagrams of a host that its kernel sent in fragments.
    [[nodiscard]] unsigned long fragmented(unsigned host) const
    {
        const NamespacePair::Scope there{*hosts_, host};
        std::ifstream in{"/proc/thread-self/net/snmp"};
        std::string names;
        std::string values;
        std::getline(in, names);
        std::getline(in, values);
        std::istringstream n{names};
        std::istringstream v{values};
        for (std::string name, value; n >> name && v >> value;) {
            if (name == "FragOKs") {
                return std::stoul(value);
            }
        }
        ADD_FAILURE() << "no FragOKs in " << names;
        return 0;
    }
    // A message of each size both ways; `after` is called once, when the longest is under way.
    template <class F>
    void exchange(F after)
    {
        const auto end = std::chrono::steady_clock::now() + 30s;
        Patience patience;
        for (const std::size_t bytes : {std::size_t{100}, std::size_t{30'000}, std::size_t{8} << 20, std::size_t{60'000}}) {
            const auto out = pattern(bytes, ++seed_);
            std::array<std::vector<unsigned char>, 2> in{std::vector<unsigned char>(bytes), std::vector<unsigned char>(bytes)};
            std::array<Op, 4> ops;
            for (const unsigned host : {0u, 1u}) {
                const NamespacePair::Scope there{*hosts_, host};
                ASSERT_GE(ends_[host]->recv(ops[host], peer_[host], 7, contiguous(in[host].data(), bytes)), 0);
                ASSERT_GE(ends_[host]->send(ops[2 + host], peer_[host], 7, contiguous(out.data(), bytes)), 0);
            }
            const std::uint64_t sent = ends_[0]->counter("udp_tx_bytes");
            bool told = bytes < 1'000'000;
            while (!std::all_of(ops.begin(), ops.end(), [](const Op& op) { return op.complete(); })) {
                ASSERT_LT(std::chrono::steady_clock::now(), end) << bytes << " bytes";
                pass(patience);
                if (!told && ends_[0]->counter("udp_tx_bytes") - sent > 1'000'000) {
                    told = true;
                    after();
                }
            }
            ASSERT_TRUE(told);
            for (const unsigned host : {0u, 1u}) {
                ASSERT_EQ(ops[host].status(), LINNET_OK);
                ASSERT_EQ(in[host], out);
            }
        }
    }
    [[nodiscard]] double frames_of_a_call(unsigned host, std::uint64_t frames, std::uint64_t calls) const
    {
        return static_cast<double>(ends_[host]->counter("flow_frames_out") - frames) / static_cast<double>(ends_[host]->counter("udp_tx_calls") - calls);
    }

    unsigned seed_{0};
};

TEST_F(NarrowPath, RouteThatNarrowsInMidRunLosesNothing)
{
    constexpr const char* kNarrow = "became too narrow for datagrams of";
    // Without an event thread the messages move in pass() alone, so that most of the longest is still to come when its route narrows.
    ASSERT_NO_FATAL_FAILURE(open({{"net_include", ""}, {"transports", "udp"}, {"event_thread", "off"}}));
    exchange([] {});
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_GT(frames_of_a_call(0, 0, 0), 4) << "this kernel cuts";
    ASSERT_EQ(fragmented(0), 0u);
    exchange([&] { ASSERT_TRUE(hosts_->ip(0, "route change 10.99.0.0/24 dev eth0 src 10.99.0.1 mtu 1000")); });
    ASSERT_FALSE(HasFatalFailure());
    const auto narrow = ends_[0]->said(kNarrow);
    EXPECT_GE(narrow, 1u);
    EXPECT_LE(narrow, 2u) << "of each channel that cut for this host, once";
    EXPECT_EQ(ends_[1]->said(kNarrow), 0u) << "its own path is as it was";
    const std::uint64_t frames = ends_[0]->counter("flow_frames_out");
    const unsigned long before = fragmented(0);
    EXPECT_GT(before, 1000u);
    exchange([] {});   // all of it by the narrow path
    EXPECT_GT(fragmented(0) - before, (ends_[0]->counter("flow_frames_out") - frames) / 2) << "frames are as long as before, and go in fragments";
    EXPECT_EQ(ends_[0]->said(kNarrow), narrow);
    for (const auto& end : ends_) {
        EXPECT_EQ(end->said("refused to cut datagrams apart"), 0u) << "other hosts would be reached by cut ones as ever";
    }
    for (const auto& end : ends_) {
        for (const char* const name : {"peers_lost", "reconnects", "protocol_errors"}) {
            EXPECT_EQ(end->counter(name), 0u) << name;
        }
    }
}

}   // namespace
}   // namespace linnet::testing
