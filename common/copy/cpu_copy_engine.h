// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// CpuCopyEngine: the calling thread copies, at once. Everything about threads and failures is in copy_engine.h.
#pragma once

#include <algorithm>

#include "copy/copy_engine.h"

namespace linnet {

class CpuCopyEngine final : public CopyEngine {
public:
    // Jobs of more than `past_cache_from` bytes go past the cache: last_level_cache_share().
    explicit CpuCopyEngine(std::size_t past_cache_from) noexcept : past_cache_from_{past_cache_from} {}

    [[nodiscard]] const char* name() const noexcept override { return "cpu"; }
    [[nodiscard]] std::size_t worthwhile_bytes() const noexcept override { return 0; }
    void submit(CopyJob& job, CopyPiece&, std::byte* to, CopySource from, std::size_t bytes) noexcept override
    {
        if (const Status s = copy_now(to, from, bytes, std::max(job.expected_bytes(), bytes) > past_cache_from_); s != Status::kOk) {
            job.failed(s);
        }
    }
    bool poll(CopyJob&) noexcept override { return true; }
    Status wait(CopyJob& job) noexcept override { return job.status(); }

private:
    std::size_t past_cache_from_;
};

}   // namespace linnet
