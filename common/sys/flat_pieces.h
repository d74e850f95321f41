// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FlatPieces: a short frame that lies in pieces, put together on the stack. A call with one piece costs the kernel less than fetching a list of them.
//
// Owner, threads: the caller's stack. Blocking: never. Failure: gather() says 0 when the pieces are too long for it.
#pragma once

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <cstring>
#include <span>

namespace linnet {

template <std::size_t Most>
class FlatPieces {
public:
    // Bytes in all; 0: more than Most, or none at all.
    [[nodiscard]] std::size_t gather(std::span<const iovec> pieces) noexcept
    {
        std::size_t bytes = 0;
        for (const iovec& piece : pieces) {
            if (piece.iov_len > Most - bytes) {
                return 0;
            }
            if (piece.iov_len != 0) {
                std::memcpy(bytes_.data() + bytes, piece.iov_base, piece.iov_len);
            }
            bytes += piece.iov_len;
        }
        return bytes;
    }
    [[nodiscard]] const std::byte* data() const noexcept { return bytes_.data(); }

private:
    std::array<std::byte, Most> bytes_;   // no initialiser: gather() fills what is used
};

}   // namespace linnet
