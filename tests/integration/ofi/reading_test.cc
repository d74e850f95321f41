// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What fi_cq_read() does besides reading, and does not: progress, and when. A send that is waited for. A domain with one thread.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "integration/ofi/node.h"

namespace linnet::ofi_test {
namespace {

constexpr std::uint64_t kTag = 1;
constexpr int kMostSpared = 32;   // looks behind the last completion, one after the other, that make no progress

// Tells the other side of a message that its process has.
void send_delivered(Node& n)
{
    const iovec iov{const_cast<char*>("x"), 1};
    fi_msg_tagged m{};
    m.msg_iov = &iov;
    m.iov_count = 1;
    m.addr = n.peer;
    m.tag = kTag;
    n.post([&] { return fi_tsendmsg(n.ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE); });
    static_cast<void>(n.next(n.tx));
}

// Who has taken a message in before the program looks: without an event thread it lies in the ring.
enum class TakenBy : std::uint8_t { kNobody, kEventThread };

// Two messages; the second is there before `look` is called, and the program has not looked since the first was read.
void with_a_message_there(TakenBy by, const std::function<void(Node&)>& look)
{
    two_processes(
        [&](Friend& other) {
            if (by == TakenBy::kNobody) {
                ::setenv("LINNET_EVENT_THREAD", "off", 1);
            }
            char in[2];   // outlives the node, whose end takes in what nobody has looked at
            Node n;
            n.connect(other);
            for (char& c : in) {
                n.post([&] { return fi_trecv(n.ep, &c, 1, nullptr, FI_ADDR_UNSPEC, kTag, 0, nullptr); });
            }
            other.meet();
            static_cast<void>(n.next(n.rx));
            other.meet();
            other.meet();
            look(n);
            other.meet();
        },
        [&](Friend& other) {
            Node n;
            n.connect(other);
            const auto send = [&] {
                if (by == TakenBy::kEventThread) {
                    send_delivered(n);
                } else {   // nobody would say so there
                    n.post([&] { return fi_tsend(n.ep, "x", 1, nullptr, n.peer, kTag, nullptr); });
                    static_cast<void>(n.next(n.tx));
                }
            };
            other.meet();
            send();
            other.meet();
            send();
            other.meet();
            other.meet();
        });
}

// Sends that are complete at once, each of which is read before the next, up to the end of the queue.
void send_and_read(Node& n, int count)
{
    for (int i = 0; i < count; ++i) {
        fi_cq_tagged_entry e{};
        n.post([&] { return fi_tsend(n.ep, "y", 1, nullptr, n.peer, kTag + 1, nullptr); });
        EXPECT_EQ(fi_cq_read(n.tx, &e, 1), 1);
        EXPECT_EQ(fi_cq_read(n.tx, &e, 1), -FI_EAGAIN);
    }
}

TEST(LinnetReading, LookBehindTheLastCompletionMakesNoProgressAndTheNextDoes)
{
    with_a_message_there(TakenBy::kNobody, [](Node& n) {
        fi_cq_tagged_entry e{};
        EXPECT_EQ(fi_cq_read(n.rx, &e, 1), -FI_EAGAIN);
        EXPECT_EQ(fi_cq_read(n.rx, &e, 1), 1);
    });
}

// A program may look but once for each piece of its work.
TEST(LinnetReading, LookBehindTheLastCompletionSeesWhatIsComplete)
{
    with_a_message_there(TakenBy::kEventThread, [](Node& n) {
        std::this_thread::sleep_for(std::chrono::milliseconds{20});   // its sender knows of it before the event thread has ended its pass
        fi_cq_tagged_entry e{};
        EXPECT_EQ(fi_cq_read(n.rx, &e, 1), 1);
    });
}

// Else each of them would go out alone.
TEST(LinnetReading, ReadingTheSendsOfARowDoesNotEndIt)
{
    with_a_message_there(TakenBy::kNobody, [](Node& n) {
        send_and_read(n, kMostSpared / 2);
        fi_cq_tagged_entry e{};
        EXPECT_EQ(fi_cq_read(n.rx, &e, 1), -FI_EAGAIN);
    });
}

TEST(LinnetReading, WhoReadsOnlyWhatItSendsMakesProgressNowAndThen)
{
    with_a_message_there(TakenBy::kNobody, [](Node& n) {
        send_and_read(n, kMostSpared + 1);
        fi_cq_tagged_entry e{};
        EXPECT_EQ(fi_cq_read(n.rx, &e, 1), 1);
    });
}

// Within a host the peer's acknowledgement would complete it otherwise, and comes later.
TEST(LinnetReading, SendThatIsWaitedForIsCompleteAtOnce)
{
    constexpr std::size_t kSize = 4096;
    two_processes(
        [&](Friend& other) {
            Node n;
            n.connect(other);
            const auto out = pattern(kSize, 1);
            for (int i = 0; i < 3; ++i) {
                n.post([&] { return fi_tsend(n.ep, out.data(), kSize, nullptr, n.peer, kTag, nullptr); });
                fi_cq_tagged_entry e{};
                if (i != 0) {   // the first one connects
                    EXPECT_EQ(fi_cq_read(n.tx, &e, 1), 1);
                } else {
                    static_cast<void>(n.next(n.tx));
                }
                other.meet();
            }
        },
        [&](Friend& other) {
            Node n;
            n.connect(other);
            for (int i = 0; i < 3; ++i) {
                std::vector<char> in(kSize);
                n.post([&] { return fi_trecv(n.ep, in.data(), kSize, nullptr, FI_ADDR_UNSPEC, kTag, 0, nullptr); });
                static_cast<void>(n.next(n.rx));
                EXPECT_EQ(in, pattern(kSize, 1));
                other.meet();
            }
        });
}

// What an application that promises one thread is told is what any other one is.
class OneThread : public ::testing::TestWithParam<fi_wait_obj> {};

TEST_P(OneThread, ExchangesMessagesOfAllKinds)
{
    constexpr std::size_t kSizes[] = {1, 1024, 3000, 50000, 200000};
    const Side side = [&](Friend& other) {
        Node n{{.wait = GetParam(), .threading = FI_THREAD_DOMAIN}};
        n.connect(other);
        for (int round = 0; round < 20; ++round) {
            for (const std::size_t size : kSizes) {
                const auto out = pattern(size, 2);
                std::vector<char> in(size);
                n.post([&] { return fi_trecv(n.ep, in.data(), size, nullptr, FI_ADDR_UNSPEC, kTag, 0, nullptr); });
                n.post([&] { return fi_tsend(n.ep, out.data(), size, nullptr, n.peer, kTag, nullptr); });
                static_cast<void>(n.next(n.tx));
                EXPECT_EQ(n.next(n.rx).len, size);
                EXPECT_EQ(in, out);
            }
        }
        other.meet();
    };
    two_processes(side, side);
}
INSTANTIATE_TEST_SUITE_P(Linnet, OneThread, ::testing::Values(FI_WAIT_NONE, FI_WAIT_FD, FI_WAIT_MUTEX_COND));

}   // namespace
}   // namespace linnet::ofi_test
