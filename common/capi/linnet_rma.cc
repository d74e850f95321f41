// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// linnet_rma.h: the C face of one-sided operations.
#include "config.h"

#include "capi/linnet_rma.h"

#include "capi/boundary.h"

using namespace linnet;
using namespace linnet::capi;

namespace {

static_assert(LINNET_RMA_ORDERED == wire::kOrderedBytes);
static_assert(static_cast<unsigned>(LINNET_RMA_IMMEDIATE) == LINNET_SEND_IMMEDIATE);

proto::RemoteArgs to_args(const linnet_rma_t& rma) noexcept
{
    proto::RemoteArgs args;
    args.key = rma.key;
    args.address = rma.address;
    args.immediate = rma.immediate;
    args.has_immediate = (rma.flags & LINNET_RMA_IMMEDIATE) != 0;
    args.fence = (rma.flags & LINNET_RMA_FENCE) != 0;
    return args;
}

static_assert(LINNET_ATOMIC_WRITE == static_cast<int>(proto::AtomicOp::kWrite) && LINNET_ATOMIC_MSWAP == static_cast<int>(proto::AtomicOp::kSwapMasked));
static_assert(LINNET_ATOMIC_CSWAP_GT == static_cast<int>(proto::AtomicOp::kSwapIfGreater));
static_assert(LINNET_ATOMIC_LOR == static_cast<int>(proto::AtomicOp::kLogicalOr));
static_assert(LINNET_FLOAT == static_cast<int>(proto::AtomicType::kFloat) && LINNET_UINT128 == static_cast<int>(proto::AtomicType::kUint128));
static_assert(LINNET_ATOMIC_COMPARE == static_cast<int>(proto::AtomicForm::kCompare));

// Any value may come: as one that is not valid, if it does not fit.
proto::AtomicKind to_kind(int form, int op, int type) noexcept
{
    const auto fitted = [](int value) { return static_cast<std::uint8_t>(value < 0 || value > UINT8_MAX ? UINT8_MAX : value); };
    return {static_cast<proto::AtomicForm>(fitted(form)), static_cast<proto::AtomicOp>(fitted(op)), static_cast<proto::AtomicType>(fitted(type))};
}

void tell_host(void* arg, const core::RemoteNews& news) noexcept
{
    const auto* const ctx = static_cast<const linnet_context*>(arg);
    const linnet_remote_fn fn = ctx->remote.load(std::memory_order_acquire);
    if (fn == nullptr) {
        return;
    }
    linnet_remote_t what{};
    what.peer = news.from;
    what.reads = news.reads;
    what.writes = news.writes;
    what.changes = news.changes;
    what.flags = news.has_immediate ? std::uint32_t{LINNET_SEND_IMMEDIATE} : 0;
    what.immediate = news.immediate;
    what.length = news.length;
    what.region_arg = news.region_arg;
    fn(ctx->remote_arg.load(std::memory_order_relaxed), &what);
}

}   // namespace

extern "C" {

linnet_status_t linnet_region_open(linnet_context_t* ctx, const linnet_region_options_t* options, linnet_region_t** out) noexcept
{
    return post_entry(ctx, 0, [&](core::Context& c) {   // it leaves work open: that of peers, who may come at once
        if (any_null(options, out) || options->size < sizeof *options) {
            return Status::kInvalid;
        }
        proto::RegionSpec spec;
        spec.base = static_cast<std::byte*>(options->base);
        spec.length = options->length;
        spec.key = options->key;
        spec.origin = options->origin;
        spec.readable = (options->flags & LINNET_REGION_READ) != 0;
        spec.writable = (options->flags & LINNET_REGION_WRITE) != 0;
        spec.notices = (options->flags & LINNET_REGION_NOTICES) != 0;
        spec.arg = options->arg;
        proto::Region* region = nullptr;
        const Status s = c.proto().open_region(spec, region);
        if (s == Status::kOk) {
            *out = reinterpret_cast<linnet_region_t*>(region);
        }
        return s;
    });
}

linnet_status_t linnet_region_close(linnet_context_t* ctx, linnet_region_t* region) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        if (region == nullptr) {
            return Status::kInvalid;
        }
        c.proto().close_region(*reinterpret_cast<proto::Region*>(region));
        return Status::kOk;
    });
}

linnet_status_t linnet_remote_register(linnet_context_t* ctx, linnet_remote_fn fn, void* arg) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        ctx->remote_arg.store(arg, std::memory_order_relaxed);
        ctx->remote.store(fn, std::memory_order_release);
        c.register_remote(fn != nullptr ? tell_host : nullptr, ctx);
        return Status::kOk;
    });
}

linnet_status_t linnet_rma_write(linnet_context_t* ctx, const linnet_rma_t* rma, linnet_request_t* request) noexcept
{
    return post_entry(ctx, rma->data.length, [&](core::Context& c) {
        const auto p = peer_of(c, rma->peer);
        if (!p || !aligned(request)) {
            return Status::kInvalid;
        }
        auto& r = make_request<proto::SendRequest>(request, rma->data, rma->done, rma->done_arg);
        return settle(r, c.proto().write(**p, to_args(*rma), r));
    });
}

linnet_status_t linnet_rma_read(linnet_context_t* ctx, const linnet_rma_t* rma, linnet_request_t* request) noexcept
{
    return post_entry(ctx, rma->data.length, [&](core::Context& c) {
        const auto p = peer_of(c, rma->peer);
        if (!p || !aligned(request)) {
            return Status::kInvalid;
        }
        auto& r = make_request<proto::RecvRequest>(request, rma->data, rma->done, rma->done_arg);
        return settle(r, c.proto().read(**p, to_args(*rma), r));
    });
}

linnet_status_t linnet_atomic_valid(linnet_atomic_form_t form, linnet_atomic_op_t op, linnet_atomic_type_t type, size_t* count, size_t* bytes) noexcept
{
    if (any_null(count, bytes)) {
        return LINNET_ERR_INVALID;
    }
    const proto::AtomicKind kind = to_kind(form, op, type);
    if (!proto::atomic_valid(kind)) {
        return LINNET_ERR_UNSUPPORTED;
    }
    *bytes = proto::atomic_size(kind.type);
    *count = wire::kMaxAtomicBytes / *bytes;
    return LINNET_OK;
}

linnet_status_t linnet_rma_atomic(linnet_context_t* ctx, const linnet_atomic_t* atomic, linnet_request_t* request) noexcept
{
    return post_entry(ctx, 0, [&](core::Context& c) {
        const auto p = peer_of(c, atomic->peer);
        if (!p || !aligned(request)) {
            return Status::kInvalid;
        }
        proto::AtomicArgs args;
        args.kind = to_kind(atomic->form, atomic->op, atomic->type);
        if (!proto::atomic_valid(args.kind)) {
            return Status::kUnsupported;
        }
        const std::size_t size = proto::atomic_size(args.kind.type);
        const bool fetches = args.kind.form != proto::AtomicForm::kApply;
        const bool compares = args.kind.form == proto::AtomicForm::kCompare;
        const auto fits = [&](bool used, const linnet_data_t& d) { return !used || d.length == atomic->count * size; };
        if (atomic->count == 0 || atomic->count > wire::kMaxAtomicBytes / size || !fits(proto::has_operand(args.kind), atomic->operand) ||
            !fits(compares, atomic->compare) || !fits(fetches, atomic->result)) {
            return Status::kInvalid;
        }
        args.remote.key = atomic->key;
        args.remote.address = atomic->address;
        args.remote.fence = (atomic->flags & LINNET_RMA_FENCE) != 0;
        args.count = atomic->count;
        args.operand = to_data(atomic->operand);
        args.compare = to_data(atomic->compare);
        if (fetches) {
            auto& r = make_request<proto::RecvRequest>(request, atomic->result, atomic->done, atomic->done_arg);
            return settle(r, c.proto().atomic_fetch(**p, args, r));
        }
        auto& r = make_request<proto::SendRequest>(request, linnet_data_t{}, atomic->done, atomic->done_arg);
        return settle(r, c.proto().atomic(**p, args, r));
    });
}

}   // extern "C"
