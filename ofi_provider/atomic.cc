// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoints: fi_atomic(3). The owner of the memory does the operation; operands are copied when they are posted.
#include <limits>

#include "cntr.h"
#include "endpoint.h"
#include "fabric.h"
#include "transfer_ops.h"

namespace linnet::ofi {

namespace {
static_assert(static_cast<int>(FI_ATOMIC_WRITE) == LINNET_ATOMIC_WRITE && static_cast<int>(FI_MSWAP) == LINNET_ATOMIC_MSWAP);
static_assert(static_cast<int>(FI_CSWAP_GT) == LINNET_ATOMIC_CSWAP_GT && static_cast<int>(FI_LXOR) == LINNET_ATOMIC_LXOR);
static_assert(static_cast<int>(FI_DOUBLE) == LINNET_DOUBLE && static_cast<int>(FI_LONG_DOUBLE_COMPLEX) == LINNET_LONG_DOUBLE_COMPLEX);
static_assert(static_cast<int>(FI_UINT128) == LINNET_UINT128);

constexpr std::uint64_t kMsgFlags = kTxOpFlags | FI_MORE | FI_PRIORITY | FI_FENCE;

// The pieces of a vector of elements, as bytes.
class Pieces {
public:
    Pieces(const Elements& e, std::size_t size, std::size_t most) noexcept : count_{e.count}
    {
        for (std::size_t i = 0; i < count_ && i < kIovMax; ++i) {
            if (e.ioc == nullptr || (e.ioc[i].addr == nullptr && e.ioc[i].count != 0)) {
                fits_ = false;
                return;
            }
            fits_ = fits_ && e.ioc[i].count <= std::numeric_limits<std::size_t>::max() / size / kIovMax;
            iov_[i] = {e.ioc[i].addr, e.ioc[i].count * size};
        }
        fits_ = fits_ && count_ <= most;
    }
    // False: too many, nowhere, or more than memory holds.
    [[nodiscard]] bool fits() const noexcept { return fits_; }
    [[nodiscard]] Bytes bytes() const noexcept { return {iov_.data(), count_}; }
    // For an operand, which is copied at once.
    [[nodiscard]] linnet_data_t data() const noexcept
    {
        linnet_data_t d{};
        d.length = bytes().total();
        if (count_ == 1) {
            d.base = iov_[0].iov_base;
        } else if (count_ > 1) {
            d.iov = iov_.data();
            d.iov_count = count_;
        }
        return d;
    }

private:
    std::array<iovec, kIovMax> iov_{};
    std::size_t count_;
    bool fits_{true};
};

int valid(linnet_atomic_form_t form, fi_datatype type, fi_op op, std::size_t* count, std::size_t* bytes) noexcept
{
    return linnet_atomic_valid(form, static_cast<linnet_atomic_op_t>(op), static_cast<linnet_atomic_type_t>(type), count, bytes) == LINNET_OK
               ? FI_SUCCESS
               : -FI_EOPNOTSUPP;
}
}   // namespace

ssize_t Endpoint::atomic(const AtomicCall& call) noexcept
{
    const Settles after{source_};
    const bool fetches = call.form != LINNET_ATOMIC_APPLY;
    if (!enabled_ || !may(fetches ? FI_READ : FI_WRITE)) {
        return enabled_ ? -FI_EOPNOTSUPP : -FI_EOPBADSTATE;
    }
    std::size_t most = 0;
    std::size_t size = 0;
    if (const int error = valid(call.form, call.type, call.op, &most, &size); error != FI_SUCCESS) {
        return error;
    }
    const Pieces operand{call.op == FI_ATOMIC_READ ? Elements{} : call.operand, size, most_sent_};
    const Pieces compare{call.compare, size, most_sent_};
    const Pieces result{call.result, size, most_sent_};
    const linnet_peer_t peer = peers_.get(call.to);
    if (!operand.fits() || !compare.fits() || !result.fits()) {
        return -FI_EINVAL;
    }
    if (peer == LINNET_PEER_UNKNOWN) {
        return no_peer(call.to);
    }
    const std::size_t bytes = (fetches ? result : operand).bytes().total();
    if (bytes > most * size || ((call.flags & FI_INJECT) != 0 && operand.bytes().total() > kInjectMax)) {   // what comes back is not injected
        return -FI_EMSGSIZE;
    }
    SendOperation* const op = begin(call.context, call.flags, call.silent, FI_ATOMIC | (fetches ? FI_READ : FI_WRITE), fetches ? kCountRead : kCountWrite);
    if (op == nullptr) {
        return -FI_EAGAIN;
    }
    linnet_atomic_t a{};
    a.peer = peer;
    a.flags = (call.flags & FI_FENCE) != 0 ? std::uint32_t{LINNET_RMA_FENCE} : 0;
    a.key = call.key;
    a.address = call.address;
    a.form = call.form;
    a.op = static_cast<linnet_atomic_op_t>(call.op);
    a.type = static_cast<linnet_atomic_type_t>(call.type);
    a.count = bytes / size;
    a.operand = operand.data();
    a.compare = compare.data();
    a.result = op->data(result.bytes());
    a.done = on_sent;
    a.done_arg = op;
    return post(*op, a, (call.flags & FI_FENCE) != 0);
}

int query_atomic(fid_domain*, fi_datatype type, fi_op op, fi_atomic_attr* attr, std::uint64_t flags) noexcept
{
    constexpr std::uint64_t kForms = FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC;
    if ((flags & ~(kForms | FI_TAGGED)) != 0 || (flags & kForms) == kForms) {
        return -FI_EBADFLAGS;
    }
    if (attr == nullptr) {
        return -FI_EINVAL;
    }
    const linnet_atomic_form_t form =
        (flags & FI_FETCH_ATOMIC) != 0 ? LINNET_ATOMIC_FETCH : (flags & FI_COMPARE_ATOMIC) != 0 ? LINNET_ATOMIC_COMPARE : LINNET_ATOMIC_APPLY;
    return (flags & FI_TAGGED) != 0 ? -FI_EOPNOTSUPP : valid(form, type, op, &attr->count, &attr->size);
}

// ---- the many forms ----

namespace {
struct Target {
    fi_addr_t to;
    std::uint64_t address;
    std::uint64_t key;
};

ssize_t post(fid_ep* f, linnet_atomic_form_t form, Elements operand, Elements compare, Elements result, const Target& at, fi_datatype type, fi_op op,
             void* context) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    return e.endpoint.atomic({form, operand, compare, result, at.to, at.address, at.key, type, op, context, e.tx_flags, false});
}

// With flags of its own. There is one remote piece, for as many elements as there are here.
ssize_t post_message(fid_ep* f, linnet_atomic_form_t form, const fi_msg_atomic& m, Elements compare, Elements result, std::uint64_t flags) noexcept
{
    if ((flags & ~kMsgFlags) != 0) {
        return -FI_EBADFLAGS;
    }
    if (m.rma_iov_count != 1 || m.rma_iov == nullptr) {
        return -FI_EINVAL;
    }
    const Elements here = form != LINNET_ATOMIC_APPLY ? result : Elements{m.msg_iov, m.iov_count};
    std::size_t elements = 0;
    for (std::size_t i = 0; here.ioc != nullptr && i < here.count && i < kIovMax; ++i) {
        elements += here.ioc[i].count;
    }
    if (elements > m.rma_iov[0].count) {
        return -FI_EINVAL;
    }
    return EndpointFid::of(f).endpoint.atomic({form, {m.msg_iov, m.iov_count}, compare, result, m.addr, m.rma_iov[0].addr, m.rma_iov[0].key, m.datatype,
                                               m.op, m.context, flags, false});
}

ssize_t apply(fid_ep* f, const void* buffer, std::size_t count, void*, fi_addr_t to, std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op,
              void* context) noexcept
{
    const fi_ioc operand{const_cast<void*>(buffer), count};
    return post(f, LINNET_ATOMIC_APPLY, {&operand, 1}, {}, {}, {to, address, key}, type, op, context);
}
ssize_t applyv(fid_ep* f, const fi_ioc* ioc, void**, std::size_t count, fi_addr_t to, std::uint64_t address, std::uint64_t key, fi_datatype type,
               fi_op op, void* context) noexcept
{
    return post(f, LINNET_ATOMIC_APPLY, {ioc, count}, {}, {}, {to, address, key}, type, op, context);
}
ssize_t applymsg(fid_ep* f, const fi_msg_atomic* m, std::uint64_t flags) noexcept { return post_message(f, LINNET_ATOMIC_APPLY, *m, {}, {}, flags); }
ssize_t inject(fid_ep* f, const void* buffer, std::size_t count, fi_addr_t to, std::uint64_t address, std::uint64_t key, fi_datatype type,
               fi_op op) noexcept
{
    const fi_ioc operand{const_cast<void*>(buffer), count};
    return EndpointFid::of(f).endpoint.atomic(
        {LINNET_ATOMIC_APPLY, {&operand, 1}, {}, {}, to, address, key, type, op, f->fid.context, FI_INJECT, true});
}
ssize_t fetch(fid_ep* f, const void* buffer, std::size_t count, void*, void* result, void*, fi_addr_t to, std::uint64_t address, std::uint64_t key,
              fi_datatype type, fi_op op, void* context) noexcept
{
    const fi_ioc operand{const_cast<void*>(buffer), count};
    const fi_ioc before{result, count};
    return post(f, LINNET_ATOMIC_FETCH, {&operand, 1}, {}, {&before, 1}, {to, address, key}, type, op, context);
}
ssize_t fetchv(fid_ep* f, const fi_ioc* ioc, void**, std::size_t count, fi_ioc* result, void**, std::size_t result_count, fi_addr_t to,
               std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op, void* context) noexcept
{
    return post(f, LINNET_ATOMIC_FETCH, {ioc, count}, {}, {result, result_count}, {to, address, key}, type, op, context);
}
ssize_t fetchmsg(fid_ep* f, const fi_msg_atomic* m, fi_ioc* result, void**, std::size_t result_count, std::uint64_t flags) noexcept
{
    return post_message(f, LINNET_ATOMIC_FETCH, *m, {}, {result, result_count}, flags);
}
ssize_t compare(fid_ep* f, const void* buffer, std::size_t count, void*, const void* to_compare, void*, void* result, void*, fi_addr_t to,
                std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op, void* context) noexcept
{
    const fi_ioc operand{const_cast<void*>(buffer), count};
    const fi_ioc compared{const_cast<void*>(to_compare), count};
    const fi_ioc before{result, count};
    return post(f, LINNET_ATOMIC_COMPARE, {&operand, 1}, {&compared, 1}, {&before, 1}, {to, address, key}, type, op, context);
}
ssize_t comparev(fid_ep* f, const fi_ioc* ioc, void**, std::size_t count, const fi_ioc* compared, void**, std::size_t compare_count, fi_ioc* result,
                 void**, std::size_t result_count, fi_addr_t to, std::uint64_t address, std::uint64_t key, fi_datatype type, fi_op op,
                 void* context) noexcept
{
    return post(f, LINNET_ATOMIC_COMPARE, {ioc, count}, {compared, compare_count}, {result, result_count}, {to, address, key}, type, op, context);
}
ssize_t comparemsg(fid_ep* f, const fi_msg_atomic* m, const fi_ioc* compared, void**, std::size_t compare_count, fi_ioc* result, void**,
                   std::size_t result_count, std::uint64_t flags) noexcept
{
    return post_message(f, LINNET_ATOMIC_COMPARE, *m, {compared, compare_count}, {result, result_count}, flags);
}

template <linnet_atomic_form_t Form>
int ask(fid_ep*, fi_datatype type, fi_op op, std::size_t* count) noexcept
{
    std::size_t bytes = 0;
    return count == nullptr ? -FI_EINVAL : valid(Form, type, op, count, &bytes);
}
}   // namespace

fi_ops_atomic* atomic_ops() noexcept
{
    static fi_ops_atomic ops = {sizeof ops,  apply,    applyv,   applymsg,   inject,
                                fetch,       fetchv,   fetchmsg, compare,    comparev,
                                comparemsg,  ask<LINNET_ATOMIC_APPLY>, ask<LINNET_ATOMIC_FETCH>, ask<LINNET_ATOMIC_COMPARE>};
    return &ops;
}

}   // namespace linnet::ofi
