// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FramePool: buffers of one size in memory that the caller lends.
//
// Owner: whoever lends the memory, which outlives the pool (a ring, registered memory, a plain array). Threads: one at a time. Never allocates after its
// constructor. Failure: kNone when all are out: back-pressure.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/assert.h"

namespace linnet::flow {

class FramePool {
public:
    using Index = std::uint16_t;
    static constexpr Index kNone = UINT16_MAX;

    FramePool(std::span<std::byte> memory, std::size_t buffer_bytes) : memory_{memory.data()}, buffer_bytes_{buffer_bytes}
    {
        const std::size_t count = std::min<std::size_t>(memory.size() / buffer_bytes, kNone);
        free_.reserve(count);
        for (std::size_t i = count; i > 0; --i) {
            free_.push_back(static_cast<Index>(i - 1));
        }
        count_ = count;
    }
    FramePool(const FramePool&) = delete;
    FramePool& operator=(const FramePool&) = delete;

    [[nodiscard]] Index acquire() noexcept
    {
        if (free_.empty()) {
            return kNone;
        }
        const Index i = free_.back();
        free_.pop_back();
        return i;
    }
    void release(Index i) noexcept
    {
        LINNET_ASSERT(i < count_ && free_.size() < count_);
        free_.push_back(i);   // within the reserved capacity
    }
    [[nodiscard]] std::byte* buffer(Index i) const noexcept { return memory_ + std::size_t{i} * buffer_bytes_; }
    [[nodiscard]] std::size_t available() const noexcept { return free_.size(); }
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    // The last part of it is for a few frames of each: whoever sends then wants those back that have arrived.
    static constexpr std::size_t kLastPart = 4;
    [[nodiscard]] bool scarce() const noexcept { return available() <= count() / kLastPart; }
    [[nodiscard]] std::size_t buffer_bytes() const noexcept { return buffer_bytes_; }

private:
    std::byte* memory_;
    std::size_t buffer_bytes_;
    std::size_t count_{0};
    std::vector<Index> free_;
};

}   // namespace linnet::flow
