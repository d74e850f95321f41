// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EthPort: knocks, by which a process that nobody called yet learns that frames are meant for it.
//
// A knock is a datagram from endpoint to endpoint: a word and the identity out of the name of whom it is for, which only those know whom its host told. It goes
// out with each hello, so that one that was lost is no loss. Who cannot listen says so, and the caller need not wait.
#include <cerrno>
#include <cstring>

#include "base/wire_int.h"
#include "transport/eth/eth_port.h"

namespace linnet::eth {

namespace {

struct KnockText {
    le32 word;
    le32 reserved;
    le64 id;
};
static_assert(sizeof(KnockText) == kKnockBytes);

// Who calls more peers than this has long been heard by the first of them, and is told their addresses again where it calls again.
constexpr std::size_t kMostCalled = 1u << 16;
constexpr std::size_t kMostBusy = 1024;
constexpr unsigned kKnocksAtOnce = 64;

}   // namespace

Knock EthPort::knock_of(Word word, std::uint64_t id) noexcept
{
    KnockText text{};
    text.word.set(static_cast<std::uint32_t>(word));
    text.id.set(id);
    Knock k;
    std::memcpy(k.data(), &text, sizeof text);
    return k;
}

std::uint64_t EthPort::contact_key(const EthRoute& to) noexcept
{
    std::uint64_t key = to.endpoint[0] * 256u + to.endpoint[1];
    for (const std::uint8_t byte : to.mac) {
        key = key << 8 | byte;
    }
    return key;
}

void EthPort::remember(const EthRoute& to, InetAddress at, const wire::EndpointName& name) const
{
    at.set_port(static_cast<std::uint16_t>(to.endpoint[0] * 256u + to.endpoint[1]));
    MutexLock lock{called_lock_};
    if (called_.size() >= kMostCalled) {
        called_.clear();
    }
    called_.insert_or_assign(contact_key(to), Called{at, name.endpoint_id.get()});
}

void EthPort::knock(const Interface& i, const EthRoute& to) noexcept
{
    Called called{};
    {
        MutexLock lock{called_lock_};
        const auto it = called_.find(contact_key(to));
        if (it == called_.end()) {
            return;   // it called us
        }
        called = it->second;
    }
    send_knock(i.endpoint.fd.get(), called.at, knock_of(Word::kKnock, called.id));
}

void EthPort::look_for_knocks() noexcept
{
    for (std::size_t n = 0; n < interfaces_.size(); ++n) {
        Knock knock;
        InetAddress from;
        for (unsigned i = 0; i < kKnocksAtOnce && next_knock(interfaces_[n]->endpoint.fd.get(), knock, from); ++i) {
            knock_came(n, knock, from);
        }
    }
}

void EthPort::knock_came(std::size_t number, const Knock& knock, const InetAddress& from) noexcept
try {
    KnockText text;
    std::memcpy(&text, knock.data(), sizeof text);
    const auto word = static_cast<Word>(text.word.get());
    if (word == Word::kKnock && text.id.get() == own_id_) {
        std::string why_not;
        if (!listen(why_not)) {
            LINNET_LOG(log_, kDebug, "eth: %s calls in vain: %s", from.text().c_str(), why_not.c_str());
            send_knock(interfaces_[number]->endpoint.fd.get(), from, knock_of(Word::kBusy, own_id_));
        }
        return;
    }
    if (word != Word::kBusy) {
        return;
    }
    MutexLock lock{called_lock_};
    for (const auto& [key, called] : called_) {
        if (called.id != text.id.get() || !called.at.same_host(from) || called.at.port() != from.port() || busy_.size() == kMostBusy) {
            continue;
        }
        EthRoute to;   // the key once more
        for (std::size_t i = 0; i < to.mac.size(); ++i) {
            to.mac[i] = static_cast<std::uint8_t>(key >> (8 * (to.mac.size() - 1 - i)));
        }
        to.endpoint = {static_cast<std::uint8_t>(key >> 56), static_cast<std::uint8_t>(key >> 48)};
        to.interface = static_cast<std::uint8_t>(number);
        busy_.push_back({frames::Route::of(to), EBUSY});
    }
} catch (const std::bad_alloc&) {
    return;   // whoever knocked does so again
}

bool EthPort::next_evidence(frames::Evidence& out) noexcept
{
    if (busy_.empty()) {
        return false;
    }
    out = busy_.back();
    busy_.pop_back();
    return true;
}

}   // namespace linnet::eth
