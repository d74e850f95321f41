// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// A loop of active messages like MPICH's: handlers send, and call progress, from inside.
#include "integration/waist/waist.h"

namespace linnet::testing {
namespace {

// One side of a conversation: answers every message from inside its handler until the count in the header is used up.
struct Talker {
    linnet_peer_t other{LINNET_PEER_UNKNOWN};
    std::vector<std::unique_ptr<Op>> replies;
    std::vector<unsigned char> payload = pattern(3000);
    int handled{0};
    std::uint64_t last_immediate{0};
    bool in_order{true};
    int depth{0};
    int deepest{0};
    bool progress_inside{false};
    Endpoint endpoint;   // last, so that it closes before the memory of what it still has under way goes

    explicit Talker(std::vector<linnet_setting_t> settings = {}) : endpoint{std::move(settings)}
    {
        EXPECT_EQ(linnet_am_register(endpoint.context(), 3, handle, this), LINNET_OK);
    }
    linnet_status_t say(std::uint32_t hops, std::uint64_t immediate)
    {
        replies.push_back(std::make_unique<Op>());
        Op& op = *replies.back();
        linnet_am_t am{};
        am.peer = other;
        am.id = 3;
        am.immediate = immediate;
        am.header = &hops;
        am.header_bytes = sizeof hops;
        am.data = contiguous(payload.data(), payload.size());
        am.done = Op::on_done;
        am.done_arg = &op;
        return op.started = linnet_am_send(endpoint.context(), &am, &op.request);
    }
    static void handle(void* arg, linnet_peer_t from, std::uint64_t immediate, const void* header, std::size_t header_bytes, const void* body,
                       std::size_t body_bytes) noexcept
    {
        auto& t = *static_cast<Talker*>(arg);
        t.deepest = std::max(t.deepest, ++t.depth);
        ++t.handled;
        EXPECT_EQ(from, t.other);
        EXPECT_EQ(header_bytes, sizeof(std::uint32_t));
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(body) % 16, 0u);
        EXPECT_EQ(body_bytes, t.payload.size());
        EXPECT_EQ(std::memcmp(body, t.payload.data(), body_bytes), 0);
        t.in_order = t.in_order && (immediate == 0 || immediate > t.last_immediate);
        t.last_immediate = immediate;
        std::uint32_t hops = 0;
        std::memcpy(&hops, header, sizeof hops);
        if (hops > 0) {
            EXPECT_GE(t.say(hops - 1, 0), 0);
        }
        if (t.progress_inside && t.depth < 3) {
            t.endpoint.progress();
        }
        --t.depth;
    }
};

TEST(ActiveMessageLoop, RepliesFromInsideHandlersGoBackAndForth)
{
    Talker a;
    Talker b;
    a.other = a.endpoint.add(b.endpoint);
    b.other = b.endpoint.add(a.endpoint);
    ASSERT_GE(a.say(1000, 0), 0);
    ASSERT_TRUE(drive({&a.endpoint, &b.endpoint}, [&] { return a.handled + b.handled == 1001; }));
    EXPECT_EQ(b.handled, 501);
}

TEST(ActiveMessageLoop, FloodBeyondTheCreditWaitsAndArrivesInOrder)
{
    Talker a{{{"eager_credit", "128k"}}};
    Talker b{{{"eager_credit", "128k"}}};
    a.other = a.endpoint.add(b.endpoint);
    b.other = b.endpoint.add(a.endpoint);
    constexpr int kCount = 1000;
    int waiting = 0;
    for (int i = 1; i <= kCount; ++i) {
        waiting += a.say(0, static_cast<std::uint64_t>(i)) == LINNET_IN_PROGRESS;
    }
    EXPECT_GT(waiting, 0);   // b's memory is bounded: it has not run one handler yet
    ASSERT_TRUE(drive({&a.endpoint, &b.endpoint}, [&] { return b.handled == kCount; }));
    EXPECT_TRUE(b.in_order);
    ASSERT_TRUE(drive({&a.endpoint, &b.endpoint}, [&] {
        int done = 0;
        for (const auto& op : a.replies) {
            done += op->complete();
        }
        return done == kCount;
    }));
}

TEST(ActiveMessageLoop, ProgressInsideAHandlerIsAllowed)
{
    Talker a;
    Talker b;
    a.other = a.endpoint.add(b.endpoint);
    b.other = b.endpoint.add(a.endpoint);
    b.progress_inside = true;
    for (int i = 0; i < 100; ++i) {
        ASSERT_GE(a.say(0, 0), 0);
    }
    ASSERT_TRUE(drive({&a.endpoint, &b.endpoint}, [&] { return b.handled == 100; }));
    EXPECT_GT(b.deepest, 1);
}

TEST(ActiveMessageLoop, MessagesToAnUnregisteredIdAreDroppedAndCounted)
{
    Endpoint a;
    Talker b;
    const linnet_peer_t to_b = a.add(b.endpoint);
    Op op;
    linnet_am_t am{};
    am.peer = to_b;
    am.id = 9;
    am.done = Op::on_done;
    am.done_arg = &op;
    ASSERT_GE(op.started = linnet_am_send(a.context(), &am, &op.request), 0);
    ASSERT_TRUE(drive({&a, &b.endpoint}, [&] { return b.endpoint.counter("unexpected_dropped") == 1; }));
    am.id = LINNET_AM_IDS;
    EXPECT_EQ(linnet_am_send(a.context(), &am, &op.request), LINNET_ERR_INVALID);
}

}   // namespace
}   // namespace linnet::testing
