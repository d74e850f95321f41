// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Address vectors: fi_av(3). Maps and tables are the same here: an fi_addr_t is an index.
//
// Owner: the application; endpoints that name it keep it from being closed. Threads: any. Lock order: the vector's lock > an endpoint's peer
// table. Blocking: node names are resolved. Failure: as fi_av(3) says; a failed address is logged.
#pragma once

#include <atomic>
#include <mutex>
#include <vector>

#include "address.h"
#include "provider.h"

namespace linnet::ofi {

class Domain;
class Endpoint;
class Eq;

class Av final : public fid_av {
public:
    static int open(fid_domain* domain, fi_av_attr* attr, fid_av** out, void* context) noexcept;
    static Av& of(fid_av* f) noexcept { return static_cast<Av&>(*f); }

    // An enabled endpoint knows all addresses of its vector, those of later too.
    int attach(Endpoint& endpoint);
    // It forgets what attach() told it, and may be told again.
    void unteach(Endpoint& endpoint) noexcept;
    void detach(Endpoint& endpoint) noexcept;
    // Something was inserted there, whoever reaches it.
    [[nodiscard]] bool holds(fi_addr_t address);
    // Endpoints that are bound to it keep it from being closed.
    std::atomic<unsigned> users{0};
    [[nodiscard]] const Domain& domain() const noexcept { return domain_; }

private:
    struct Slot {
        Address address;
        bool used{false};
    };
    // One insertion call.
    struct Insertion {
        fi_addr_t* out;
        std::uint64_t flags;
        void* context;
        std::size_t done{0};
        std::size_t good{0};
    };

    Av(Domain& domain, const fi_av_attr& attr);
    ~Av() = default;
    static int close_fid(struct fid* f) noexcept;
    static int bind(struct fid* f, struct fid* what, std::uint64_t flags) noexcept;
    static int insert(fid_av* f, const void* addresses, std::size_t count, fi_addr_t* out, std::uint64_t flags, void* context) noexcept;
    static int insert_service(fid_av* f, const char* node, const char* service, fi_addr_t* out, std::uint64_t flags, void* context) noexcept;
    static int insert_symmetric(fid_av* f, const char* node, std::size_t nodes, const char* service, std::size_t services, fi_addr_t* out,
                                std::uint64_t flags, void* context) noexcept;
    static int remove(fid_av* f, fi_addr_t* addresses, std::size_t count, std::uint64_t flags) noexcept;
    static int lookup(fid_av* f, fi_addr_t address, void* to, std::size_t* bytes) noexcept;
    static const char* address_text(fid_av* f, const void* address, char* to, std::size_t* bytes) noexcept;
    static int no_set(fid_av*, fi_av_set_attr*, fid_av_set**, void*) noexcept { return -FI_ENOSYS; }

    int begin(std::uint64_t flags, void* context) const noexcept;
    void put(Insertion& in, const std::optional<Address>& address);
    int finish(const Insertion& in);
    int place(const Address& address, fi_addr_t& index);

    Domain& domain_;
    bool asynchronous_;
    Eq* eq_{nullptr};
    std::mutex lock_;
    std::vector<Slot> slots_;             // guarded by lock_, as are the next two
    std::size_t free_from_{0};            // no slot below is free
    std::vector<Endpoint*> endpoints_;
};

}   // namespace linnet::ofi
