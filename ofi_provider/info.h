// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_getinfo(3): what the provider offers, and whether it is what the application wants.
#pragma once

#include "provider.h"

namespace linnet::ofi {

inline constexpr std::size_t kInjectMax = 1024;   // fi_inject and FI_INJECT
inline constexpr std::size_t kIovMax = 8;
inline constexpr std::size_t kCqDataBytes = 8;

// Primary capabilities, then those that an application gets when it asks for them, or for nothing in particular.
inline constexpr std::uint64_t kPrimaryCaps = FI_MSG | FI_TAGGED;
inline constexpr std::uint64_t kModifierCaps = FI_SEND | FI_RECV;
inline constexpr std::uint64_t kSecondaryCaps = FI_MULTI_RECV | FI_SOURCE | FI_DIRECTED_RECV | FI_LOCAL_COMM | FI_REMOTE_COMM;
inline constexpr std::uint64_t kDomainCaps = FI_LOCAL_COMM | FI_REMOTE_COMM;
inline constexpr std::uint64_t kTxOpFlags =
    FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE | FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE;
inline constexpr std::uint64_t kRxOpFlags = FI_COMPLETION | FI_MULTI_RECV;

// fi_provider::getinfo. -FI_ENODATA: the log says which attribute cannot be had.
int get_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags, const fi_info* hints, fi_info** info) noexcept;

}   // namespace linnet::ofi
