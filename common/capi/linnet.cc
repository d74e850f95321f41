// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// linnet.h: the C face of core/. No logic here: checks, translation, and the boundary that nothing thrown crosses.
#include "config.h"

#include "capi/linnet.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/words.h"
#include "capi/boundary.h"
#include "session/session_layer.h"

using namespace linnet;
using namespace linnet::capi;

namespace {

// The C enumerators are the core's.
static_assert(LINNET_OK == static_cast<int>(Status::kOk) && LINNET_IN_PROGRESS == static_cast<int>(Status::kInProgress));
static_assert(LINNET_ERR_NO_RESOURCE == static_cast<int>(Status::kNoResource) && LINNET_ERR_NO_MEMORY == static_cast<int>(Status::kNoMemory));
static_assert(LINNET_ERR_NOT_FOUND == static_cast<int>(Status::kNotFound) && LINNET_ERR_INVALID == static_cast<int>(Status::kInvalid));
static_assert(LINNET_ERR_UNSUPPORTED == static_cast<int>(Status::kUnsupported) && LINNET_ERR_AGAIN == static_cast<int>(Status::kAgain));
static_assert(LINNET_ERR_TIMED_OUT == static_cast<int>(Status::kTimedOut) && LINNET_ERR_TRUNCATED == static_cast<int>(Status::kTruncated));
static_assert(LINNET_ERR_CANCELED == static_cast<int>(Status::kCanceled) && LINNET_ERR_PEER_DOWN == static_cast<int>(Status::kPeerDown));
static_assert(LINNET_ERR_KEY == static_cast<int>(Status::kKey) && LINNET_ERR_BOUNDS == static_cast<int>(Status::kBounds));
static_assert(LINNET_ERR_NOT_ALLOWED == static_cast<int>(Status::kNotAllowed));
static_assert(LINNET_ERR_UNREACHABLE == static_cast<int>(Status::kUnreachable) && LINNET_ERR_REFUSED == static_cast<int>(Status::kRefused));
static_assert(LINNET_ERR_PROTOCOL == static_cast<int>(Status::kProtocol) && LINNET_ERR_IO == static_cast<int>(Status::kIo));
static_assert(LINNET_ERR_NO_DESCRIPTORS == static_cast<int>(Status::kNoDescriptors) && LINNET_ERR_PERMISSION == static_cast<int>(Status::kPermission));
static_assert(LINNET_ERR_CLOSED == static_cast<int>(Status::kClosed) && LINNET_ERR_INTERNAL == static_cast<int>(Status::kInternal));
static_assert(LINNET_PEER_ANY == kNoPeer.value && LINNET_NAME_BYTES == wire::kNameBytes && LINNET_AM_IDS == proto::kActiveIds);
static_assert(sizeof(proto::SendRequest) <= LINNET_REQUEST_OPAQUE_BYTES && alignof(proto::SendRequest) <= LINNET_REQUEST_ALIGN);
static_assert(sizeof(proto::RecvRequest) <= LINNET_REQUEST_OPAQUE_BYTES && alignof(proto::RecvRequest) <= LINNET_REQUEST_ALIGN);
static_assert(offsetof(linnet_request, opaque) % LINNET_REQUEST_ALIGN == 0);
static_assert(sizeof(linnet_name_t) == sizeof(wire::EndpointName));

// Sending or receiving up to this takes less than a microsecond.
constexpr std::uint64_t kShort = proto::kShortMax;

proto::SendArgs send_args(const linnet_send_t& send) noexcept
{
    proto::SendArgs args;
    args.space = send.space;
    args.bits = send.match_bits;
    args.immediate = send.immediate;
    args.delivered = (send.flags & (LINNET_SEND_SYNC | LINNET_SEND_DELIVERED)) == LINNET_SEND_DELIVERED;
    args.sync = args.delivered || (send.flags & LINNET_SEND_SYNC) != 0;
    args.copy = (send.flags & LINNET_SEND_COPY) != 0;
    args.acked = (send.flags & LINNET_SEND_ACKED) != 0;
    args.has_immediate = (send.flags & LINNET_SEND_IMMEDIATE) != 0;
    args.fence = (send.flags & LINNET_SEND_FENCE) != 0;
    return args;
}

// What most messages are: short, and to a process so near that they go at once. False: nothing happened. Nothing here throws.
bool send_short(linnet_context_t* ctx, const linnet_send_t& send) noexcept
{
    constexpr unsigned kWaits = LINNET_SEND_SYNC | LINNET_SEND_ACKED | LINNET_SEND_DELIVERED | LINNET_SEND_FENCE;
    const linnet_data_t& d = send.data;
    if (ctx == nullptr || d.iov != nullptr || d.pack != nullptr || (send.flags & kWaits) != 0 || !ctx->core->alive()) {
        return false;
    }
    core::Context& c = *ctx->core;
    if (d.length > c.proto().short_max()) {
        return false;
    }
    proto::Peer* const p = c.peer(PeerId{send.peer});
    const proto::Envelope envelope{send.space, (send.flags & LINNET_SEND_IMMEDIATE) != 0, alone(send.match_bits), alone(send.immediate)};
    if (p == nullptr || !c.proto().send_short(*p, envelope, {static_cast<const std::byte*>(d.base), static_cast<std::size_t>(d.length)})) {
        return false;
    }
    c.passed_by();
    return true;
}

bool settings_there(const linnet_open_options_t& o) noexcept
{
    const auto there = [](const linnet_setting_t& s) { return !any_null(s.name, s.value); };
    return o.setting_count == 0 || (o.settings != nullptr && std::all_of(o.settings, o.settings + o.setting_count, there));
}

void log_to_host(void* arg, LogLevel level, const char* line) noexcept
{
    const auto* ctx = static_cast<const linnet_context*>(arg);
    ctx->log(ctx->log_arg, static_cast<linnet_log_level_t>(level), line);
}

}   // namespace

extern "C" {

const char* linnet_status_text(linnet_status_t status) noexcept { return status_text(static_cast<Status>(status)); }
const char* linnet_version_text(void) noexcept { return PACKAGE_VERSION; }

linnet_status_t linnet_setting_describe(size_t index, linnet_setting_info_t* out) noexcept
{
    if (out == nullptr) {
        return LINNET_ERR_INVALID;
    }
    if (index >= kSettingCount) {
        return LINNET_ERR_NOT_FOUND;
    }
    const SettingInfo& row = kSettingTable[index];
    *out = {row.name, static_cast<linnet_setting_kind_t>(row.kind), row.default_text, row.choices, row.text, row.advanced ? 1 : 0};
    return LINNET_OK;
}

// ---- context ----

linnet_status_t linnet_context_open(const linnet_open_options_t* options, linnet_context_t** out) noexcept
{
    return c_boundary([&] {
        if (any_null(options, out) || options->size < sizeof *options || !settings_there(*options)) {
            return Status::kInvalid;
        }
        auto ctx = std::make_unique<linnet_context>();
        ctx->log = options->log;
        ctx->log_arg = options->log_arg;
        core::OpenArgs args;
        for (std::size_t i = 0; i < options->setting_count; ++i) {
            args.settings.emplace_back(options->settings[i].name, options->settings[i].value);
        }
        args.log = options->log != nullptr ? log_to_host : nullptr;
        args.log_arg = ctx.get();
        args.wild_mask = options->wild_mask;
        args.label = options->label != nullptr ? options->label : "";
        args.expected_peers = options->expected_peers;
        args.local_ranks = options->local_ranks;
        auto opened = core::Context::open(args);
        if (!opened) {
            return opened.status();
        }
        ctx->core = std::move(*opened);
        *out = ctx.release();
        return Status::kOk;
    });
}

linnet_status_t linnet_context_flush(linnet_context_t* ctx, uint64_t timeout_ns) noexcept
{
    return entry(ctx, [&](core::Context& c) { return c.flush(to_nanos(timeout_ns)); });
}

// In a child of fork() everything stays as it is: taking a socket out of the epoll set, or shutting it down, would do so to the parent, whose locks
// may be held for ever here. The descriptors go with the child, or with its exec.
void linnet_context_close(linnet_context_t* ctx) noexcept
{
    if (ctx != nullptr && ctx->core->alive()) {
        delete ctx;
    }
}

linnet_status_t linnet_context_caps(linnet_context_t* ctx, linnet_caps_t* caps) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        if (caps == nullptr || caps->size < sizeof *caps) {
            return Status::kInvalid;
        }
        caps->eager_max = c.proto().config().eager_limit;
        caps->am_header_max = proto::kActiveHeaderMax;
        caps->am_payload_max = proto::kActivePayloadMax;
        return Status::kOk;
    });
}

// ---- names and peers ----

linnet_status_t linnet_context_name(linnet_context_t* ctx, linnet_name_t* out) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        if (out == nullptr) {
            return Status::kInvalid;
        }
        std::memcpy(out->bytes, &c.name(), sizeof out->bytes);
        return Status::kOk;
    });
}

linnet_status_t linnet_name_text(const linnet_name_t* name, char* out, size_t out_bytes) noexcept
{
    return c_boundary([&] {
        if (any_null(name, out) || out_bytes == 0) {
            return Status::kInvalid;
        }
        const auto decoded = wire::decode_name(std::as_bytes(std::span{name->bytes}));
        if (!decoded) {
            return decoded.status();
        }
        std::snprintf(out, out_bytes, "%s", session::name_text(*decoded).c_str());
        return Status::kOk;
    });
}

linnet_status_t linnet_peer_add(linnet_context_t* ctx, const linnet_name_t* name, linnet_peer_t* out) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        if (any_null(name, out)) {
            return Status::kInvalid;
        }
        const auto decoded = wire::decode_name(std::as_bytes(std::span{name->bytes}));
        if (!decoded) {
            return decoded.status();
        }
        const auto id = c.add_peer(*decoded);
        if (id) {
            *out = id->value;
        }
        return id.status();
    });
}

linnet_status_t linnet_peer_add_address(linnet_context_t* ctx, const char* node, const char* service, linnet_peer_t* out) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        if (any_null(node, service, out)) {
            return Status::kInvalid;
        }
        const auto id = c.add_address(node, service);
        if (id) {
            *out = id->value;
        }
        return id.status();
    });
}

linnet_status_t linnet_peer_label(linnet_context_t* ctx, linnet_peer_t peer, const char* label) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        if (label == nullptr) {
            return Status::kInvalid;
        }
        const auto p = peer_of(c, peer);
        if (p) {
            (*p)->set_label(label);
        }
        return p.status();
    });
}

linnet_status_t linnet_peer_remove(linnet_context_t* ctx, linnet_peer_t peer) noexcept
{
    return entry(ctx, [&](core::Context& c) { return c.remove_peer(PeerId{peer}); });
}

linnet_status_t linnet_peer_status(linnet_context_t* ctx, linnet_peer_t peer) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        const auto p = peer_of(c, peer);
        return p ? (*p)->down_reason() : p.status();
    });
}

linnet_status_t linnet_peer_declare_dead(linnet_context_t* ctx, linnet_peer_t peer) noexcept
{
    return entry(ctx, [&](core::Context& c) { return c.declare_dead(PeerId{peer}); });
}

// ---- tagged messages ----

linnet_status_t linnet_tag_send(linnet_context_t* ctx, const linnet_send_t* send, linnet_request_t* request) noexcept
{
    if (request == nullptr && ctx != nullptr) {
        return send_short(ctx, *send) ? LINNET_OK : LINNET_ERR_AGAIN;
    }
    if (aligned(request) && send_short(ctx, *send)) [[likely]] {
        request->result = {LINNET_OK, LINNET_PEER_UNKNOWN, 0, 0, send->data.length, 0, {}};
        return LINNET_OK;
    }
    const auto post = [&](core::Context& c) {
        const auto p = peer_of(c, send->peer);
        if (!p || !aligned(request)) {
            return Status::kInvalid;
        }
        auto& r = make_request<proto::SendRequest>(request, send->data, send->done, send->done_arg);
        return settle(r, c.proto().send(**p, send_args(*send), r));
    };
    return post_entry(ctx, send->data.length, post);   // it may have made a system call, which is no gap between two calls of the host: a row is known by gaps
}

linnet_status_t linnet_tag_recv(linnet_context_t* ctx, const linnet_recv_t* recv, linnet_request_t* request) noexcept
{
    const auto post = [&](core::Context& c) {
        proto::Peer* from = nullptr;
        if (recv->peer != LINNET_PEER_ANY) {
            from = c.peer(PeerId{recv->peer});
            if (from == nullptr) {
                return Status::kInvalid;
            }
        }
        if (!aligned(request)) {
            return Status::kInvalid;
        }
        auto& r = make_request<proto::RecvRequest>(request, recv->data, recv->done, recv->done_arg);
        return settle(r, c.proto().recv(from, recv->space, recv->match_bits, recv->ignore, r));
    };
    return recv->data.length <= kShort && recv->data.unpack == nullptr ? short_post_entry(ctx, post) : post_entry(ctx, recv->data.length, post);
}

linnet_status_t linnet_cancel(linnet_context_t* ctx, linnet_request_t* request) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        if (!aligned(request)) {
            return Status::kInvalid;
        }
        // The host calls this before it has used the storage again, so that the request, or what it was, is still there.
        auto* const r = std::launder(reinterpret_cast<proto::Request*>(request->opaque));   // the first base of both kinds
        const Status s = c.proto().cancel(*r);
        if (s == Status::kOk) {
            const Status verdict = settle(static_cast<proto::RecvRequest&>(*r), Status::kCanceled);
            static_cast<void>(verdict);
        }
        return s;
    });
}

linnet_status_t linnet_probe(linnet_context_t* ctx, const linnet_match_t* match, linnet_result_t* result) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        if (any_null(match, result)) {
            return Status::kInvalid;
        }
        const auto spec = match_of(c, *match);
        if (!spec) {
            return spec.status();
        }
        proto::ResultRecord found;
        const Status s = c.proto().probe(*spec, match->space, found);
        if (s == Status::kOk) {
            to_result(*result, found);
        }
        return s;
    });
}

linnet_status_t linnet_probe_claim(linnet_context_t* ctx, const linnet_match_t* match, linnet_message_t** message, linnet_result_t* result) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        if (any_null(match, message, result)) {
            return Status::kInvalid;
        }
        const auto spec = match_of(c, *match);
        if (!spec) {
            return spec.status();
        }
        proto::ResultRecord found;
        proto::Unexpected* u = nullptr;
        const Status s = c.proto().probe_claim(*spec, match->space, u, found);
        if (s == Status::kOk) {
            to_result(*result, found);
            *message = reinterpret_cast<linnet_message_t*>(u);
        }
        return s;
    });
}

linnet_status_t linnet_message_recv(linnet_context_t* ctx, linnet_message_t* message, const linnet_recv_t* recv, linnet_request_t* request) noexcept
{
    return post_entry(ctx, recv->data.length, [&](core::Context& c) {
        if (message == nullptr || !aligned(request)) {
            return Status::kInvalid;
        }
        auto& r = make_request<proto::RecvRequest>(request, recv->data, recv->done, recv->done_arg);
        return settle(r, c.proto().recv_claimed(*reinterpret_cast<proto::Unexpected*>(message), r));
    });
}

linnet_status_t linnet_space_close(linnet_context_t* ctx, uint32_t space) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        c.proto().close_space(space);
        return Status::kOk;
    });
}

// ---- active messages ----

linnet_status_t linnet_am_register(linnet_context_t* ctx, uint32_t id, linnet_am_fn fn, void* arg) noexcept
{
    return entry(ctx, [&](core::Context& c) { return c.register_active(id, fn, arg); });
}

linnet_status_t linnet_am_send(linnet_context_t* ctx, const linnet_am_t* am, linnet_request_t* request) noexcept
{
    return post_entry(ctx, am->data.length, [&](core::Context& c) {
        const auto p = peer_of(c, am->peer);
        if (!p || !aligned(request) || am->id >= LINNET_AM_IDS || am->header_bytes > proto::kActiveHeaderMax ||
            (am->header == nullptr && am->header_bytes != 0) || am->data.length > proto::kActivePayloadMax) {
            return Status::kInvalid;
        }
        auto& r = make_request<proto::SendRequest>(request, am->data, am->done, am->done_arg);
        proto::ActiveArgs args;
        args.id = am->id;
        args.immediate = am->immediate;
        args.header = {static_cast<const std::byte*>(am->header), am->header_bytes};
        return settle(r, c.proto().send_active(**p, args, r));
    });
}

// ---- progress ----

unsigned linnet_progress(linnet_context_t* ctx, unsigned budget, unsigned flags) noexcept
{
    if (ctx == nullptr || !ctx->core->alive() || ((flags & LINNET_IF_HELD) != 0 && !ctx->core->holds_packets()) ||
        ((flags & LINNET_IF_COMPLETE) != 0 && !ctx->core->has_completions())) {
        return 0;
    }
    return ctx->core->progress(budget, (flags & LINNET_MAY_SLEEP) != 0   ? WhenIdle::kSleep
                                       : (flags & LINNET_MAY_YIELD) != 0 ? WhenIdle::kYield
                                                                         : WhenIdle::kReturn);
}

linnet_status_t linnet_wait(linnet_context_t* ctx, uint64_t timeout_ns) noexcept
{
    return entry(ctx, [&](core::Context& c) { return c.wait(to_nanos(timeout_ns)); });
}

linnet_status_t linnet_wait_fd(linnet_context_t* ctx, int* fd) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        if (fd == nullptr) {
            return Status::kInvalid;
        }
        const int mine = c.wait_fd();
        if (mine < 0) {
            return Status::kUnsupported;
        }
        *fd = mine;
        return Status::kOk;
    });
}

linnet_status_t linnet_wait_fd_arm(linnet_context_t* ctx) noexcept
{
    return entry(ctx, [&](core::Context& c) { return c.arm_wait_fd(); });
}

// ---- statistics ----

linnet_status_t linnet_counter_describe(size_t index, linnet_counter_info_t* out) noexcept
{
    if (out == nullptr) {
        return LINNET_ERR_INVALID;
    }
    if (index >= kCounterCount) {
        return LINNET_ERR_NOT_FOUND;
    }
    const CounterInfo& row = kCounterTable[index];
    *out = {row.name, row.unit == CounterUnit::kBytes ? "bytes" : "events", row.text};
    return LINNET_OK;
}

linnet_status_t linnet_counter_read(linnet_context_t* ctx, size_t index, uint64_t* value) noexcept
{
    if (index >= kCounterCount) {
        return LINNET_ERR_NOT_FOUND;
    }
    return entry(ctx, [&](core::Context& c) {
        if (value == nullptr) {
            return Status::kInvalid;
        }
        *value = c.counter(static_cast<Counter>(index));
        return Status::kOk;
    });
}

}   // extern "C"
