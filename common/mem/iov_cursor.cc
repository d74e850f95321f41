// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// IovCursor: walking a list of memory pieces.
#include "mem/iov_cursor.h"

#include <algorithm>
#include <cstring>

namespace linnet {

IovCursor::IovCursor(std::span<const iovec> pieces) noexcept : pieces_{pieces}
{
    for (const iovec& piece : pieces) {
        remaining_ += piece.iov_len;
    }
    skip_empty();
}

void IovCursor::skip_empty() noexcept
{
    while (!pieces_.empty() && offset_ == pieces_.front().iov_len) {
        pieces_ = pieces_.subspan(1);
        offset_ = 0;
    }
}

std::span<std::byte> IovCursor::front() const noexcept
{
    if (done()) {
        return {};
    }
    const iovec& piece = pieces_.front();
    return {static_cast<std::byte*>(piece.iov_base) + offset_, piece.iov_len - offset_};
}

std::size_t IovCursor::advance(std::size_t bytes) noexcept
{
    bytes = std::min(bytes, remaining_);
    for (std::size_t left = bytes; left > 0;) {
        const std::size_t step = std::min(left, pieces_.front().iov_len - offset_);
        offset_ += step;
        left -= step;
        skip_empty();
    }
    remaining_ -= bytes;
    return bytes;
}

std::size_t IovCursor::copy_out(std::span<std::byte> to) noexcept
{
    std::size_t copied = 0;
    while (copied < to.size() && !done()) {
        const std::span<std::byte> piece = front();
        const std::size_t step = std::min(piece.size(), to.size() - copied);
        std::memcpy(to.data() + copied, piece.data(), step);
        copied += advance(step);
    }
    return copied;
}

std::size_t IovCursor::copy_in(std::span<const std::byte> from) noexcept
{
    std::size_t copied = 0;
    while (copied < from.size() && !done()) {
        const std::span<std::byte> piece = front();
        const std::size_t step = std::min(piece.size(), from.size() - copied);
        std::memcpy(piece.data(), from.data() + copied, step);
        copied += advance(step);
    }
    return copied;
}

std::size_t IovCursor::describe(std::span<iovec> to, std::size_t limit, std::size_t& bytes) const noexcept
{
    bytes = 0;
    std::size_t count = 0;
    limit = std::min(limit, remaining_);
    for (IovCursor at = *this; count < to.size() && bytes < limit; ++count) {
        const std::span<std::byte> piece = at.front();
        const std::size_t step = std::min(piece.size(), limit - bytes);
        to[count] = {piece.data(), step};
        bytes += at.advance(step);
    }
    return count;
}

}   // namespace linnet
