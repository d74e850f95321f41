// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// CopyJob, and copying by the calling thread: plain, past the cache, out of another process.
#include "copy/copy_engine.h"

#include <algorithm>
#include <cstring>

#if defined(__x86_64__)
#include <emmintrin.h>
#endif

#include "sys/futex.h"
#include "sys/system_clock.h"

namespace linnet {
namespace {

#if defined(__x86_64__)

constexpr std::size_t kLine = 64;

// Whole lines by streaming stores, which write memory without first reading it into the cache and without pushing out what is there. The edges are
// copied plainly: a line written in part by both kinds of store would be read and written twice.
void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) noexcept
{
    const std::size_t head = std::min(bytes, (kLine - reinterpret_cast<std::uintptr_t>(to) % kLine) % kLine);
    std::memcpy(to, from, head);
    to += head;
    from += head;
    bytes -= head;
    for (; bytes >= kLine; bytes -= kLine, to += kLine, from += kLine) {
        const auto* in = reinterpret_cast<const __m128i*>(from);
        auto* out = reinterpret_cast<__m128i*>(to);
        const __m128i a = _mm_loadu_si128(in), b = _mm_loadu_si128(in + 1), c = _mm_loadu_si128(in + 2), d = _mm_loadu_si128(in + 3);
        _mm_stream_si128(out, a);
        _mm_stream_si128(out + 1, b);
        _mm_stream_si128(out + 2, c);
        _mm_stream_si128(out + 3, d);
    }
    std::memcpy(to, from, bytes);
    _mm_sfence();   // streaming stores are not ordered by a release store
}

#else

void copy_past_cache(std::byte* to, const std::byte* from, std::size_t bytes) noexcept { std::memcpy(to, from, bytes); }

#endif

}   // namespace

// ---- CopyJob ----

void CopyJob::failed(Status status) noexcept
{
    int none = 0;
    status_.compare_exchange_strong(none, static_cast<int>(status), std::memory_order_relaxed);
}

void CopyJob::finished(Status status) noexcept
{
    if (status != Status::kOk) {
        failed(status);
    }
    if (open_.fetch_sub(1, std::memory_order_acq_rel) == (kWaits | 1)) {
        futex_wake(open_);
    }
}

bool CopyJob::sleep(Nanos most) noexcept
{
    std::uint32_t open = open_.fetch_or(kWaits, std::memory_order_acq_rel) | kWaits;
    const TimePoint until = monotonic_now() + most;
    for (Nanos left = most; open != kWaits && left > Nanos::zero(); left = until - monotonic_now()) {   // signals wake it, too
        static_cast<void>(futex_wait(open_, open, left));
        open = open_.load(std::memory_order_acquire);
    }
    if (open == kWaits) {
        open_.store(0, std::memory_order_relaxed);
        return true;
    }
    return false;   // kWaits stays: it only costs who ends it a wake-up
}

void CopyJob::reset(std::size_t expected_bytes) noexcept
{
    expected_bytes_ = expected_bytes;
    status_.store(0, std::memory_order_relaxed);
}

TaskResult CopyPiece::copy_slice(Task& self, std::uint32_t run) noexcept
{
    const auto& piece = static_cast<const CopyPiece&>(self);
    const std::size_t at = run * kCopySlice;
    const CopySource from{piece.from_.address + at, piece.from_.process};
    CopyJob& job = *piece.job_;
    job.finished(copy_now(piece.to_ + at, from, std::min(kCopySlice, piece.bytes_ - at), piece.past_cache_));
    return TaskResult::kDone;
}

// ---- the calling thread ----

Status copy_now(std::byte* to, CopySource from, std::size_t bytes, bool past_cache) noexcept
{
    if (from.process != nullptr) {
        return from.process->read(to, from.address, bytes).error == 0 ? Status::kOk : Status::kPeerDown;
    }
    const auto* const memory = reinterpret_cast<const std::byte*>(static_cast<std::uintptr_t>(from.address));
    if (past_cache) {
        copy_past_cache(to, memory, bytes);
    } else if (bytes != 0) {
        std::memcpy(to, memory, bytes);
    }
    return Status::kOk;
}

}   // namespace linnet
