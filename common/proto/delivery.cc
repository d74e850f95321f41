// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: senders that want to know when their message has been delivered (SendArgs::delivered), and messages that wait here.
//
// Such a sender is told that its message is in the buffer of its receive; or, that nobody may wait for ever, that it waits and no receive is meant for it.
// Between the two is a message for a receive which the host has, but which is not posted: one that it posts again as often as it ends, one behind that, or
// one of its own that it matches by itself. The host has reserved what it would match (linnet_watch.h), and the sender is owed the word until the message
// is received, or no reservation matches it any more.
#include <array>

#include "proto/proto.h"

namespace linnet::proto {

bool Proto::is_reserved(Space& space, const Unexpected& u) noexcept
{
    Reservation* r = space.reserved.front();
    while (r != nullptr && !r->spec.accepts(u.source, u.bits)) {
        r = space.reserved.next(*r);
    }
    return r != nullptr;
}

// Of one that waits here, and has just come to do so, or is whole just now (a claimed one, too). True: its sender is to be told at once, by the caller when
// the lock is released.
bool Proto::owes(Space& space, Unexpected& u) noexcept
{
    if (!u.delivery || !u.sync) {
        return false;
    }
    if (!u.arriving && (u.settled || !is_reserved(space, u))) {
        answered(space, u);
        return true;
    }
    if (!u.claimed && !static_cast<OwedLink&>(u).linked()) {
        space.owed.push_back(u);
    }
    return false;
}

// Its sender is told.
void Proto::answered(Space& space, Unexpected& u) noexcept
{
    unlist(space, u);   // it could be taken back
    u.sync = false;
}

Status Proto::reserve(std::uint32_t space_id, const MatchSpec& spec, Reservation& r) noexcept
{
    Space* const space = spaces_.get(space_id);
    if (space == nullptr) {
        return Status::kNoMemory;
    }
    r.space = space;
    r.spec = spec;
    SpinLockGuard guard{space->lock};
    space->reserved.push_back(r);
    return Status::kOk;
}

// All that one accepts the other does, too.
bool Proto::covers(const MatchSpec& other, const MatchSpec& one) noexcept
{
    return (other.source == kAnySource || other.source == one.source) && (one.ignore & ~other.ignore) == 0 && ((one.bits ^ other.bits) & ~other.ignore) == 0;
}

void Proto::unreserve(Reservation& r) noexcept
{
    Space& space = *r.space;
    const MatchSpec spec = r.spec;
    {
        SpinLockGuard guard{space.lock};
        IntrusiveList<Reservation>::remove(r);
        // Of a row of equal buffers or receives another one is left mostly: then nothing is to be looked for.
        Reservation* const first = space.reserved.front();
        if (space.owed.empty() || (first != nullptr && covers(first->spec, spec))) {
            return;
        }
    }
    struct Word {
        Peer* peer;
        std::uint32_t send_slot;
    };
    std::array<Word, 32> due;   // at a time
    std::size_t count = 0;
    do {
        count = 0;
        {
            SpinLockGuard guard{space.lock};
            Unexpected* next = nullptr;
            for (Unexpected* u = space.owed.front(); u != nullptr && count < due.size(); u = next) {
                next = space.owed.next(*u);
                // What still arrives is looked at again when it is whole.
                if (spec.accepts(u->source, u->bits) && !u->arriving && !is_reserved(space, *u)) {
                    due[count++] = {u->peer, u->send_slot};
                    answered(space, *u);
                }
            }
        }
        for (std::size_t i = 0; i < count; ++i) {
            tell_matched(*due[i].peer, due[i].send_slot);
        }
    } while (count == due.size());
}

void Proto::settle(Unexpected& u) noexcept
{
    Space& space = *u.space;
    {
        SpinLockGuard guard{space.lock};
        if (!u.delivery || !u.sync) {
            return;
        }
        if (u.arriving) {
            u.settled = true;
            return;
        }
        answered(space, u);
    }
    tell_matched(*u.peer, u.send_slot);
}

}   // namespace linnet::proto
