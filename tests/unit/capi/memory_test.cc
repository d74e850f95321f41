// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Want of memory: whichever allocation of a call fails, the call says so or does without, and leaves nothing behind.
#include <gtest/gtest.h>

#include <array>
#include <string>

#include "capi/linnet_rma.h"
#include "support/heap.h"
#include "unit/capi/quiet_context.h"

namespace linnet::capi {
namespace {

using testing::kNever;
using testing::t_allocations_left;

struct Tries {
    unsigned refused{0};   // allocations whose failure the call reported
    unsigned absorbed{0};  // ... that it could do without
};

// `call` again and again, each time with another allocation that fails, until none did. `undo` after each success.
template <class Call, class Undo>
Tries fail_each_allocation(Call call, Undo undo)
{
    Tries tries;
    for (std::size_t n = 0;; ++n) {
        t_allocations_left = n;
        const linnet_status_t s = call();
        const bool failed = t_allocations_left == kNever;
        t_allocations_left = kNever;
        if (s >= 0) {
            undo();
            ++tries.absorbed;
        } else {
            EXPECT_EQ(s, LINNET_ERR_NO_MEMORY) << "allocation " << n << ": " << linnet_status_text(s);
            ++tries.refused;
        }
        if (!failed) {
            EXPECT_GE(s, 0) << linnet_status_text(s);
            --tries.absorbed;
            return tries;
        }
    }
}

TEST(WantOfMemory, OpeningAContextSaysSo)
{
    const linnet_open_options_t o = quiet_options();
    linnet_context_t* c = nullptr;
    const Tries tries = fail_each_allocation([&] { return linnet_context_open(&o, &c); }, [&] { linnet_context_close(c); });
    EXPECT_GT(tries.refused, 20u);
}

// Whatever failed, the next call finds one peer for one name.
template <class Add>
void expect_one_peer_each(Add add)
{
    unsigned refused = 0;
    std::size_t n = 0;
    linnet_peer_t peers = 0;
    unsigned in_vain = 0;   // allocations of a call that did not fail; now and then a table grows
    for (unsigned who = 1; in_vain < 20; ++who) {
        linnet_peer_t peer = 0;
        t_allocations_left = n++;
        const linnet_status_t s = add(who, &peer);
        const bool failed = t_allocations_left == kNever;
        t_allocations_left = kNever;
        if (s < 0) {
            EXPECT_EQ(s, LINNET_ERR_NO_MEMORY) << linnet_status_text(s);
            ++refused;
        }
        EXPECT_EQ(add(who, &peer), LINNET_OK);
        EXPECT_EQ(peer, peers++) << "call " << who << (failed ? ", an allocation failed" : "");
        if (!failed) {
            ++in_vain;
            n = 0;
        }
    }
    EXPECT_GE(refused, 20u);
}

TEST(WantOfMemory, AddingAPeerByNameSaysSoAndLeavesNone)
{
    const QuietContext context;
    linnet_name_t name{};
    ASSERT_EQ(linnet_context_name(context.get(), &name), LINNET_OK);
    const unsigned char own = name.bytes[9];
    expect_one_peer_each([&](unsigned who, linnet_peer_t* peer) {
        name.bytes[8] = static_cast<unsigned char>(who);   // of the endpoint's id
        name.bytes[9] = static_cast<unsigned char>(own + 1 + who / 256);
        return linnet_peer_add(context.get(), &name, peer);
    });
}

TEST(WantOfMemory, AddingAPeerByAddressSaysSoAndLeavesNone)
{
    const QuietContext context;
    expect_one_peer_each([&](unsigned who, linnet_peer_t* peer) {
        return linnet_peer_add_address(context.get(), "127.0.0.1", std::to_string(who).c_str(), peer);
    });
}

TEST(WantOfMemory, RegionIsNotOpened)
{
    const QuietContext context;
    std::array<char, 16> memory{};
    linnet_region_options_t o{};
    o.size = sizeof o;
    o.base = memory.data();
    o.length = memory.size();
    linnet_region_t* region = nullptr;
    const Tries tries = fail_each_allocation([&] { return linnet_region_open(context.get(), &o, &region); },
                                             [&] { EXPECT_EQ(linnet_region_close(context.get(), region), LINNET_OK); });
    EXPECT_GT(tries.refused, 0u);
}

TEST(WantOfMemory, ReceiveInANewSpaceSaysSo)
{
    const QuietContext context;
    linnet_recv_t recv{};
    recv.peer = LINNET_PEER_ANY;
    recv.done = [](linnet_request_t*, void*) noexcept {};
    linnet_request_t request{};
    const Tries tries = fail_each_allocation([&] { ++recv.space; return linnet_tag_recv(context.get(), &recv, &request); },
                                             [&] { EXPECT_EQ(linnet_cancel(context.get(), &request), LINNET_OK); });
    EXPECT_GT(tries.refused, 0u);
}

}   // namespace
}   // namespace linnet::capi
