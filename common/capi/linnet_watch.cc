// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// linnet_watch.h: the C face of watched spaces, and of what is done while the program is away.
#include "config.h"

#include "capi/linnet_watch.h"

#include "capi/boundary.h"

using namespace linnet;
using namespace linnet::capi;

static_assert(LINNET_NEWS_MESSAGES == proto::SpaceNews::kMessages && LINNET_NEWS_PEER == proto::SpaceNews::kPeer);

extern "C" {

linnet_status_t linnet_message_peer(linnet_context_t* ctx, const linnet_message_t* message, linnet_peer_t* peer) noexcept
{
    return entry(ctx, [&](core::Context&) {
        if (any_null(message, peer)) {
            return Status::kInvalid;
        }
        const proto::Peer& from = *reinterpret_cast<const proto::Unexpected*>(message)->peer;
        *peer = from.added.load(std::memory_order_relaxed) ? from.id.value : LINNET_PEER_UNKNOWN;
        return Status::kOk;
    });
}

linnet_status_t linnet_space_watch(linnet_context_t* ctx, uint32_t space, linnet_news_fn fn, void* arg) noexcept
{
    return post_entry(ctx, 0, [&](core::Context& c) {   // it leaves work open, as a region does
        if (fn == nullptr) {
            c.proto().unwatch(space);
            return Status::kOk;
        }
        return c.proto().watch(space, fn, arg);
    });
}

linnet_status_t linnet_tag_recv_renewed(linnet_context_t* ctx, const linnet_recv_t* recv, linnet_request_t* request) noexcept
{
    return post_receive(ctx, *recv, true, request);
}

linnet_status_t linnet_space_settle(linnet_context_t* ctx, uint32_t space, uint32_t renewed, uint64_t mark) noexcept
{
    return entry(ctx, [&](core::Context& c) { return c.proto().settle(space, renewed, mark); });
}

uint64_t linnet_space_mark(linnet_context_t* ctx, uint32_t space) noexcept
{
    return ctx != nullptr && ctx->core->alive() ? ctx->core->proto().mark(space) : 0;
}

linnet_status_t linnet_message_settle(linnet_context_t* ctx, linnet_message_t* message) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        if (message == nullptr) {
            return Status::kInvalid;
        }
        c.proto().settle(*reinterpret_cast<proto::Unexpected*>(message));
        return Status::kOk;
    });
}

linnet_status_t linnet_attend(linnet_context_t* ctx, linnet_attend_fn fn, void* arg) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        c.attend(fn, arg);
        return Status::kOk;
    });
}

unsigned linnet_hand_out(linnet_context_t* ctx) noexcept
{
    return ctx != nullptr && ctx->core->alive() ? ctx->core->hand_out() : 0;
}

}   // extern "C"
