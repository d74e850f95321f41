// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Bulk packets over TCP that come before it is known where they go.
#include <gtest/gtest.h>

#include <chrono>
#include <string_view>
#include <thread>

#include "contract/endpoint.h"
#include "contract/raw_peer.h"

namespace linnet::contract {
namespace {

class TcpLater : public RawBulkLink {
protected:
    void SetUp() override
    {
        RawBulkLink::SetUp();
        if (IsSkipped() || HasFatalFailure()) {
            return;
        }
        ASSERT_TRUE(receiver().caps().unasked);
        link = b().ups.front().link;
        b().later = true;
        b().on_call = [this](const char* call, LinkId) { asked += std::string_view{call} == "on_bulk_begin" ? 1u : 0u; };
    }
    void send(std::uint32_t seed, std::size_t bytes)
    {
        const Bytes payload = pattern(seed, bytes);
        const wire::BulkHead head = bulk_head(seed, bytes);
        raw.send(std::as_bytes(std::span{&head, 1}));
        raw.send(payload);
    }
    // Of how many such waits of 1 ms the descriptor ends one at once.
    unsigned wake_ups(unsigned waits)
    {
        unsigned n = 0;
        for (unsigned i = 0; i < waits; ++i) {
            EXPECT_TRUE(receiver().prepare_sleep());
            receiver().will_sleep(EventSource::Sleeper::kEventThread);
            std::this_thread::sleep_for(std::chrono::milliseconds{1});
            n += readable(receiver()) ? 1u : 0u;
            receiver().finish_sleep();
            pair->poll();
        }
        return n;
    }
    LinkId link{};
    unsigned asked{0};
};

TEST_P(TcpLater, StayWhereTheyAreUntilItIs)
{
    send(1, 100'000);
    send(2, 50'000);
    ASSERT_TRUE(pair->run_until([&] { return asked != 0; }));
    pair->settle();
    EXPECT_TRUE(b().bulk.empty());
    EXPECT_EQ(b().begun, 0u);
    EXPECT_TRUE(b().downs.empty());

    b().later = false;
    receiver().resume_bulk(link);
    ASSERT_TRUE(pair->run_until([&] { return b().bulk.size() == 2; }));
    for (std::uint32_t i = 0; i < 2; ++i) {
        const std::size_t bytes = i == 0 ? 100'000 : 50'000;
        const wire::BulkHead head = bulk_head(i + 1, bytes);
        Bytes whole(sizeof head);
        std::memcpy(whole.data(), &head, sizeof head);
        const Bytes payload = pattern(i + 1, bytes);
        whole.insert(whole.end(), payload.begin(), payload.end());
        EXPECT_EQ(b().bulk[i].bytes, whole) << i;
        EXPECT_TRUE(b().bulk[i].ok);
    }
}

// What lies there is no news, for as long as that may be.
TEST_P(TcpLater, EndNoSleepMeanwhile)
{
    send(1, 100'000);
    ASSERT_TRUE(pair->run_until([&] { return asked != 0; }));
    EXPECT_LE(wake_ups(30), 3u);
    send(2, 50'000);   // and what follows it is none, either
    EXPECT_LE(wake_ups(30), 3u);

    b().later = false;
    receiver().resume_bulk(link);
    EXPECT_TRUE(becomes_readable(receiver()));
    ASSERT_TRUE(pair->run_until([&] { return b().bulk.size() == 2; }));
    send(3, 50'000);
    EXPECT_TRUE(becomes_readable(receiver())) << "the link is no longer watched";
    EXPECT_TRUE(pair->run_until([&] { return b().bulk.size() == 3; }));
}

// Whoever sleeps right after it became known is woken: the bytes are here.
TEST_P(TcpLater, AreNewsFromThenOn)
{
    for (const EventSource::Sleeper who : {EventSource::Sleeper::kEventThread, EventSource::Sleeper::kHost}) {
        b().later = true;
        const unsigned before = asked;
        send(1, 100'000);
        ASSERT_TRUE(pair->run_until([&] { return asked != before; }));
        b().later = false;
        receiver().resume_bulk(link);
        ASSERT_TRUE(receiver().prepare_sleep());
        receiver().will_sleep(who);
        EXPECT_TRUE(becomes_readable(receiver()));
        receiver().finish_sleep();
        ASSERT_TRUE(pair->run_until([&] { return b().bulk.size() == 1; }));
        b().bulk.clear();
    }
}

// Before resume_bulk() is called, for the question may come again at any time.
TEST_P(TcpLater, GoOnWhenAskedAgain)
{
    send(1, 100'000);
    ASSERT_TRUE(pair->run_until([&] { return asked != 0; }));
    b().later = false;
    EXPECT_TRUE(pair->run_until([&] { return b().bulk.size() == 1; }));
    receiver().resume_bulk(link);   // of a link that waits for nothing
    send(2, 1);
    EXPECT_TRUE(pair->run_until([&] { return b().bulk.size() == 2; }));
}

TEST_P(TcpLater, OutliveTheEndOfTheirSender)
{
    send(1, 100'000);
    ASSERT_TRUE(pair->run_until([&] { return asked != 0; }));
    raw.close();
    pair->settle();
    EXPECT_TRUE(b().bulk.empty());
    b().later = false;
    receiver().resume_bulk(link);
    EXPECT_TRUE(pair->run_until([&] { return b().bulk.size() == 1; }));
    EXPECT_TRUE(pair->run_until([&] { return b().downs.size() == 1; }));
}

TEST_P(TcpLater, AreLostWithTheirLink)
{
    send(1, 100'000);
    ASSERT_TRUE(pair->run_until([&] { return asked != 0; }));
    EXPECT_LE(wake_ups(10), 3u);
    raw.reset();
    ASSERT_TRUE(pair->run_until([&] { return b().downs.size() == 1; }));
    EXPECT_TRUE(b().bulk.empty());
    receiver().resume_bulk(link);   // which is no more
    pair->settle();
    EXPECT_EQ(b().downs.size(), 1u);
}

INSTANTIATE_TEST_SUITE_P(All, TcpLater, ::testing::ValuesIn(plain_kinds().begin() + 1, plain_kinds().begin() + 3),
                         [](const auto& p) { return std::string{p.param.name}; });

}   // namespace
}   // namespace linnet::contract
