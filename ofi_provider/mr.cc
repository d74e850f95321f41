// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Memory registration.
#include "mr.h"

#include <algorithm>
#include <cstring>

#include "cntr.h"
#include "endpoint.h"
#include "fabric.h"

namespace linnet::ofi {

namespace {
constexpr std::uint64_t kLocalAccess = FI_SEND | FI_RECV | FI_READ | FI_WRITE;
constexpr std::uint64_t kRemoteAccess = FI_REMOTE_READ | FI_REMOTE_WRITE;

int refuse(const char* what, std::uint64_t wanted, int error)
{
    LINNET_FI_INFO(FI_LOG_MR, "memory registration: %s 0x%llx cannot be had\n", what, static_cast<unsigned long long>(wanted));
    return error;
}

bool authorized(const fi_mr_attr& attr, const Domain& domain) noexcept
{
    return attr.auth_key_size != 0 && FI_VERSION_GE(domain.api_version(), FI_VERSION(1, 5));
}
}   // namespace

Region::Region(Domain& domain, const fi_mr_attr& attr, std::uint64_t own_key)
    : fid_mr{}, domain_{domain}, base_{attr.mr_iov[0].iov_base}, bytes_{attr.mr_iov[0].iov_len}, access_{attr.access}
{
    static fi_ops base = {sizeof base, close_fid, bind, control, no_ops_open, nullptr, nullptr};
    fid.fclass = FI_CLASS_MR;
    fid.context = attr.context;
    fid.ops = &base;
    mem_desc = this;
    key = own_key;
    ++domain_.users;
}

// One of no bytes has a key, and nobody needs it: operations on nothing look at none.
bool Region::remote() const noexcept { return (access_ & kRemoteAccess) != 0 && bytes_ != 0; }

int Region::open(struct fid* f, const fi_mr_attr& attr, std::uint64_t flags, fid_mr** out)
{
    if (f->fclass != FI_CLASS_DOMAIN || attr.iov_count == 0 || attr.mr_iov == nullptr) {
        return -FI_EINVAL;
    }
    if (attr.offset != 0) {
        return refuse("offset", attr.offset, -FI_EINVAL);
    }
    if ((flags & ~FI_RMA_EVENT) != 0) {
        return refuse("flags", flags, -FI_EBADFLAGS);
    }
    if ((attr.access & ~(kLocalAccess | kRemoteAccess)) != 0) {
        return refuse("access", attr.access, -FI_EBADFLAGS);
    }
    const bool remote = (attr.access & kRemoteAccess) != 0;
    if (remote && attr.mr_iov[0].iov_len > ~reinterpret_cast<std::uintptr_t>(attr.mr_iov[0].iov_base)) {   // no endpoint could offer it
        return refuse("a buffer past the end of all addresses; bytes", attr.mr_iov[0].iov_len, -FI_EINVAL);
    }
    if (remote && attr.iov_count != 1) {
        return refuse("several buffers; pieces", attr.iov_count, -FI_EINVAL);
    }
    Domain& domain = object<Domain, fid_domain>(f);
    if (authorized(attr, domain)) {   // who asks for that protection must not believe to have it
        return refuse("auth_key_size", attr.auth_key_size, -FI_EINVAL);
    }
    if (!domain.own_keys() && attr.requested_key == FI_KEY_NOTAVAIL) {
        return -FI_EKEYREJECTED;
    }
    auto* const region = new Region{domain, attr, domain.own_keys() ? domain.make_key() : attr.requested_key};
    if (const int error = guarded([&] { return domain.add_region(*region); }); error != FI_SUCCESS) {
        --domain.users;
        delete region;
        return error;
    }
    *out = region;
    domain.registered(*region);
    return FI_SUCCESS;
}

int Region::close_fid(struct fid* f) noexcept
{
    Region& r = object<Region, fid_mr>(f);
    if (r.counter_ != nullptr) {   // what was done to it by now counts
        r.counter_->progress_surely();
    }
    r.domain_.remove_region(r);
    if (r.counter_ != nullptr) {
        --r.counter_->users;
    }
    --r.domain_.users;
    delete &r;
    return FI_SUCCESS;
}

// No endpoint needs to be named, and may be. A counter counts from now on.
int Region::bind(struct fid* f, struct fid* what, std::uint64_t flags) noexcept
{
    Region& r = object<Region, fid_mr>(f);
    if (what == nullptr || (what->fclass != FI_CLASS_CNTR && what->fclass != FI_CLASS_EP)) {
        return -FI_EINVAL;
    }
    const bool to_endpoint = what->fclass == FI_CLASS_EP;
    if (&(to_endpoint ? EndpointFid::of(what).endpoint.domain() : object<Counter, fid_cntr>(what).domain()) != &r.domain_) {
        return refuse("bound to what is of another domain; class", what->fclass, -FI_EDOMAIN);
    }
    if (to_endpoint) {
        return flags == 0 ? FI_SUCCESS : -FI_EBADFLAGS;
    }
    if (flags != FI_REMOTE_WRITE) {
        return -FI_EBADFLAGS;
    }
    return guarded([&] { return r.count_with(object<Counter, fid_cntr>(what)); });
}

// Who waits on the counter alone makes every endpoint progress through which peers reach the region.
int Region::count_with(Counter& counter)
{
    const std::lock_guard guard{domain_.regions_lock()};
    if (counter_ != nullptr) {
        return -FI_EINVAL;
    }
    domain_.watch(key, counter);
    for (std::size_t i = 0; i < exposures_.size(); ++i) {
        if (const int error = counter.add_source(*exposures_[i].endpoint); error != FI_SUCCESS) {
            while (i-- > 0) {
                counter.remove_source(*exposures_[i].endpoint);
            }
            domain_.unwatch(key);
            return error;
        }
    }
    counter_ = &counter;
    ++counter.users;
    return FI_SUCCESS;
}

// A region works from the start; keys are eight bytes.
int Region::control(struct fid* f, int command, void* arg) noexcept
{
    Region& r = object<Region, fid_mr>(f);
    switch (command) {
        case FI_ENABLE:
        case FI_REFRESH: return FI_SUCCESS;
        case FI_GET_RAW_MR: {
            if (arg == nullptr) {
                return -FI_EINVAL;
            }
            auto& raw = *static_cast<struct fi_mr_raw_attr*>(arg);
            if (raw.key_size == nullptr) {
                return -FI_EINVAL;
            }
            const bool fits = *raw.key_size >= sizeof r.key;
            *raw.key_size = sizeof r.key;
            if (!fits) {
                return -FI_ETOOSMALL;
            }
            if (raw.base_addr == nullptr || raw.raw_key == nullptr) {
                return -FI_EINVAL;
            }
            *raw.base_addr = r.domain_.virtual_addresses() ? reinterpret_cast<std::uintptr_t>(r.base_) : 0;
            std::memcpy(raw.raw_key, &r.key, sizeof r.key);
            return FI_SUCCESS;
        }
        default: return -FI_ENOSYS;
    }
}

int Region::expose(Source& endpoint, std::uint64_t access, bool notices)
{
    linnet_region_options_t o{};
    o.size = sizeof o;
    o.base = base_;
    o.length = bytes_;
    o.key = key;
    o.origin = domain_.virtual_addresses() ? reinterpret_cast<std::uintptr_t>(base_) : 0;
    o.flags = ((access_ & access & FI_REMOTE_READ) != 0 ? std::uint32_t{LINNET_REGION_READ} : 0) |
              ((access_ & access & FI_REMOTE_WRITE) != 0 ? std::uint32_t{LINNET_REGION_WRITE} : 0) |
              (notices ? std::uint32_t{LINNET_REGION_NOTICES} : 0);
    o.arg = reinterpret_cast<void*>(static_cast<std::uintptr_t>(key));   // not `this`, which a notice may outlive
    exposures_.reserve(exposures_.size() + 1);
    linnet_region_t* region = nullptr;
    const linnet_status_t s = linnet_region_open(endpoint.context(), &o, &region);
    if (s != LINNET_OK) {
        return -fi_errno_of(s);
    }
    if (const int error = counter_ != nullptr ? counter_->add_source(endpoint) : FI_SUCCESS; error != FI_SUCCESS) {
        linnet_region_close(endpoint.context(), region);
        return error;
    }
    exposures_.push_back({&endpoint, region});
    return FI_SUCCESS;
}

void Region::withdraw(const Source& endpoint) noexcept
{
    const auto mine = std::find_if(exposures_.begin(), exposures_.end(), [&](const Exposure& e) { return e.endpoint == &endpoint; });
    if (mine == exposures_.end()) {
        return;
    }
    if (counter_ != nullptr) {
        counter_->remove_source(*mine->endpoint);
    }
    linnet_region_close(mine->endpoint->context(), mine->region);
    exposures_.erase(mine);
}

namespace {
int register_attr(struct fid* domain, const fi_mr_attr* attr, std::uint64_t flags, fid_mr** out) noexcept
{
    return attr == nullptr ? -FI_EINVAL : guarded([&] { return Region::open(domain, *attr, flags, out); });
}

int register_vector(struct fid* domain, const iovec* iov, std::size_t count, std::uint64_t access, std::uint64_t offset, std::uint64_t key,
                    std::uint64_t flags, fid_mr** out, void* context) noexcept
{
    fi_mr_attr attr{};
    attr.mr_iov = iov;
    attr.iov_count = count;
    attr.access = access;
    attr.offset = offset;
    attr.requested_key = key;
    attr.context = context;
    return register_attr(domain, &attr, flags, out);
}

int register_buffer(struct fid* domain, const void* buffer, std::size_t bytes, std::uint64_t access, std::uint64_t offset, std::uint64_t key,
                    std::uint64_t flags, fid_mr** out, void* context) noexcept
{
    const iovec iov{const_cast<void*>(buffer), bytes};
    return register_vector(domain, &iov, 1, access, offset, key, flags, out, context);
}
}   // namespace

fi_ops_mr* memory_ops() noexcept
{
    static fi_ops_mr ops = {sizeof ops, register_buffer, register_vector, register_attr};
    return &ops;
}

}   // namespace linnet::ofi
