// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// A process that is killed while a child of its fork() lives on, which has all that it had open: also the sockets whose end would tell of its death.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>

#include "contract/endpoint.h"
#include "contract/shm_processes.h"

namespace linnet::contract {
namespace {

TEST(ShmHeir, DoesNotHideTheDeathOfItsParent)
{
    std::array<int, 2> life{};
    ASSERT_EQ(::pipe(life.data()), 0);
    Solo child{21};
    Solo parent{22};
    Child process{[&] {
        ::close(life[1]);
        if (!child.open() || !child.run_until([&] { return !child.end.sink.ups.empty(); })) {
            ::_exit(3);
        }
        if (::fork() == 0) {   // lives until the test lets it go
            char none = 0;
            static_cast<void>(::read(life[0], &none, 1) == 1);
            ::_exit(0);
        }
        const Packet said = eager(1, 100);
        const std::array batch{said.lane()};
        static_cast<void>(child.end.transport->send_lane(child.end.sink.ups[0].link, batch));
        while (true) {
            child.end.transport->poll(64);
        }
    }};
    ::close(life[0]);
    ASSERT_TRUE(parent.open());
    ASSERT_TRUE(parent.calls(child, LinkRole::kLane));
    const Sink& seen = parent.end.sink;
    ASSERT_TRUE(parent.run_until([&] { return !seen.packets.empty(); })) << "the heir is there by then";
    ASSERT_TRUE(seen.downs.empty());
    const TimePoint due = parent.end.transport->next_timer();
    EXPECT_LE(due, monotonic_now() + 1s) << "a thread that sleeps looks, too";
    process.kill();
    const TimePoint killed = monotonic_now();
    ASSERT_TRUE(parent.run_until([&] { return !seen.downs.empty(); }, 5s)) << "nobody noticed";
    EXPECT_LT(monotonic_now() - killed, 4s);
    EXPECT_EQ(seen.downs[0].why, Status::kPeerDown);
    EXPECT_NE(seen.downs[0].text.find("has ended"), std::string::npos) << seen.downs[0].text;
    // Its name is still there. Whoever calls it is told that nobody is.
    ASSERT_TRUE(parent.end.transport->connect(PeerId{1}, LinkRole::kLane, child.end.name).ok());
    ASSERT_TRUE(parent.run_until([&] { return seen.downs.size() == 2; }, 5s));
    EXPECT_EQ(seen.downs[1].why, Status::kRefused);
    ::close(life[1]);
    parent.end.transport->shutdown();
    child.end.transport->shutdown();
}

TEST(ShmHeir, PeerThatIsOnlySilentKeepsItsLink)
{
    Solo child{23};
    Solo parent{24};
    Child process{[&] {
        if (!child.open()) {
            ::_exit(3);
        }
        while (true) {
            child.end.transport->poll(64);
        }
    }};
    ASSERT_TRUE(parent.open());
    ASSERT_TRUE(parent.calls(child, LinkRole::kLane));
    ASSERT_TRUE(parent.run_until([&] { return !parent.end.sink.ups.empty(); }));
    ASSERT_EQ(::kill(process.pid(), SIGSTOP), 0);
    EXPECT_FALSE(parent.run_until([&] { return !parent.end.sink.downs.empty(); }, 2500ms));
    ASSERT_EQ(::kill(process.pid(), SIGCONT), 0);
    parent.end.transport->shutdown();
    child.end.transport->shutdown();
}

}   // namespace
}   // namespace linnet::contract
