// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// EthPort: knocks, by which a process that nobody called yet learns that frames are meant for it.
//
// A knock is a datagram from endpoint to endpoint: a word and the identity out of the name of whom it is for, which only those know whom its host told. It goes
// out with each hello, so that one that was lost is no loss. Who listens says so, and only then the caller listens too and its hellos leave: one that nobody
// could hear would look like a path that takes no long frames. Who cannot listen says that, and the caller need not wait.
#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/wire_int.h"
#include "sys/system_clock.h"
#include "transport/eth/eth_port.h"

namespace linnet::eth {

namespace {

struct KnockText {
    le32 word;
    le32 reserved;
    le64 id;
};
static_assert(sizeof(KnockText) == kKnockBytes);

constexpr std::size_t kMostBusy = 1024;
constexpr std::size_t kMostAsked = 1024;
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

bool EthPort::heard_there(const Interface& i, const EthRoute& to) noexcept
{
    if (settings_.integer(SettingId::kEthListeners) == 0) {
        return true;   // so do all, and perhaps no datagram comes through
    }
    const auto it = called_.find(contact_key(to));
    if (it == called_.end() || it->second.here) {
        return true;   // who is not there called us
    }
    const Called& called = it->second;
    InetAddress at = called.at;
    at.set_scope(i.config.interface_index);   // if it is link-local
    const auto asked = std::find_if(asked_.begin(), asked_.end(), [&](const Asked& a) { return a.to == to && a.id == called.id; });
    if (asked != asked_.end()) {
        asked->when = monotonic_now();
    } else {
        if (asked_.size() == kMostAsked) {
            asked_.erase(asked_.begin());
        }
        try {
            asked_.push_back({at, called.id, to, monotonic_now()});
        } catch (const std::bad_alloc&) {
            return false;   // the next hello tries again
        }
    }
    send_knock(i.endpoint.fd.get(), at, knock_of(Word::kKnock, called.id));
    return false;
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
    forget_silent();
}

// Whose calls all failed holds no place for them.
void EthPort::forget_silent() noexcept
{
    const TimePoint now = monotonic_now();
    asked_.erase(std::remove_if(asked_.begin(), asked_.end(), [now](const Asked& a) { return now - a.when > kSilence; }), asked_.end());
    if (asked_.empty() && !listening_.load(std::memory_order_relaxed)) {
        place_ = {};
    }
}

void EthPort::knock_came(std::size_t number, const Knock& knock, const InetAddress& from) noexcept
try {
    KnockText text;
    std::memcpy(&text, knock.data(), sizeof text);
    const auto word = static_cast<Word>(text.word.get());
    if (word == Word::kKnock && text.id.get() == own_id_) {
        std::string why_not;
        const bool here = listen_now(why_not) && interfaces_[number]->ring.listens();
        if (!here) {
            LINNET_LOG(log_, kDebug, "eth: %s calls in vain: %s", from.text().c_str(), why_not.c_str());
        }
        send_knock(interfaces_[number]->endpoint.fd.get(), from, knock_of(here ? Word::kHere : Word::kBusy, own_id_));
    } else if (word == Word::kHere || word == Word::kBusy) {
        answered(word, text.id.get(), from);
    }
} catch (const std::bad_alloc&) {
    return;   // whoever knocked does so again
}

// Only one that was asked is believed.
void EthPort::answered(Word word, std::uint64_t id, const InetAddress& from)
{
    const auto asked = std::find_if(asked_.begin(), asked_.end(),
                                    [&](const Asked& a) { return a.id == id && a.at.same_host(from) && a.at.port() == from.port(); });
    if (asked == asked_.end()) {
        return;
    }
    const EthRoute to = asked->to;
    asked_.erase(asked);
    std::string why_not;
    bool can = word == Word::kHere;
    if (can && !listen_now(why_not)) {
        LINNET_LOG(log_, kDebug, "eth: %s listens, but here %s", from.text().c_str(), why_not.c_str());
        can = false;
    }
    if (!can) {
        no_way(to, EBUSY);
        return;
    }
    if (const auto it = called_.find(contact_key(to)); it != called_.end()) {
        it->second.here = true;
    }
}

// The call is over, and need not wait for its patience to be.
void EthPort::no_way(const EthRoute& to, int error) noexcept
try {
    if (busy_.size() < kMostBusy) {
        busy_.push_back({frames::Route::of(to), error});
    }
} catch (const std::bad_alloc&) {
    return;   // it waits
}

bool EthPort::next_evidence(frames::Evidence& out) noexcept
{
    if (!busy_.empty()) {
        out = busy_.back();
        busy_.pop_back();
        return true;
    }
    if (!has_too_long_.load(std::memory_order_relaxed)) {
        return false;
    }
    MutexLock lock{evidence_lock_};
    if (too_long_.empty()) {
        has_too_long_.store(false, std::memory_order_relaxed);
        return false;
    }
    out = too_long_.back();
    too_long_.pop_back();
    return true;
}

}   // namespace linnet::eth
