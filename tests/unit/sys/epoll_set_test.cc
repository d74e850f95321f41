// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EpollSet: membership, data, timeouts.
#include "sys/epoll_set.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include <array>

#include "support/test_log.h"
#include "sys/event_fd.h"
#include "sys/system_clock.h"

namespace linnet {
namespace {

using testing::test_log;

struct Fixture {
    EpollSet set = EpollSet::open(test_log()).value();
    EventFd a = EventFd::open(test_log()).value();
    EventFd b = EventFd::open(test_log()).value();
    std::array<EpollEvent, 4> events{};
};

TEST(EpollSet, TellsWhichDescriptorIsReadyByItsData)
{
    Fixture f;
    ASSERT_EQ(f.set.add(f.a.get(), EPOLLIN, 0x1111'2222'3333'4444, test_log()), Status::kOk);
    ASSERT_EQ(f.set.add(f.b.get(), EPOLLIN, 7, test_log()), Status::kOk);
    EXPECT_EQ(f.set.wait(f.events, Nanos{0}), 0u);
    f.a.signal();
    ASSERT_EQ(f.set.wait(f.events, EpollSet::kForever), 1u);
    EXPECT_EQ(std::uint64_t{f.events[0].data.u64}, 0x1111'2222'3333'4444u);   // by value: an epoll_event is packed
    f.b.signal();
    EXPECT_EQ(f.set.wait(f.events, Nanos{1}), 2u);
    EXPECT_EQ(f.set.wait(std::span{f.events}.first(1), Nanos{0}), 1u);   // no more than there is room for
}

TEST(EpollSet, ModifyChangesInterestAndData)
{
    Fixture f;
    ASSERT_EQ(f.set.add(f.a.get(), EPOLLIN, 1, test_log()), Status::kOk);
    f.a.signal();
    ASSERT_EQ(f.set.modify(f.a.get(), 0, 1, test_log()), Status::kOk);
    EXPECT_EQ(f.set.wait(f.events, Nanos{0}), 0u);
    ASSERT_EQ(f.set.modify(f.a.get(), EPOLLIN, 2, test_log()), Status::kOk);
    ASSERT_EQ(f.set.wait(f.events, Nanos{0}), 1u);
    EXPECT_EQ(std::uint64_t{f.events[0].data.u64}, 2u);
}

TEST(EpollSet, RemovedDescriptorIsSilent)
{
    Fixture f;
    ASSERT_EQ(f.set.add(f.a.get(), EPOLLIN, 1, test_log()), Status::kOk);
    f.a.signal();
    f.set.remove(f.a.get());
    f.set.remove(f.a.get());   // twice is no error
    EXPECT_EQ(f.set.wait(f.events, Nanos{0}), 0u);
}

TEST(EpollSet, WaitIsNeverShorterThanAsked)
{
    Fixture f;
    for (const Nanos timeout : {Nanos{200'000}, Nanos{3'000'000}}) {
        const TimePoint start = monotonic_now();
        EXPECT_EQ(f.set.wait(f.events, timeout), 0u);
        EXPECT_GE(monotonic_now() - start, timeout);
    }
}

TEST(EpollSet, FailureIsLoggedWithItsCause)
{
    Fixture f;
    testing::expect_complaint("epoll_ctl add: Bad file descriptor");
    EXPECT_EQ(f.set.add(-1, EPOLLIN, 0, test_log()), Status::kIo);
}

TEST(EpollSet, IsNotInherited)
{
    Fixture f;
    EXPECT_NE(::fcntl(f.set.get(), F_GETFD) & FD_CLOEXEC, 0);
}

}   // namespace
}   // namespace linnet
