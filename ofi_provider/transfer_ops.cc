// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The many forms of send and receive, brought to one each.
#include "transfer_ops.h"

#include "endpoint.h"

namespace linnet::ofi {

namespace {
// Flags that a msg call may bring; what else comes is refused, because the caller relies on it.
constexpr std::uint64_t kSendMsgFlags = kTxOpFlags | FI_REMOTE_CQ_DATA | FI_MORE | FI_PRIORITY | FI_FENCE;

// Without the flag the field is whatever the program left there, and nobody else's business.
template <class Message>
std::uint64_t data_of(const Message& m, std::uint64_t flags) noexcept
{
    return (flags & FI_REMOTE_CQ_DATA) != 0 ? m.data : 0;
}

ssize_t send_one(fid_ep* f, std::uint64_t kind, const void* buffer, std::size_t bytes, fi_addr_t to, std::uint64_t tag, std::uint64_t data,
                 void* context, std::uint64_t more) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    const iovec iov{const_cast<void*>(buffer), bytes};
    return e.endpoint.send({{&iov, 1}, to, kind, tag, data, context, e.tx_flags | more, false});
}

// What fails of those that bring no context is told with the endpoint's.
ssize_t inject_one(fid_ep* f, std::uint64_t kind, const void* buffer, std::size_t bytes, fi_addr_t to, std::uint64_t tag, std::uint64_t data,
                   std::uint64_t more) noexcept
{
    const iovec iov{const_cast<void*>(buffer), bytes};
    return EndpointFid::of(f).endpoint.send({{&iov, 1}, to, kind, tag, data, f->fid.context, more, true});
}

ssize_t receive_one(fid_ep* f, std::uint64_t kind, void* buffer, std::size_t bytes, fi_addr_t from, std::uint64_t tag, std::uint64_t ignore,
                    void* context) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    const iovec iov{buffer, bytes};
    return e.endpoint.receive({{&iov, 1}, from, kind, tag, ignore, context, e.rx_flags});
}

// ---- fi_msg(3) ----

ssize_t msg_recv(fid_ep* f, void* buffer, std::size_t bytes, void*, fi_addr_t from, void* context) noexcept
{
    return receive_one(f, FI_MSG, buffer, bytes, from, 0, 0, context);
}
ssize_t msg_recvv(fid_ep* f, const iovec* iov, void**, std::size_t count, fi_addr_t from, void* context) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    return e.endpoint.receive({{iov, count}, from, FI_MSG, 0, 0, context, e.rx_flags});
}
ssize_t msg_recvmsg(fid_ep* f, const fi_msg* m, std::uint64_t flags) noexcept
{
    if ((flags & ~kRecvMsgFlags) != 0) {
        return -FI_EBADFLAGS;
    }
    return EndpointFid::of(f).endpoint.receive({{m->msg_iov, m->iov_count}, m->addr, FI_MSG, 0, 0, m->context, flags});
}
ssize_t msg_send(fid_ep* f, const void* buffer, std::size_t bytes, void*, fi_addr_t to, void* context) noexcept
{
    return send_one(f, FI_MSG, buffer, bytes, to, 0, 0, context, 0);
}
ssize_t msg_sendv(fid_ep* f, const iovec* iov, void**, std::size_t count, fi_addr_t to, void* context) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    return e.endpoint.send({{iov, count}, to, FI_MSG, 0, 0, context, e.tx_flags, false});
}
ssize_t msg_sendmsg(fid_ep* f, const fi_msg* m, std::uint64_t flags) noexcept
{
    if ((flags & ~kSendMsgFlags) != 0) {
        return -FI_EBADFLAGS;
    }
    return EndpointFid::of(f).endpoint.send({{m->msg_iov, m->iov_count}, m->addr, FI_MSG, 0, data_of(*m, flags), m->context, flags, false});
}
ssize_t msg_inject(fid_ep* f, const void* buffer, std::size_t bytes, fi_addr_t to) noexcept { return inject_one(f, FI_MSG, buffer, bytes, to, 0, 0, 0); }
ssize_t msg_senddata(fid_ep* f, const void* buffer, std::size_t bytes, void*, std::uint64_t data, fi_addr_t to, void* context) noexcept
{
    return send_one(f, FI_MSG, buffer, bytes, to, 0, data, context, FI_REMOTE_CQ_DATA);
}
ssize_t msg_injectdata(fid_ep* f, const void* buffer, std::size_t bytes, std::uint64_t data, fi_addr_t to) noexcept
{
    return inject_one(f, FI_MSG, buffer, bytes, to, 0, data, FI_REMOTE_CQ_DATA);
}

// ---- fi_tagged(3) ----

ssize_t tag_recv(fid_ep* f, void* buffer, std::size_t bytes, void*, fi_addr_t from, std::uint64_t tag, std::uint64_t ignore, void* context) noexcept
{
    return receive_one(f, FI_TAGGED, buffer, bytes, from, tag, ignore, context);
}
ssize_t tag_recvv(fid_ep* f, const iovec* iov, void**, std::size_t count, fi_addr_t from, std::uint64_t tag, std::uint64_t ignore, void* context) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    return e.endpoint.receive({{iov, count}, from, FI_TAGGED, tag, ignore, context, e.rx_flags});
}
ssize_t tag_recvmsg(fid_ep* f, const fi_msg_tagged* m, std::uint64_t flags) noexcept
{
    if ((flags & ~kRecvTaggedFlags) != 0) {
        return -FI_EBADFLAGS;
    }
    return EndpointFid::of(f).endpoint.receive({{m->msg_iov, m->iov_count}, m->addr, FI_TAGGED, m->tag, m->ignore, m->context, flags});
}
ssize_t tag_send(fid_ep* f, const void* buffer, std::size_t bytes, void*, fi_addr_t to, std::uint64_t tag, void* context) noexcept
{
    return send_one(f, FI_TAGGED, buffer, bytes, to, tag, 0, context, 0);
}
ssize_t tag_sendv(fid_ep* f, const iovec* iov, void**, std::size_t count, fi_addr_t to, std::uint64_t tag, void* context) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    return e.endpoint.send({{iov, count}, to, FI_TAGGED, tag, 0, context, e.tx_flags, false});
}
ssize_t tag_sendmsg(fid_ep* f, const fi_msg_tagged* m, std::uint64_t flags) noexcept
{
    if ((flags & ~kSendMsgFlags) != 0) {
        return -FI_EBADFLAGS;
    }
    return EndpointFid::of(f).endpoint.send({{m->msg_iov, m->iov_count}, m->addr, FI_TAGGED, m->tag, data_of(*m, flags), m->context, flags, false});
}
ssize_t tag_inject(fid_ep* f, const void* buffer, std::size_t bytes, fi_addr_t to, std::uint64_t tag) noexcept
{
    return inject_one(f, FI_TAGGED, buffer, bytes, to, tag, 0, 0);
}
ssize_t tag_senddata(fid_ep* f, const void* buffer, std::size_t bytes, void*, std::uint64_t data, fi_addr_t to, std::uint64_t tag, void* context) noexcept
{
    return send_one(f, FI_TAGGED, buffer, bytes, to, tag, data, context, FI_REMOTE_CQ_DATA);
}
ssize_t tag_injectdata(fid_ep* f, const void* buffer, std::size_t bytes, std::uint64_t data, fi_addr_t to, std::uint64_t tag) noexcept
{
    return inject_one(f, FI_TAGGED, buffer, bytes, to, tag, data, FI_REMOTE_CQ_DATA);
}

// ---- fi_rma(3) ----

constexpr std::uint64_t kWriteMsgFlags = kSendMsgFlags;
constexpr std::uint64_t kReadMsgFlags = (kTxOpFlags & ~FI_INJECT) | FI_MORE | FI_PRIORITY | FI_FENCE;

ssize_t rma_read(fid_ep* f, void* buffer, std::size_t bytes, void*, fi_addr_t from, std::uint64_t address, std::uint64_t key, void* context) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    const iovec iov{buffer, bytes};
    return e.endpoint.read({{&iov, 1}, from, address, key, 0, context, e.tx_flags, false});
}
ssize_t rma_readv(fid_ep* f, const iovec* iov, void**, std::size_t count, fi_addr_t from, std::uint64_t address, std::uint64_t key, void* context) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    return e.endpoint.read({{iov, count}, from, address, key, 0, context, e.tx_flags, false});
}
// There is one remote piece, as long as the local ones; no bytes need none.
int find_remote(const fi_msg_rma& m, fi_rma_iov& at) noexcept
{
    const Bytes local{m.msg_iov, m.iov_count};
    at = m.rma_iov_count == 1 && m.rma_iov != nullptr ? m.rma_iov[0] : fi_rma_iov{};
    if (const int error = local.error(kIovMax); error != FI_SUCCESS) {
        return error;
    }
    return m.rma_iov_count > 1 || local.total() > at.len ? -FI_EINVAL : FI_SUCCESS;
}
ssize_t rma_readmsg(fid_ep* f, const fi_msg_rma* m, std::uint64_t flags) noexcept
{
    if ((flags & ~kReadMsgFlags) != 0) {
        return -FI_EBADFLAGS;
    }
    fi_rma_iov at;
    const int error = find_remote(*m, at);
    return error != FI_SUCCESS
               ? error
               : EndpointFid::of(f).endpoint.read({{m->msg_iov, m->iov_count}, m->addr, at.addr, at.key, 0, m->context, flags, false});
}
ssize_t rma_write(fid_ep* f, const void* buffer, std::size_t bytes, void*, fi_addr_t to, std::uint64_t address, std::uint64_t key, void* context) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    const iovec iov{const_cast<void*>(buffer), bytes};
    return e.endpoint.write({{&iov, 1}, to, address, key, 0, context, e.tx_flags, false});
}
ssize_t rma_writev(fid_ep* f, const iovec* iov, void**, std::size_t count, fi_addr_t to, std::uint64_t address, std::uint64_t key, void* context) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    return e.endpoint.write({{iov, count}, to, address, key, 0, context, e.tx_flags, false});
}
ssize_t rma_writemsg(fid_ep* f, const fi_msg_rma* m, std::uint64_t flags) noexcept
{
    if ((flags & ~kWriteMsgFlags) != 0) {
        return -FI_EBADFLAGS;
    }
    fi_rma_iov at;
    const int error = find_remote(*m, at);
    return error != FI_SUCCESS
               ? error
               : EndpointFid::of(f).endpoint.write({{m->msg_iov, m->iov_count}, m->addr, at.addr, at.key, data_of(*m, flags), m->context, flags, false});
}
ssize_t rma_inject(fid_ep* f, const void* buffer, std::size_t bytes, fi_addr_t to, std::uint64_t address, std::uint64_t key) noexcept
{
    const iovec iov{const_cast<void*>(buffer), bytes};
    return EndpointFid::of(f).endpoint.write({{&iov, 1}, to, address, key, 0, f->fid.context, FI_INJECT, true});
}
ssize_t rma_writedata(fid_ep* f, const void* buffer, std::size_t bytes, void*, std::uint64_t data, fi_addr_t to, std::uint64_t address,
                      std::uint64_t key, void* context) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    const iovec iov{const_cast<void*>(buffer), bytes};
    return e.endpoint.write({{&iov, 1}, to, address, key, data, context, e.tx_flags | FI_REMOTE_CQ_DATA, false});
}
ssize_t rma_injectdata(fid_ep* f, const void* buffer, std::size_t bytes, std::uint64_t data, fi_addr_t to, std::uint64_t address, std::uint64_t key) noexcept
{
    const iovec iov{const_cast<void*>(buffer), bytes};
    return EndpointFid::of(f).endpoint.write({{&iov, 1}, to, address, key, data, f->fid.context, FI_INJECT | FI_REMOTE_CQ_DATA, true});
}
}   // namespace

fi_ops_msg* message_ops() noexcept
{
    static fi_ops_msg ops = {sizeof ops,  msg_recv,   msg_recvv,    msg_recvmsg,   msg_send,
                             msg_sendv,   msg_sendmsg, msg_inject, msg_senddata, msg_injectdata};
    return &ops;
}

fi_ops_tagged* tagged_ops() noexcept
{
    static fi_ops_tagged ops = {sizeof ops,  tag_recv,   tag_recvv,    tag_recvmsg,   tag_send,
                                tag_sendv,   tag_sendmsg, tag_inject, tag_senddata, tag_injectdata};
    return &ops;
}

fi_ops_rma* rma_ops() noexcept
{
    static fi_ops_rma ops = {sizeof ops, rma_read, rma_readv, rma_readmsg, rma_write, rma_writev, rma_writemsg, rma_inject, rma_writedata, rma_injectdata};
    return &ops;
}

fi_ops_rma* no_rma_ops() noexcept
{
    static fi_ops_rma ops = {sizeof ops,  unsupported, unsupported, unsupported, unsupported,
                             unsupported, unsupported, unsupported, unsupported, unsupported};
    return &ops;
}

fi_ops_msg* no_message_ops() noexcept
{
    static fi_ops_msg ops = {sizeof ops,  unsupported, unsupported, unsupported, unsupported,
                             unsupported, unsupported, unsupported, unsupported, unsupported};
    return &ops;
}

fi_ops_tagged* no_tagged_ops() noexcept
{
    static fi_ops_tagged ops = {sizeof ops,  unsupported, unsupported, unsupported, unsupported,
                                unsupported, unsupported, unsupported, unsupported, unsupported};
    return &ops;
}

fi_ops_atomic* no_atomic_ops() noexcept
{
    static fi_ops_atomic ops = {sizeof ops,  unsupported, unsupported, unsupported, unsupported, unsupported, unsupported,
                                unsupported, unsupported, unsupported, unsupported, unsupported, unsupported, unsupported};
    return &ops;
}

fi_ops_collective* no_collective_ops() noexcept
{
    static fi_ops_collective ops = {sizeof ops,  unsupported, unsupported, unsupported, unsupported, unsupported,
                                    unsupported, unsupported, unsupported, unsupported, unsupported, unsupported};
    return &ops;
}

}   // namespace linnet::ofi
