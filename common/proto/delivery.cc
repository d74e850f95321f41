// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Proto: senders that want to know when their message has been delivered (SendArgs::delivered), and messages that wait here.
//
// Such a sender is told that its message is in the buffer of its receive; or, that nobody may wait for ever, that it waits for a receive that the host has
// not thought of. Between the two is a message that is meant for a receive which the host has, but which is not posted at this moment: one that the host posts
// again as often as it ends, or one of its own that it matches by itself (linnet_watch.h). Its sender is owed the word until the host has settled that.
#include "proto/proto.h"

namespace linnet::proto {

// What waits in the space: only the host knows.
bool Proto::may_be_meant(const Space& space) noexcept
{
    const SpaceWatch* const w = space.watch.load(std::memory_order_acquire);
    return space.renewed_posted < space.renewed_used || (w != nullptr && !w->ended.load(std::memory_order_acquire));
}

// Its sender is told.
void Proto::answered(Space& space, Unexpected& u) noexcept
{
    unlist(space, u);   // it could be taken back
    u.sync = false;
}

// Of one that waits here, and has just come to do so, or is whole just now (a claimed one, too). True: its sender is to be told at once, by the caller when
// the lock is released.
bool Proto::owes(Space& space, Unexpected& u) noexcept
{
    if (!u.delivery || !u.sync) {
        return false;
    }
    if (!u.arriving && (u.settled || !may_be_meant(space))) {
        answered(space, u);
        return true;
    }
    if (!u.claimed && !u.settled && !static_cast<OwedLink&>(u).linked()) {
        u.owed_at = ++space.owed_last;
        space.owed.push_back(u);
    }
    return false;
}

std::uint64_t Proto::mark(std::uint32_t space_id) noexcept
{
    Space* const space = spaces_.get(space_id);
    if (space == nullptr) {
        return 0;
    }
    SpinLockGuard guard{space->lock};
    return space->owed_last;
}

Status Proto::settle(std::uint32_t space_id, std::uint32_t renewed, std::uint64_t mark) noexcept
{
    Space* const space = spaces_.get(space_id);
    if (space == nullptr) {
        return Status::kNoMemory;
    }
    {
        SpinLockGuard guard{space->lock};
        space->renewed_used = renewed;
    }
    return settle(*space, mark);
}

Status Proto::settle(Space& space, std::uint64_t mark) noexcept
{
    for (;;) {
        Peer* peer = nullptr;
        std::uint32_t send_slot = 0;
        {
            SpinLockGuard guard{space.lock};
            if (space.renewed_posted < space.renewed_used) {
                return Status::kAgain;
            }
            // The news of what came later is still to be heard where there is any; where there is none, the count of renewed receives told all.
            Unexpected* const u = space.owed.front();
            if (u == nullptr || (u->owed_at > mark && may_be_meant(space))) {
                return Status::kOk;
            }
            if (u->arriving) {
                u->settled = true;   // unless a receive comes for it meanwhile
                IntrusiveList<Unexpected, OwedLink>::remove(*u);
                continue;
            }
            peer = u->peer;
            send_slot = u->send_slot;
            answered(space, *u);
        }
        tell_matched(*peer, send_slot);
    }
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
