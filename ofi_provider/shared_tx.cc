// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Shared transmit contexts.
#include "shared_tx.h"

#include "fabric.h"
#include "info.h"
#include "transfer_ops.h"

namespace linnet::ofi {

SharedTx::SharedTx(Domain& domain, std::uint64_t caps) : fid_stx{}, domain_{domain}, caps_{caps}
{
    static fi_ops base = {sizeof base, close_fid, no_bind, no_control, no_ops_open, nullptr, nullptr};
    static fi_ops_ep own = {sizeof own, unsupported, unsupported, unsupported, unsupported, unsupported, unsupported, unsupported};
    fid.fclass = FI_CLASS_STX_CTX;
    fid.ops = &base;
    ops = &own;
    ++domain_.users;
}

int SharedTx::open(fid_domain* domain, fi_tx_attr* attr, fid_stx** out, void* context) noexcept
{
    return guarded([&] {
        fi_tx_attr any{};
        if (!take_shared_tx(attr != nullptr ? *attr : any)) {
            return -FI_EINVAL;
        }
        auto* const s = new SharedTx{Domain::of(domain), attr != nullptr ? attr->caps : any.caps};
        s->fid.context = context;
        *out = s;
        return FI_SUCCESS;
    });
}

bool SharedTx::admits(std::uint64_t caps) const noexcept { return (caps & kTxCaps & ~caps_) == 0; }

void SharedTx::leave() noexcept
{
    if (--users_ == 0) {
        delete this;
    }
}

// fi_endpoint(3) wants no order of closing, and Sandia OpenSHMEM closes its endpoints afterwards.
int SharedTx::close_fid(struct fid* f) noexcept
{
    SharedTx& s = object<SharedTx, fid_stx>(f);
    --s.domain_.users;
    s.leave();
    return FI_SUCCESS;
}

}   // namespace linnet::ofi
