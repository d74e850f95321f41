// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Fabric and domain: fi_fabric(3), fi_domain(3), and what hangs off them: fi_trywait(3), poll sets, memory registration.
//
// Owner: the application; fi_close() refuses (-FI_EBUSY) while something opened on them lives. Threads: any. Blocking: nothing. Failure: fi_errno.
#pragma once

#include <atomic>
#include <mutex>
#include <unordered_map>
#include <vector>

#include "provider.h"

namespace linnet::ofi {

class Counter;
class Endpoint;
class Eq;
class Region;

// What a pointer in hints may be: an answer of fi_getinfo(3) names what is open, and may be held against it when that was closed since.
enum class Presence : std::uint8_t { kOpen, kClosed, kNone };

class Fabric final : public fid_fabric {
public:
    static int open(fi_fabric_attr* attr, fid_fabric** out, void* context) noexcept;
    static Fabric& of(fid_fabric* f) noexcept { return static_cast<Fabric&>(*f); }
    // For fi_getinfo(3): the first one that is open, or null.
    static fid_fabric* opened() noexcept;
    static Presence presence(const fid_fabric* f) noexcept;
    std::atomic<unsigned> users{0};

private:
    Fabric();
    ~Fabric() = default;
    static int close_fid(struct fid* f) noexcept;
    static int try_wait(fid_fabric* f, struct fid** fids, int count) noexcept;
    static int no_passive(fid_fabric*, fi_info*, fid_pep**, void*) noexcept { return -FI_ENOSYS; }
    static int no_wait_set(fid_fabric*, fi_wait_attr*, fid_wait**) noexcept { return -FI_ENOSYS; }
};

class Domain final : public fid_domain {
public:
    static int open(fid_fabric* fabric, fi_info* info, fid_domain** out, void* context) noexcept;
    static int open_with_flags(fid_fabric* fabric, fi_info* info, fid_domain** out, std::uint64_t flags, void* context) noexcept;
    static Domain& of(fid_domain* f) noexcept { return static_cast<Domain&>(*f); }
    // For fi_getinfo(3): the first one that is open, of this fabric or, if that is null, of any; or null.
    static fid_domain* opened(const fid_fabric* fabric) noexcept;
    static Presence presence(const fid_domain* d) noexcept;
    [[nodiscard]] fid_fabric* fabric() const noexcept { return &fabric_; }
    [[nodiscard]] std::uint32_t address_format() const noexcept { return format_; }
    [[nodiscard]] fi_av_type av_type() const noexcept { return av_type_; }   // of all address vectors, or FI_AV_UNSPEC
    [[nodiscard]] std::uint32_t api_version() const noexcept { return fabric_.api_version; }
    // How regions are named (mr_mode): by their own addresses instead of offsets, by keys of ours.
    [[nodiscard]] bool virtual_addresses() const noexcept { return virtual_addresses_; }
    [[nodiscard]] bool own_keys() const noexcept { return own_keys_; }
    [[nodiscard]] std::uint64_t make_key() noexcept { return next_key_.fetch_add(1, std::memory_order_relaxed); }

    // Regions, each with a key of its own, and the endpoints through which peers reach those that they may. 0 or a negative fi_errno.
    int add_region(Region& region);
    void registered(Region& region);   // and the application knows it
    void remove_region(Region& region) noexcept;
    int attach(Endpoint& endpoint);
    void detach(Endpoint& endpoint) noexcept;
    // The counter of a region.
    void watch(std::uint64_t key, Counter& counter);
    void unwatch(std::uint64_t key) noexcept;
    // Peers changed the region with this key, so many times. The caller runs completions, and may hold the sources of a Waitable.
    void note_changes(std::uint64_t key, std::uint32_t times) noexcept;
    [[nodiscard]] std::mutex& regions_lock() noexcept { return regions_lock_; }
    std::atomic<unsigned> users{0};

private:
    Domain(Fabric& fabric, const fi_info& info);
    ~Domain() = default;
    static int close_fid(struct fid* f) noexcept;
    static int bind(struct fid* f, struct fid* what, std::uint64_t flags) noexcept;
    static int control(struct fid* f, int command, void* arg) noexcept;
    static int no_scalable(fid_domain*, fi_info*, fid_ep**, void*) noexcept { return -FI_ENOSYS; }
    static int no_collective(fid_domain*, fi_collective_op, fi_collective_attr*, std::uint64_t) noexcept { return -FI_EOPNOTSUPP; }

    Fabric& fabric_;
    Eq* eq_{nullptr};   // bound to it: kept from being closed
    bool tells_registrations_{false};
    std::uint32_t format_;
    const fi_av_type av_type_;
    const bool virtual_addresses_;
    const bool own_keys_;
    std::atomic<std::uint64_t> next_key_{1};
    std::mutex regions_lock_;
    std::unordered_map<std::uint64_t, Region*> regions_;   // guarded by regions_lock_, by key; as is the next
    std::vector<Endpoint*> endpoints_;
    std::mutex watch_lock_;   // a leaf but for waking who sleeps on a counter
    std::unordered_map<std::uint64_t, Counter*> watched_;   // guarded by watch_lock_, by key
};

}   // namespace linnet::ofi
