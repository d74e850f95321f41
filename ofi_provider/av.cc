// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Address vectors.
#include "av.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>

#include "endpoint.h"
#include "eq.h"
#include "fabric.h"

namespace linnet::ofi {

namespace {
constexpr std::size_t kReserved = 65536;   // `count` is what the application expects; more than this is believed when it comes

// "host10" + 1 = "host11": the number at the end of a node or service.
std::optional<std::string> advanced(const std::string& text, std::size_t by)
{
    if (by == 0) {
        return text;
    }
    const auto begin = text.find_last_not_of("0123456789") + 1;   // npos + 1 is 0
    if (begin == text.size()) {
        return std::nullopt;
    }
    std::string number = std::to_string(std::strtoull(text.c_str() + begin, nullptr, 10) + by);
    const std::size_t width = text.size() - begin;   // "node007"
    if (text[begin] == '0' && number.size() < width) {
        number.insert(0, width - number.size(), '0');
    }
    return text.substr(0, begin) + number;
}

// "10.1.0.255" + 1 = "10.1.1.0", "fe80::9%eth0" + 1 = "fe80::a%eth0"; what is no address is a name. nullopt: past the last one.
std::optional<std::string> advanced_node(const std::string& text, std::size_t by)
{
    std::array<unsigned char, 16> raw{};
    const std::string address = text.substr(0, text.find('%'));
    const std::string scope = text.substr(address.size());
    const bool four = scope.empty() && ::inet_pton(AF_INET, address.c_str(), raw.data()) == 1;
    if (!four && ::inet_pton(AF_INET6, address.c_str(), raw.data()) != 1) {
        return advanced(text, by);
    }
    std::size_t more = by;
    for (std::size_t i = four ? 4 : 16; i-- > 0;) {   // the least is last
        more += raw[i];
        raw[i] = static_cast<unsigned char>(more & 0xff);
        more >>= 8;
    }
    char to[INET6_ADDRSTRLEN] = "";
    ::inet_ntop(four ? AF_INET : AF_INET6, raw.data(), to, sizeof to);
    return more == 0 ? std::optional<std::string>{to + scope} : std::nullopt;
}
}   // namespace

Av::Av(Domain& domain, const fi_av_attr& attr) : fid_av{}, domain_{domain}, asynchronous_{(attr.flags & FI_EVENT) != 0}
{
    static fi_ops base = {sizeof base, close_fid, bind, no_control, no_ops_open, nullptr, nullptr};
    static fi_ops_av own = {sizeof own, insert, insert_service, insert_symmetric, remove, lookup, address_text, no_set};
    fid.fclass = FI_CLASS_AV;
    fid.ops = &base;
    ops = &own;
    slots_.reserve(std::min(attr.count, kReserved));
    ++domain_.users;
}

int Av::open(fid_domain* domain, fi_av_attr* attr, fid_av** out, void* context) noexcept
{
    return guarded([&] {
        fi_av_attr want{};
        if (attr != nullptr) {
            want = *attr;
        }
        if (want.name != nullptr) {
            LINNET_FI_INFO(FI_LOG_AV, "av attr: name \"%s\": shared vectors cannot be had\n", want.name);
            return -FI_ENOSYS;
        }
        if (beyond(want.type, FI_AV_TABLE) || want.rx_ctx_bits != 0 || (want.flags & ~(FI_EVENT | FI_SYMMETRIC)) != 0) {
            LINNET_FI_INFO(FI_LOG_AV, "av attr: type %u, rx_ctx_bits %d or flags 0x%llx cannot be had\n", number_of(want.type), want.rx_ctx_bits,
                           static_cast<unsigned long long>(want.flags));
            return -FI_EINVAL;
        }
        const fi_av_type usable = Domain::of(domain).av_type();
        if (usable != FI_AV_UNSPEC && want.type != FI_AV_UNSPEC && want.type != usable) {
            LINNET_FI_INFO(FI_LOG_AV, "av attr: type %d cannot be had, the domain was opened for type %d alone\n", want.type, usable);
            return -FI_EINVAL;
        }
        auto* const av = new Av{Domain::of(domain), want};
        av->fid.context = context;
        if (attr != nullptr && attr->type == FI_AV_UNSPEC) {
            attr->type = usable != FI_AV_UNSPEC ? usable : FI_AV_TABLE;
        }
        *out = av;
        return FI_SUCCESS;
    });
}

int Av::close_fid(struct fid* f) noexcept
{
    Av& av = object<Av, fid_av>(f);
    if (av.users.load() != 0) {
        return -FI_EBUSY;
    }
    if (av.eq_ != nullptr) {
        --av.eq_->users;
    }
    --av.domain_.users;
    delete &av;
    return FI_SUCCESS;
}

int Av::bind(struct fid* f, struct fid* what, std::uint64_t flags) noexcept
{
    Av& av = object<Av, fid_av>(f);
    if (what == nullptr || what->fclass != FI_CLASS_EQ || flags != 0 || av.eq_ != nullptr) {
        return -FI_EINVAL;
    }
    av.eq_ = &object<Eq, fid_eq>(what);
    ++av.eq_->users;
    return FI_SUCCESS;
}

int Av::attach(Endpoint& endpoint)
{
    const std::lock_guard guard{lock_};
    endpoints_.reserve(endpoints_.size() + 1);
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        const int error = slots_[i].used ? endpoint.learn_peer(i, slots_[i].address) : FI_SUCCESS;
        if (error == -FI_ENOMEM) {   // which is no reason to be without it for good
            while (i-- > 0) {
                endpoint.forget_peer(i);
            }
            return error;
        }
        if (error != FI_SUCCESS) {
            LINNET_FI_WARN(FI_LOG_AV, "address %zu cannot be reached by the endpoint: %s\n", i, fi_strerror(-error));
        }
    }
    endpoints_.push_back(&endpoint);
    return FI_SUCCESS;
}

bool Av::holds(fi_addr_t address)
{
    const std::lock_guard guard{lock_};
    return address < slots_.size() && slots_[address].used;
}

void Av::unteach(Endpoint& endpoint) noexcept
{
    const std::lock_guard guard{lock_};
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        endpoint.forget_peer(i);
    }
}

void Av::detach(Endpoint& endpoint) noexcept
{
    const std::lock_guard guard{lock_};
    const auto at = std::find(endpoints_.begin(), endpoints_.end(), &endpoint);
    if (at != endpoints_.end()) {
        endpoints_.erase(at);
    }
}

// ---- insertion ----

namespace {
// What an insertion does not come to, whatever ends it, has no address.
void begin_with_none(fi_addr_t* out, std::size_t count) noexcept
{
    if (out != nullptr) {
        std::fill_n(out, count, FI_ADDR_NOTAVAIL);
    }
}
}   // namespace

int Av::begin(std::uint64_t flags, void* context) const noexcept
{
    constexpr std::uint64_t kFlags = FI_MORE | FI_SYNC_ERR;
    if ((flags & ~kFlags) != 0) {
        return -FI_EBADFLAGS;
    }
    if ((flags & FI_SYNC_ERR) != 0 && (asynchronous_ || context == nullptr)) {
        return -FI_EINVAL;
    }
    return asynchronous_ && eq_ == nullptr ? -FI_ENOEQ : FI_SUCCESS;
}

// At the lowest index that is free. An address is of use as soon as one of the endpoints reaches it; those that come later reach it or not (attach()).
int Av::place(const Address& address, fi_addr_t& index)
{
    const auto free = std::find_if(slots_.begin() + static_cast<std::ptrdiff_t>(free_from_), slots_.end(), [](const Slot& s) { return !s.used; });
    const auto at = static_cast<std::size_t>(free - slots_.begin());
    free_from_ = at;
    if (free == slots_.end()) {
        slots_.emplace_back();
    }
    int error = FI_SUCCESS;
    std::size_t reached_by = 0;
    for (std::size_t i = 0; i < endpoints_.size() && error != -FI_ENOMEM; ++i) {
        const int one = endpoints_[i]->learn_peer(at, address);
        reached_by += one == FI_SUCCESS ? 1 : 0;
        error = one == FI_SUCCESS ? error : one;
    }
    if (error == -FI_ENOMEM || (error != FI_SUCCESS && reached_by == 0)) {
        for (Endpoint* const endpoint : endpoints_) {
            endpoint->forget_peer(at);
        }
        return error;
    }
    slots_[at] = {address, true};
    free_from_ = at + 1;
    index = at;
    return FI_SUCCESS;
}

void Av::put(Insertion& in, const std::optional<Address>& address)
{
    fi_addr_t index = FI_ADDR_NOTAVAIL;
    int error = -FI_EINVAL;
    if (address && (address->is_name() || (address->port() != 0 && !address->any_node()))) {
        const std::lock_guard guard{lock_};
        error = place(*address, index);
    }
    if (error != FI_SUCCESS) {
        LINNET_FI_WARN(FI_LOG_AV, "address %zu of an insertion is not one, or cannot be reached: %s\n", in.done, fi_strerror(-error));
    }
    if (in.out != nullptr) {
        in.out[in.done] = index;
    }
    if ((in.flags & FI_SYNC_ERR) != 0) {
        static_cast<int*>(in.context)[in.done] = -error;
    }
    if (asynchronous_ && error != FI_SUCCESS) {
        fi_eq_err_entry e{};
        e.fid = &fid;
        e.context = in.context;
        e.data = in.done;
        e.err = -error;
        eq_->report_error(e);
    }
    ++in.done;
    in.good += error == FI_SUCCESS ? 1 : 0;
}

int Av::finish(const Insertion& in)
{
    if (!asynchronous_) {
        return static_cast<int>(in.good);
    }
    fi_eq_entry e{};
    e.fid = &fid;
    e.context = in.context;
    e.data = in.good;
    eq_->report(FI_AV_COMPLETE, e);
    return FI_SUCCESS;
}

int Av::insert(fid_av* f, const void* addresses, std::size_t count, fi_addr_t* out, std::uint64_t flags, void* context) noexcept
{
    return guarded([&] {
        Av& av = of(f);
        begin_with_none(out, count);
        if (const int error = av.begin(flags, context); error != FI_SUCCESS) {
            return error;
        }
        if (addresses == nullptr && count != 0) {
            return -FI_EINVAL;
        }
        const std::uint32_t format = av.domain_.address_format();
        const char* at = static_cast<const char*>(addresses);
        Insertion in{out, flags, context};
        for (std::size_t i = 0; i < count; ++i) {
            std::size_t bytes = format_bytes(format);
            if (bytes == 0) {   // FI_SOCKADDR: each says how long it is
                sa_family_t family = 0;
                std::memcpy(&family, at + offsetof(sockaddr, sa_family), sizeof family);
                bytes = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
            }
            av.put(in, Address::decode(at, bytes, format));
            at += bytes;
        }
        return av.finish(in);
    });
}

int Av::insert_service(fid_av* f, const char* node, const char* service, fi_addr_t* out, std::uint64_t flags, void* context) noexcept
{
    return insert_symmetric(f, node, 1, service, 1, out, flags, context);
}

int Av::insert_symmetric(fid_av* f, const char* node, std::size_t nodes, const char* service, std::size_t services, fi_addr_t* out,
                         std::uint64_t flags, void* context) noexcept
{
    return guarded([&] {
        Av& av = of(f);
        begin_with_none(out, nodes * services);
        if (const int error = av.begin(flags, context); error != FI_SUCCESS) {
            return error;
        }
        // As in fi_getinfo(3) either may be missing; but nothing is counted from what is not there.
        if ((node == nullptr && (nodes > 1 || service == nullptr)) || (service == nullptr && services > 1)) {
            return -FI_EINVAL;
        }
        if (nodes > 1 && Address::is_uri(node)) {   // what is to be counted, the node, is not its end
            LINNET_FI_INFO(FI_LOG_AV, "nodes from %s on: an address with its format is one node\n", node);
            return -FI_EINVAL;
        }
        const std::uint32_t format = av.domain_.address_format();
        Insertion in{out, flags, context};
        for (std::size_t n = 0; n < nodes; ++n) {
            for (std::size_t s = 0; s < services; ++s) {
                const auto at = node == nullptr ? std::optional<std::string>{} : advanced_node(node, n);
                const auto port = service == nullptr ? std::optional<std::string>{} : advanced(service, s);
                const bool good = (node == nullptr || at) && (service == nullptr || port);
                av.put(in, good ? Address::resolve(at ? at->c_str() : nullptr, port ? port->c_str() : nullptr, false, false, format) : std::nullopt);
            }
        }
        return av.finish(in);
    });
}

// ---- removal, lookup ----

int Av::remove(fid_av* f, fi_addr_t* addresses, std::size_t count, std::uint64_t flags) noexcept
{
    Av& av = of(f);
    if (flags != 0 || (addresses == nullptr && count != 0)) {
        return -FI_EINVAL;
    }
    const std::lock_guard guard{av.lock_};
    for (std::size_t i = 0; i < count; ++i) {
        if (addresses[i] >= av.slots_.size() || !av.slots_[addresses[i]].used) {
            return -FI_EINVAL;
        }
        for (Endpoint* e : av.endpoints_) {
            e->forget_peer(addresses[i]);
        }
        av.slots_[addresses[i]].used = false;
        av.free_from_ = std::min<std::size_t>(av.free_from_, addresses[i]);
    }
    return FI_SUCCESS;
}

int Av::lookup(fid_av* f, fi_addr_t address, void* to, std::size_t* bytes) noexcept
{
    return guarded([&] {
        Av& av = of(f);
        if (bytes == nullptr || (to == nullptr && *bytes != 0)) {
            return -FI_EINVAL;
        }
        const std::lock_guard guard{av.lock_};
        if (address >= av.slots_.size() || !av.slots_[address].used) {
            return -FI_EINVAL;
        }
        const std::string encoded = av.slots_[address].address.encode(av.domain_.address_format());
        if (to != nullptr) {
            std::memcpy(to, encoded.data(), std::min(*bytes, encoded.size()));
        }
        *bytes = encoded.size();
        return FI_SUCCESS;
    });
}

const char* Av::address_text(fid_av* f, const void* address, char* to, std::size_t* bytes) noexcept
{
    if (address == nullptr || bytes == nullptr) {
        return nullptr;
    }
    const auto copied = [&](const std::string& text) {
        if (*bytes > 0 && to != nullptr) {
            const std::size_t n = std::min(*bytes - 1, text.size());
            std::memcpy(to, text.data(), n);
            to[n] = '\0';
        }
        *bytes = text.size() + 1;
        return 0;
    };
    const std::uint32_t format = of(f).domain_.address_format();
    const int failed = guarded([&] {
        sa_family_t family = AF_INET;
        std::memcpy(&family, address, sizeof family);
        const std::size_t size = format_bytes(format) != 0 ? format_bytes(format) : family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
        const auto a = Address::decode(address, size, format);
        return copied(a ? a->text(format) : "(no address)");
    });
    return failed == 0 ? to : nullptr;
}

}   // namespace linnet::ofi
