// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Pool<T>: construction, reuse, growth, limit.
#include "mem/pool.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <vector>

namespace linnet {
namespace {

struct Counted {
    explicit Counted(int& alive_objects, int v = 0) noexcept : alive{alive_objects}, value{v} { ++alive; }
    ~Counted() { --alive; }
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    int& alive;
    int value;
};

TEST(Pool, CreateAndDestroyRunConstructorAndDestructor)
{
    int alive = 0;
    Pool<Counted> pool;
    Counted* const a = pool.create(alive, 7);
    ASSERT_NE(a, nullptr);
    EXPECT_EQ(a->value, 7);
    EXPECT_EQ(alive, 1);
    EXPECT_EQ(pool.in_use(), 1u);
    pool.destroy(*a);
    EXPECT_EQ(alive, 0);
    EXPECT_EQ(pool.in_use(), 0u);
}

TEST(Pool, SteadyTrafficReusesOneSlab)
{
    int alive = 0;
    Pool<Counted> pool;
    for (int i = 0; i < 1000; ++i) {
        Counted* const a = pool.create(alive);
        Counted* const b = pool.create(alive);
        pool.destroy(*a);
        pool.destroy(*b);
    }
    EXPECT_EQ(pool.growths(), 1u);
    EXPECT_EQ(pool.capacity(), 8u);
}

TEST(Pool, GrowingKeepsAddressesAndGivesDifferentOnes)
{
    int alive = 0;
    Pool<Counted> pool;
    std::vector<Counted*> objects;
    for (int i = 0; i < 2000; ++i) {
        objects.push_back(pool.create(alive, i));
        ASSERT_NE(objects.back(), nullptr);
    }
    EXPECT_EQ(std::set<Counted*>(objects.begin(), objects.end()).size(), 2000u);
    for (int i = 0; i < 2000; ++i) {
        ASSERT_EQ(objects[static_cast<std::size_t>(i)]->value, i);
    }
    EXPECT_LE(pool.growths(), 13u);   // 8 8 16 32 64 128 256 256...
    for (Counted* o : objects) {
        pool.destroy(*o);
    }
    EXPECT_EQ(alive, 0);
}

TEST(Pool, LimitAnswersNullUntilSomethingComesBack)
{
    int alive = 0;
    Pool<Counted> pool{10};
    std::vector<Counted*> objects;
    while (Counted* const o = pool.create(alive)) {
        objects.push_back(o);
    }
    EXPECT_EQ(objects.size(), 10u);
    EXPECT_EQ(pool.capacity(), 10u);
    EXPECT_EQ(pool.refusals(), 1u);
    pool.destroy(*objects.back());
    objects.back() = pool.create(alive);
    EXPECT_NE(objects.back(), nullptr);
    for (Counted* o : objects) {
        pool.destroy(*o);
    }
}

TEST(Pool, KeepsTheAlignmentOfItsType)
{
    struct alignas(64) Line {
        std::byte bytes[64];
    };
    Pool<Line> pool;
    std::vector<Line*> lines;
    for (int i = 0; i < 20; ++i) {
        lines.push_back(pool.create());
        EXPECT_EQ(reinterpret_cast<std::uintptr_t>(lines.back()) % 64, 0u);
    }
    for (Line* l : lines) {
        pool.destroy(*l);
    }
}

}   // namespace
}   // namespace linnet
