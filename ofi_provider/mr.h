// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Memory registration, fi_mr(3). Local buffers need none; what peers may reach is a region of every endpoint of its domain.
//
// Owner: the application; fi_close() before the domain's. Threads: any. Lock order: the domain's region lock > a Waitable's sources > what linnet.h locks >
// the domain's watch lock; who runs completions holds no more than the sources. Blocking: closing waits for the pass of a thread that polls. Failure:
// negative fi_errno.
#pragma once

#include <vector>

#include "capi/linnet_rma.h"
#include "provider.h"

namespace linnet::ofi {

class Counter;
class Domain;
class Source;

class Region final : public fid_mr {
public:
    static int open(struct fid* domain, const fi_mr_attr& attr, std::uint64_t flags, fid_mr** out);

    // Both under the domain's region lock. An endpoint that can be reached by `access` begins to serve it, and feeds its counter; ends.
    int expose(Source& endpoint, std::uint64_t access, bool notices);
    void withdraw(const Source& endpoint) noexcept;
    [[nodiscard]] bool remote() const noexcept;
    [[nodiscard]] const Domain& domain() const noexcept { return domain_; }

private:
    struct Exposure {
        Source* endpoint;
        linnet_region_t* region;
    };
    int count_with(Counter& counter);
    Region(Domain& domain, const fi_mr_attr& attr, std::uint64_t own_key);
    ~Region() = default;
    static int close_fid(struct fid* f) noexcept;
    static int bind(struct fid* f, struct fid* what, std::uint64_t flags) noexcept;
    static int control(struct fid* f, int command, void* arg) noexcept;

    Domain& domain_;
    void* const base_;
    const std::size_t bytes_;
    const std::uint64_t access_;
    Counter* counter_{nullptr};           // FI_REMOTE_WRITE; guarded by the region lock, as is the next
    std::vector<Exposure> exposures_;
};

fi_ops_mr* memory_ops() noexcept;

}   // namespace linnet::ofi
