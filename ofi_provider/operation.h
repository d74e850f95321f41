// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Operations under way, and the pools they come from. mode bits of the application are 0, so the storage of a request is ours.
//
// Owner: the pool of an endpoint; an operation is in use from acquire() to release(). Threads: any. Nothing blocks. Failure: acquire()
// returns null without memory.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <vector>

#include "capi/linnet_watch.h"
#include "info.h"
#include "lock.h"
#include "provider.h"

namespace linnet::ofi {

class Endpoint;

// What an endpoint counts, for the counters bound to it.
enum CounterSlot : std::uint8_t { kCountSend, kCountRecv, kCountRead, kCountWrite, kCountRemoteRead, kCountRemoteWrite, kCountSlots };

// The bytes of one operation as the application names them; valid for the call.
struct Bytes {
    const iovec* iov;
    std::size_t count;
    // No more pieces than there may be, and each that has bytes is somewhere.
    [[nodiscard]] bool valid(std::size_t most) const noexcept
    {
        if (count > most || (iov == nullptr && count != 0)) {
            return false;
        }
        for (std::size_t i = 0; i < count; ++i) {
            if (iov[i].iov_base == nullptr && iov[i].iov_len != 0) {
                return false;
            }
        }
        return true;
    }
    // To be sent or read: 0, or what is wrong with them.
    [[nodiscard]] int error(std::size_t most) const noexcept
    {
        if (!valid(most)) {
            return -FI_EINVAL;
        }
        std::size_t left = kMessageMax;
        for (std::size_t i = 0; i < count; ++i) {
            if (iov[i].iov_len > left) {
                return -FI_EMSGSIZE;
            }
            left -= iov[i].iov_len;
        }
        return FI_SUCCESS;
    }
    [[nodiscard]] std::size_t total() const noexcept
    {
        std::size_t n = 0;
        for (std::size_t i = 0; i < count; ++i) {
            n += iov[i].iov_len;
        }
        return n;
    }
};

// What all operations begin with. The request first: its alignment is the operation's.
struct Operation {
    linnet_request_t request;
    Endpoint* endpoint;
    void* context;
    std::uint64_t kind;        // FI_MSG or FI_TAGGED; of what the endpoint started: the flags of its completion
    bool reports_success;      // a completion entry also when all went well
    std::array<iovec, kIovMax> iov;

    // The data copied to `to`, which has room.
    static linnet_data_t copied(const Bytes& bytes, char* to) noexcept
    {
        linnet_data_t d{};
        d.base = to;
        for (std::size_t i = 0; i < bytes.count; ++i) {
            if (bytes.iov[i].iov_len != 0) {
                std::memcpy(to + d.length, bytes.iov[i].iov_base, bytes.iov[i].iov_len);
                d.length += bytes.iov[i].iov_len;
            }
        }
        return d;
    }
    // The data of a request over `bytes`, whose vector must outlive the call.
    [[nodiscard]] linnet_data_t data(const Bytes& bytes) noexcept
    {
        linnet_data_t d{};
        d.length = bytes.total();
        if (bytes.count == 1) {
            d.base = bytes.iov[0].iov_base;
        } else if (bytes.count > 1) {
            std::copy_n(bytes.iov, bytes.count, iov.begin());
            d.iov = iov.data();
            d.iov_count = bytes.count;
        }
        return d;
    }
};

// A send, write or read.
struct SendOperation : Operation {
    CounterSlot counted;
    SendOperation* next;       // in the pool
    std::array<char, kInjectMax> injected;
};

struct RecvOperation : Operation {
    RecvOperation* next;       // in the pool; in one of the rings of its endpoint
    RecvOperation* previous;
    RecvOperation* next_multi; // of a multi-receive buffer: in the list of those in use
    linnet_peer_t peer;        // LINNET_PEER_ANY
    std::uint64_t tag;
    std::uint64_t ignore;
    std::size_t room;          // bytes of the buffer
    bool discards;             // FI_DISCARD: nothing is wanted but the end of the message
    bool multi;                // FI_MULTI_RECV
    bool canceled;             // and it takes a message, its last one
    bool reserved;             // what it would match is, under `reservation`
    bool busy;                 // a multi-receive buffer of a shared receive context, or one that is held, takes a message
    bool queued;               // these four of a shared receive context: it waits for one
    bool wants_completion;     // FI_COMPLETION
    fi_addr_t from;
    std::size_t pieces;        // of iov
    std::size_t used;          // of a multi-receive buffer
    std::size_t least;         // when less is left the buffer is released
    linnet_reservation_t reservation;
};

// A ring of receives under the lock of whoever has it: `ring` is the oldest, null: none.
inline void link(RecvOperation*& ring, RecvOperation& op) noexcept
{
    if (ring == nullptr) {
        op.next = op.previous = &op;
        ring = &op;
        return;
    }
    op.next = ring;
    op.previous = ring->previous;
    ring->previous->next = &op;
    ring->previous = &op;
}
inline void unlink(RecvOperation*& ring, RecvOperation& op) noexcept
{
    if (op.next == &op) {
        ring = nullptr;
        return;
    }
    op.previous->next = op.next;
    op.next->previous = op.previous;
    if (ring == &op) {
        ring = op.next;
    }
}

// Null behind the last.
[[nodiscard]] inline RecvOperation* next_in(const RecvOperation* ring, const RecvOperation& op) noexcept { return op.next == ring ? nullptr : op.next; }

// Under the lock of whoever has it, but for in_use().
template <class T>
class OperationStore {
public:
    T* acquire() noexcept
    {
        if (free_ == nullptr && !grow()) {
            return nullptr;
        }
        T* const t = free_;
        free_ = t->next;
        in_use_.store(in_use_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return t;
    }
    void release(T& t) noexcept
    {
        t.next = free_;
        free_ = &t;
        in_use_.store(in_use_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    }
    // At the moment.
    [[nodiscard]] std::size_t in_use() const noexcept { return in_use_.load(std::memory_order_relaxed); }

private:
    static constexpr std::size_t kChunk = 64;
    bool grow() noexcept
    {
        try {
            chunks_.push_back(std::make_unique_for_overwrite<T[]>(kChunk));
        } catch (const std::bad_alloc&) {
            return false;
        }
        for (std::size_t i = 0; i < kChunk; ++i) {
            chunks_.back()[i].next = free_;
            free_ = &chunks_.back()[i];
        }
        return true;
    }
    T* free_{nullptr};
    std::vector<std::unique_ptr<T[]>> chunks_;
    std::atomic<std::size_t> in_use_{0};   // written under the lock
};

// With a lock of its own.
template <class T>
class OperationPool {
public:
    T* acquire() noexcept
    {
        const std::lock_guard guard{lock_};
        return store_.acquire();
    }
    void release(T& t) noexcept
    {
        const std::lock_guard guard{lock_};
        store_.release(t);
    }
    [[nodiscard]] std::size_t in_use() const noexcept { return store_.in_use(); }

private:
    Lock lock_;
    OperationStore<T> store_;
};

// A table that grows and is read without a lock: entries of chunks that never move.
template <class T>
class GrowingTable {
public:
    explicit GrowingTable(T none) noexcept : none_{none} {}
    GrowingTable(const GrowingTable&) = delete;
    GrowingTable& operator=(const GrowingTable&) = delete;
    ~GrowingTable()
    {
        for (auto& c : chunks_) {
            delete[] c.load(std::memory_order_relaxed);
        }
    }
    [[nodiscard]] T get(std::size_t i) const noexcept
    {
        if (i >= kChunk * kChunks) {
            return none_;
        }
        const std::atomic<T>* const c = chunks_[i / kChunk].load(std::memory_order_acquire);
        return c == nullptr ? none_ : c[i % kChunk].load(std::memory_order_acquire);
    }
    // Where it stands first, which it does somewhere: it takes the time of a look at each. By the thread that may set.
    [[nodiscard]] std::size_t find(T value) const noexcept
    {
        std::size_t i = 0;
        while (i < kChunk * kChunks && get(i) != value) {
            i += chunks_[i / kChunk].load(std::memory_order_relaxed) == nullptr ? kChunk : 1;
        }
        return i;
    }
    // One that is there, for which `f` is true: it is asked for no more then.
    template <class F>
    bool any_of(F&& f) const noexcept
    {
        for (std::size_t chunk = 0; chunk < kChunks; ++chunk) {
            const bool used = chunks_[chunk].load(std::memory_order_acquire) != nullptr;
            for (std::size_t i = chunk * kChunk; used && i < (chunk + 1) * kChunk; ++i) {
                if (const T value = get(i); value != none_ && f(value)) {
                    return true;
                }
            }
        }
        return false;
    }
    // By one thread at a time. False: no room, or no memory.
    bool set(std::size_t i, T value) noexcept
    {
        if (i >= kChunk * kChunks) {
            return false;
        }
        std::atomic<T>* c = chunks_[i / kChunk].load(std::memory_order_relaxed);
        if (c == nullptr) {
            c = new (std::nothrow) std::atomic<T>[kChunk];
            if (c == nullptr) {
                return false;
            }
            for (std::size_t k = 0; k < kChunk; ++k) {
                c[k].store(none_, std::memory_order_relaxed);
            }
            chunks_[i / kChunk].store(c, std::memory_order_release);
        }
        c[i % kChunk].store(value, std::memory_order_release);
        return true;
    }

private:
    static constexpr std::size_t kChunk = 1024;
    static constexpr std::size_t kChunks = 4096;
    T none_;
    std::array<std::atomic<std::atomic<T>*>, kChunks> chunks_{};
};

}   // namespace linnet::ofi
