// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Poll sets: fi_poll(3).
#pragma once

#include <mutex>
#include <vector>

#include "provider.h"

namespace linnet::ofi {

class Domain;

class PollSet final : public fid_poll {
public:
    static int open(fid_domain* domain, fi_poll_attr* attr, fid_poll** out) noexcept;

private:
    struct Member {
        struct fid* object;
        std::uint64_t seen{0};   // changes of a counter when this set last looked
    };
    explicit PollSet(Domain& domain);
    ~PollSet() = default;
    static int close_fid(struct fid* f) noexcept;
    static int poll(fid_poll* f, void** contexts, int count) noexcept;
    static int add(fid_poll* f, struct fid* what, std::uint64_t flags) noexcept;
    static int remove(fid_poll* f, struct fid* what, std::uint64_t flags) noexcept;

    [[nodiscard]] std::vector<Member>::iterator find(const struct fid* what) noexcept;

    Domain& domain_;
    std::mutex lock_;
    std::vector<Member> members_;   // guarded by lock_, as is the next
    std::size_t next_{0};           // of them, whom to look at first
};

}   // namespace linnet::ofi
