// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ChunkTable<T>: objects that are found by a small number, without a lock, and never move.
//
// Owner: one object. Threads: at() any; grow() one at a time, the owner's lock sees to that. Blocking: at() never. Objects are made in chunks when
// the table grows and die with it: a number once valid stays valid, so what an object stands for at the moment is said by its own members.
//
// Proof. chunks_[c] is written once, from null, by grow().
//   (P) chunks_[c] release in grow()  pairs with  (C) chunks_[c] acquire in at(): the objects of the chunk are constructed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>

namespace linnet {

template <class T, std::size_t PerChunk = 64, std::size_t MaxChunks = 1024>
class ChunkTable {
public:
    static constexpr std::size_t kPerChunk = PerChunk;

    ChunkTable() noexcept = default;
    ~ChunkTable()
    {
        for (auto& chunk : chunks_) {
            delete chunk.load(std::memory_order_relaxed);
        }
    }
    ChunkTable(const ChunkTable&) = delete;
    ChunkTable& operator=(const ChunkTable&) = delete;

    // Null for a number that grow() has not reached; it may come from a wire.
    [[nodiscard]] T* at(std::uint32_t number) const noexcept
    {
        const std::size_t c = number / PerChunk;
        Chunk* const chunk = c < MaxChunks ? chunks_[c].load(std::memory_order_acquire) : nullptr;   // (C)
        return chunk != nullptr ? &(*chunk)[number % PerChunk] : nullptr;
    }

    // Adds kPerChunk objects, numbered from size() on. False when the memory or the numbers are exhausted.
    [[nodiscard]] bool grow() noexcept
    {
        Chunk* const fresh = used_ < MaxChunks ? new (std::nothrow) Chunk : nullptr;
        if (fresh == nullptr) {
            return false;
        }
        chunks_[used_++].store(fresh, std::memory_order_release);   // (P)
        return true;
    }
    // By whom grow() is called.
    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(used_ * PerChunk); }

private:
    using Chunk = std::array<T, PerChunk>;
    std::size_t used_{0};
    std::array<std::atomic<Chunk*>, MaxChunks> chunks_{};
};

}   // namespace linnet
