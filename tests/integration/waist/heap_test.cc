// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The data path takes nothing from the heap: neither the calls of the host nor the event threads behind them.
#include <ostream>
#include <string>
#include <vector>

#include "integration/waist/waist.h"
#include "support/heap.h"

namespace linnet::testing {
namespace {

constexpr unsigned kRounds = 1000;

struct Path {
    const char* transports;
    std::size_t bytes;
    bool posted_first;
    std::uint32_t flags;
};

void PrintTo(const Path& p, std::ostream* to) { *to << p.transports << ' ' << p.bytes; }

std::string name_of(const ::testing::TestParamInfo<Path>& p)
{
    return std::string{p.param.transports} + '_' + std::to_string(p.param.bytes) + (p.param.posted_first ? "_expected" : "_unexpected") +
           ((p.param.flags & LINNET_SEND_SYNC) != 0 ? "_synchronous" : "");
}

class PingPong : public ::testing::TestWithParam<Path> {
protected:
    PingPong() : a_{settings()}, b_{settings()}, to_b_{a_.add(b_)}, to_a_{b_.add(a_)} {}

    // One message each way. A count of failed assertions would allocate.
    bool round() { return one(a_, to_b_, b_, to_a_) && one(b_, to_a_, a_, to_b_); }
    bool one(Endpoint& from, linnet_peer_t to, Endpoint& at, linnet_peer_t source)
    {
        const Path& p = GetParam();
        Op send;
        Op recv;
        if (p.posted_first && at.recv(recv, source, 7, contiguous(in_.data(), p.bytes)) < 0) {
            return false;
        }
        if (from.send(send, to, 7, contiguous(out_.data(), p.bytes), p.flags) < 0) {
            return false;
        }
        if (!p.posted_first) {
            const linnet_match_t what{source, 1, 7, 0};
            linnet_result_t seen{};
            const auto came = [&] { return linnet_probe(at.context(), &what, &seen) == LINNET_OK; };
            if (!drive({&from, &at}, came) || at.recv(recv, source, 7, contiguous(in_.data(), p.bytes)) < 0) {
                return false;
            }
        }
        return drive({&from, &at}, [&] { return send.complete() && recv.complete(); }) && recv.status() == LINNET_OK;
    }

    // The statistics page, which is written some ten times a second whatever happens, spells names.
    static std::vector<linnet_setting_t> settings() { return {{"transports", GetParam().transports}, {"stats_page", "off"}}; }

    Endpoint a_;
    Endpoint b_;
    linnet_peer_t to_b_;
    linnet_peer_t to_a_;
    std::vector<unsigned char> out_ = pattern(256 << 10);
    std::vector<unsigned char> in_ = std::vector<unsigned char>(256 << 10);
};

TEST_P(PingPong, AllocatesNothingForAMessage)
{
    for (unsigned n = 0; n < kRounds; ++n) {   // connections, pools, tables, the other copy of what is there twice
        ASSERT_TRUE(round()) << n;
    }
    const std::uint64_t before = allocations();
    unsigned good = 0;
    while (good < kRounds && round()) {
        ++good;
    }
    EXPECT_LT(allocations() - before, kRounds / 100) << "a pool may grow once more when a thread was late, and no more";
    EXPECT_EQ(good, kRounds);
}

INSTANTIATE_TEST_SUITE_P(Short, PingPong,
                         ::testing::Values(Path{"tcp", 0, true, 0}, Path{"tcp", 8, true, 0}, Path{"tcp", 2048, true, 0}, Path{"tcp", 8, false, 0},
                                           Path{"tcp", 2048, false, 0}, Path{"tcp", 8, true, LINNET_SEND_SYNC}, Path{"udp", 8, true, 0},
                                           Path{"udp", 2048, true, 0}, Path{"udp", 8, false, 0}, Path{"shm", 0, true, 0}, Path{"shm", 8, true, 0},
                                           Path{"shm", 2048, true, 0}, Path{"shm", 4096, true, 0}, Path{"shm", 8, false, 0},
                                           Path{"shm", 8, true, LINNET_SEND_SYNC}),
                         name_of);
INSTANTIATE_TEST_SUITE_P(Long, PingPong,
                         ::testing::Values(Path{"tcp", 32768, true, 0}, Path{"tcp", 256 << 10, true, 0}, Path{"udp", 32768, true, 0},
                                           Path{"udp", 256 << 10, true, 0}, Path{"shm", 32768, true, 0}, Path{"shm", 256 << 10, true, 0}),
                         name_of);

}   // namespace
}   // namespace linnet::testing
