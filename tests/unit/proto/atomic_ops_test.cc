// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Atomic operations: what each does to memory, which there are.
#include "proto/atomic_ops.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <barrier>
#include <complex>
#include <cstring>
#include <limits>
#include <thread>
#include <vector>

namespace linnet::proto {
namespace {

using Op = AtomicOp;
using Type = AtomicType;
using Form = AtomicForm;

// What stands there afterwards; `before` is checked.
template <class T>
T after(Type type, Op op, T here, T operand, T compare = T{})
{
    const Form form = op >= Op::kSwapIfEqual ? Form::kCompare : Form::kFetch;
    EXPECT_TRUE(atomic_valid({form, op, type}));
    EXPECT_EQ(atomic_size(type), sizeof(T));
    // Behind one byte: nothing need be aligned.
    std::vector<std::byte> memory(sizeof(T) + 2, std::byte{0x5a});
    std::memcpy(memory.data() + 1, &here, sizeof here);
    T before{};
    apply_atomic({form, op, type}, memory.data() + 1, reinterpret_cast<std::byte*>(&operand), reinterpret_cast<std::byte*>(&compare),
                 reinterpret_cast<std::byte*>(&before), 1);
    EXPECT_TRUE(before == here);
    EXPECT_EQ(memory.front(), std::byte{0x5a});
    EXPECT_EQ(memory.back(), std::byte{0x5a});
    T now{};
    std::memcpy(&now, memory.data() + 1, sizeof now);
    return now;
}

TEST(AtomicOps, IntegersAreComparedAddedAndMasked)
{
    EXPECT_EQ(after<std::int32_t>(Type::kInt32, Op::kMin, 3, -4), -4);
    EXPECT_EQ(after<std::uint32_t>(Type::kUint32, Op::kMin, 3, static_cast<std::uint32_t>(-4)), 3u);
    EXPECT_EQ(after<std::int8_t>(Type::kInt8, Op::kMax, -3, -4), -3);
    EXPECT_EQ(after<std::uint64_t>(Type::kUint64, Op::kSum, UINT64_MAX, 2), 1u);
    EXPECT_EQ(after<std::int64_t>(Type::kInt64, Op::kSum, INT64_MAX, 1), INT64_MIN);
    EXPECT_EQ(after<std::uint16_t>(Type::kUint16, Op::kProduct, 0xffff, 0xffff), 1u);
    EXPECT_EQ(after<std::int16_t>(Type::kInt16, Op::kProduct, -300, 3), -900);
    EXPECT_EQ(after<std::uint8_t>(Type::kUint8, Op::kLogicalOr, 0, 7), 1u);
    EXPECT_EQ(after<std::uint8_t>(Type::kUint8, Op::kLogicalAnd, 4, 2), 1u);
    EXPECT_EQ(after<std::uint8_t>(Type::kUint8, Op::kLogicalXor, 4, 2), 0u);
    EXPECT_EQ(after<std::uint8_t>(Type::kUint8, Op::kBitOr, 4, 2), 6u);
    EXPECT_EQ(after<std::uint8_t>(Type::kUint8, Op::kBitAnd, 6, 2), 2u);
    EXPECT_EQ(after<std::uint8_t>(Type::kUint8, Op::kBitXor, 6, 2), 4u);
    EXPECT_EQ(after<std::uint32_t>(Type::kUint32, Op::kRead, 9, 1), 9u);
    EXPECT_EQ(after<std::uint32_t>(Type::kUint32, Op::kWrite, 9, 1), 1u);
    EXPECT_EQ(after<std::uint16_t>(Type::kUint16, Op::kSwapMasked, 0x1234, 0xabcd, 0x0ff0), 0x1bc4u);
}

TEST(AtomicOps, SwapsDependOnTheComparison)
{
    const auto swaps = [](Op op, int compare) { return after<std::int32_t>(Type::kInt32, op, 5, 100, compare) == 100; };
    for (const int compare : {4, 5, 6}) {
        EXPECT_EQ(swaps(Op::kSwapIfEqual, compare), compare == 5);
        EXPECT_EQ(swaps(Op::kSwapIfNotEqual, compare), compare != 5);
        EXPECT_EQ(swaps(Op::kSwapIfLessOrEqual, compare), compare <= 5);
        EXPECT_EQ(swaps(Op::kSwapIfLess, compare), compare < 5);
        EXPECT_EQ(swaps(Op::kSwapIfGreaterOrEqual, compare), compare >= 5);
        EXPECT_EQ(swaps(Op::kSwapIfGreater, compare), compare > 5);
    }
}

TEST(AtomicOps, NumbersWithAPointAndComplexOnes)
{
    using Complex = std::complex<double>;
    EXPECT_EQ(after(Type::kDouble, Op::kSum, 1.5, 2.25), 3.75);
    EXPECT_EQ(after(Type::kFloat, Op::kProduct, 1.5f, -2.0f), -3.0f);
    EXPECT_EQ(after(Type::kDouble, Op::kMin, 1.5, -std::numeric_limits<double>::infinity()), -std::numeric_limits<double>::infinity());
    EXPECT_EQ(after(Type::kLongDouble, Op::kMax, 1.5L, 2.5L), 2.5L);
    EXPECT_EQ(after(Type::kDouble, Op::kLogicalXor, 0.0, 0.5), 1.0);
    EXPECT_EQ(after(Type::kDoubleComplex, Op::kProduct, Complex(0, 1), Complex(0, 1)), Complex(-1, 0));
    EXPECT_EQ(after(Type::kFloatComplex, Op::kSum, std::complex<float>(1, 2), std::complex<float>(3, 4)), std::complex<float>(4, 6));
    EXPECT_EQ(after(Type::kDoubleComplex, Op::kSwapIfEqual, Complex(1, 2), Complex(3, 4), Complex(1, 2)), Complex(3, 4));
    EXPECT_EQ(after(Type::kLongDoubleComplex, Op::kWrite, std::complex<long double>(1, 2), std::complex<long double>(3, 4)),
              std::complex<long double>(3, 4));
}

TEST(AtomicOps, EveryElementIsTreated)
{
    std::vector<std::uint32_t> memory{1, 2, 3, 4};
    const std::vector<std::uint32_t> operand{10, 20, 30, 40};
    apply_atomic({Form::kApply, Op::kSum, Type::kUint32}, reinterpret_cast<std::byte*>(memory.data()), reinterpret_cast<const std::byte*>(operand.data()),
                 nullptr, nullptr, 4);
    EXPECT_EQ(memory, (std::vector<std::uint32_t>{11, 22, 33, 44}));
}

// What several do to one place at a time, and one of them by an instruction of its own, as a program whose memory it is may.
template <class T>
void expect_each_counts(Type type)
{
    constexpr unsigned kEach = 300'000;
    alignas(16) T place{};
    std::barrier begin{3};
    const auto add_ours = [&] {
        const T one{1};
        begin.arrive_and_wait();
        for (unsigned i = 0; i < kEach; ++i) {
            apply_atomic({Form::kApply, Op::kSum, type}, reinterpret_cast<std::byte*>(&place), reinterpret_cast<const std::byte*>(&one), nullptr, nullptr, 1);
        }
    };
    {
        const std::jthread first{add_ours};
        const std::jthread second{add_ours};
        begin.arrive_and_wait();
        for (unsigned i = 0; i < kEach; ++i) {
            std::atomic_ref<T>{place}.fetch_add(T{1});
        }
    }
    EXPECT_EQ(place, static_cast<T>(3 * kEach)) << static_cast<int>(type);
}

TEST(AtomicOps, OthersMayChangeAlignedElementsAtTheSameTime)
{
    expect_each_counts<std::int8_t>(Type::kInt8);
    expect_each_counts<std::uint16_t>(Type::kUint16);
    expect_each_counts<std::int32_t>(Type::kInt32);
    expect_each_counts<std::uint64_t>(Type::kUint64);
    expect_each_counts<float>(Type::kFloat);
    expect_each_counts<double>(Type::kDouble);
}

// A lock as programs make it: a swap takes it, a plain store by the owner of the memory gives it back.
TEST(AtomicOps, ASwapSeesWhatTheOwnerStores)
{
    std::uint64_t lock = 0;
    std::uint64_t guarded = 0;
    constexpr unsigned kEach = 100'000;
    std::barrier begin{2};
    const auto add = [&] {
        begin.arrive_and_wait();
        const std::uint64_t mine = 1;
        const std::uint64_t nobody = 0;
        for (unsigned i = 0; i < kEach; ++i) {
            for (std::uint64_t before = 1; before != 0;) {
                apply_atomic({Form::kCompare, Op::kSwapIfEqual, Type::kUint64}, reinterpret_cast<std::byte*>(&lock), reinterpret_cast<const std::byte*>(&mine),
                             reinterpret_cast<const std::byte*>(&nobody), reinterpret_cast<std::byte*>(&before), 1);
            }
            ++guarded;
            std::atomic_ref{lock}.store(0, std::memory_order_release);
        }
    };
    {
        const std::jthread other{add};
        add();
    }
    EXPECT_EQ(guarded, 2 * kEach);
}

TEST(AtomicOps, ReadingWritesNothing)
{
    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    void* const memory = mmap(nullptr, page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(memory, MAP_FAILED);
    std::array<std::byte, 16> before;
    for (const unsigned at : {0u, 1u}) {
        for (const Type type : {Type::kUint64, Type::kUint128}) {
            apply_atomic({Form::kFetch, Op::kRead, type}, static_cast<std::byte*>(memory) + at, nullptr, nullptr, before.data(), 1);
            EXPECT_EQ(before[0], std::byte{0});
        }
    }
    munmap(memory, page);
}

TEST(AtomicOps, WhatMakesNoSenseIsNotValid)
{
    EXPECT_FALSE(atomic_valid({Form::kFetch, Op::kBitOr, Type::kDouble}));
    EXPECT_FALSE(atomic_valid({Form::kFetch, Op::kMin, Type::kFloatComplex}));
    EXPECT_FALSE(atomic_valid({Form::kCompare, Op::kSwapMasked, Type::kFloat}));
    EXPECT_FALSE(atomic_valid({Form::kCompare, Op::kSwapIfLess, Type::kDoubleComplex}));
    EXPECT_FALSE(atomic_valid({Form::kApply, Op::kRead, Type::kInt32})) << "nothing would come of it";
    EXPECT_FALSE(atomic_valid({Form::kFetch, Op::kSwapIfEqual, Type::kInt32})) << "nothing to compare to";
    EXPECT_FALSE(atomic_valid({Form::kCompare, Op::kSum, Type::kInt32}));
    EXPECT_FALSE(atomic_valid({Form::kApply, Op::kCount, Type::kInt32}));
    EXPECT_FALSE(atomic_valid({Form::kApply, Op::kSum, Type::kCount}));
    EXPECT_FALSE(atomic_valid({static_cast<Form>(255), static_cast<Op>(255), static_cast<Type>(255)}));
    int valid = 0;
    for (unsigned form = 0; form < 3; ++form) {
        for (unsigned op = 0; op < static_cast<unsigned>(Op::kCount); ++op) {
            for (unsigned type = 0; type < static_cast<unsigned>(Type::kCount); ++type) {
                valid += atomic_valid({static_cast<Form>(form), static_cast<Op>(op), static_cast<Type>(type)}) ? 1 : 0;
            }
        }
    }
    // Of 16 types 10 are integers, 3 more have an order, 3 are complex. Apply and fetch: 6 for all, 2 with order, 3 for integers; fetch: reads.
    // Compare: 2, 4, 1.
    EXPECT_EQ(valid, 2 * (16 * 6 + 13 * 2 + 10 * 3) + 16 + 16 * 2 + 13 * 4 + 10);
}

}   // namespace
}   // namespace linnet::proto
