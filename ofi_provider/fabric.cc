// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Fabrics and domains.
#include "fabric.h"

#include <algorithm>
#include <cstring>
#include <vector>

#include "av.h"
#include "cntr.h"
#include "cq.h"
#include "endpoint.h"
#include "eq.h"
#include "mr.h"
#include "poll_set.h"
#include "shared_rx.h"
#include "shared_tx.h"
#include "transfer_ops.h"

namespace linnet::ofi {

namespace {
std::mutex registry_lock;
std::vector<Fabric*> fabrics;   // guarded by registry_lock, as are the next
std::vector<Domain*> domains;
std::vector<const void*> known;   // where any was: about as many as there ever were at once

template <class T, class Fid>
void enter(std::vector<T*>& to, T* what, const Fid* as)
{
    const std::lock_guard guard{registry_lock};
    if (std::find(known.begin(), known.end(), as) == known.end()) {
        known.push_back(as);
    }
    to.push_back(what);
}

template <class T>
void forget(std::vector<T*>& from, T* what)
{
    const std::lock_guard guard{registry_lock};
    from.erase(std::remove(from.begin(), from.end(), what), from.end());
}

template <class T, class Fid>
Presence presence_of(const std::vector<T*>& open, const Fid* f) noexcept
{
    const std::lock_guard guard{registry_lock};
    if (std::find(open.begin(), open.end(), f) != open.end()) {
        return Presence::kOpen;
    }
    return std::find(known.begin(), known.end(), f) != known.end() ? Presence::kClosed : Presence::kNone;
}
}   // namespace

// ---- fabric ----

Fabric::Fabric() : fid_fabric{}
{
    static fi_ops base = {sizeof base, close_fid, no_bind, no_control, no_ops_open, nullptr, nullptr};
    static fi_ops_fabric own = {sizeof own, Domain::open, no_passive, Eq::open, no_wait_set, try_wait, Domain::open_with_flags};
    fid.fclass = FI_CLASS_FABRIC;
    fid.ops = &base;
    ops = &own;
}

int Fabric::open(fi_fabric_attr* attr, fid_fabric** out, void* context) noexcept
{
    return guarded([&] {
        if (attr == nullptr) {
            return -FI_EINVAL;
        }
        if (attr->name != nullptr && std::string{attr->name} != "linnet") {
            return -FI_ENODATA;
        }
        auto* const f = new Fabric;
        f->fid.context = context;
        f->api_version = attr->api_version;
        enter<Fabric, fid_fabric>(fabrics, f, f);
        *out = f;
        return FI_SUCCESS;
    });
}

int Fabric::close_fid(struct fid* f) noexcept
{
    Fabric& fabric = object<Fabric, fid_fabric>(f);
    if (fabric.users.load() != 0) {
        return -FI_EBUSY;
    }
    forget(fabrics, &fabric);
    delete &fabric;
    return FI_SUCCESS;
}

fid_fabric* Fabric::opened() noexcept
{
    const std::lock_guard guard{registry_lock};
    return fabrics.empty() ? nullptr : fabrics.front();
}

Presence Fabric::presence(const fid_fabric* f) noexcept { return presence_of(fabrics, f); }

fid_domain* Domain::opened(const fid_fabric* fabric) noexcept   // all are called the same
{
    const std::lock_guard guard{registry_lock};
    const auto at = std::find_if(domains.begin(), domains.end(), [&](const Domain* d) { return fabric == nullptr || d->fabric() == fabric; });
    return at == domains.end() ? nullptr : *at;
}

Presence Domain::presence(const fid_domain* d) noexcept { return presence_of(domains, d); }

namespace {
// A step of fi_trywait(3) for one object.
int step_of_wait(struct fid* f, int (Waitable::*step)(const std::function<bool()>&), bool first)
{
    switch (f->fclass) {
        case FI_CLASS_CQ: {
            Cq& cq = object<Cq, fid_cq>(f);
            return (cq.*step)([&] { return cq.has_events(); });
        }
        case FI_CLASS_CNTR: {
            Counter& c = object<Counter, fid_cntr>(f);
            return (c.*step)([&] { return c.has_events(); });
        }
        case FI_CLASS_EQ: return first ? object<Eq, fid_eq>(f).try_wait() : FI_SUCCESS;
        default: return -FI_ENOSYS;
    }
}
}   // namespace

int Fabric::try_wait(fid_fabric*, struct fid** fids, int count) noexcept
{
    return guarded([&] {
        for (const auto step : {&Waitable::look, &Waitable::lend}) {
            for (int i = 0; i < count; ++i) {
                if (const int error = step_of_wait(fids[i], step, step == &Waitable::look); error != FI_SUCCESS) {
                    return error;
                }
            }
        }
        return FI_SUCCESS;
    });
}

// ---- domain ----

namespace {
bool mr_mode_has(const fi_info& info, int bit) noexcept
{
    const int mode = info.domain_attr != nullptr ? info.domain_attr->mr_mode : 0;
    return mode == FI_MR_BASIC || (mode & bit) != 0;
}
}   // namespace

Domain::Domain(Fabric& fabric, const fi_info& info)
    : fid_domain{}, fabric_{fabric}, format_{info.addr_format}, av_type_{info.domain_attr != nullptr ? info.domain_attr->av_type : FI_AV_UNSPEC},
      virtual_addresses_{mr_mode_has(info, FI_MR_VIRT_ADDR)}, own_keys_{mr_mode_has(info, FI_MR_PROV_KEY)}
{
    static fi_ops base = {sizeof base, close_fid, bind, control, no_ops_open, nullptr, nullptr};
    static fi_ops_domain own = {sizeof own,   Av::open, Cq::open, Endpoint::open, no_scalable,   Counter::open, PollSet::open,
                                SharedTx::open, SharedRx::open, query_atomic, no_collective, Endpoint::open_with_flags};
    fid.fclass = FI_CLASS_DOMAIN;
    fid.ops = &base;
    ops = &own;
    mr = memory_ops();
    ++fabric_.users;
}

int Domain::open(fid_fabric* fabric, fi_info* info, fid_domain** out, void* context) noexcept
{
    return open_with_flags(fabric, info, out, 0, context);
}

int Domain::open_with_flags(fid_fabric* fabric, fi_info* info, fid_domain** out, std::uint64_t flags, void* context) noexcept
{
    return guarded([&] {
        if (info == nullptr || flags != 0 || !domain_possible(*info, Fabric::of(fabric).api_version)) {
            return -FI_EINVAL;
        }
        auto* const d = new Domain{Fabric::of(fabric), *info};
        d->fid.context = context;
        enter<Domain, fid_domain>(domains, d, d);
        *out = d;
        return FI_SUCCESS;
    });
}

int Domain::close_fid(struct fid* f) noexcept
{
    Domain& d = object<Domain, fid_domain>(f);
    if (d.users.load() != 0) {
        return -FI_EBUSY;
    }
    forget(domains, &d);
    if (d.eq_ != nullptr) {
        --d.eq_->users;
    }
    --d.fabric_.users;
    delete &d;
    return FI_SUCCESS;
}

// An EQ for asynchronous control events: none happen here but those of address vectors, which have their own. With FI_REG_MR the end of each
// registration is told, which is at once.
int Domain::bind(struct fid* f, struct fid* what, std::uint64_t flags) noexcept
{
    Domain& d = object<Domain, fid_domain>(f);
    if (what == nullptr || what->fclass != FI_CLASS_EQ || d.eq_ != nullptr) {
        return -FI_EINVAL;
    }
    if ((flags & ~FI_REG_MR) != 0) {
        return -FI_EBADFLAGS;
    }
    d.tells_registrations_ = (flags & FI_REG_MR) != 0;
    d.eq_ = &object<Eq, fid_eq>(what);
    ++d.eq_->users;
    return FI_SUCCESS;
}

// Raw keys are keys.
int Domain::control(struct fid*, int command, void* arg) noexcept
{
    switch (command) {
        case FI_MAP_RAW_MR: {
            if (arg == nullptr) {
                return -FI_EINVAL;
            }
            const auto& map = *static_cast<const struct fi_mr_map_raw*>(arg);
            if (map.key_size != sizeof *map.key || map.key == nullptr || map.raw_key == nullptr) {
                return -FI_EINVAL;
            }
            std::memcpy(map.key, map.raw_key, sizeof *map.key);
            return FI_SUCCESS;
        }
        case FI_UNMAP_KEY: return FI_SUCCESS;
        default: return -FI_ENOSYS;
    }
}

// ---- regions ----

int Domain::add_region(Region& region)
{
    const std::lock_guard guard{regions_lock_};
    if (!regions_.try_emplace(region.key, &region).second) {
        return -FI_ENOKEY;
    }
    for (std::size_t i = 0; region.remote() && i < endpoints_.size(); ++i) {
        Endpoint* const e = endpoints_[i];
        const int error = guarded([&] { return e->expose(region); });
        if (error != FI_SUCCESS) {
            for (Endpoint* const done : endpoints_) {
                region.withdraw(done->source());
            }
            regions_.erase(region.key);
            return error;
        }
    }
    return FI_SUCCESS;
}

void Domain::remove_region(Region& region) noexcept
{
    const std::lock_guard guard{regions_lock_};
    for (Endpoint* const e : endpoints_) {
        region.withdraw(e->source());
    }
    regions_.erase(region.key);
    unwatch(region.key);
}

void Domain::registered(Region& region)
{
    if (tells_registrations_) {
        fi_eq_entry e{};
        e.fid = &region.fid;
        e.context = region.fid.context;
        eq_->report(FI_MR_COMPLETE, e);
    }
}

int Domain::attach(Endpoint& endpoint)
{
    const std::lock_guard guard{regions_lock_};
    endpoints_.push_back(&endpoint);
    for (const auto& [key, region] : regions_) {
        if (const int error = region->remote() ? endpoint.expose(*region) : FI_SUCCESS; error != FI_SUCCESS) {
            return error;
        }
    }
    return FI_SUCCESS;
}

void Domain::detach(Endpoint& endpoint) noexcept
{
    const std::lock_guard guard{regions_lock_};
    for (const auto& [key, region] : regions_) {
        region->withdraw(endpoint.source());
    }
    endpoints_.erase(std::remove(endpoints_.begin(), endpoints_.end(), &endpoint), endpoints_.end());
}

void Domain::watch(std::uint64_t key, Counter& counter)
{
    const std::lock_guard guard{watch_lock_};
    watched_.emplace(key, &counter);
}

void Domain::unwatch(std::uint64_t key) noexcept
{
    const std::lock_guard guard{watch_lock_};
    watched_.erase(key);
}

void Domain::note_changes(std::uint64_t key, std::uint32_t times) noexcept
{
    const std::lock_guard guard{watch_lock_};
    const auto at = watched_.find(key);
    for (std::uint32_t i = 0; at != watched_.end() && i < times; ++i) {
        at->second->count(true);
    }
}

}   // namespace linnet::ofi
