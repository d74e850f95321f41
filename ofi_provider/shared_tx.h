// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Shared transmit contexts: fi_stx_context of fi_endpoint(3). README.md "Shared contexts".
//
// Owner: the application; its memory is kept until the last endpoint that is bound to it is closed, too. Threads: any. Blocking: nothing. Failure: fi_errno.
#pragma once

#include <atomic>

#include "provider.h"

namespace linnet::ofi {

class Domain;

class SharedTx final : public fid_stx {
public:
    static int open(fid_domain* domain, fi_tx_attr* attr, fid_stx** out, void* context) noexcept;
    // An endpoint with these capabilities may use it: a subset of its own.
    [[nodiscard]] bool admits(std::uint64_t caps) const noexcept;
    [[nodiscard]] const Domain& domain() const noexcept { return domain_; }
    // An endpoint that is bound to it keeps it; the application may close it before.
    void use() noexcept { ++users_; }
    void leave() noexcept;

private:
    SharedTx(Domain& domain, std::uint64_t caps);
    ~SharedTx() = default;
    static int close_fid(struct fid* f) noexcept;

    Domain& domain_;
    const std::uint64_t caps_;
    std::atomic<unsigned> users_{1};   // the application, and the endpoints
};

}   // namespace linnet::ofi
