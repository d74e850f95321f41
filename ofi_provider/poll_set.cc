// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Poll sets.
#include "poll_set.h"

#include <algorithm>

#include "cntr.h"
#include "cq.h"
#include "fabric.h"

namespace linnet::ofi {

namespace {
void use(struct fid* f, int change) noexcept
{
    std::atomic<unsigned>& users = f->fclass == FI_CLASS_CQ ? object<Cq, fid_cq>(f).users : object<Counter, fid_cntr>(f).users;
    users.fetch_add(static_cast<unsigned>(change));
}
}   // namespace

PollSet::PollSet(Domain& domain) : fid_poll{}, domain_{domain}
{
    static fi_ops base = {sizeof base, close_fid, no_bind, no_control, no_ops_open, nullptr, nullptr};
    static fi_ops_poll own = {sizeof own, poll, add, remove};
    fid.fclass = FI_CLASS_POLL;
    fid.ops = &base;
    ops = &own;
    ++domain_.users;
}

int PollSet::open(fid_domain* domain, fi_poll_attr* attr, fid_poll** out) noexcept
{
    return guarded([&] {
        if (attr != nullptr && attr->flags != 0) {
            return -FI_EINVAL;
        }
        *out = new PollSet{Domain::of(domain)};
        return FI_SUCCESS;
    });
}

int PollSet::close_fid(struct fid* f) noexcept
{
    PollSet& set = object<PollSet, fid_poll>(f);
    for (const Member& member : set.members_) {
        use(member.object, -1);
    }
    --set.domain_.users;
    delete &set;
    return FI_SUCCESS;
}

int PollSet::poll(fid_poll* f, void** contexts, int count) noexcept
{
    return guarded([&] {
        auto& set = static_cast<PollSet&>(*f);
        const std::lock_guard guard{set.lock_};
        int n = 0;
        const std::size_t all = set.members_.size();
        std::size_t looked = 0;
        for (; looked < all && n < count; ++looked) {   // a counter that was looked at and not told of would be forgotten
            auto& [member, seen] = set.members_[(set.next_ + looked) % all];
            const bool due = member->fclass == FI_CLASS_CQ ? object<Cq, fid_cq>(member).poll() : object<Counter, fid_cntr>(member).poll(seen);
            if (due) {
                contexts[n++] = member->context;
            }
        }
        for (std::size_t i = looked; i < all; ++i) {   // progress is for all; who has something to read needs none
            struct fid* const member = set.members_[(set.next_ + i) % all].object;
            static_cast<void>(member->fclass == FI_CLASS_CQ ? object<Cq, fid_cq>(member).progress() : object<Counter, fid_cntr>(member).progress());
        }
        set.next_ = all == 0 ? 0 : (set.next_ + looked) % all;   // who finds no room is the first the next time
        return n;
    });
}

std::vector<PollSet::Member>::iterator PollSet::find(const struct fid* what) noexcept
{
    return std::find_if(members_.begin(), members_.end(), [what](const Member& m) { return m.object == what; });
}

int PollSet::add(fid_poll* f, struct fid* what, std::uint64_t flags) noexcept
{
    return guarded([&] {
        if (flags != 0 || (what->fclass != FI_CLASS_CQ && what->fclass != FI_CLASS_CNTR)) {
            return -FI_EINVAL;
        }
        auto& set = static_cast<PollSet&>(*f);
        const std::lock_guard guard{set.lock_};
        if (set.find(what) == set.members_.end()) {
            set.members_.push_back({what});
            use(what, 1);
        }
        return FI_SUCCESS;
    });
}

int PollSet::remove(fid_poll* f, struct fid* what, std::uint64_t flags) noexcept
{
    auto& set = static_cast<PollSet&>(*f);
    const std::lock_guard guard{set.lock_};
    const auto at = set.find(what);
    if (flags != 0 || at == set.members_.end()) {
        return -FI_EINVAL;
    }
    set.members_.erase(at);
    use(what, -1);
    return FI_SUCCESS;
}

}   // namespace linnet::ofi
