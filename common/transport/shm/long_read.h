// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// LongRead: a long message that is read out of its sender's memory pass by pass.
//
// Its pieces are submitted one after the other, so many ahead that idle cores always find some, and each pass copies a part of them itself; between two
// passes everything else is served. When no more than a pass's part is left, that is done and waited for: once, at the end (docs/copies.md).
//
// Owner: ShmTransport, which keeps a few; the memory is made when the first long message comes. More messages than that wait for one that ends. Threads:
// the holder of the progress token; pieces also whoever runs tasks.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "base/ids.h"
#include "copy/copy_engine.h"
#include "transport/transport.h"

namespace linnet::shm {

struct LongRead {
    static constexpr std::size_t kPiece = 512 * 1024;
    static constexpr std::size_t kPieces = 64;
    static constexpr std::size_t kMost = kPiece * kPieces;   // bytes of one
    static constexpr std::size_t kLeast = 2 * kPiece;        // a shorter one is read in one go
    static constexpr std::size_t kPerPass = kPiece / 2;      // some 50 to 150 us
    static constexpr std::uint32_t kAhead = 4 * kPiece / kCopySlice;   // slices that nobody has copied yet

    struct What {
        LinkId link{};   // zero: nothing
        PeerId peer{};
        std::byte* to{nullptr};
        std::uint64_t address{0};
        std::size_t bytes{0};
        void* cookie{nullptr};
    };

    What what;
    std::size_t submitted{0};
    CopyJob job;
    std::array<CopyPiece, kPieces> pieces;
};

}   // namespace linnet::shm
