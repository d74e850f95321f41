// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Shared contexts: buffers for several messages.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <string>
#include <vector>

#include "integration/ofi/region.h"
#include "integration/ofi/shared_hub.h"

namespace linnet::ofi_test {
namespace {

void post_multi(Hub& h, std::vector<char>& buffer)
{
    const iovec iov{buffer.data(), buffer.size()};
    fi_msg m{};
    m.msg_iov = &iov;
    m.iov_count = 1;
    m.addr = FI_ADDR_UNSPEC;
    m.context = &buffer;
    h.post([&] { return fi_recvmsg(h.srx, &m, FI_MULTI_RECV); });
}

TEST(LinnetShared, MultiReceiveBufferTakesMessagesOfAllEndpointsAndIsReleasedOnce)
{
    constexpr unsigned kMessages = 24;
    constexpr std::size_t kBytes[] = {1000, 40, 100000, 7};
    hub_and_peers(
        [&](Hub& h, Friend& f) {
            std::size_t least = 100001;
            ASSERT_EQ(fi_setopt(&h.srx->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least), 0);
            std::array<std::vector<char>, 3> buffers;
            unsigned released = 0;
            std::size_t post = 0;
            for (auto& b : buffers) {
                b.resize(450000);
                post_multi(h, b);
                ++post;
            }
            f.meet();
            std::array<std::size_t, 3> used{};
            std::array<unsigned, kEnds> seen{};
            for (unsigned i = 0; i < kMessages; ++i) {
                const auto c = h.next(0);
                ASSERT_EQ(c.error, 0) << i;
                const fi_cq_tagged_entry& e = c.told;
                const auto b = static_cast<std::size_t>(static_cast<std::vector<char>*>(e.op_context) - buffers.data());
                ASSERT_LT(b, buffers.size());
                const auto to = static_cast<std::size_t>(*static_cast<const char*>(e.buf));
                ASSERT_LT(to, kEnds);
                auto wanted = pattern(kBytes[seen[to] % 4], static_cast<unsigned>(to * 100 + seen[to]));
                wanted[0] = static_cast<char>(to);
                ++seen[to];
                EXPECT_EQ(e.len, wanted.size());
                EXPECT_EQ(e.buf, buffers[b].data() + used[b]);
                EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), static_cast<const char*>(e.buf)));
                used[b] += e.len;
                const bool last = buffers[b].size() - used[b] < least;
                EXPECT_EQ((e.flags & FI_MULTI_RECV) != 0, last);
                released += (e.flags & FI_MULTI_RECV) != 0 ? 1 : 0;
                if (released == 2 && post == 3) {   // the last messages need a fourth one
                    buffers[0].assign(buffers[0].size(), '\0');
                    used[0] = 0;
                    post_multi(h, buffers[0]);
                    ++post;
                }
            }
            EXPECT_EQ(fi_cancel(&h.srx->fid, &buffers[2]) == 0 || fi_cancel(&h.srx->fid, buffers.data()) == 0, true);
            const auto c = h.next(0);   // the endpoint that was enabled first
            EXPECT_EQ(c.error, FI_ECANCELED);
            EXPECT_NE(c.told.flags & FI_MULTI_RECV, 0u);
        },
        [&](Peers& p, Friend& f) {
            std::vector<std::vector<char>> out;
            f.meet();
            for (unsigned i = 0; i < kMessages / 2; ++i) {
                for (std::size_t to = 0; to < kEnds; ++to) {   // one sender for each endpoint: then the order is known
                    out.push_back(pattern(kBytes[i % 4], static_cast<unsigned>(to * 100 + i)));
                    out.back()[0] = static_cast<char>(to);
                    p.send(to, to, out.back().data(), out.back().size(), 0, false);
                }
            }
            p.sent();
        },
        {.caps = FI_TAGGED | FI_MSG | FI_MULTI_RECV, .one_queue = true});
}

// As LinnetMultiRecv.CanceledBufferTakesNoMoreThanTheMessageItHas.
TEST(LinnetShared, CanceledBufferEndsBehindTheMessageThatItTakes)
{
    constexpr std::size_t kBytes = 1'000'000;
    constexpr int kRounds = 40;
    hub_and_peers(
        [&](Hub& h, Friend& f) {
            std::vector<char> buffer(2 * kBytes);
            for (int round = 0; round < kRounds; ++round) {   // canceled before it has the message, while it takes it, and after that
                post_multi(h, buffer);
                f.meet();
                fi_cq_tagged_entry e{};
                ssize_t got = -FI_EAGAIN;
                for (const auto end = Clock::now() + round * 20us; got == -FI_EAGAIN && Clock::now() < end;) {
                    got = fi_cq_read(h.rx[0], &e, 1);
                }
                EXPECT_EQ(fi_cancel(&h.srx->fid, &buffer), 0) << round;
                EXPECT_EQ(fi_cancel(&h.srx->fid, &buffer), -FI_ENOENT);
                auto c = h.next(0);
                if (got == -FI_EAGAIN && c.error == 0) {   // it had begun, and was not over
                    got = 1;
                    e = c.told;
                    c = h.next(0);
                }
                ASSERT_EQ(c.error, FI_ECANCELED);
                EXPECT_NE(c.told.flags & FI_MULTI_RECV, 0u);
                if (got == 1) {
                    EXPECT_EQ(e.op_context, &buffer);
                    EXPECT_EQ(e.flags & FI_MULTI_RECV, 0u);
                    EXPECT_EQ(e.len, kBytes);
                } else {   // it is still for somebody else
                    h.post([&] { return fi_recv(h.srx, buffer.data(), buffer.size(), nullptr, FI_ADDR_UNSPEC, nullptr); });
                    EXPECT_EQ(h.next(0).told.len, kBytes);
                }
            }
        },
        [&](Peers& p, Friend& f) {
            const auto out = pattern(kBytes, 3);
            for (int round = 0; round < kRounds; ++round) {
                f.meet();
                p.send(0, 0, out.data(), out.size(), 0, false);
                p.sent();
            }
        },
        {.caps = FI_TAGGED | FI_MSG | FI_MULTI_RECV, .transports = "tcp"});   // where the bytes take several calls
}

// The sender stops in the middle of a message, which ends with the endpoint that it came to; the buffer is told at the other one, and once.
TEST(LinnetShared, CanceledBufferWhoseEndpointClosesIsToldAtTheOther)
{
    constexpr std::size_t kBytes = 200'000'000;   // some 50 ms
    two_processes(
        [](Friend& f) {
            ::setenv("FI_LINNET_TRANSPORTS", "tcp", 1);
            ::setenv("FI_LINNET_FINALIZE_TIMEOUT", "200ms", 1);   // that closing waits for the one that is stopped
            std::vector<char> buffer(kBytes);
            Hub h{{.caps = FI_TAGGED | FI_MSG | FI_MULTI_RECV}};
            h.connect(f);
            const pid_t second = std::stoi(f.hear());
            post_multi(h, buffer);
            f.meet();
            for (const auto end = Clock::now() + 20s; as_left_by_the_other_side({buffer.data(), 1})[0] == 0 && Clock::now() < end;) {
                h.progress();
            }
            stop(second);
            EXPECT_EQ(fi_cancel(&h.srx->fid, &buffer), 0);
            EXPECT_EQ(fi_cancel(&h.srx->fid, &buffer), -FI_ENOENT);
            EXPECT_TRUE(h.quiet_for(50ms)) << "the message was over, or had not begun";
            h.close(0);
            const auto c = h.next(1);
            EXPECT_EQ(c.error, FI_ECANCELED);
            EXPECT_EQ(c.told.op_context, &buffer);
            EXPECT_NE(c.told.flags & FI_MULTI_RECV, 0u);
            EXPECT_TRUE(h.quiet_for(20ms));
            EXPECT_EQ(::kill(second, SIGKILL), 0);
        },
        [](Friend& f) {
            ::setenv("FI_LINNET_TRANSPORTS", "tcp", 1);
            Peers p{f};
            f.tell(std::to_string(::getpid()));
            f.meet();
            const std::vector<char> out(kBytes, 'y');
            p.send(0, 0, out.data(), out.size(), 0, false);
            p.sent();
        },
        SIGKILL);
}

}   // namespace
}   // namespace linnet::ofi_test
