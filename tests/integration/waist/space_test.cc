// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// A space that is closed while the messages that nobody received are taken back by their sender.
#include <atomic>
#include <thread>

#include "integration/waist/waist.h"
#include "sync/backoff.h"

namespace linnet::testing {
namespace {

// Either comes first; the message is gone, its sender knows, and the space can be used again.
TEST(Waist, SpaceIsClosedWhileItsMessagesAreCanceled)
{
    constexpr std::size_t kMessages = 8;
    constexpr unsigned kRounds = 300;
    Endpoint a;
    Endpoint b;
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    std::atomic<bool> over{false};
    std::thread taking{[&] {   // what comes to b
        while (!over) {
            b.progress();
        }
    }};
    for (unsigned round = 0; round < kRounds && !HasFailure(); ++round) {
        std::vector<Op> sends(kMessages);
        for (std::size_t i = 0; i < kMessages; ++i) {
            EXPECT_EQ(a.send(sends[i], to_b, i, contiguous(&round, sizeof round), LINNET_SEND_SYNC), LINNET_IN_PROGRESS);
        }
        const linnet_match_t last{to_a, 1, kMessages - 1, 0};
        linnet_result_t seen{};
        EXPECT_TRUE(drive({&a}, [&] { return linnet_probe(b.context(), &last, &seen) == LINNET_OK; }));
        std::thread canceling{[&] {
            for (Op& send : sends) {
                const linnet_status_t canceled = linnet_cancel(a.context(), &send.request);
                EXPECT_TRUE(canceled >= 0 || canceled == LINNET_ERR_NOT_FOUND) << canceled;   // it was dropped with the space
            }
        }};
        for (unsigned spin = 0; spin < round * 4; ++spin) {
            cpu_pause();
        }
        EXPECT_EQ(linnet_space_close(b.context(), 1), LINNET_OK);
        canceling.join();
        EXPECT_TRUE(drive({&a}, [&] { return std::ranges::all_of(sends, [](const Op& o) { return o.complete(); }); }));
        for (const Op& send : sends) {
            EXPECT_TRUE(send.status() == LINNET_OK || send.status() == LINNET_ERR_CANCELED) << send.status();
        }
    }
    over = true;
    taking.join();
    unsigned in = 0;
    const unsigned out = 5;
    Op send;
    Op recv;
    b.recv(recv, to_a, 1, contiguous(&in, sizeof in));
    a.send(send, to_b, 1, contiguous(&out, sizeof out));
    ASSERT_TRUE(drive({&a, &b}, [&] { return send.complete() && recv.complete(); }));
    EXPECT_EQ(in, out);
}

}   // namespace
}   // namespace linnet::testing
