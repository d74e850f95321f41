// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The end of a context while messages are on their way, and a child of fork() that comes and goes meanwhile.
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>

#include "integration/waist/waist.h"

namespace linnet::testing {
namespace {

constexpr std::size_t kLong = 4u << 20;

// What is open at the end: long sends that nobody receives, receives that nothing matches, a transfer in the middle.
struct Open {
    std::vector<std::unique_ptr<Op>> ops;
    std::vector<std::vector<unsigned char>> memory;
    Op& next(std::size_t bytes)
    {
        memory.push_back(pattern(bytes));
        ops.push_back(std::make_unique<Op>());
        return *ops.back();
    }
    linnet_data_t data() { return contiguous(memory.back().data(), memory.back().size()); }
};

void start_everything(Endpoint& from, linnet_peer_t to, Endpoint& other, linnet_peer_t back, Open& open)
{
    for (const std::size_t bytes : {std::size_t{10}, std::size_t{40'000}, kLong}) {
        Op& unmatched = open.next(bytes);
        from.send(unmatched, to, 1, open.data());
        Op& matched = open.next(bytes);
        from.send(matched, to, 2, open.data());
        Op& receive = open.next(bytes);
        other.recv(receive, back, 2, open.data());
        Op& lonely = open.next(bytes);
        other.recv(lonely, back, 3, open.data());
    }
}

class Ending : public ::testing::TestWithParam<bool> {};

// Afterwards the requests and their memory are the host's again: it frees them at once, and AddressSanitizer watches who still uses them.
TEST_P(Ending, WithTrafficInFlightIsBoundedAndTouchesNothingAfterwards)
{
    const bool sender_first = GetParam();
    for (int passes = 0; passes < 4; ++passes) {
        auto a = std::make_unique<Endpoint>(std::vector<linnet_setting_t>{{"transports", "tcp"}, {"finalize_timeout", "1s"}});
        auto b = std::make_unique<Endpoint>(std::vector<linnet_setting_t>{{"transports", "tcp"}, {"finalize_timeout", "1s"}});
        a->expect_complaints();
        b->expect_complaints();
        auto of_a = std::make_unique<Open>();
        start_everything(*a, a->add(*b), *b, b->add(*a), *of_a);
        for (int i = 0; i < passes * 20; ++i) {
            a->progress();
            b->progress();
        }
        auto& first = sender_first ? a : b;
        auto& second = sender_first ? b : a;
        const auto began = std::chrono::steady_clock::now();
        first->close();
        EXPECT_LT(std::chrono::steady_clock::now() - began, 20s);
        second->close();
        EXPECT_LT(std::chrono::steady_clock::now() - began, 40s);
        of_a.reset();
    }
}
INSTANTIATE_TEST_SUITE_P(Of, Ending, ::testing::Bool(), [](const auto& which) { return std::string{which.param ? "TheSender" : "TheReceiver"}; });

// Without the goodbye the other side would take the end of its connection for a death, and say so.
TEST(Goodbye, IsSaidThoughTheConnectionIsBrokenJustThen)
{
    for (int round = 0; round < 5; ++round) {
        Endpoint b{{{"transports", "tcp"}}};
        Endpoint a{{{"transports", "tcp"}}};
        const linnet_peer_t to_b = a.add(b);
        const linnet_peer_t to_a = b.add(a);
        const auto out = pattern(100);
        std::vector<unsigned char> in(out.size());
        Op send;
        Op recv;
        Op never;
        b.recv(recv, to_a, 7, contiguous(in.data(), in.size()));
        b.recv(never, to_a, 8, contiguous(in.data(), in.size()));
        a.send(send, to_b, 7, contiguous(out.data(), out.size()));
        ASSERT_TRUE(drive({&a, &b}, [&] { return send.complete() && recv.complete(); }));
        ASSERT_EQ(linnet_context_flush(a.context(), 5'000'000'000), LINNET_OK);
        ASSERT_FALSE(tcp_connections().empty());
        shut(tcp_connections());
        for (int i = 0; i < round; ++i) {   // to find it broken, or not yet
            a.progress();
        }
        a.close();
        ASSERT_TRUE(drive({&b}, [&] { return never.done == 1; }));
        EXPECT_EQ(never.status(), LINNET_ERR_PEER_DOWN);
    }
}

// Who has no time to wait looks all the same: nobody else does here.
TEST(Waist, WaitsOfNoTimeMakeProgress)
{
    Endpoint a;
    Endpoint b{{{"event_thread", "off"}}};
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    unsigned in = 0;
    const unsigned out = 5;
    Op send;
    Op recv;
    b.recv(recv, to_a, 1, contiguous(&in, sizeof in));
    a.send(send, to_b, 1, contiguous(&out, sizeof out));
    for (const auto end = std::chrono::steady_clock::now() + 10s; !recv.complete() && std::chrono::steady_clock::now() < end;) {
        linnet_wait(b.context(), 0);
    }
    EXPECT_EQ(recv.status(), LINNET_OK);
    EXPECT_EQ(in, out);
}

TEST(Waist, FlushOfNoLimitEndsWhenTheSettingSays)
{
    Endpoint a{{{"finalize_timeout", "300ms"}, {"trace_events", "8"}}};
    Endpoint silent{{{"event_thread", "off"}}};
    a.expect_complaints();
    silent.expect_complaints();
    const linnet_peer_t to_silent = a.add(silent);
    silent.add(a);
    unsigned char byte = 1;
    Op send;
    ASSERT_GE(a.send(send, to_silent, 1, contiguous(&byte, 1)), 0);
    const auto begin = std::chrono::steady_clock::now();
    EXPECT_EQ(linnet_context_flush(a.context(), UINT64_MAX), LINNET_ERR_TIMED_OUT);
    EXPECT_GE(std::chrono::steady_clock::now() - begin, 300ms);
    EXPECT_LT(std::chrono::steady_clock::now() - begin, 5s);
    EXPECT_NE(a.complaints().find("within 300 ms (setting finalize_timeout)"), std::string::npos) << a.complaints();
    EXPECT_NE(a.complaints().find(" send peer 0 bytes 1 bits 0x1"), std::string::npos) << a.complaints();
}

TEST(Waist, UnknownVariablesAreToldAtTheLevelThatIsAskedFor)
{
    ASSERT_EQ(::setenv("LINNET_NO_SUCH_SETTING", "1", 1), 0);
    Endpoint told;
    Endpoint quiet{{{"log_level", "error"}}};
    ::unsetenv("LINNET_NO_SUCH_SETTING");
    told.expect_complaints();
    EXPECT_EQ(told.said("unknown variable LINNET_NO_SUCH_SETTING ignored"), 1u);
    EXPECT_EQ(quiet.said("unknown variable"), 0u);
}

// The child's copy of the context is dead, says so, and can be closed without a word to the peers.
TEST(Fork, LeavesTheParentUnharmedAndTheChildWithADeadContext)
{
    Endpoint a{{{"transports", "tcp"}}};
    Endpoint b{{{"transports", "tcp"}}};
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    const auto out = pattern(kLong);
    for (int round = 0; round < 4; ++round) {
        std::vector<unsigned char> in(kLong);
        Op send;
        Op recv;
        b.recv(recv, to_a, 7, contiguous(in.data(), in.size()));
        a.send(send, to_b, 7, contiguous(out.data(), out.size()));
        for (int i = 0; i < round * 5; ++i) {
            a.progress();
            b.progress();
        }
        const pid_t child = fork();
        ASSERT_GE(child, 0);
        if (child == 0) {
            linnet_peer_t p = 0;
            const linnet_name_t nobody{};
            Op dead;
            bool ok = a.send(dead, to_b, 1, contiguous(out.data(), 10)) == LINNET_ERR_CLOSED && b.recv(dead, to_a, 1, {}) == LINNET_ERR_CLOSED;
            ok = ok && linnet_progress(a.context(), 0, LINNET_MAY_SLEEP) == 0 && linnet_wait(a.context(), 1'000'000) == LINNET_ERR_CLOSED;
            ok = ok && linnet_peer_add(a.context(), &nobody, &p) == LINNET_ERR_CLOSED;
            if (round % 2 == 0) {
                linnet_context_close(a.context());
            }
            _exit(ok ? 7 : 1);
        }
        EXPECT_TRUE(drive({&a, &b}, [&] { return send.complete() && recv.complete(); }, 30s));
        EXPECT_EQ(in, out);
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 7) << status;
    }
}

}   // namespace
}   // namespace linnet::testing
