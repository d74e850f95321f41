// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Atomic operations: which there are, and what they do to memory. The numbers travel on the wire (docs/wire-protocol.md section 4).
//
// Pure functions. Threads: elements of 1, 2, 4 and 8 bytes at places that are multiples of that are changed by one instruction of the processor each, so
// others may do so at the same time, also in another process that shares the memory, and programs by atomic instructions of their own (fi_atomic(3): all
// processes of a host are one actor). For all other elements the caller of apply_atomic() sees to it that nobody else changes the same bytes.
#pragma once

#include <cstddef>
#include <cstdint>

namespace linnet::proto {

enum class AtomicOp : std::uint8_t {
    kMin = 0, kMax, kSum, kProduct, kLogicalOr, kLogicalAnd, kBitOr, kBitAnd, kLogicalXor, kBitXor, kRead, kWrite,
    kSwapIfEqual, kSwapIfNotEqual, kSwapIfLessOrEqual, kSwapIfLess, kSwapIfGreaterOrEqual, kSwapIfGreater, kSwapMasked,
    kCount
};
enum class AtomicType : std::uint8_t {
    kInt8 = 0, kUint8, kInt16, kUint16, kInt32, kUint32, kInt64, kUint64, kFloat, kDouble, kFloatComplex, kDoubleComplex, kLongDouble,
    kLongDoubleComplex, kInt128, kUint128,
    kCount
};
// Without a result; with the value of before; with it, and with values to compare to.
enum class AtomicForm : std::uint8_t { kApply = 0, kFetch = 1, kCompare = 2, kCount };

struct AtomicKind {
    AtomicForm form{AtomicForm::kApply};
    AtomicOp op{AtomicOp::kMin};
    AtomicType type{AtomicType::kInt8};
};

// Bytes of one element; 0 for no type.
[[nodiscard]] std::size_t atomic_size(AtomicType type) noexcept;
// There is such an operation: complex numbers have no order, numbers with a point no bits. Any values may be asked about.
[[nodiscard]] bool atomic_valid(const AtomicKind& kind) noexcept;
// What `kind`, a valid one, needs of the caller.
[[nodiscard]] constexpr bool has_operand(const AtomicKind& kind) noexcept { return kind.op != AtomicOp::kRead; }

// On `count` elements at `target`, one after the other. No alignment is needed. `before` gets what was there, unless the form is kApply; `compare` is
// used by kCompare alone, `operand` as has_operand() says. None of them overlaps another.
void apply_atomic(const AtomicKind& kind, std::byte* target, const std::byte* operand, const std::byte* compare, std::byte* before,
                  std::size_t count) noexcept;

}   // namespace linnet::proto
