// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Data: copying in and out.
#include "proto/data.h"

#include <cstring>

#include "mem/iov_cursor.h"

namespace linnet::proto {

void Data::gather(std::uint64_t offset, std::span<std::byte> to) const noexcept
{
    if (to.empty()) {
        return;
    }
    if (pack != nullptr) {
        pack(arg, offset, to.data(), to.size());
    } else if (iov != nullptr) {
        IovCursor c{{iov, iov_count}};
        c.advance(offset);
        c.copy_out(to);
    } else {
        std::memcpy(to.data(), base + offset, to.size());
    }
}

void Data::scatter(std::uint64_t offset, std::span<const std::byte> from) const noexcept
{
    if (from.empty()) {
        return;
    }
    if (unpack != nullptr) {
        unpack(arg, offset, from.data(), from.size());
    } else if (iov != nullptr) {
        IovCursor c{{iov, iov_count}};
        c.advance(offset);
        c.copy_in(from);
    } else {
        std::memcpy(base + offset, from.data(), from.size());
    }
}

}   // namespace linnet::proto
