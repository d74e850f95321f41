// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// DsaCopyEngine bodies.
#include "copy/dsa_copy_engine.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "sync/backoff.h"

namespace linnet {
namespace {

// A batch that moves so much is not made to wait for more.
constexpr std::size_t kWorthSending = 128 * 1024;
// Larger pieces go as several descriptors, so that several engines of the device work on them.
constexpr std::size_t kDescriptorMost = 256 * 1024;
// A full queue empties at some GB/s: this long, about 10 us, and then the processor does it.
constexpr unsigned kRetries = 64;
constexpr Nanos kPatience{1'000'000'000};

std::uint64_t address_of(const void* p) noexcept { return reinterpret_cast<std::uintptr_t>(p); }
std::byte* memory_at(std::uint64_t address) noexcept { return reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(address)); }
std::uint32_t head(dsa::Opcode opcode, std::uint32_t flags) noexcept { return static_cast<std::uint32_t>(opcode) << 24 | flags; }

}   // namespace

DsaCopyEngine::DsaCopyEngine(std::vector<std::unique_ptr<DsaPortal>> portals, std::size_t past_cache_from, const Clock& clock, const Log& log,
                             Counters& counters)
    : portals_(portals.size()),
      past_cache_from_{past_cache_from},
      max_transfer_{kDescriptorMost},
      per_work_{kPerWork},
      clock_{clock},
      log_{log},
      counters_{counters},
      works_{new Work[kWorks]}
{
    for (std::size_t i = 0; i < portals.size(); ++i) {
        const DsaLimits& limits = portals[i]->limits();
        max_transfer_ = std::min(max_transfer_, limits.max_transfer);
        per_work_ = std::min(per_work_, std::max(limits.max_batch, 1u));
        portals_[i].device = std::move(portals[i]);
    }
    for (std::uint32_t i = kWorks; i >= 1; --i) {
        release(i);
    }
}

DsaCopyEngine::~DsaCopyEngine()
{
#if LINNET_DEBUG
    SpinLockGuard guard{free_lock_};
    unsigned n = 0;
    for (std::uint32_t i = free_; i != 0; i = work(i).next) {
        ++n;
    }
    LINNET_ASSERT(n == kWorks);
#endif
}

std::uint32_t DsaCopyEngine::acquire() noexcept
{
    SpinLockGuard guard{free_lock_};
    return free_ != 0 ? std::exchange(free_, work(free_).next) : 0;
}

void DsaCopyEngine::release(std::uint32_t number) noexcept
{
    SpinLockGuard guard{free_lock_};
    work(number).next = std::exchange(free_, number);
}

// ---- from pieces to descriptors ----

// The job's, with room for one more descriptor; null when all are in use.
DsaCopyEngine::Work* DsaCopyEngine::open_work(CopyJob& job) noexcept
{
    if (job.work_ != 0 && !work(job.work_).sent) {
        return &work(job.work_);
    }
    const std::uint32_t number = acquire();
    if (number == 0) {
        return nullptr;
    }
    Work& w = work(number);
    w.bytes = 0;
    w.n = 0;
    w.sent = false;
    w.next = std::exchange(job.work_, number);
    job.begun(1);
    return &w;
}

void DsaCopyEngine::submit(CopyJob& job, CopyPiece&, std::byte* to, CopySource from, std::size_t bytes) noexcept
{
    const bool past_cache = std::max(job.expected_bytes(), bytes) > past_cache_from_;
    while (bytes >= 1 && from.process == nullptr && working()) {
        Work* const w = open_work(job);
        if (w == nullptr) {
            break;
        }
        const std::size_t n = std::min(bytes, max_transfer_);
        dsa::Descriptor& d = w->descriptors[w->n];
        dsa::Record& r = w->records[w->n];
        r.status.store(dsa::kPending, std::memory_order_relaxed);
        r.result = 0;
        r.bytes_done = 0;
        d = {};
        d.flags_and_opcode = head(dsa::Opcode::kMemoryMove, dsa::kRecordValid | dsa::kRecordWanted | (past_cache ? 0 : dsa::kCacheControl));
        d.record = address_of(&r);
        d.source = from.address;
        d.destination = address_of(to);
        d.size = static_cast<std::uint32_t>(n);
        ++w->n;
        w->bytes += n;
        to += n;
        from.address += n;
        bytes -= n;
        if (w->n == per_work_ || w->bytes >= kWorthSending) {
            send(*w);
        }
    }
    if (const Status s = copy_now(to, from, bytes, past_cache); s != Status::kOk) {
        job.failed(s);
    }
}

void DsaCopyEngine::send(Work& w) noexcept
{
    w.sent = true;
    const dsa::Descriptor* descriptor = &w.descriptors[0];
    if (w.n > 1) {
        w.batch_record.status.store(dsa::kPending, std::memory_order_relaxed);
        w.batch = {};
        w.batch.flags_and_opcode = head(dsa::Opcode::kBatch, dsa::kRecordValid | dsa::kRecordWanted);
        w.batch.record = address_of(&w.batch_record);
        w.batch.source = address_of(w.descriptors.data());
        w.batch.size = w.n;
        descriptor = &w.batch;
    }
    if (!hand_over(w, *descriptor)) {
        counters_.add_shared(Counter::kCopyDsaFull);
        settle(w, false);
        w.n = 0;   // done, by ourselves
    }
}

// False: the queue stayed full.
bool DsaCopyEngine::hand_over(Work& w, const dsa::Descriptor& descriptor) noexcept
{
    const unsigned first = turn_.fetch_add(1, std::memory_order_relaxed);
    for (unsigned i = 0; i < kRetries; ++i) {
        w.portal = static_cast<unsigned>((first + i) % portals_.size());
        Portal& portal = portals_[w.portal];
        const DsaLimits& limits = portal.device->limits();
        if (!limits.dedicated) {
            if (portal.device->submit(reinterpret_cast<const std::byte*>(&descriptor))) {
                return true;
            }
        } else if (portal.in_flight.fetch_add(1, std::memory_order_acquire) < limits.size) {
            // What is sent to a full dedicated queue is lost, and nobody says so: hence the count.
            return portal.device->submit(reinterpret_cast<const std::byte*>(&descriptor));
        } else {
            portal.in_flight.fetch_sub(1, std::memory_order_relaxed);
        }
        cpu_pause();
    }
    return false;
}

// ---- from records to bytes ----

// The device is done with it, or never got it: see to it that every byte is there.
void DsaCopyEngine::settle(Work& w, bool by_device) noexcept
{
    if (by_device && w.n > 1) {
        const std::uint8_t status = w.batch_record.status.load(std::memory_order_acquire) & dsa::kStatusMask;
        if (status == dsa::kBatchPageFault) {
            counters_.add_shared(Counter::kCopyDsaFaults);
        } else if (status != dsa::kSuccess && status != dsa::kBatchFailed) {
            note_error(status);
        }
    }
    for (unsigned i = 0; i < w.n; ++i) {
        if (by_device) {
            finish_descriptor(w.descriptors[i], w.records[i]);
        } else {
            const dsa::Descriptor& d = w.descriptors[i];
            static_cast<void>(copy_now(memory_at(d.destination), {d.source, nullptr}, d.size, false));
        }
    }
}

void DsaCopyEngine::finish_descriptor(const dsa::Descriptor& d, const dsa::Record& r) noexcept
{
    const std::uint8_t status = r.status.load(std::memory_order_acquire) & dsa::kStatusMask;
    if (status == dsa::kSuccess) {
        errors_.store(0, std::memory_order_relaxed);
        counters_.add_shared(Counter::kCopyDsaBytes, d.size);
        return;
    }
    std::uint32_t done = 0;
    bool backwards = false;
    if (status == dsa::kPageFault && r.bytes_done <= d.size) {
        done = r.bytes_done;
        backwards = r.result != 0;
        counters_.add_shared(Counter::kCopyDsaFaults);
        counters_.add_shared(Counter::kCopyDsaBytes, done);
    } else if (status != dsa::kPending) {   // pending: never begun, which the batch's record told
        note_error(status);
    }
    const std::uint32_t at = backwards ? 0 : done;
    static_cast<void>(copy_now(memory_at(d.destination + at), {d.source + at, nullptr}, d.size - done, false));
}

void DsaCopyEngine::note_error(unsigned status) noexcept
{
    if (errors_.fetch_add(1, std::memory_order_relaxed) + 1 == kErrorsUntilBroken) {
        LINNET_LOG(log_, kWarn, "the data streaming accelerator failed %u times in a row, at last with status 0x%02x: it is not used any more",
                   kErrorsUntilBroken, status);
    }
}

// ---- the rest of the contract ----

bool DsaCopyEngine::poll(CopyJob& job) noexcept
{
    std::uint32_t kept = 0;
    for (std::uint32_t number = std::exchange(job.work_, 0); number != 0;) {
        Work& w = work(number);
        if (!w.sent) {
            send(w);
        }
        const std::uint32_t next = w.next;
        if (w.n != 0 && last_record(w).status.load(std::memory_order_acquire) == dsa::kPending) {
            w.next = std::exchange(kept, number);
        } else {
            if (w.n != 0) {
                if (portals_[w.portal].device->limits().dedicated) {
                    portals_[w.portal].in_flight.fetch_sub(1, std::memory_order_release);
                }
                settle(w, true);
            }
            release(number);
            job.finished(Status::kOk);
        }
        number = next;
    }
    job.work_ = kept;
    return kept == 0;
}

Status DsaCopyEngine::wait(CopyJob& job) noexcept
{
    Backoff backoff;
    TimePoint warn_at = TimePoint::max();
    while (!poll(job)) {
        backoff.wait();
        if (backoff.yielding()) {
            const TimePoint now = clock_.now();
            if (warn_at == TimePoint::max()) {
                warn_at = now + kPatience;
            } else if (now >= warn_at) {
                // The device may still write there: neither the memory nor the job can be given back.
                LINNET_LOG(log_, kWarn, "the data streaming accelerator has not answered for %lld ms",
                           static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(now - warn_at + kPatience).count()));
                warn_at = now + 10 * kPatience;
            }
        }
    }
    return job.status();
}

std::unique_ptr<CopyEngine> open_dsa_copy_engine(std::size_t past_cache_from, const Clock& clock, const Log& log, Counters& counters)
{
    std::vector<std::unique_ptr<DsaPortal>> portals;
    for (const DsaQueueInfo& info : find_dsa_queues()) {
        if (std::unique_ptr<DsaPortal> portal = open_dsa_queue(info, log)) {
            portals.push_back(std::move(portal));
        }
    }
    return portals.empty() ? nullptr : std::make_unique<DsaCopyEngine>(std::move(portals), past_cache_from, clock, log, counters);
}

}   // namespace linnet
