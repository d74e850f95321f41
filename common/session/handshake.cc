// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Handshake bodies.
#include "session/handshake.h"

#include <cstring>

namespace linnet::session {

using wire::HelloKind;
using wire::RejectReason;

namespace {

template <class T>
std::span<const std::byte> bytes_of(const T& t) noexcept
{
    return std::as_bytes(std::span{&t, 1});
}

SipKey derive(const SipKey& key, const char (&label)[5], const wire::Nonce& nonce) noexcept
{
    std::array<std::byte, 4 + sizeof(wire::Nonce)> in;
    std::memcpy(in.data(), label, 4);
    std::memcpy(in.data() + 4, nonce.data(), nonce.size());
    return siphash128(key, in);
}

// Stream cipher for one name: SipHash in counter mode. The key is fresh for every nonce, so that no stream is used twice.
void seal(const SipKey& key, wire::EndpointName& name) noexcept
{
    auto* p = reinterpret_cast<std::uint8_t*>(&name);
    for (std::uint8_t block = 0; block < sizeof name / 16; ++block) {
        const SipTag pad = siphash128(key, std::as_bytes(std::span{&block, 1}));
        for (std::size_t i = 0; i < 16; ++i) {
            p[16u * block + i] ^= pad[i];
        }
    }
}

void fill_head(wire::HelloHead& head, HelloKind kind, LinkRole role, std::size_t bytes) noexcept
{
    head.magic.set(wire::kHelloMagic);
    head.kind = kind;
    head.role = static_cast<std::uint8_t>(role);
    head.bytes.set(static_cast<std::uint16_t>(bytes));
}

template <class T>
bool load(std::span<const std::byte> in, HelloKind kind, T& out) noexcept
{
    if (in.size() < sizeof out) {
        return false;
    }
    std::memcpy(&out, in.data(), sizeof out);
    return out.head.magic.get() == wire::kHelloMagic && out.head.kind == kind && out.head.bytes.get() == sizeof out &&
           out.head.role <= static_cast<std::uint8_t>(LinkRole::kBulk);
}

// The head is the same in all versions, so that a refusal can be told to any of them.
bool from_other_version(std::span<const std::byte> in) noexcept
{
    wire::HelloHead head;
    if (in.size() < sizeof head) {
        return false;
    }
    std::memcpy(&head, in.data(), sizeof head);
    return head.magic.get() == wire::kHelloMagic && head.kind == HelloKind::kHello && head.version_min <= head.version_max &&
           (head.version_min > wire::kVersionMax || head.version_max < wire::kVersionMin);
}

template <class T>
std::span<const std::byte> before_tag(const T& packet) noexcept
{
    return bytes_of(packet).first(offsetof(T, tag));
}

template <class T>
std::size_t store(const T& packet, std::span<std::byte> out) noexcept
{
    if (out.size() < sizeof packet) {
        return 0;
    }
    std::memcpy(out.data(), &packet, sizeof packet);
    return sizeof packet;
}

SipKey link_key(const Attempt& a) noexcept { return derive(derive(a.secret, "open", a.opener_nonce), "link", a.acceptor_nonce); }

}   // namespace

std::size_t write_hello(Attempt& attempt, const wire::EndpointName& target, const wire::EndpointName& self, std::uint32_t received, std::uint64_t features,
                        std::span<std::byte> out) noexcept
{
    attempt.secret = target.secret;
    const SipKey open = derive(attempt.secret, "open", attempt.opener_nonce);
    wire::HelloPacket p;
    fill_head(p.head, HelloKind::kHello, attempt.role, sizeof p);
    p.received.set(received);
    p.epoch.set(attempt.epoch.number);
    p.rank.set(attempt.rank);
    p.target_id = target.endpoint_id;
    p.features.set(features);
    p.nonce = attempt.opener_nonce;
    p.opener = self;
    if (target.endpoint_id.get() == 0) {
        p.opener.secret = {};   // the acceptor proves nothing here, so it does not get a capability
    } else {
        seal(derive(open, "name", attempt.opener_nonce), p.opener);
    }
    p.tag = siphash128(open, before_tag(p));
    return store(p, out);
}

Result<HelloSeen> read_hello(Attempt& attempt, const wire::EndpointName& self, bool allow_by_address, std::span<const std::byte> in,
                             RejectReason& reason) noexcept
{
    if (from_other_version(in)) {
        reason = RejectReason::kVersion;
        return Status::kRefused;
    }
    wire::HelloPacket p;
    if (!load(in, HelloKind::kHello, p) || p.head.version_min > p.head.version_max) {
        return Status::kProtocol;
    }
    HelloSeen seen;
    seen.features = p.features.get();
    seen.by_address = p.target_id.get() == 0;
    if (!seen.by_address && p.target_id.get() != self.endpoint_id.get()) {
        reason = RejectReason::kTarget;
        return Status::kRefused;
    }
    if (seen.by_address && !allow_by_address) {
        reason = RejectReason::kProof;
        return Status::kRefused;
    }
    attempt.role = static_cast<LinkRole>(p.head.role);
    attempt.opener_nonce = p.nonce;
    attempt.secret = seen.by_address ? SipKey{} : self.secret;
    attempt.peer_received = p.received.get();
    attempt.peer_rank = p.rank.get();
    attempt.peer_takes_unasked = (p.features.get() & wire::kTakesUnasked) != 0;
    attempt.trial = (p.features.get() & wire::kTrial) != 0;
    attempt.epoch.number = p.epoch.get();
    const SipKey open = derive(attempt.secret, "open", p.nonce);
    if (!tags_equal(p.tag, siphash128(open, before_tag(p)))) {
        reason = RejectReason::kProof;
        return Status::kRefused;
    }
    if (!seen.by_address) {
        seal(derive(open, "name", p.nonce), p.opener);
    }
    const auto name = wire::decode_name(bytes_of(p.opener));
    if (!name || name->endpoint_id.get() == self.endpoint_id.get()) {
        reason = RejectReason::kName;
        return Status::kRefused;
    }
    attempt.epoch.opener = name->endpoint_id.get();
    seen.opener = *name;
    return seen;
}

std::size_t write_welcome(const Attempt& attempt, const wire::EndpointName& self, std::uint32_t received, std::uint64_t features,
                          std::span<std::byte> out) noexcept
{
    wire::WelcomePacket p;
    fill_head(p.head, HelloKind::kWelcome, attempt.role, sizeof p);
    p.received.set(received);
    p.epoch.set(attempt.epoch.number);
    p.rank.set(attempt.rank);
    p.acceptor_id = self.endpoint_id;
    p.features.set(features);
    p.nonce = attempt.acceptor_nonce;
    p.acceptor = self;
    p.acceptor.secret = {};   // the opener has it, or is not entitled to it
    const SipKey key = link_key(attempt);
    seal(derive(key, "name", attempt.acceptor_nonce), p.acceptor);
    p.tag = siphash128(key, before_tag(p));
    return store(p, out);
}

std::size_t write_reject(LinkRole role, RejectReason reason, std::uint32_t epoch, std::span<std::byte> out) noexcept
{
    wire::RejectPacket p;
    fill_head(p.head, HelloKind::kReject, role, sizeof p);
    p.reason = reason;
    p.epoch.set(epoch);
    return store(p, out);
}

Result<WelcomeSeen> read_welcome(Attempt& attempt, std::uint64_t target_id, std::span<const std::byte> in) noexcept
{
    WelcomeSeen seen;
    wire::RejectPacket reject;
    if (load(in, HelloKind::kReject, reject)) {
        seen.rejected = true;
        seen.reason = reject.reason;
        seen.epoch = reject.epoch.get();
        return seen;
    }
    wire::WelcomePacket p;
    if (!load(in, HelloKind::kWelcome, p) || p.epoch.get() != attempt.epoch.number || (target_id != 0 && p.acceptor_id.get() != target_id)) {
        return Status::kProtocol;
    }
    attempt.acceptor_nonce = p.nonce;
    attempt.peer_received = p.received.get();
    attempt.peer_rank = p.rank.get();
    attempt.peer_takes_unasked = (p.features.get() & wire::kTakesUnasked) != 0;
    const SipKey key = link_key(attempt);
    if (!tags_equal(p.tag, siphash128(key, before_tag(p)))) {
        return Status::kRefused;
    }
    seal(derive(key, "name", p.nonce), p.acceptor);
    const auto name = wire::decode_name(bytes_of(p.acceptor));
    if (!name || name->endpoint_id.get() != p.acceptor_id.get()) {
        return Status::kProtocol;
    }
    seen.acceptor = *name;
    return seen;
}

std::size_t write_confirm(const Attempt& attempt, std::span<std::byte> out) noexcept
{
    wire::ConfirmPacket p;
    fill_head(p.head, HelloKind::kConfirm, attempt.role, sizeof p);
    p.epoch.set(attempt.epoch.number);
    p.tag = siphash128(link_key(attempt), before_tag(p));
    return store(p, out);
}

Status check_confirm(const Attempt& attempt, std::span<const std::byte> in) noexcept
{
    wire::ConfirmPacket p;
    if (!load(in, HelloKind::kConfirm, p) || p.epoch.get() != attempt.epoch.number) {
        return Status::kProtocol;
    }
    return tags_equal(p.tag, siphash128(link_key(attempt), before_tag(p))) ? Status::kOk : Status::kRefused;
}

const char* reject_text(RejectReason reason) noexcept
{
    switch (reason) {
        case RejectReason::kVersion: return "it runs another version of Linnet";
        case RejectReason::kTarget: return "another process has this address now";
        case RejectReason::kProof: return "the proof of the endpoint's secret failed";
        case RejectReason::kYield: return "its own attempt goes first";
        case RejectReason::kClosing: return "it is closing";
        case RejectReason::kBusy: return "it has no room for another connection";
        case RejectReason::kName: return "it knows this endpoint by another name";
        case RejectReason::kStale: return "it knows a newer connection";
        case RejectReason::kInTurn: return "it lets one after the other try that path";
    }
    return "for an unknown reason";
}

}   // namespace linnet::session
