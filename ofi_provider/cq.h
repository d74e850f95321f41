// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Completion queues: fi_cq(3).
//
// What it is     A ring of completions that grows: with resource management on an application may size it as it likes, and loses nothing.
// Owner          The application, until fi_close(); a domain must outlive it.
// Threads        Any.
// Blocking       sread and sreadfrom, up to their timeout.
// Failure        As fi_cq(3) says. Without memory to grow the queue is overrun, and says so for ever (-FI_EOVERRUN in an error entry).
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "lock.h"
#include "provider.h"
#include "wait.h"

namespace linnet::ofi {

class Domain;

// One completion, with everything that any format may tell.
struct CqEntry {
    fi_cq_tagged_entry told{};
    fi_addr_t source{FI_ADDR_NOTAVAIL};
    std::size_t overflow{0};   // olen
    int error{0};              // an fi_errno value: it is an error entry
    int provider_error{0};
};

class Cq final : public fid_cq, public Waitable {
public:
    static int open(fid_domain* domain, fi_cq_attr* attr, fid_cq** out, void* context) noexcept;

    // `fill` is given an entry as it is by default.
    template <class Fill>
    void push(Fill&& fill) noexcept
    {
        {
            const std::lock_guard guard{lock_};
            const std::size_t count = count_.load(std::memory_order_relaxed);
            if (overrun_.load(std::memory_order_relaxed) || (count == ring_.size() && !grow())) {
                overrun();
                return;
            }
            CqEntry& entry = ring_[(head_ + count) & (ring_.size() - 1)];
            entry = {};
            fill(entry);
            if (entry.error != 0) {
                failed_.store(failed_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
            }
            if (!can_sleep()) {
                count_.store(count + 1, std::memory_order_release);
                return;
            }
            count_.store(count + 1, std::memory_order_seq_cst);   // before the look whether anybody sleeps
        }
        wake();
    }
    [[nodiscard]] bool has_events() noexcept override { return count_.load(std::memory_order_acquire) != 0; }
    // For poll sets: something to read, after progress.
    bool poll() noexcept;
    // The application reads it seldom, or never.
    [[nodiscard]] bool gathers() const noexcept { return count_.load(std::memory_order_relaxed) >= unread_most_; }
    // Endpoints that name it keep it from being closed.
    std::atomic<unsigned> users{0};
    [[nodiscard]] const Domain& domain() const noexcept { return domain_; }

private:
    static constexpr std::size_t kUnread = 1024;   // or what the application has opened it for
    explicit Cq(Domain& domain, const fi_cq_attr& attr);
    ~Cq() = default;
    static Cq& of(fid_cq* f) noexcept { return static_cast<Cq&>(*f); }
    static const fi_ops* fid_ops() noexcept;
    static const fi_ops_cq* cq_ops() noexcept;
    static int close_fid(struct fid* f) noexcept;
    static int control(struct fid* f, int command, void* arg) noexcept;
    static ssize_t read(fid_cq* f, void* to, std::size_t count) noexcept;
    static ssize_t read_from(fid_cq* f, void* to, std::size_t count, fi_addr_t* from) noexcept;
    static ssize_t read_error(fid_cq* f, fi_cq_err_entry* to, std::uint64_t flags) noexcept;
    static ssize_t sread(fid_cq* f, void* to, std::size_t count, const void* cond, int timeout) noexcept;
    static ssize_t sread_from(fid_cq* f, void* to, std::size_t count, fi_addr_t* from, const void* cond, int timeout) noexcept;
    static int signal(fid_cq* f) noexcept;
    static const char* error_text(fid_cq* f, int provider_error, const void* data, char* to, std::size_t bytes) noexcept;

    [[nodiscard]] bool was_just_emptied() noexcept;
    ssize_t take(void* to, std::size_t count, fi_addr_t* from) noexcept;
    ssize_t wait_and_take(void* to, std::size_t count, fi_addr_t* from, int timeout, std::size_t threshold);
    bool grow() noexcept;
    void overrun() noexcept;

    Domain& domain_;
    fi_cq_format format_;
    std::size_t entry_bytes_;
    const std::size_t unread_most_;
    bool thresholds_;                      // a blocking read may ask for more than one entry (FI_CQ_COND_THRESHOLD)
    Lock lock_;
    std::vector<CqEntry> ring_;            // guarded by lock_, a power of two
    std::size_t head_{0};                  // guarded by lock_: of the oldest; wraps with the ring
    std::atomic<std::size_t> count_{0};    // written under lock_
    std::atomic<std::size_t> failed_{0};   // written under lock_, before count_: those of them that are errors, which end every wait
    std::atomic<unsigned> signals_{0};     // calls of fi_cq_signal(): all who wait return
    std::atomic<bool> unheard_{false};     // nobody has returned for the last one yet: who comes now does
    std::atomic<bool> overrun_{false};     // written under lock_
    // Hints; what threads that read together make of them is bounded, and no more than that.
    std::atomic<bool> just_emptied_{false};   // the last read took what there was
    std::atomic<unsigned> spared_{0};         // looks since the last progress that made none
};

}   // namespace linnet::ofi
