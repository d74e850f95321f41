// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Completion counters: fi_cntr(3).
//
// Owner: the application, until fi_close(). Threads: any. Blocking: wait alone. Failure: as fi_cntr(3) says.
#pragma once

#include <atomic>

#include "provider.h"
#include "wait.h"

namespace linnet::ofi {

class Domain;

class Counter final : public fid_cntr, public Waitable {
public:
    static int open(fid_domain* domain, fi_cntr_attr* attr, fid_cntr** out, void* context) noexcept;

    void count(bool success) noexcept;
    // It changed since it was last read.
    [[nodiscard]] bool has_events() noexcept override;
    // For poll sets: it changed since the set last asked, after progress. Reading it is nothing to that.
    bool poll(std::uint64_t& seen) noexcept;
    std::atomic<unsigned> users{0};
    [[nodiscard]] const Domain& domain() const noexcept { return domain_; }

private:
    explicit Counter(Domain& domain);
    ~Counter() = default;
    static Counter& of(fid_cntr* f) noexcept { return static_cast<Counter&>(*f); }
    static const fi_ops* fid_ops() noexcept;
    static const fi_ops_cntr* cntr_ops() noexcept;
    static int close_fid(struct fid* f) noexcept;
    static int control(struct fid* f, int command, void* arg) noexcept;
    static std::uint64_t read(fid_cntr* f) noexcept;
    static std::uint64_t read_error(fid_cntr* f) noexcept;
    static int add(fid_cntr* f, std::uint64_t value) noexcept;
    static int set(fid_cntr* f, std::uint64_t value) noexcept;
    static int add_error(fid_cntr* f, std::uint64_t value) noexcept;
    static int set_error(fid_cntr* f, std::uint64_t value) noexcept;
    int changed() noexcept;   // by the program: tells who waits
    void look() noexcept;     // before what it tells: all changes so far are known afterwards
    std::uint64_t tell_errors() noexcept;
    static int wait(fid_cntr* f, std::uint64_t threshold, int timeout) noexcept;

    Domain& domain_;
    std::atomic<std::uint64_t> value_{0};
    std::atomic<std::uint64_t> errors_{0};
    std::atomic<std::uint64_t> errors_told_{0};   // as many as the program knows of
    std::atomic<std::uint64_t> changes_{0};   // of either
    std::atomic<std::uint64_t> seen_{0};      // `changes_` when it was last read
};

}   // namespace linnet::ofi
