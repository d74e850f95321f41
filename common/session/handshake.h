// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Handshake: builds and checks hello, welcome and confirm. Pure functions over bytes.
//
// Keys. open = SipHash(secret of the acceptor, "open" + opener's nonce) seals and signs the hello; link = SipHash(open, acceptor's nonce + "link")
// signs welcome and confirm. Without a secret (opened by address) the secret is all zeros: the tags then protect against accidents only.
// The threat model is docs/security.md.
#pragma once

#include <cstddef>
#include <span>

#include "base/status.h"
#include "transport/transport.h"
#include "wire/hello.h"

namespace linnet::session {

// What both sides remember of an attempt until it is up. One per link in the making.
struct Attempt {
    LinkRole role{LinkRole::kLane};
    wire::Nonce opener_nonce{};
    wire::Nonce acceptor_nonce{};
    SipKey secret{};              // of the acceptor, or zeros
    std::uint32_t peer_expects{0};
};

// Opener: write a hello for `target` (target.endpoint_id 0: by address). attempt.opener_nonce and role are inputs. Returns its length.
std::size_t write_hello(Attempt& attempt, const wire::EndpointName& target, const wire::EndpointName& self, std::uint32_t expected,
                        std::span<std::byte> out) noexcept;

struct HelloSeen {
    wire::EndpointName opener;
    bool by_address{false};
};
// Acceptor: check a hello against our own name. On success fills `attempt` (role, opener_nonce, secret, peer_expects).
// kRefused with `reason` set: answer with a reject.
Result<HelloSeen> read_hello(Attempt& attempt, const wire::EndpointName& self, bool allow_by_address, std::span<const std::byte> in,
                             wire::RejectReason& reason) noexcept;

// Acceptor: attempt.acceptor_nonce is an input.
std::size_t write_welcome(const Attempt& attempt, const wire::EndpointName& self, std::uint32_t expected, std::span<std::byte> out) noexcept;
std::size_t write_reject(LinkRole role, wire::RejectReason reason, std::span<std::byte> out) noexcept;

struct WelcomeSeen {
    bool rejected{false};
    wire::RejectReason reason{};
    wire::EndpointName acceptor;
};
// Opener: fills attempt.acceptor_nonce and peer_expects. kProtocol when it is neither a welcome of whom we asked nor a reject.
Result<WelcomeSeen> read_welcome(Attempt& attempt, std::uint64_t target_id, std::span<const std::byte> in) noexcept;

std::size_t write_confirm(const Attempt& attempt, std::span<std::byte> out) noexcept;
Status check_confirm(const Attempt& attempt, std::span<const std::byte> in) noexcept;

[[nodiscard]] const char* reject_text(wire::RejectReason reason) noexcept;

}   // namespace linnet::session
