// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Hellos: what two processes say to each other before a link is up.
//
// opener -> acceptor HelloPacket; acceptor -> opener WelcomePacket or RejectPacket; opener -> acceptor ConfirmPacket. Each side proves that it knows
// the acceptor's secret (or both prove nothing, when the opener had a plain address), contributes a fresh nonce, and says how far it has received the
// lane. The epoch orders the links of one role between two processes. Specification: docs/wire-protocol.md section 3.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "base/siphash.h"
#include "wire/name.h"

namespace linnet::wire {

inline constexpr std::uint32_t kHelloMagic = 0x54454e4cu;   // "LNET"
inline constexpr std::uint8_t kVersionMin = 1;
inline constexpr std::uint8_t kVersionMax = 1;

enum class HelloKind : std::uint8_t { kHello = 1, kWelcome = 2, kConfirm = 3, kReject = 4 };

using Nonce = std::array<std::uint8_t, 16>;

// Bits of `features`: where, on the port of its name, a process listens for links without a word of it in its name. These addresses mean another process
// on each host, and which of those with one port on a host, only they can tell.
inline constexpr std::uint64_t kAtLocalhostV4 = 1u << 0;   // 127.0.0.1
inline constexpr std::uint64_t kAtLocalhostV6 = 1u << 1;   // ::1
inline constexpr std::uint64_t kAtLinkLocal = 1u << 2;     // link-local IPv6 addresses of the interfaces that it uses, none of which another has with this port
inline constexpr std::uint64_t kUnnamed = kAtLocalhostV4 | kAtLocalhostV6 | kAtLinkLocal;
inline constexpr std::uint64_t kTakesUnasked = 1u << 3;    // its sender takes writes with flag::kUnasked
inline constexpr std::uint64_t kTrial = 1u << 4;           // of a hello: this path is tried, beside a link that is up and stays if the answer is kInTurn

struct HelloHead {
    le32 magic;
    HelloKind kind{HelloKind::kHello};
    std::uint8_t role{0};                     // LinkRole
    std::uint8_t version_min{kVersionMin};
    std::uint8_t version_max{kVersionMax};
    le16 bytes;                               // of the whole packet, this head included
    le16 reserved;
};
static_assert(sizeof(HelloHead) == 12);

struct HelloPacket {
    HelloHead head;
    le32 received;                // number of the last lane message that the opener has received
    le32 epoch;                   // of this link among those of its role between the two; more than any that the opener knows of
    le32 rank;                    // of the opener in its job, plus one; 0: not told. For people only, and nobody proves it
    le64 target_id;               // endpoint id of the acceptor; 0: the opener has only an address
    le64 features;                // bit mask; unknown bits are ignored
    Nonce nonce{};
    EndpointName opener;          // sealed under a key made of the target's secret and the nonce, when target_id != 0
    SipTag tag{};                 // over everything before it
};
static_assert(sizeof(HelloPacket) == 12 + 12 + 8 + 8 + 16 + 64 + 16);

struct WelcomePacket {
    HelloHead head;
    le32 received;                // by the acceptor
    le32 epoch;                   // of the hello
    le32 rank;                    // of the acceptor, likewise
    le64 acceptor_id;
    le64 features;
    Nonce nonce{};
    EndpointName acceptor;        // sealed likewise; tells an opener by address whom it reached
    SipTag tag{};
};
static_assert(sizeof(WelcomePacket) == sizeof(HelloPacket));

struct ConfirmPacket {
    HelloHead head;
    le32 epoch;
    SipTag tag{};
};
static_assert(sizeof(ConfirmPacket) == 32);

// Why an acceptor says no. Not authenticated: the opener only believes that this attempt failed.
enum class RejectReason : std::uint8_t {
    kVersion = 1,   // no common version
    kTarget = 2,    // meant for another endpoint
    kProof = 3,     // no knowledge of the secret
    kYield = 4,     // the acceptor's own attempt is the newer one
    kClosing = 5,   // the session with the opener has ended
    kBusy = 6,      // out of memory
    kName = 7,      // the opener's name contradicts the one that the acceptor knows
    kStale = 8,     // a link of this epoch, or a newer one, is known already
    kInTurn = 9,    // the acceptor lets one peer after the other try this path for its bulk data
};
struct RejectPacket {
    HelloHead head;
    RejectReason reason{RejectReason::kBusy};
    std::uint8_t reserved[3]{};
    le32 epoch;                   // newest that the acceptor knows of; 0: none
};
static_assert(sizeof(RejectPacket) == 20);
static_assert(std::is_trivially_copyable_v<HelloPacket> && alignof(HelloPacket) == 1);

}   // namespace linnet::wire
