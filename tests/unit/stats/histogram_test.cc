// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Log2Histogram: buckets and quantiles.
#include "stats/histogram.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace linnet {
namespace {

TEST(Log2Histogram, BucketsBeginAtPowersOfTwo)
{
    EXPECT_EQ(Log2Histogram::bucket_of(0), 0u);
    EXPECT_EQ(Log2Histogram::bucket_of(1), 1u);
    EXPECT_EQ(Log2Histogram::bucket_of(2), 2u);
    EXPECT_EQ(Log2Histogram::bucket_of(3), 2u);
    EXPECT_EQ(Log2Histogram::bucket_of(4), 3u);
    EXPECT_EQ(Log2Histogram::bucket_of(UINT64_MAX), 64u);
    for (std::size_t b = 1; b < Log2Histogram::kBuckets; ++b) {
        const std::uint64_t end = Log2Histogram::upper_end(b);
        EXPECT_EQ(Log2Histogram::bucket_of(end), b);
        EXPECT_EQ(Log2Histogram::bucket_of(end / 2 + 1), b);
    }
}

TEST(Log2Histogram, CountsEveryValueOnce)
{
    Log2Histogram h;
    for (const std::uint64_t v : {0u, 1u, 2u, 3u, 1000u, 1023u, 1024u}) {
        h.add(v);
    }
    EXPECT_EQ(h.count(), 7u);
    EXPECT_EQ(h.bucket(0), 1u);
    EXPECT_EQ(h.bucket(2), 2u);
    EXPECT_EQ(h.bucket(10), 2u);
    EXPECT_EQ(h.bucket(11), 1u);
}

TEST(Log2Histogram, QuantileIsTheEndOfItsBucket)
{
    Log2Histogram h;
    EXPECT_EQ(h.quantile(0.5), 0u);
    for (int i = 0; i < 99; ++i) {
        h.add(100);   // bucket 64..127
    }
    h.add(5000);      // bucket 4096..8191
    EXPECT_EQ(h.quantile(0.0), 127u);
    EXPECT_EQ(h.quantile(0.5), 127u);
    EXPECT_EQ(h.quantile(0.99), 127u);
    EXPECT_EQ(h.quantile(1.0), 8191u);
}

TEST(Log2Histogram, SharedAddLosesNothingBetweenThreads)
{
    Log2Histogram h;
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 3; ++t) {
        threads.emplace_back([&h, t] {
            for (unsigned i = 0; i < 10000; ++i) {
                h.add_shared(t);
            }
        });
    }
    for (std::thread& t : threads) {
        t.join();
    }
    EXPECT_EQ(h.count(), 30000u);
}

}   // namespace
}   // namespace linnet
