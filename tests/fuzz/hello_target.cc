// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Fuzz target: hello, welcome, reject and confirm. What was not signed with the secret must be refused, whatever else it says.
#include <algorithm>

#include "fuzz/fuzz_target.h"
#include "session/handshake.h"

namespace linnet::fuzz {
namespace {

using session::Attempt;

wire::EndpointName name_of(std::uint64_t id, std::uint8_t secret)
{
    wire::EndpointName n;
    n.port.set(7000);
    n.endpoint_id.set(id);
    n.incarnation.set(1);
    static_cast<void>(wire::add_address(n, {wire::AddressFamily::kIpv4, {10, 1, 0, static_cast<std::uint8_t>(id)}}));
    n.secret.fill(secret);
    return n;
}

const wire::EndpointName kOpener = name_of(1, 0x11);
const wire::EndpointName kAcceptor = name_of(2, 0x22);

Attempt attempt_of_opener()
{
    Attempt a;
    a.opener_nonce.fill(7);
    a.epoch = {5, 1};
    a.secret = kAcceptor.secret;
    return a;
}

template <class T>
Input input_of(std::uint8_t kind, const T& bytes, std::size_t n)
{
    Input in(1 + n, kind);
    std::copy_n(reinterpret_cast<const std::uint8_t*>(bytes.data()), n, in.begin() + 1);
    return in;
}

// What was changed is refused; what is as it was written is accepted.
void check_hello(std::span<const std::byte> in)
{
    for (const bool by_address : {false, true}) {
        Attempt a;
        wire::RejectReason reason{};
        const auto seen = session::read_hello(a, kAcceptor, by_address, in, reason);
        if (seen) {
            LINNET_FUZZ_CHECK(seen->opener.endpoint_id.get() != 0);
            LINNET_FUZZ_CHECK(!seen->by_address || by_address);
            LINNET_FUZZ_CHECK(static_cast<unsigned>(a.role) <= 1);
            std::array<std::byte, kMaxHelloBytes> out;
            LINNET_FUZZ_CHECK(session::write_welcome(a, kAcceptor, 3, 0, out) == sizeof(wire::WelcomePacket));
        }
        LINNET_FUZZ_CHECK(session::reject_text(reason) != nullptr);
    }
}

void check_welcome(std::span<const std::byte> in)
{
    for (const std::uint64_t target : {std::uint64_t{0}, std::uint64_t{2}}) {
        Attempt a = attempt_of_opener();
        const auto seen = session::read_welcome(a, target, in);
        if (seen && !seen->rejected) {
            LINNET_FUZZ_CHECK(seen->acceptor.endpoint_id.get() != 0);
            LINNET_FUZZ_CHECK(target == 0 || seen->acceptor.endpoint_id.get() == target);
        } else if (seen) {
            LINNET_FUZZ_CHECK(session::reject_text(seen->reason) != nullptr);
        }
    }
}

}   // namespace

void run_hello(std::span<const std::uint8_t> input)
{
    Reader in{input};
    const std::uint8_t kind = in.byte();
    // A copy of its exact size, so that a read past its end is seen.
    const auto rest = in.bytes(input.size());
    const std::vector<std::uint8_t> exact{rest.begin(), rest.end()};
    const auto bytes = std::as_bytes(std::span{exact});
    switch (kind % 4) {
        case 0: check_hello(bytes); break;
        case 1: check_welcome(bytes); break;
        case 2: LINNET_FUZZ_CHECK(session::check_confirm(attempt_of_opener(), bytes) != Status::kOk || bytes.size() >= sizeof(wire::ConfirmPacket)); break;
        default:
            if (const auto name = wire::decode_name(bytes)) {
                LINNET_FUZZ_CHECK(name->endpoint_id.get() != 0 && name->version == wire::kNameVersion);
            }
    }
}

std::vector<Input> hello_seeds()
{
    std::vector<Input> all;
    std::array<std::byte, kMaxHelloBytes> out;
    Attempt opener = attempt_of_opener();
    all.push_back(input_of(0, out, session::write_hello(opener, kAcceptor, kOpener, 41, 0, out)));
    Attempt acceptor;
    wire::RejectReason reason{};
    const auto seen = session::read_hello(acceptor, kAcceptor, false, out, reason);
    LINNET_FUZZ_CHECK(static_cast<bool>(seen));
    acceptor.acceptor_nonce.fill(9);
    all.push_back(input_of(1, out, session::write_welcome(acceptor, kAcceptor, 17, 0, out)));
    all.push_back(input_of(2, out, session::write_confirm(acceptor, out)));
    all.push_back(input_of(1, out, session::write_reject(LinkRole::kBulk, wire::RejectReason::kStale, 9, out)));
    wire::EndpointName address = kAcceptor;
    address.endpoint_id.set(0);
    address.secret = {};
    opener.role = LinkRole::kBulk;
    all.push_back(input_of(0, out, session::write_hello(opener, address, kOpener, 41, 0, out)));
    all.push_back(input_of(3, std::as_bytes(std::span{&kOpener, 1}), sizeof kOpener));
    return all;
}

}   // namespace linnet::fuzz
