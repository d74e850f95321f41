// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What a host asks Proto for: the arguments of its operations. Values; what they point to must stay as long as the operation's own comments say.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "proto/atomic_ops.h"
#include "proto/data.h"

namespace linnet::proto {

struct Envelope {
    std::uint32_t space{0};
    bool has_immediate{false};
    std::uint64_t bits{0};
    std::uint64_t immediate{0};
};

struct SendArgs : Envelope {
    bool sync{false};
    bool delivered{false};   // with sync: also complete when it waits at the peer for a receive, and the host there has none that it is meant for
    bool copy{false};     // the caller is about to wait: copy what can be copied and complete
    bool acked{false};    // complete only when the peer has acknowledged, that is, when its process has the whole message
    bool fence{false};    // only when all that was started towards this peer before is over; else kAgain
};

struct ActiveArgs {
    std::uint32_t id{0};
    std::uint64_t immediate{0};
    std::span<const std::byte> header;
    bool copy{false};
};

// A write or read: where in the memory of the peer.
struct RemoteArgs {
    std::uint64_t key{0};
    std::uint64_t address{0};
    std::uint64_t immediate{0};
    bool has_immediate{false};   // writes
    bool fence{false};           // only when all that was started towards this peer before is over
};

// A valid kind, 1 to kMaxAtomicBytes bytes of elements; data as long as these.
struct AtomicArgs {
    RemoteArgs remote;
    AtomicKind kind;
    std::size_t count{0};
    Data operand;
    Data compare;
};

}   // namespace linnet::proto
