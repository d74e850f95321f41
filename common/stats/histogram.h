// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Log2Histogram: how values spread over powers of two.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace linnet {

// Bucket 0 counts the value 0, bucket b the values from 2^(b-1) to 2^b - 1. Owner: whoever measures. Threads: add() one writer at a time,
// add_shared() any, reading any. Blocking: never. Cannot fail.
class Log2Histogram {
public:
    static constexpr std::size_t kBuckets = 65;

    void add(std::uint64_t value) noexcept
    {
        std::atomic<std::uint64_t>& b = buckets_[bucket_of(value)];
        b.store(b.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
    }
    void add_shared(std::uint64_t value) noexcept { buckets_[bucket_of(value)].fetch_add(1, std::memory_order_relaxed); }

    [[nodiscard]] std::uint64_t bucket(std::size_t index) const noexcept { return buckets_[index].load(std::memory_order_relaxed); }
    [[nodiscard]] std::uint64_t count() const noexcept
    {
        std::uint64_t n = 0;
        for (const auto& b : buckets_) {
            n += b.load(std::memory_order_relaxed);
        }
        return n;
    }

    // The smallest upper end of a bucket below which at least `fraction` (0 to 1) of the values lie: right within a factor of 2.
    // 0 when there are none.
    [[nodiscard]] std::uint64_t quantile(double fraction) const noexcept
    {
        const std::uint64_t n = count();
        std::uint64_t below = 0;
        for (std::size_t b = 0; b < kBuckets && n > 0; ++b) {
            below += bucket(b);
            if (below > 0 && static_cast<double>(below) >= fraction * static_cast<double>(n)) {
                return upper_end(b);
            }
        }
        return 0;
    }

    [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t value) noexcept
    {
        return static_cast<std::size_t>(std::bit_width(value));
    }
    // The largest value that falls into bucket `index`.
    [[nodiscard]] static constexpr std::uint64_t upper_end(std::size_t index) noexcept
    {
        return index == 0 ? 0 : index >= 64 ? UINT64_MAX : (std::uint64_t{1} << index) - 1;
    }

private:
    std::array<std::atomic<std::uint64_t>, kBuckets> buckets_{};
};

}   // namespace linnet
