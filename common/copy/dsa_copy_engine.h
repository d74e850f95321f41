// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// DsaCopyEngine: an Intel Data Streaming Accelerator copies. Everything about threads and failures is in copy_engine.h.
//
// It has been run against an emulation of the published interface (tests/unit/copy/dsa_emulator.h), never on the device: docs/copies.md.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "copy/copy_engine.h"
#include "copy/dsa_format.h"
#include "stats/counters.h"
#include "sync/lock.h"
#include "sys/dsa_queue.h"

namespace linnet {

// Pieces of a job are gathered into batches of descriptors, which go to the device when they are worth it, and at the latest in poll() or wait(). Whatever
// the device does not do, because a queue stays full, a page is missing, or it reports an error, the calling thread does.
class DsaCopyEngine final : public CopyEngine {
public:
    // Takes at least one portal. Borrows the rest; counts in `counters` (shared).
    DsaCopyEngine(std::vector<std::unique_ptr<DsaPortal>> portals, std::size_t past_cache_from, const Clock& clock, const Log& log, Counters& counters);
    // Every job was waited for.
    ~DsaCopyEngine() override;
    DsaCopyEngine(const DsaCopyEngine&) = delete;
    DsaCopyEngine& operator=(const DsaCopyEngine&) = delete;

    [[nodiscard]] const char* name() const noexcept override { return "dsa"; }
    // Handing over a descriptor and seeing it done costs about what a core needs for 4 KiB; asynchronously less, but then the core has other things to do, too.
    [[nodiscard]] std::size_t worthwhile_bytes() const noexcept override { return 4096; }
    void submit(CopyJob& job, CopyPiece& piece, std::byte* to, CopySource from, std::size_t bytes) noexcept override;
    bool poll(CopyJob& job) noexcept override;
    Status wait(CopyJob& job) noexcept override;

    // False after several errors in a row: the processor copies everything.
    [[nodiscard]] bool working() const noexcept { return errors_.load(std::memory_order_relaxed) < kErrorsUntilBroken; }

private:
    static constexpr unsigned kPerWork = 16;
    static constexpr unsigned kWorks = 64;
    static constexpr unsigned kErrorsUntilBroken = 4;

    // Descriptors that travel together, and what the device says about them. Of one job. Before `sent`, the job's owner adds to it; afterwards only reads
    // records.
    struct Work {
        std::array<dsa::Descriptor, kPerWork> descriptors;
        dsa::Descriptor batch;
        std::array<dsa::Record, kPerWork> records;
        dsa::Record batch_record;
        std::size_t bytes{0};
        unsigned n{0};
        unsigned portal{0};
        bool sent{false};
        std::uint32_t next{0};   // number of the next one of the job, or in the free list
    };
    struct Portal {
        std::unique_ptr<DsaPortal> device;
        std::atomic<unsigned> in_flight{0};   // of a dedicated queue
    };

    [[nodiscard]] Work& work(std::uint32_t number) noexcept { return works_[number - 1]; }
    [[nodiscard]] std::uint32_t acquire() noexcept;   // 0: none is free
    void release(std::uint32_t number) noexcept;
    [[nodiscard]] Work* open_work(CopyJob& job) noexcept;
    void send(Work& w) noexcept;
    [[nodiscard]] bool hand_over(Work& w, const dsa::Descriptor& descriptor) noexcept;
    [[nodiscard]] const dsa::Record& last_record(const Work& w) const noexcept { return w.n == 1 ? w.records[0] : w.batch_record; }
    void settle(Work& w, bool by_device) noexcept;
    void finish_descriptor(const dsa::Descriptor& d, const dsa::Record& r) noexcept;
    void note_error(unsigned status) noexcept;

    std::vector<Portal> portals_;
    std::size_t past_cache_from_;
    std::size_t max_transfer_;
    unsigned per_work_;
    const Clock& clock_;
    const Log& log_;
    Counters& counters_;
    std::atomic<unsigned> errors_{0};   // in a row
    std::atomic<unsigned> turn_{0};
    SpinLock free_lock_;
    std::uint32_t free_ LINNET_GUARDED_BY(free_lock_){0};
    std::unique_ptr<Work[]> works_;
};

// An engine on every queue that this process may use; null where there is none, which is the rule.
[[nodiscard]] std::unique_ptr<CopyEngine> open_dsa_copy_engine(std::size_t past_cache_from, const Clock& clock, const Log& log, Counters& counters);

}   // namespace linnet
