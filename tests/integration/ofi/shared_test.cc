// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Shared contexts of fi_endpoint(3): endpoints that send through one transmit context, and take what comes with the receives of one receive context.
#include <map>
#include <tuple>
#include <vector>

#include "integration/ofi/shared_hub.h"

namespace linnet::ofi_test {
namespace {

constexpr std::size_t kSizes[] = {1, 300, 5000, 70000, 300000};

// A message of this test: who sent it, where to, the how manyth of the pair; then a pattern.
std::vector<char> message(std::size_t from, std::size_t to, unsigned i)
{
    auto m = pattern(std::max<std::size_t>(kSizes[i % std::size(kSizes)], 3), static_cast<unsigned>(from * 1000 + to * 100 + i));
    m[0] = static_cast<char>(from);
    m[1] = static_cast<char>(to);
    m[2] = static_cast<char>(i);
    return m;
}

class SharedReceive : public ::testing::TestWithParam<std::tuple<bool, bool>> {};   // tagged; receives are posted first

TEST_P(SharedReceive, TakesWhatComesToEitherEndpointInTheOrderOfEachSender)
{
    constexpr unsigned kEach = 15;
    const bool tagged = std::get<0>(GetParam());
    const bool first = std::get<1>(GetParam());
    hub_and_peers(
        [&](Hub& h, Friend& f) {
            std::vector<std::vector<char>> in(4 * kEach, std::vector<char>(300000));
            const auto post_all = [&] {
                for (auto& b : in) {
                    h.post([&] {
                        return tagged ? fi_trecv(h.srx, b.data(), b.size(), nullptr, FI_ADDR_UNSPEC, 0, ~0ull, &b)
                                      : fi_recv(h.srx, b.data(), b.size(), nullptr, FI_ADDR_UNSPEC, &b);
                    });
                }
            };
            if (first) {
                post_all();
            }
            f.meet();
            if (!first) {
                EXPECT_EQ(f.hear(), "now");   // some of it has been sent
                post_all();
            }
            for (std::size_t e = 0; e < kEnds; ++e) {
                for (unsigned i = 0; i < 2 * kEach; ++i) {
                    const auto c = h.next(e);
                    ASSERT_EQ(c.error, 0);
                    const auto& b = *static_cast<std::vector<char>*>(c.told.op_context);
                    EXPECT_EQ(b[1], static_cast<char>(e)) << "it completed where it was sent to";
                    const auto wanted = message(static_cast<std::size_t>(b[0]), e, static_cast<unsigned>(b[2]));
                    EXPECT_EQ(c.told.len, wanted.size());
                    EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), b.begin())) << "from " << int{b[0]} << " number " << int{b[2]};
                    const std::uint64_t kind = (tagged ? FI_TAGGED : FI_MSG) | FI_RECV;
                    EXPECT_EQ(c.told.flags & kind, kind);
                    if (tagged) {
                        EXPECT_EQ(c.told.tag, 100u * static_cast<unsigned>(b[0]) + static_cast<unsigned>(b[2]));
                    }
                }
            }
            std::map<std::pair<int, int>, int> seen;   // long messages may complete later than short ones behind them: the order is that of the receives
            for (const auto& b : in) {
                EXPECT_EQ(b[2], (seen[{b[0], b[1]}]++)) << "from " << int{b[0]} << " to " << int{b[1]};
            }
        },
        [&](Peers& p, Friend& f) {
            f.meet();
            std::vector<std::vector<char>> out;
            for (unsigned i = 0; i < kEach; ++i) {
                for (std::size_t from = 0; from < kEnds; ++from) {
                    for (std::size_t to = 0; to < kEnds; ++to) {
                        out.push_back(message(from, to, i));
                        p.send(from, to, out.back().data(), out.back().size(), 100 * from + i, tagged);
                    }
                }
                if (i == kEach / 2 && !first) {
                    f.tell("now");
                }
            }
            p.sent();
        });
}
INSTANTIATE_TEST_SUITE_P(TaggedOrNotPostedFirstOrLater, SharedReceive, ::testing::Combine(::testing::Bool(), ::testing::Bool()));

TEST(SharedReceives, MatchByTheirTagsInTheOrderOfPosting)
{
    hub_and_peers(
        [](Hub& h, Friend& f) {
            char in[6] = {};
            const auto post = [&](int i, std::uint64_t tag, std::uint64_t ignore) {
                h.post([&] { return fi_trecv(h.srx, &in[i], 1, nullptr, FI_ADDR_UNSPEC, tag, ignore, &in[i]); });
            };
            post(0, 7, 0);
            post(1, 0, ~0ull);     // any: after number 0
            post(2, 7, 0);
            post(3, 0x10, 0x0f);
            post(4, 0x10, 0x0f);
            h.post([&] { return fi_recv(h.srx, &in[5], 1, nullptr, FI_ADDR_UNSPEC, &in[5]); });   // untagged: takes none of these
            f.meet();
            for (int i = 0; i < 3; ++i) {   // all to endpoint 0, by the same sender: 7, 7, 7
                const auto c = h.next(0);
                EXPECT_EQ(c.told.op_context, &in[i]);
                EXPECT_EQ(in[i], static_cast<char>('a' + i));
            }
            f.meet();
            const auto c = h.next(1);   // 0x1f, 0x12
            EXPECT_EQ(c.told.op_context, &in[3]);
            EXPECT_EQ(c.told.tag, 0x1fu);
            EXPECT_EQ(h.next(1).told.op_context, &in[4]);
            const auto d = h.next(1);
            EXPECT_EQ(d.told.op_context, &in[5]);
            EXPECT_EQ(in[5], 'f');
        },
        [](Peers& p, Friend& f) {
            const char out[] = "abcdef";
            f.meet();
            for (int i = 0; i < 3; ++i) {
                p.send(0, 0, &out[i], 1, 7);
            }
            p.sent();
            f.meet();
            p.send(1, 1, &out[3], 1, 0x1f);
            p.send(1, 1, &out[4], 1, 0x12);
            p.send(1, 1, &out[5], 1, 0, false);
            p.sent();
        });
}

TEST(SharedReceives, AreCountedAtTheEndpointThatTheMessageCameTo)
{
    hub_and_peers(
        [](Hub& h, Friend& f) {
            char in[5] = {};
            for (char& b : in) {
                h.post([&] { return fi_trecv(h.srx, &b, 1, nullptr, FI_ADDR_UNSPEC, 0, ~0ull, &b); });
            }
            f.meet();
            for (int i = 0; i < 2; ++i) {
                h.next(0);
            }
            for (int i = 0; i < 3; ++i) {
                h.next(1);
            }
            EXPECT_EQ(fi_cntr_read(h.received[0]), 2u);
            EXPECT_EQ(fi_cntr_read(h.received[1]), 3u);
        },
        [](Peers& p, Friend& f) {
            f.meet();
            for (const std::size_t to : {0u, 1u, 1u, 0u, 1u}) {
                p.send(0, to, "x", 1);
            }
            p.sent();
        },
        {.counters = true});
}

TEST(SharedTransmit, EndpointsOfOneContextSendEachUnderItsOwnNameAndCompleteOnItsOwnQueue)
{
    hub_and_peers(
        [](Hub& h, Friend& f) {
            f.meet();
            for (std::size_t i = 0; i < 10; ++i) {
                const std::size_t from = i % kEnds;
                const auto out = message(from, 0, static_cast<unsigned>(i));
                int context = 0;
                h.post([&] { return fi_tsend(h.ep[from], out.data(), out.size(), nullptr, h.peer[i % 3 == 0], i, &context); });
                fi_cq_tagged_entry e{};
                ssize_t n = -FI_EAGAIN;
                for (const auto end = Clock::now() + 20s; n == -FI_EAGAIN && Clock::now() < end;) {
                    n = fi_cq_read(h.tx[from], &e, 1);
                    h.progress();
                }
                EXPECT_EQ(n, 1);
                EXPECT_EQ(e.op_context, &context);
            }
        },
        [](Peers& p, Friend& f) {
            std::vector<std::vector<char>> in(10, std::vector<char>(300000));
            for (std::size_t i = 0; i < in.size(); ++i) {
                Node& n = p.node[i % 3 == 0];
                n.post([&] { return fi_trecv(n.ep, in[i].data(), in[i].size(), nullptr, FI_ADDR_UNSPEC, i, 0, &in[i]); });
            }
            f.meet();
            for (std::size_t k = 0; k < in.size(); ++k) {
                Node& n = p.node[k % 3 == 0];
                const auto c = n.next(n.rx);
                const auto i = static_cast<std::size_t>(static_cast<std::vector<char>*>(c.op_context) - in.data());
                ASSERT_LT(i, in.size());
                EXPECT_EQ(c.tag, i);
                const auto wanted = message(i % kEnds, 0, static_cast<unsigned>(i));
                EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), in[i].begin())) << i;
            }
        });
}

}   // namespace
}   // namespace linnet::ofi_test
