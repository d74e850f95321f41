// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// linnet_watch.h: the C face of watched spaces, and of what is done while the program is away.
#include "config.h"

#include "capi/linnet_watch.h"

#include "capi/boundary.h"

using namespace linnet;
using namespace linnet::capi;

static_assert(sizeof(proto::Reservation) <= sizeof(linnet_reservation_t) && alignof(proto::Reservation) <= LINNET_REQUEST_ALIGN);
static_assert(std::is_trivially_destructible_v<proto::Reservation>);
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

linnet_status_t linnet_reserve(linnet_context_t* ctx, const linnet_match_t* match, linnet_reservation_t* reservation) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        if (any_null(match, reservation)) {
            return Status::kInvalid;
        }
        const auto spec = match_of(c, *match);
        return spec ? c.proto().reserve(match->space, *spec, *new (reservation->opaque) proto::Reservation) : spec.status();
    });
}

linnet_status_t linnet_unreserve(linnet_context_t* ctx, linnet_reservation_t* reservation) noexcept
{
    return short_post_entry(ctx, [&](core::Context& c) {   // it may send
        if (reservation == nullptr) {
            return Status::kInvalid;
        }
        c.proto().unreserve(*std::launder(reinterpret_cast<proto::Reservation*>(reservation->opaque)));
        return Status::kOk;
    });
}

linnet_status_t linnet_message_settle(linnet_context_t* ctx, linnet_message_t* message) noexcept
{
    return short_post_entry(ctx, [&](core::Context& c) {
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
