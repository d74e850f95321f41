// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What an Intel Data Streaming Accelerator reads and writes: descriptors and completion records.
//
// From the Intel DSA Architecture Specification, "Descriptor Format" and "Completion Record Format". Fields are little-endian, as is every processor that has
// the device. A descriptor is aligned to 64 bytes, a record to 32.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace linnet::dsa {

enum class Opcode : std::uint8_t { kBatch = 0x01, kMemoryMove = 0x03 };

// Flags, 24 bits.
inline constexpr std::uint32_t kRecordValid = 1u << 2;     // "completion record address valid"
inline constexpr std::uint32_t kRecordWanted = 1u << 3;    // "request completion record": also after success
inline constexpr std::uint32_t kCacheControl = 1u << 8;    // write to the cache; else past it
// Not set: "block on fault" (1u << 1). A page that is not there then ends the descriptor early, and the processor, which can fault it in, goes on.

struct alignas(64) Descriptor {
    std::uint32_t pasid_and_privilege{0};   // filled in by the instruction or the queue
    std::uint32_t flags_and_opcode{0};      // opcode << 24 | flags
    std::uint64_t record{0};                // address
    std::uint64_t source{0};                // batch: address of the list of descriptors
    std::uint64_t destination{0};
    std::uint32_t size{0};                  // bytes; batch: number of descriptors, at least 2
    std::uint16_t interrupt{0};
    std::uint16_t reserved{0};
    std::array<std::byte, 24> specific{};
};
static_assert(sizeof(Descriptor) == 64 && offsetof(Descriptor, record) == 8 && offsetof(Descriptor, source) == 16);
static_assert(offsetof(Descriptor, destination) == 24 && offsetof(Descriptor, size) == 32 && offsetof(Descriptor, interrupt) == 36);
static_assert(offsetof(Descriptor, specific) == 40);

// Status, 7 bits; the eighth says that a page fault was of a write.
inline constexpr std::uint8_t kStatusMask = 0x7f;
inline constexpr std::uint8_t kPending = 0x00;
inline constexpr std::uint8_t kSuccess = 0x01;
inline constexpr std::uint8_t kPageFault = 0x03;        // partial completion
inline constexpr std::uint8_t kBatchFailed = 0x05;      // some of its descriptors did; their records say how
inline constexpr std::uint8_t kBatchPageFault = 0x06;   // the list could not be read to its end; what was not begun has no record

struct alignas(32) Record {
    std::atomic<std::uint8_t> status{kPending};   // written last
    std::uint8_t result{0};                       // of a move that ended early: 0 it went forwards, 1 backwards
    std::uint16_t reserved{0};
    std::uint32_t bytes_done{0};
    std::uint64_t fault_address{0};
    std::array<std::byte, 16> specific{};
};
static_assert(sizeof(Record) == 32 && offsetof(Record, result) == 1 && offsetof(Record, bytes_done) == 4 && offsetof(Record, fault_address) == 8);
static_assert(std::atomic<std::uint8_t>::is_always_lock_free);

}   // namespace linnet::dsa
