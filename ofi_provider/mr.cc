// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Memory registration.
#include "mr.h"

#include "fabric.h"

namespace linnet::ofi {

namespace {
class Region final : public fid_mr {
public:
    Region(Domain& domain, std::uint64_t wanted_key, void* user) : fid_mr{}, domain_{domain}
    {
        static fi_ops base = {sizeof base, close_fid, no_bind, no_control, no_ops_open, nullptr, nullptr};
        fid.fclass = FI_CLASS_MR;
        fid.context = user;
        fid.ops = &base;
        mem_desc = this;
        key = wanted_key;
        ++domain_.users;
    }

private:
    static int close_fid(struct fid* f) noexcept
    {
        Region& r = object<Region, fid_mr>(f);
        --r.domain_.users;
        delete &r;
        return FI_SUCCESS;
    }
    Domain& domain_;
};

constexpr std::uint64_t kLocalAccess = FI_SEND | FI_RECV | FI_READ | FI_WRITE;

int register_attr(struct fid* domain, const fi_mr_attr* attr, std::uint64_t flags, fid_mr** out) noexcept
{
    return guarded([&] {
        if (domain->fclass != FI_CLASS_DOMAIN || attr == nullptr || attr->iov_count == 0 || attr->mr_iov == nullptr || flags != 0) {
            return -FI_EINVAL;
        }
        if ((attr->access & ~kLocalAccess) != 0) {
            LINNET_FI_INFO(FI_LOG_MR, "memory registration: access 0x%llx cannot be had, linnet offers 0x%llx\n",
                           static_cast<unsigned long long>(attr->access), static_cast<unsigned long long>(kLocalAccess));
            return -FI_EOPNOTSUPP;
        }
        if (attr->iface != FI_HMEM_SYSTEM) {
            LINNET_FI_INFO(FI_LOG_MR, "memory registration: device memory (interface %d) cannot be had\n", attr->iface);
            return -FI_ENOSYS;
        }
        *out = new Region{object<Domain, fid_domain>(domain), attr->requested_key, attr->context};
        return FI_SUCCESS;
    });
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
