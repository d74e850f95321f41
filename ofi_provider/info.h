// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_getinfo(3): what the provider offers, and whether it is what the application wants.
#pragma once

#include "provider.h"

namespace linnet::ofi {

inline constexpr std::size_t kInjectMax = 1024;   // fi_inject and FI_INJECT
inline constexpr std::size_t kIovMax = 8;
// Operations of an endpoint that are under way: what its peers do not take, and have no credit for, is kept here, up to so many. Receives are not bounded.
inline constexpr std::size_t kQueueSize = 65536;
// Who does not say how many pieces it needs is told of this many. Programs that go through all counts up to the limit know no other from software providers;
// ubertest of fabtests, for one, puts 17 bytes into six pieces where it wants 16.
inline constexpr std::size_t kIovUnasked = 4;
inline constexpr std::size_t kMessageMax = SIZE_MAX >> 1;
inline constexpr std::size_t kCqDataBytes = 8;

// Primary capabilities, their directions, then those that an application gets when it asks for them, or for nothing in particular.
inline constexpr std::uint64_t kRmaCaps = FI_RMA | FI_ATOMIC;
inline constexpr std::uint64_t kPrimaryCaps = FI_MSG | FI_TAGGED | kRmaCaps;
inline constexpr std::uint64_t kMessageModifiers = FI_SEND | FI_RECV;
inline constexpr std::uint64_t kRmaModifiers = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
inline constexpr std::uint64_t kModifierCaps = kMessageModifiers | kRmaModifiers;
inline constexpr std::uint64_t kSecondaryCaps =
    FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV | FI_RMA_EVENT | FI_FENCE | FI_LOCAL_COMM | FI_REMOTE_COMM;
inline constexpr std::uint64_t kAllCaps = kPrimaryCaps | kModifierCaps | kSecondaryCaps;
// Those of the two directions of an endpoint.
inline constexpr std::uint64_t kTxCaps = kPrimaryCaps | FI_SEND | FI_READ | FI_WRITE | FI_FENCE;
inline constexpr std::uint64_t kRxCaps =
    kPrimaryCaps | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV | FI_RMA_EVENT;
inline constexpr std::uint64_t kDomainCaps = FI_LOCAL_COMM | FI_REMOTE_COMM;
inline constexpr std::uint64_t kTxOpFlags =
    FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE;
// Receives complete when the data is in the buffer, whatever less is asked for.
inline constexpr std::uint64_t kRxOpFlags = FI_COMPLETION | FI_MULTI_RECV | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE;

// The attributes of a shared context: false, and the log says which cannot be had; else what was left to us is filled in.
[[nodiscard]] bool take_shared_tx(fi_tx_attr& attr);
[[nodiscard]] bool take_shared_rx(fi_rx_attr& attr);

// What an endpoint or a domain is opened with, which an application may have changed since fi_getinfo(3). False: the log says which attribute cannot be had.
[[nodiscard]] bool endpoint_possible(const fi_info& info, std::uint32_t api_version);
[[nodiscard]] bool domain_possible(const fi_info& info, std::uint32_t api_version);

// fi_provider::getinfo. -FI_ENODATA: the log says which attribute cannot be had.
int get_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags, const fi_info* hints, fi_info** info) noexcept;

}   // namespace linnet::ofi
