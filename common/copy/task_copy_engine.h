// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TaskCopyEngine: idle cores copy, slice by slice, together with whoever waits. Everything about threads and failures is in copy_engine.h.
#pragma once

#include "copy/copy_engine.h"
#include "task/idle_helpers.h"
#include "task/task_tree.h"

namespace linnet {

class TaskCopyEngine final : public CopyEngine {
public:
    // Borrows tree and helpers. Without useful helpers, for jobs below `worthwhile` bytes, and for short pieces, submit() copies at once.
    // After `patience` of sleeping for a helper there is a warning, and again every ten times that.
    TaskCopyEngine(TaskTree& tree, IdleHelpers& helpers, std::size_t past_cache_from, std::size_t worthwhile = kWorthwhile, Nanos patience = kPatience) noexcept
        : tree_{tree}, helpers_{helpers}, past_cache_from_{past_cache_from}, worthwhile_{worthwhile}, patience_{patience}
    {
    }

    // A helper is there some 10 to 50 us after it was called, and the halves of a copy must then come out of memory, where two cores get more than one.
    // Measured by bench/micro/copy_bench: docs/copies.md. Out of another process 1 MiB did not pay in an MPI job.
    static constexpr std::size_t kWorthwhile = 2 * 1024 * 1024;
    // As peer_timeout: where others took both cores of two, an idle-class thread in mid-slice was away for more than a second, and that is no fault.
    static constexpr Nanos kPatience{10'000'000'000};

    [[nodiscard]] const char* name() const noexcept override { return "tasks"; }
    [[nodiscard]] std::size_t worthwhile_bytes() const noexcept override { return worthwhile_; }
    [[nodiscard]] bool shares(std::size_t bytes) noexcept override { return shared(bytes, bytes, here()); }
    void submit(CopyJob& job, CopyPiece& piece, std::byte* to, CopySource from, std::size_t bytes) noexcept override;
    bool poll(CopyJob& job) noexcept override;
    Status wait(CopyJob& job) noexcept override;

private:
    [[nodiscard]] QueueIndex here() const noexcept { return tree_.queue_of(current_cpu(), TopologyLevel::kNuma); }
    [[nodiscard]] bool shared(std::size_t whole, std::size_t bytes, QueueIndex queue) noexcept;   // a piece of `bytes`, of a job of `whole`

    [[nodiscard]] bool copy_a_slice(CopyJob& job) noexcept;

    TaskTree& tree_;
    IdleHelpers& helpers_;
    std::size_t past_cache_from_;
    std::size_t worthwhile_;
    Nanos patience_;
};

}   // namespace linnet
