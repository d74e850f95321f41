// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Atomic operations: the arithmetic.
#include "proto/atomic_ops.h"

#include <atomic>
#include <bit>
#include <complex>
#include <cstring>
#include <type_traits>

namespace linnet::proto {

namespace {
__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

template <class T>
inline constexpr bool kIsWide = std::is_same_v<T, Int128> || std::is_same_v<T, Uint128>;
template <class T>
inline constexpr bool kIsInteger = std::is_integral_v<T> || kIsWide<T>;
template <class T>
inline constexpr bool kHasOrder = kIsInteger<T> || std::is_floating_point_v<T>;

// Arithmetic of integers wraps: done without a sign, in a type that is not promoted to one with a sign.
template <class T>
using Modular = std::conditional_t<kIsWide<T>, Uint128, std::uint64_t>;

template <class T>
T sum(const T& a, const T& b) noexcept
{
    if constexpr (kIsInteger<T>) {
        return static_cast<T>(static_cast<Modular<T>>(a) + static_cast<Modular<T>>(b));
    } else {
        return a + b;
    }
}
template <class T>
T product(const T& a, const T& b) noexcept
{
    if constexpr (kIsInteger<T>) {
        return static_cast<T>(static_cast<Modular<T>>(a) * static_cast<Modular<T>>(b));
    } else {
        return a * b;
    }
}
template <class T>
bool truth(const T& a) noexcept
{
    return a != T{};
}

// The new value; false: there is no such operation on this type.
template <class T>
bool combine(AtomicOp op, const T& here, const T& operand, const T& compare, T& to) noexcept
{
    to = here;
    switch (op) {
        case AtomicOp::kSum: to = sum(here, operand); return true;
        case AtomicOp::kProduct: to = product(here, operand); return true;
        case AtomicOp::kLogicalOr: to = T(truth(here) || truth(operand) ? 1 : 0); return true;
        case AtomicOp::kLogicalAnd: to = T(truth(here) && truth(operand) ? 1 : 0); return true;
        case AtomicOp::kLogicalXor: to = T(truth(here) != truth(operand) ? 1 : 0); return true;
        case AtomicOp::kRead: return true;
        case AtomicOp::kWrite: to = operand; return true;
        case AtomicOp::kSwapIfEqual: to = compare == here ? operand : here; return true;
        case AtomicOp::kSwapIfNotEqual: to = compare != here ? operand : here; return true;
        default: break;
    }
    if constexpr (kHasOrder<T>) {
        switch (op) {
            case AtomicOp::kMin: to = operand < here ? operand : here; return true;
            case AtomicOp::kMax: to = operand > here ? operand : here; return true;
            case AtomicOp::kSwapIfLessOrEqual: to = compare <= here ? operand : here; return true;
            case AtomicOp::kSwapIfLess: to = compare < here ? operand : here; return true;
            case AtomicOp::kSwapIfGreaterOrEqual: to = compare >= here ? operand : here; return true;
            case AtomicOp::kSwapIfGreater: to = compare > here ? operand : here; return true;
            default: break;
        }
    }
    if constexpr (kIsInteger<T>) {
        switch (op) {
            case AtomicOp::kBitOr: to = static_cast<T>(here | operand); return true;
            case AtomicOp::kBitAnd: to = static_cast<T>(here & operand); return true;
            case AtomicOp::kBitXor: to = static_cast<T>(here ^ operand); return true;
            case AtomicOp::kSwapMasked: to = static_cast<T>((operand & compare) | (here & ~compare)); return true;
            default: break;
        }
    }
    return false;
}

template <class T>
T load(const std::byte* from, std::size_t i) noexcept
{
    T t{};
    std::memcpy(&t, from + i * sizeof t, sizeof t);
    return t;
}

// The new value of one element. Which `kind` needs are given, the others are not looked at.
template <class T>
T changed(const AtomicKind& kind, const T& here, const std::byte* operand, const std::byte* compare, std::size_t i) noexcept
{
    T result{};
    static_cast<void>(combine(kind.op, here, has_operand(kind) ? load<T>(operand, i) : T{},
                              kind.form == AtomicForm::kCompare ? load<T>(compare, i) : T{}, result));
    return result;
}

// The unsigned integer of so many bytes, if the processor changes one in one instruction; else void.
template <std::size_t bytes>
struct WordOf {
    using Type = void;
};
template <> struct WordOf<1> { using Type = std::uint8_t; };
template <> struct WordOf<2> { using Type = std::uint16_t; };
template <> struct WordOf<4> { using Type = std::uint32_t; };
template <> struct WordOf<8> { using Type = std::uint64_t; };
template <class T>
using Word = typename WordOf<sizeof(T)>::Type;

// One element at an aligned place, by compare and exchange. Returns what was there.
template <class T>
T exchange(const AtomicKind& kind, std::byte* target, const std::byte* operand, const std::byte* compare, std::size_t i) noexcept
{
    using W = Word<T>;
    static_assert(std::atomic_ref<W>::is_always_lock_free);
    const std::atomic_ref<W> word{*reinterpret_cast<W*>(target)};
    W seen = word.load(std::memory_order_seq_cst);
    for (;;) {
        const T here = std::bit_cast<T>(seen);
        const W wanted = std::bit_cast<W>(changed(kind, here, operand, compare, i));
        // What stays as it is was read at one moment, which is all that can be told.
        if (wanted == seen || word.compare_exchange_weak(seen, wanted, std::memory_order_seq_cst)) {
            return here;
        }
    }
}

template <class T>
void apply(const AtomicKind& kind, std::byte* target, const std::byte* operand, const std::byte* compare, std::byte* before, std::size_t count) noexcept
{
    const bool aligned = reinterpret_cast<std::uintptr_t>(target) % sizeof(T) == 0;
    for (std::size_t i = 0; i < count; ++i) {
        std::byte* const at = target + i * sizeof(T);
        T here{};
        bool done = false;
        if constexpr (!std::is_void_v<Word<T>>) {
            if (aligned) {
                here = exchange<T>(kind, at, operand, compare, i);
                done = true;
            }
        }
        if (!done) {
            here = load<T>(at, 0);
            const T result = changed(kind, here, operand, compare, i);
            if (kind.op != AtomicOp::kRead) {
                std::memcpy(at, &result, sizeof result);
            }
        }
        if (kind.form != AtomicForm::kApply) {
            std::memcpy(before + i * sizeof here, &here, sizeof here);
        }
    }
}

// Calls `f` with a value of the type, or returns `none`.
template <class R, class F>
R with_type(AtomicType type, R none, F&& f) noexcept
{
    switch (type) {
        case AtomicType::kInt8: return f(std::int8_t{});
        case AtomicType::kUint8: return f(std::uint8_t{});
        case AtomicType::kInt16: return f(std::int16_t{});
        case AtomicType::kUint16: return f(std::uint16_t{});
        case AtomicType::kInt32: return f(std::int32_t{});
        case AtomicType::kUint32: return f(std::uint32_t{});
        case AtomicType::kInt64: return f(std::int64_t{});
        case AtomicType::kUint64: return f(std::uint64_t{});
        case AtomicType::kFloat: return f(float{});
        case AtomicType::kDouble: return f(double{});
        case AtomicType::kFloatComplex: return f(std::complex<float>{});
        case AtomicType::kDoubleComplex: return f(std::complex<double>{});
        case AtomicType::kLongDouble: return f(static_cast<long double>(0));
        case AtomicType::kLongDoubleComplex: return f(std::complex<long double>{});
        case AtomicType::kInt128: return f(Int128{});
        case AtomicType::kUint128: return f(Uint128{});
        case AtomicType::kCount: break;
    }
    return none;
}
}   // namespace

std::size_t atomic_size(AtomicType type) noexcept
{
    return with_type(type, std::size_t{0}, [](auto zero) { return sizeof zero; });
}

bool atomic_valid(const AtomicKind& kind) noexcept
{
    const bool compares = kind.op >= AtomicOp::kSwapIfEqual;
    if (kind.op >= AtomicOp::kCount || kind.form >= AtomicForm::kCount || compares != (kind.form == AtomicForm::kCompare) ||
        (kind.op == AtomicOp::kRead && kind.form == AtomicForm::kApply)) {
        return false;
    }
    return with_type(kind.type, false, [&](auto zero) {
        auto to = zero;
        return combine(kind.op, zero, zero, zero, to);
    });
}

void apply_atomic(const AtomicKind& kind, std::byte* target, const std::byte* operand, const std::byte* compare, std::byte* before,
                  std::size_t count) noexcept
{
    static_cast<void>(with_type(kind.type, 0, [&](auto zero) {
        apply<decltype(zero)>(kind, target, operand, compare, before, count);
        return 0;
    }));
}

}   // namespace linnet::proto
