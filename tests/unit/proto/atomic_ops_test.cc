// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Atomic operations: what each does to memory, which there are.
#include "proto/atomic_ops.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <limits>
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
