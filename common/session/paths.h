// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Paths: the transports that may carry the rendezvous data of one session, what transfers over them took, and the attempt that moves the bulk link.
// LanePaths: those that may carry its lane, and the attempt that moves that one.
//
// What it is     State of SessionLayer (paths.cc). Paths are made when a long message is first sent to a peer that several transports reach, LanePaths when the
//                lane to such a peer comes up; most sessions have neither.
// Owner, locks   The session; its lock.
// See            docs/model.md sections 3 and 4
#pragma once

#include <array>
#include <bit>
#include <cstdint>

#include "base/clock.h"
#include "model/lane_choice.h"
#include "model/loss_rate.h"
#include "model/path_choice.h"
#include "progress/ticks.h"
#include "session/handshake.h"
#include "transport/transport.h"

namespace linnet::session {

class Port;

// Without an answer for so long, another transport is tried. A peer that lost its core is silent for less. One that computes without an event thread may be for
// longer: it is asked in vain.
inline constexpr Nanos kAskElsewhere = std::chrono::seconds{2};

// Our attempt to open a link elsewhere, beside the one that is up.
struct Move {
    Port* port{nullptr};          // null: there is none
    LinkId id{};
    Attempt attempt;
    bool said_hello{false};       // to one address of the peer at least
    bool put_off{false};          // the peer lets another one try first
    TimePoint until{};
};

// Of what we send over a link, where the transport tells: looked at seldom, since it is a system call.
struct Losses {
    static constexpr Nanos kApart = std::chrono::milliseconds{20};
    model::LossRate rate;
    TimePoint next{};
};

// Who may begin a trial of a transport for lanes alone with its bulk data now? It is tried for losses. Those that senders see may be those of one port, before
// which all meet, and they see them at the same time: links that all begin at once, beside those that are under way, would overrun it.
class Trials {
public:
    static constexpr Nanos kApart = std::chrono::seconds{1};

    [[nodiscard]] bool may_begin(PeerId peer, TimePoint now) noexcept
    {
        const bool may = now - began_ >= kApart || of_ == peer;
        began_ = may ? now : began_;
        of_ = may ? peer : of_;
        return may;
    }

private:
    TimePoint began_{-kApart};
    PeerId of_{kNoPeer};
};

// Of the chance in when a path that failed is tried again; ids are random. Both ends may find at one moment that they refused each other: each has its own.
[[nodiscard]] constexpr std::uint64_t retry_seed(std::uint64_t own_id, std::uint64_t peer_id) noexcept { return own_id ^ std::rotl(peer_id, 1); }

struct LanePaths {
    LanePaths(const model::LaneChoice::Config& config, std::uint64_t seed) noexcept : choice{config, seed} {}

    [[nodiscard]] unsigned index_of(const Port* port) const noexcept
    {
        unsigned i = 0;
        while (i < choice.paths() && ports[i] != port) {
            ++i;
        }
        return i < choice.paths() ? i : model::LaneChoice::kNone;
    }

    model::LaneChoice choice;
    std::array<Port*, model::LaneChoice::kMost> ports{};
    Port* home{nullptr};          // where the lane was last among the transports that are for bulk data, too; null: on none of them yet
    bool last_was_ours{false};    // the last message that was looked at,
    Ticks last_at{0};             // then
    unsigned messages{0};         // that were looked at
    bool ours{false};             // to choose, also where nothing is lost
    bool led_away{false};         // we moved it where it is, off the transports for bulk data: we see to it that it comes back
    Losses losses;
    std::array<model::Line, model::LaneChoice::kMost> losses_cost{};   // on each path, as of the last look
    std::array<std::size_t, model::LaneChoice::kMost> frame_bytes{};    // of payload, where the lane has been and the transport knows; else 0
    Move move;
};

struct Paths {
    Paths(const model::PathChoice::Config& config, std::uint64_t seed) noexcept : choice{config, seed} {}

    // A transfer of ours on its way: from the grant of its receiver, or from its own beginning if none is needed, to its FIN.
    struct Transfer {
        std::uint32_t slot{0};        // of its sender; 0: this place is free
        unsigned moves{0};            // of the link when it began: a move in between spoils the measurement
        std::uint64_t bytes{0};
        std::uint64_t done_before{0};
        TimePoint began{};
    };
    // kNone for a port that is no path of this session.
    [[nodiscard]] unsigned index_of(const Port* port) const noexcept
    {
        unsigned i = 0;
        while (i < choice.paths() && ports[i] != port) {
            ++i;
        }
        return i < choice.paths() ? i : model::PathChoice::kNone;
    }

    model::PathChoice choice;
    std::array<Port*, model::PathChoice::kMost> ports{};
    std::array<Transfer, 8> transfers{};   // more at a time are not measured
    std::uint64_t done_bytes{0};
    unsigned moves{0};
    std::uint64_t bulk_heard{0};           // Session::bulk_heard_ at the last look
    TimePoint peer_sends_until{};          // the last look that found it grown, and a while
    Losses losses;
    Move move;
};

}   // namespace linnet::session
