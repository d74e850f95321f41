// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What the counters say: exactly what was done, once; and by them, what the event thread does while a program computes.
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <cstdlib>

#include "integration/waist/waist.h"

namespace linnet::testing {
namespace {

TEST(WaistCounters, MessagesAndBytesAreThoseOfTheUser)
{
    Endpoint a{{{"eager_limit", "64k"}, {"retain_limit", "16k"}}};
    Endpoint b;
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    // Synchronous, and with its answer comes the peer's credit, without which 64 KiB might be asked for; copied, sent out of place and copied, sent out of
    // place and acknowledged, by rendezvous, empty.
    struct Message {
        std::size_t size;
        std::uint32_t flags;
    };
    constexpr std::array<Message, 6> kMessages{{{100, LINNET_SEND_SYNC}, {8, 0}, {5000, 0}, {65536, 0}, {1000003, 0}, {0, 0}}};
    std::uint64_t bytes = 0;
    std::array<Op, kMessages.size()> sends;
    std::array<Op, kMessages.size()> recvs;
    std::vector<std::vector<unsigned char>> in(kMessages.size());
    const auto out = pattern(1000003);
    for (std::size_t i = 0; i < kMessages.size(); ++i) {
        const auto [size, flags] = kMessages[i];
        bytes += size;
        in[i].resize(size + 1);
        ASSERT_GE(b.recv(recvs[i], to_a, i, contiguous(in[i].data(), size)), 0);
        ASSERT_GE(a.send(sends[i], to_b, i, contiguous(out.data(), size), flags), 0);
        ASSERT_TRUE(drive({&a, &b}, [&] { return sends[i].complete() && recvs[i].complete(); })) << size;
    }
    const std::uint64_t count = kMessages.size();
    EXPECT_EQ(a.counter("tx_messages"), count);
    EXPECT_EQ(a.counter("tx_bytes"), bytes);
    EXPECT_EQ(a.counter("eager_sent"), count - 1);
    EXPECT_EQ(a.counter("rndv_sent"), 1u);
    EXPECT_EQ(a.counter("rx_messages"), 0u);
    EXPECT_EQ(b.counter("rx_messages"), count);
    EXPECT_EQ(b.counter("rx_bytes"), bytes);
    EXPECT_EQ(b.counter("rndv_received"), 1u);
    EXPECT_EQ(b.counter("tx_messages"), 0u) << "acknowledgements and grants are no messages of the user";
    EXPECT_EQ(b.counter("completions"), count);
    EXPECT_EQ(a.counter("tcp_reconnects"), 0u);
}

template <class Ops>
bool complete(const Ops& ops)
{
    return std::all_of(ops.begin(), ops.end(), [](const Op& op) { return op.complete(); });
}

// Its partner waits for it. A row of sends is another matter.
TEST(WaistCounters, NoStepOfAnExchangeIsHeldBack)
{
    Endpoint a;
    Endpoint b;
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    constexpr std::size_t kSteps = 4;
    std::array<unsigned char, 8> out{};
    std::array<std::array<unsigned char, 8>, 2 * kSteps> in{};
    const auto round = [&](bool exchange) {
        std::array<Op, 2 * kSteps> sends;
        std::array<Op, 2 * kSteps> recvs;
        for (std::size_t i = 0; i < kSteps; ++i) {   // b is ahead
            b.send(sends[i], to_a, i, contiguous(out.data(), 8));
            b.recv(recvs[i], to_a, i, contiguous(in[i].data(), 8));
        }
        for (std::size_t i = kSteps; i < 2 * kSteps && !exchange; ++i) {
            a.recv(recvs[i], to_b, i - kSteps, contiguous(in[i].data(), 8));
        }
        for (std::size_t i = kSteps; i < 2 * kSteps; ++i) {
            if (exchange) {
                a.recv(recvs[i], to_b, i - kSteps, contiguous(in[i].data(), 8));
            }
            a.send(sends[i], to_b, i - kSteps, contiguous(out.data(), 8));
        }
        return drive({&a, &b}, [&] { return complete(sends) && complete(recvs); });
    };
    for (int i = 0; i < 300; ++i) {
        ASSERT_TRUE(round(true)) << i;
    }
    EXPECT_EQ(a.counter("held_back") + b.counter("held_back"), 0u);
    const auto end = std::chrono::steady_clock::now() + 20s;
    while (a.counter("held_back") == 0 && std::chrono::steady_clock::now() < end) {
        ASSERT_TRUE(round(false));
    }
    EXPECT_GT(a.counter("held_back"), 0u);
}

// Where a packet is one store into memory that the other side looks at, nothing is saved by sending several at a time.
TEST(WaistCounters, NothingIsHeldBackOverSharedMemory)
{
    Endpoint a{{{"transports", "shm"}}};
    Endpoint b{{{"transports", "shm"}}};
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    constexpr std::size_t kRow = 4;
    const auto out = pattern(6000);
    const std::array<iovec, 2> parts{{{const_cast<unsigned char*>(out.data()), 3000}, {const_cast<unsigned char*>(out.data()) + 3000, 3000}}};
    linnet_data_t strided{};
    strided.length = 6000;
    strided.iov = parts.data();
    strided.iov_count = parts.size();
    std::array<std::vector<unsigned char>, kRow> in;
    in.fill(std::vector<unsigned char>(6000));
    for (int round = 0; round < 300; ++round) {
        std::array<Op, kRow> sends;
        std::array<Op, kRow> recvs;
        for (std::size_t i = 0; i < kRow; ++i) {
            ASSERT_GE(b.recv(recvs[i], to_a, i, contiguous(in[i].data(), 6000)), 0);
        }
        for (std::size_t i = 0; i < kRow; ++i) {
            const bool whole = i % 2 == 0;
            ASSERT_GE(a.send(sends[i], to_b, i, whole ? contiguous(out.data(), 6000) : strided, whole ? LINNET_SEND_COPY : 0), 0);
        }
        ASSERT_TRUE(drive({&a, &b}, [&] { return complete(sends) && complete(recvs); }));
        EXPECT_EQ(in[kRow - 1], out);
    }
    EXPECT_EQ(a.counter("held_back"), 0u);
}

TEST(WaistCounters, EagerLimitBoundsShortMessagesOverSharedMemoryToo)
{
    Endpoint a{{{"transports", "shm"}, {"eager_limit", "1k"}}};
    Endpoint b{{{"transports", "shm"}, {"eager_limit", "1k"}}};
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    const auto out = pattern(4096);
    std::vector<unsigned char> in(4096);
    std::uint64_t announced = 0;
    for (const std::size_t size : {0u, 8u, 1024u, 1025u, 4096u}) {
        Op send;
        Op recv;
        ASSERT_GE(b.recv(recv, to_a, 1, contiguous(in.data(), size)), 0);
        ASSERT_GE(a.send(send, to_b, 1, contiguous(out.data(), size)), 0);
        ASSERT_TRUE(drive({&a, &b}, [&] { return send.complete() && recv.complete(); })) << size;
        announced += size > 1024 ? 1 : 0;
        EXPECT_EQ(a.counter("rndv_sent"), announced) << size;
    }
}

TEST(WaistCounters, ProgressForWhatIsHeldBackIsNoneWithoutIt)
{
    Endpoint a;
    Endpoint b;
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    constexpr std::size_t kRow = 8;
    std::array<unsigned char, 8> out{};
    std::array<std::array<unsigned char, 8>, kRow> in{};
    const auto end = std::chrono::steady_clock::now() + 20s;
    bool sent = false;
    while (!sent && std::chrono::steady_clock::now() < end) {   // the event thread may be quicker
        std::array<Op, kRow> sends;
        std::array<Op, kRow> recvs;
        for (std::size_t i = 0; i < kRow; ++i) {
            b.recv(recvs[i], to_a, i, contiguous(in[i].data(), 8));
        }
        const std::uint64_t held = a.counter("held_back");
        for (std::size_t i = 0; i < kRow; ++i) {
            a.send(sends[i], to_b, i, contiguous(out.data(), 8));
        }
        const std::uint64_t before = a.counter("app_polls");
        linnet_progress(a.context(), 0, LINNET_IF_HELD);
        sent = a.counter("held_back") > held && a.counter("app_polls") > before;
        ASSERT_TRUE(drive({&a, &b}, [&] { return complete(sends) && complete(recvs); }));
    }
    EXPECT_TRUE(sent);
    linnet_progress(a.context(), 0, 0);
    const std::uint64_t before = a.counter("app_polls");
    for (int i = 0; i < 10; ++i) {
        EXPECT_EQ(linnet_progress(a.context(), 0, LINNET_IF_HELD), 0u);
    }
    EXPECT_EQ(a.counter("app_polls"), before);
}

TEST(WaistCounters, TruncationCancellationAndLackOfCreditAreCounted)
{
    Endpoint a{{{"eager_credit", "128k"}}};
    Endpoint b{{{"eager_credit", "128k"}}};
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    const auto out = pattern(60000);
    std::vector<unsigned char> in(60000);
    Op never;
    ASSERT_EQ(b.recv(never, to_a, 99, contiguous(in.data(), 10)), LINNET_IN_PROGRESS);
    EXPECT_EQ(linnet_cancel(b.context(), &never.request), LINNET_OK);
    EXPECT_EQ(b.counter("canceled"), 1u);
    std::array<Op, 6> sends;
    for (Op& s : sends) {   // without a receive: two have credit
        ASSERT_GE(a.send(s, to_b, 1, contiguous(out.data(), out.size())), 0);
    }
    EXPECT_GE(a.counter("credit_stalls"), 3u);
    EXPECT_EQ(a.counter("tx_messages"), 6u);
    std::uint64_t truncated = 0;
    for (std::size_t i = 0; i < sends.size(); ++i) {
        Op r;
        ASSERT_GE(b.recv(r, to_a, 1, contiguous(in.data(), 50000)), LINNET_ERR_TRUNCATED);
        ASSERT_TRUE(drive({&a, &b}, [&] { return r.complete(); }));
        EXPECT_EQ(r.status(), LINNET_ERR_TRUNCATED);
        EXPECT_EQ(b.counter("truncated"), ++truncated);
    }
    ASSERT_TRUE(drive({&a, &b}, [&] { return std::all_of(sends.begin(), sends.end(), [](const Op& s) { return s.complete(); }); }));
    EXPECT_EQ(b.counter("rx_bytes"), 6u * 60000u) << "all of each message, also what was cut off";
}

TEST(WaistCounters, OneRefusedHelloIsOneRefusal)
{
    Endpoint b;
    Endpoint c{{{"connect_timeout", "5s"}}};
    c.expect_complaints();
    linnet_name_t forged = b.name();
    reinterpret_cast<unsigned char*>(&forged)[20] ^= 1;   // of the secret
    linnet_peer_t to_b = LINNET_PEER_UNKNOWN;
    ASSERT_EQ(linnet_peer_add(c.context(), &forged, &to_b), LINNET_OK);
    const auto out = pattern(100000);
    Op send;
    ASSERT_EQ(c.send(send, to_b, 1, contiguous(out.data(), out.size())), LINNET_IN_PROGRESS);
    ASSERT_TRUE(drive({&b, &c}, [&] { return send.complete(); }));
    EXPECT_EQ(send.status(), LINNET_ERR_REFUSED);
    EXPECT_EQ(b.counter("refused_hellos"), b.counter("tcp_accepts"));
    EXPECT_EQ(b.counter("refused_hellos"), 1u);
    EXPECT_NE(c.complaints().find("secret"), std::string::npos) << c.complaints();
}

// The receiver computes: it calls nothing at all. Its event thread drains the sockets, matches and acknowledges, so the sender gets rid of far more than
// sockets hold, up to the credit. Without that thread it does not: the test can fail.
class ComputingReceiver : public ::testing::TestWithParam<bool> {};

TEST_P(ComputingReceiver, DoesNotThrottleItsSenderUpToTheCredit)
{
    constexpr std::size_t kSize = 60000;
    constexpr std::size_t kCount = 500;    // 30 MB
    const bool event_thread = GetParam();
    Endpoint a{{{"eager_credit", "32m"}, {"retain_limit", "0"}}};   // a send completes when the receiver has it
    Endpoint b{{{"eager_credit", "32m"}, {"event_thread", event_thread ? "on" : "off"}}};
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    const auto out = pattern(kSize);
    std::array<unsigned char, 8> in{};
    Op first;
    Op receive;
    ASSERT_EQ(b.recv(receive, to_a, 1, contiguous(in.data(), in.size())), LINNET_IN_PROGRESS);
    ASSERT_EQ(a.send(first, to_b, 1, contiguous(out.data(), in.size()), LINNET_SEND_SYNC), LINNET_IN_PROGRESS);
    ASSERT_TRUE(drive({&a, &b}, [&] { return first.complete() && receive.complete(); }));   // so the sender knows its credit
    const std::uint64_t own_polls = b.counter("app_polls");

    std::vector<Op> sends(kCount);
    for (Op& s : sends) {
        ASSERT_GE(a.send(s, to_b, 2, contiguous(out.data(), kSize)), 0);
    }
    const auto all = [&] { return std::all_of(sends.begin(), sends.end(), [](const Op& s) { return s.complete(); }); };
    if (event_thread) {
        ASSERT_TRUE(drive({&a}, all, 30s));
        EXPECT_EQ(b.counter("rx_messages"), 1 + kCount);
        EXPECT_EQ(b.counter("unexpected"), kCount);
        EXPECT_EQ(b.counter("rx_bytes"), 8 + kCount * kSize);
        EXPECT_EQ(a.counter("rndv_sent"), 0u) << "the credit was not that large";
        EXPECT_GE(b.counter("event_thread_wakeups"), 1u);
    } else {
        EXPECT_FALSE(drive({&a}, all, 500ms));
        EXPECT_EQ(b.counter("rx_messages"), 1u);
    }
    EXPECT_EQ(b.counter("app_polls"), own_polls) << "the receiver was to compute only";
    ASSERT_TRUE(drive({&a, &b}, all, 30s));
}

INSTANTIATE_TEST_SUITE_P(EventThread, ComputingReceiver, ::testing::Values(true, false),
                         [](const auto& p) { return std::string{p.param ? "On" : "Off"}; });

// A job of a thousand peers under a limit of 256 descriptors is told so before it begins, not in the middle of its work.
[[noreturn]] void open_with_few_descriptors(const char* peers)
{
    const rlimit few{256, 256};
    ::setrlimit(RLIMIT_NOFILE, &few);
    const std::array<linnet_setting_t, 2> settings{{{"net_include", "lo"}, {"expected_peers", peers}}};
    linnet_open_options_t o{};
    o.size = sizeof o;
    o.settings = settings.data();
    o.setting_count = settings.size();
    linnet_context_t* c = nullptr;
    const linnet_status_t s = linnet_context_open(&o, &c);
    std::_Exit(s == LINNET_OK ? 0 : s == LINNET_ERR_NO_DESCRIPTORS ? 3 : 4);
}

TEST(WaistDescriptors, ThousandPeersUnderALimitOf256AreRefusedAtTheStart)
{
    ::testing::GTEST_FLAG(death_test_style) = "threadsafe";   // a fresh process: a context starts threads, which a fork of ours must not
    EXPECT_EXIT(open_with_few_descriptors("1000"), ::testing::ExitedWithCode(3),
                "file descriptors are needed \\(2 for each of 1000 peers.*only 256 may be opened.*ulimit -n.*expected_peers or descriptor_reserve");
    EXPECT_EXIT(open_with_few_descriptors("50"), ::testing::ExitedWithCode(0), "");
}

TEST(WaistSettings, WrongOnesAreRefusedByName)
{
    const std::array<std::array<const char*, 3>, 5> wrong{{
        {"connect_timeout", "soon", "connect_timeout"},
        {"eager_limit", "2g", "eager_limit"},
        {"net_include", "10.0.0.0/33", "net_include"},
        {"net_include", "nosuchinterface0", "net_include"},
        {"conect_timeout", "1s", "connect_timeout"},
    }};
    for (const auto& [name, value, named] : wrong) {
        std::string said;
        const linnet_setting_t setting{name, value};
        linnet_open_options_t o{};
        o.size = sizeof o;
        o.settings = &setting;
        o.setting_count = 1;
        o.log = [](void* arg, linnet_log_level_t, const char* line) noexcept { *static_cast<std::string*>(arg) += line; };
        o.log_arg = &said;
        linnet_context_t* c = nullptr;
        EXPECT_LT(linnet_context_open(&o, &c), 0) << name;
        EXPECT_NE(said.find(named), std::string::npos) << said;
    }
}

}   // namespace
}   // namespace linnet::testing
