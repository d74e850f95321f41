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
#include "session/numbers.h"
#include "transport/transport.h"
#include "wire/hello.h"

namespace linnet::session {

// Orders the links of one role between two processes. Both sides compare the same pairs in the same way, so that of two links in the making exactly one
// survives, and a hello or a confirm that comes late installs nothing.
struct LinkEpoch {
    std::uint32_t number{0};
    std::uint64_t opener{0};   // endpoint id of who opened it: of two that opened at once the smaller one goes first
};
[[nodiscard]] constexpr bool newer(const LinkEpoch& a, const LinkEpoch& b) noexcept
{
    return a.number != b.number ? after(a.number, b.number) : a.opener < b.opener;
}

// What both sides remember of an attempt until it is up. One per link in the making.
struct Attempt {
    LinkRole role{LinkRole::kLane};
    bool beside{false};           // another link of this role was up then: the peer has received more since
    bool peer_takes_unasked{false};   // wire::kTakesUnasked, as the peer tells it
    bool trial{false};            // wire::kTrial, likewise
    std::uint32_t rank{0};        // ours, plus one, as we tell it; 0: nobody has told us
    wire::Nonce opener_nonce{};
    wire::Nonce acceptor_nonce{};
    SipKey secret{};              // of the acceptor, or zeros
    LinkEpoch epoch;
    std::uint32_t peer_received{0};
    std::uint32_t peer_rank{0};   // as the peer tells it
};

// Opener: write a hello for `target` (target.endpoint_id 0: by address). attempt.opener_nonce, role, epoch and rank are inputs. Returns its length.
std::size_t write_hello(Attempt& attempt, const wire::EndpointName& target, const wire::EndpointName& self, std::uint32_t received, std::uint64_t features,
                        std::span<std::byte> out) noexcept;

struct HelloSeen {
    wire::EndpointName opener;
    std::uint64_t features{0};
    bool by_address{false};
};
// Acceptor: check a hello against our own name. On success fills `attempt` (role, opener_nonce, secret, epoch and what the peer tells).
// kRefused with `reason` set: answer with a reject.
Result<HelloSeen> read_hello(Attempt& attempt, const wire::EndpointName& self, bool allow_by_address, std::span<const std::byte> in,
                             wire::RejectReason& reason) noexcept;

// Acceptor: attempt.acceptor_nonce and rank are inputs.
std::size_t write_welcome(const Attempt& attempt, const wire::EndpointName& self, std::uint32_t received, std::uint64_t features,
                          std::span<std::byte> out) noexcept;
std::size_t write_reject(LinkRole role, wire::RejectReason reason, std::uint32_t epoch, std::span<std::byte> out) noexcept;

struct WelcomeSeen {
    bool rejected{false};
    wire::RejectReason reason{};
    std::uint32_t epoch{0};        // of the reject
    wire::EndpointName acceptor;
};
// Opener: fills attempt.acceptor_nonce and what the peer tells. kProtocol when it is neither a welcome of whom we asked nor a reject.
Result<WelcomeSeen> read_welcome(Attempt& attempt, std::uint64_t target_id, std::span<const std::byte> in) noexcept;

std::size_t write_confirm(const Attempt& attempt, std::span<std::byte> out) noexcept;
Status check_confirm(const Attempt& attempt, std::span<const std::byte> in) noexcept;

[[nodiscard]] const char* reject_text(wire::RejectReason reason) noexcept;

}   // namespace linnet::session
