// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// CopyEngine: who copies large things. One contract: submit pieces as they come, wait once at the end.
//
// What it is   A job is a set of copies that are of interest only together: the frames of a message, the halves of a transfer. An engine may have copied a
//              piece when submit() returns, or let somebody else do it: an idle core, a device. See docs/copies.md.
// Owner        Job and pieces are storage of the caller's, in his request or frame: nothing is allocated. They and both ranges of memory are borrowed from
//              submit() until poll() said true or wait() returned; then they are the caller's, and the job may be used again.
// Threads      Several jobs at once. One job is driven by one thread at a time: submit(), poll() and wait() are for the holder of whatever guards it.
//              done() any, as a hint.
// Blocking     submit() at most as long as a copy of the piece takes. poll() at most a slice of 16 KiB. wait() until all is copied: it does itself whatever
//              nobody has begun, and sleeps only for what others have, with a warning when they take long.
// Failure      submit() takes everything; what an engine cannot do, the processor does. Memory of another process may turn out to be gone: wait() says so,
//              after the rest of the job was done.
// Overlap      The ranges of a job do not overlap each other, except as equal sources.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "base/clock.h"
#include "base/status.h"
#include "sys/remote_process.h"
#include "task/task.h"

namespace linnet {

// The most that anybody copies before he looks up again: some 1 to 4 us.
inline constexpr std::size_t kCopySlice = 16 * 1024;

// Where bytes come from: memory of ours, or of another process of this host (process_vm_readv(2)).
struct CopySource {
    std::uint64_t address{0};
    const RemoteProcess* process{nullptr};   // null: our own

    [[nodiscard]] static CopySource own(const void* memory) noexcept { return {reinterpret_cast<std::uintptr_t>(memory), nullptr}; }
    [[nodiscard]] static CopySource of(const RemoteProcess& process, std::uint64_t address) noexcept { return {address, &process}; }
};

class CopyJob;

// One range of a job; filled in by submit(). As a task, one run copies one slice.
class CopyPiece final : public Task {
public:
    CopyPiece() noexcept : Task{TaskKind::kCopy, &CopyPiece::copy_slice} {}

private:
    friend class CopyJob;
    friend class TaskCopyEngine;
    static TaskResult copy_slice(Task& self, std::uint32_t run) noexcept;

    CopyJob* job_{nullptr};
    CopyPiece* next_{nullptr};   // of those of the job that are queued
    std::byte* to_{nullptr};
    CopySource from_;
    std::size_t bytes_{0};
    bool past_cache_{false};
};

class CopyJob {
public:
    // `expected_bytes`: of the whole job, as far as known. Above the share of the cache that a copy should take, it goes past the cache.
    explicit CopyJob(std::size_t expected_bytes = 0) noexcept : expected_bytes_{expected_bytes} {}
    CopyJob(const CopyJob&) = delete;
    CopyJob& operator=(const CopyJob&) = delete;

    // All that was submitted is there, or failed. What was copied is visible to who sees this true.
    [[nodiscard]] bool done() const noexcept { return (open_.load(std::memory_order_acquire) & ~kWaits) == 0; }
    // After done(): kOk, or the first error. kPeerDown: memory of another process could not be read.
    [[nodiscard]] Status status() const noexcept { return static_cast<Status>(status_.load(std::memory_order_relaxed)); }
    [[nodiscard]] std::size_t expected_bytes() const noexcept { return expected_bytes_; }
    // Of the parts that engines make of pieces, so many are submitted and not yet copied. A hint.
    [[nodiscard]] std::uint32_t unfinished() const noexcept { return open_.load(std::memory_order_relaxed) & ~kWaits; }

    // ---- for engines ----

    // Proof. open_ counts what is begun and not finished, plus kWaits while the owner sleeps.
    //   Who finishes subtracts with release, the owner reads with acquire: it sees the copied bytes. Subtractions continue each other's release sequence, so it
    //   sees those of all. The subtraction is the last touch of the job: what is left to do, a wake-up, needs only the address, and waking nobody is no harm.
    //   The owner sets kWaits and sleeps while the word is what it read; so either the last subtraction sees kWaits, or the sleep finds the word changed.
    void begun(std::uint32_t n) noexcept { open_.fetch_add(n, std::memory_order_relaxed); }
    void finished(Status status) noexcept;
    void failed(Status status) noexcept;
    // Sleeps until all is finished by others, at most `most`. False: it is not yet.
    [[nodiscard]] bool sleep(Nanos most) noexcept;
    // Ready for the next pieces, with its error forgotten; the owner, after done().
    void reset(std::size_t expected_bytes) noexcept;

private:
    friend class TaskCopyEngine;
    friend class DsaCopyEngine;
    static constexpr std::uint32_t kWaits = 1u << 31;

    std::size_t expected_bytes_;
    std::atomic<std::uint32_t> open_{0};   // futex
    std::atomic<int> status_{0};
    CopyPiece* pieces_{nullptr};           // queued as tasks, the youngest first; the owner's
    std::uint32_t work_{0};                // descriptors not yet handed to a device, see DsaCopyEngine; the owner's
};

class CopyEngine {
public:
    virtual ~CopyEngine() = default;

    // For people: "cpu", "tasks", "dsa".
    [[nodiscard]] virtual const char* name() const noexcept = 0;
    // The smallest piece, and of a job the smallest sum of pieces, that this engine does better than the calling thread.
    [[nodiscard]] virtual std::size_t worthwhile_bytes() const noexcept = 0;

    // Would others copy parts of a piece of so much, as it is now? Else the calling thread does all of it in submit().
    [[nodiscard]] virtual bool shares(std::size_t /*bytes*/) noexcept { return false; }

    // Copies, or has copied, `bytes` bytes to `to`. Counts as part of `job`.
    virtual void submit(CopyJob& job, CopyPiece& piece, std::byte* to, CopySource from, std::size_t bytes) noexcept = 0;
    // Moves the job on a little, without waiting for anybody. True: done.
    virtual bool poll(CopyJob& job) noexcept = 0;
    // Until done. Returns job.status().
    virtual Status wait(CopyJob& job) noexcept = 0;
};

// ---- what every engine falls back on ----

// Copies now, by the calling thread; `past_cache` uses streaming stores for memory of ours. kPeerDown: the other process's memory cannot be read.
Status copy_now(std::byte* to, CopySource from, std::size_t bytes, bool past_cache) noexcept;

}   // namespace linnet
