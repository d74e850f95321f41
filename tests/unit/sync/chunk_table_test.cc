// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ChunkTable: stable objects, found by number while the table grows.
#include "sync/chunk_table.h"

#include <gtest/gtest.h>

#include <thread>

namespace linnet {
namespace {

struct Thing {
    std::uint32_t value{77};
};

TEST(ChunkTable, NumberBeyondTheTableFindsNothing)
{
    ChunkTable<Thing, 4, 2> table;
    EXPECT_EQ(table.at(0), nullptr);
    ASSERT_TRUE(table.grow());
    EXPECT_NE(table.at(3), nullptr);
    EXPECT_EQ(table.at(4), nullptr);
    EXPECT_EQ(table.at(UINT32_MAX), nullptr);
}

TEST(ChunkTable, ObjectsNeverMoveAndNumbersRunOut)
{
    ChunkTable<Thing, 4, 2> table;
    ASSERT_TRUE(table.grow());
    Thing* const first = table.at(0);
    first->value = 5;
    ASSERT_TRUE(table.grow());
    EXPECT_EQ(table.size(), 8u);
    EXPECT_EQ(table.at(0), first);
    EXPECT_EQ(table.at(0)->value, 5u);
    EXPECT_FALSE(table.grow());
    EXPECT_EQ(table.at(8), nullptr);
}

// What a reader finds is constructed, however new it is.
TEST(ChunkTable, ReadersSeeConstructedObjectsWhileItGrows)
{
    ChunkTable<Thing, 8, 256> table;
    std::thread reader{[&table] {
        for (std::uint32_t n = 0; n < 8 * 256;) {
            if (const Thing* t = table.at(n)) {
                ASSERT_EQ(t->value, 77u);
                ++n;
            }
        }
    }};
    while (table.grow()) {
    }
    reader.join();
    EXPECT_EQ(table.size(), 8u * 256u);
}

}   // namespace
}   // namespace linnet
