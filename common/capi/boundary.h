// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The boundary between C and the core: entries, requests in the storage that hosts lend, results.
//
// For the files of capi/ alone. Threads, blocking, failure: as linnet.h says.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>

#include "capi/linnet.h"
#include "capi/linnet_rma.h"
#include "core/context.h"

struct linnet_context {
    std::unique_ptr<linnet::core::Context> core;
    linnet_log_fn log{nullptr};
    void* log_arg{nullptr};
    std::atomic<linnet_remote_fn> remote{nullptr};
    std::atomic<void*> remote_arg{nullptr};
};

namespace linnet::capi {

inline linnet_status_t to_c(Status s) noexcept { return static_cast<linnet_status_t>(s); }

// More than a clock can count is for ever.
inline Nanos to_nanos(std::uint64_t ns) noexcept { return Nanos{static_cast<std::int64_t>(std::min<std::uint64_t>(ns, INT64_MAX))}; }

template <class... Pointers>
bool any_null(const Pointers*... pointers) noexcept
{
    return (... || (pointers == nullptr));
}

template <class Body>
linnet_status_t c_boundary(Body&& body) noexcept
{
    try {
        return to_c(std::forward<Body>(body)());
    } catch (const std::bad_alloc&) {
        return LINNET_ERR_NO_MEMORY;
    } catch (...) {
        return LINNET_ERR_INTERNAL;
    }
}

// An entry of an open context of this process, not of its parent. Learns the gap since the host's last call.
template <class Body>
linnet_status_t entry(linnet_context_t* ctx, Body&& body) noexcept
{
    if (ctx == nullptr) {
        return LINNET_ERR_INVALID;
    }
    if (!ctx->core->alive()) {
        return LINNET_ERR_CLOSED;
    }
    return c_boundary([&] { return body(*ctx->core); });
}

// The same for calls that may leave an operation open; `bytes` long.
template <class Body>
linnet_status_t post_entry(linnet_context_t* ctx, std::uint64_t bytes, Body&& body) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        c.enter();
        const Status s = body(c);
        c.leave_post(bytes);
        return s;
    });
}

// The same for a short call, with one look at the clock; none when it leaves nothing open: as far as progress is concerned the host was not here.
template <class Body>
linnet_status_t short_post_entry(linnet_context_t* ctx, Body&& body) noexcept
{
    return entry(ctx, [&](core::Context& c) {
        const Status s = body(c);
        c.passed_by();
        return s;
    });
}

inline bool aligned(const linnet_request_t* r) noexcept
{
    return r != nullptr && reinterpret_cast<std::uintptr_t>(r) % LINNET_REQUEST_ALIGN == 0;
}

inline proto::Data to_data(const linnet_data_t& d) noexcept
{
    return {static_cast<std::byte*>(d.base), d.length, d.iov, d.iov_count, d.pack, d.unpack, d.pack_arg};
}

inline void to_result(linnet_result_t& to, const proto::ResultRecord& from) noexcept
{
    to.status = to_c(from.status);
    to.peer = from.peer_added ? from.peer.value : LINNET_PEER_UNKNOWN;
    to.match_bits = from.bits;
    to.immediate = from.immediate;
    to.flags = from.has_immediate ? std::uint32_t{LINNET_SEND_IMMEDIATE} : 0;
    to.length = from.length;
}

inline linnet_request_t* storage_of(proto::Request& r) noexcept { return static_cast<linnet_request_t*>(r.storage); }

// A request of the core inside the host's storage. `done` is the host's; it runs from here once the core has finished. What it was can still be asked by
// linnet_cancel() until the host uses the storage again.
static_assert(std::is_trivially_destructible_v<proto::RecvRequest>);
template <class R>
R& make_request(linnet_request_t* storage, const linnet_data_t& data, linnet_done_fn done, void* arg) noexcept
{
    R* const r = new (storage->opaque) R;
    r->storage = storage;
    r->data = to_data(data);
    r->host_done = reinterpret_cast<void (*)()>(done);
    r->done_arg = arg;
    r->done = [](proto::Request& request) noexcept {
        linnet_request_t* const host = storage_of(request);
        to_result(host->result, request.result);
        const auto host_done = reinterpret_cast<linnet_done_fn>(request.host_done);
        void* const host_arg = request.done_arg;
        static_cast<R&>(request).~R();
        host_done(host, host_arg);
    };
    return *r;
}

// The operation ended inside the call, or did not begin.
template <class R>
Status settle(R& r, Status s) noexcept
{
    if (s != Status::kInProgress) {
        r.result.status = s;
        to_result(storage_of(r)->result, r.result);
        r.~R();
    }
    return s;
}

inline Result<proto::Peer*> peer_of(core::Context& c, linnet_peer_t id) noexcept
{
    proto::Peer* const p = c.peer(PeerId{id});
    if (p == nullptr) {
        return Status::kInvalid;
    }
    return p;
}

// A peer, or any.
inline Result<MatchSpec> match_of(core::Context& c, const linnet_match_t& m) noexcept
{
    if (m.peer != LINNET_PEER_ANY && c.peer(PeerId{m.peer}) == nullptr) {
        return Status::kInvalid;
    }
    return MatchSpec{PeerId{m.peer}, m.match_bits, m.ignore};
}

}   // namespace linnet::capi
