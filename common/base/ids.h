// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Strong identifiers and small constants that all layers share.
#pragma once

#include <compare>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>

namespace linnet {

// An integer that is an identity, so that a peer cannot be passed where a match space is meant.
template <class Tag, std::integral Rep>
struct StrongId {
    Rep value{};
    friend constexpr auto operator<=>(const StrongId&, const StrongId&) = default;
};

// A remote process in this context's peer table; dense from 0, never reused while the context lives. A peer has one PeerId from
// the first packet or the first add, whichever comes first.
using PeerId = StrongId<struct PeerIdTag, std::uint32_t>;
inline constexpr PeerId kNoPeer{UINT32_MAX};

// A match space (an MPI communicator's context id, or the one space of a libfabric endpoint); on the wire.
using SpaceId = StrongId<struct SpaceIdTag, std::uint32_t>;

// Two cache lines on x86 are fetched as a pair; one is enough to keep owners apart on the machines we measured.
inline constexpr std::size_t kCacheLine = 64;

}   // namespace linnet

template <class Tag, class Rep>
struct std::hash<linnet::StrongId<Tag, Rep>> {
    std::size_t operator()(linnet::StrongId<Tag, Rep> id) const noexcept { return std::hash<Rep>{}(id.value); }
};
