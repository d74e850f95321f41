// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// AddressIndex: which peers may be reached at an address, for hosts that name their peers so.
//
// What it is     A table from address and port to sessions. It finds candidates; whether one is meant is for who asks.
// Owner          The SessionLayer, under whose table_lock_ every call is made. Jobs whose peers all have names never fill it.
// Failure        std::bad_alloc out of add(), which may be called again.
#pragma once

#include <cstring>
#include <string_view>
#include <unordered_map>

#include "session/session.h"
#include "wire/name.h"

namespace linnet::session {

class AddressIndex {
public:
    // All peers below this are in it. Each is added in order, and again when more addresses of it become known.
    [[nodiscard]] std::uint32_t filled() const noexcept { return filled_; }
    void add(Session& s, const wire::EndpointName& contact)
    {
        for (const wire::NameAddress& a : wire::NameAddresses{contact}) {
            if (find(a, contact.port.get(), [&s](Session& other) { return &other == &s; }) == nullptr) {
                sessions_.emplace(key(a, contact.port.get()), &s);
            }
        }
        filled_ = s.id.value == filled_ ? filled_ + 1 : filled_;
    }
    // The oldest that has been added for this address and port, and for which `is_it` is true; null: none.
    template <class Is>
    [[nodiscard]] Session* find(const wire::NameAddress& at, std::uint16_t port, Is&& is_it) const
    {
        Session* oldest = nullptr;
        const auto [begin, end] = sessions_.equal_range(key(at, port));
        for (auto it = begin; it != end; ++it) {
            Session* const s = it->second;
            if ((oldest == nullptr || s->id.value < oldest->id.value) && is_it(*s)) {
                oldest = s;
            }
        }
        return oldest;
    }

private:
    // Different addresses may have the same.
    [[nodiscard]] static std::size_t key(const wire::NameAddress& a, std::uint16_t port) noexcept
    {
        char text[sizeof a.bytes + sizeof port + 1];
        std::memcpy(text, a.bytes.data(), sizeof a.bytes);
        std::memcpy(text + sizeof a.bytes, &port, sizeof port);
        text[sizeof text - 1] = static_cast<char>(a.family);
        return std::hash<std::string_view>{}({text, sizeof text});
    }
    std::unordered_multimap<std::size_t, Session*> sessions_;
    std::uint32_t filled_{0};
};

}   // namespace linnet::session
