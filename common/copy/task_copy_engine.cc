// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TaskCopyEngine bodies.
#include "copy/task_copy_engine.h"

#include <algorithm>
#include <utility>

#include "sync/backoff.h"

namespace linnet {
namespace {

// Below this each helper would copy less than its call costs.
constexpr std::size_t kPerHelper = 128 * 1024;
// An idle core is had sooner. Where none is, an idle-class thread gets its third of a percent: a second was seen.
constexpr Nanos kCoreIsHad{300'000};
constexpr std::size_t kMostAtOnce = ClaimQueue<Task>::kMaxClaims * kCopySlice;

}   // namespace

bool TaskCopyEngine::shared(std::size_t whole, std::size_t bytes, QueueIndex queue) noexcept
{
    return bytes != 0 && whole >= worthwhile_ && bytes >= std::min(worthwhile_, kPerHelper) && bytes <= kMostAtOnce && helpers_.useful(queue);
}

void TaskCopyEngine::submit(CopyJob& job, CopyPiece& piece, std::byte* to, CopySource from, std::size_t bytes) noexcept
{
    const std::size_t whole = std::max(job.expected_bytes(), bytes);
    const bool past_cache = whole > past_cache_from_;
    if (const QueueIndex queue = here(); shared(whole, bytes, queue)) {
        const auto slices = static_cast<std::uint32_t>((bytes + kCopySlice - 1) / kCopySlice);
        piece.job_ = &job;
        piece.to_ = to;
        piece.from_ = from;
        piece.bytes_ = bytes;
        piece.past_cache_ = past_cache;
        job.begun(slices);
        if (tree_.push(piece, {queue, slices, true})) {
            piece.next_ = std::exchange(job.pieces_, &piece);
            helpers_.call(static_cast<unsigned>(std::max<std::size_t>(bytes / kPerHelper, 1)), queue);
            return;
        }
        for (std::uint32_t i = 0; i < slices; ++i) {
            job.finished(Status::kOk);   // nobody has seen the piece
        }
    }
    if (const Status s = copy_now(to, from, bytes, past_cache); s != Status::kOk) {
        job.failed(s);
    }
}

// False: all slices have been begun, and no piece is queued any more.
bool TaskCopyEngine::copy_a_slice(CopyJob& job) noexcept
{
    while (job.pieces_ != nullptr) {
        CopyPiece& piece = *job.pieces_;
        if (tree_.run_own(piece)) {
            return true;
        }
        job.pieces_ = piece.next_;
    }
    return false;
}

bool TaskCopyEngine::poll(CopyJob& job) noexcept { return !copy_a_slice(job) && job.done(); }

Status TaskCopyEngine::wait(CopyJob& job) noexcept
{
    while (copy_a_slice(job)) {
    }
    // A slice takes a few microseconds. A helper that was stopped in the middle of one needs a core: ours, when we sleep.
    for (Backoff backoff; !job.done() && !backoff.yielding();) {
        backoff.wait();
    }
    // It may still write there: the memory cannot be given back without it.
    if (!job.done()) {
        helpers_.make_room();
    }
    if (!job.done() && !job.sleep(kCoreIsHad)) {
        helpers_.lift();
    }
    Nanos slept{0};
    for (Nanos most = patience_; !job.done() && !job.sleep(most); most = 10 * patience_) {
        slept += most;
        helpers_.warn_of_late_one(slept);
    }
    return job.status();
}

}   // namespace linnet
