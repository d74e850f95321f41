// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_getinfo(3): our one endpoint, and the hints it is held against.
#include "info.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <optional>

#include "address.h"
#include "capi/linnet_rma.h"
#include "fabric.h"

namespace linnet::ofi {

namespace {
constexpr const char* kName = "linnet";
constexpr std::size_t kObjects = 65536;
constexpr std::uint64_t kTagFields = 0xaaaaaaaaaaaaaaaa;   // each bit a field of its own
constexpr std::uint64_t kOrder = FI_ORDER_SAS | FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW |
                                 FI_ORDER_RMA_WAR | FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAR |
                                 FI_ORDER_ATOMIC_WAW;

struct FreeInfo {
    void operator()(fi_info* i) const noexcept { fi_freeinfo(i); }
};
using Info = std::unique_ptr<fi_info, FreeInfo>;

bool refuse(const char* attribute, unsigned long long wanted, unsigned long long offered)
{
    LINNET_FI_INFO(FI_LOG_CORE, "hints: %s 0x%llx cannot be had, linnet offers 0x%llx\n", attribute, wanted, offered);
    return false;
}
bool refuse_text(const char* attribute, const char* wanted)
{
    LINNET_FI_INFO(FI_LOG_CORE, "hints: %s \"%s\" is not linnet's\n", attribute, wanted);
    return false;
}
// Bits asked for must be among those offered.
bool within(const char* attribute, std::uint64_t wanted, std::uint64_t offered)
{
    return (wanted & ~offered) == 0 || refuse(attribute, wanted, offered);
}
bool at_most(const char* attribute, std::size_t wanted, std::size_t offered) { return wanted <= offered || refuse(attribute, wanted, offered); }

// A value of an enumeration, the greatest of which is `last`.
template <class Enumeration>
bool one_of(const char* attribute, const Enumeration& wanted, Enumeration last)
{
    return !beyond(wanted, last) || refuse(attribute, number_of(wanted), static_cast<unsigned>(last));
}

// There are no authorization keys; interfaces before 1.5 do not know the field.
bool no_key(const char* attribute, std::size_t bytes, std::uint32_t version)
{
    return bytes == 0 || FI_VERSION_LT(version, FI_VERSION(1, 5)) || refuse(attribute, bytes, 0);
}

// fi_mr(3): the values of the enumeration that mr_mode was before 1.5 stand alone, and its bits are of 1.5.
bool mr_mode_possible(int wanted, std::uint32_t version)
{
    const bool old = (wanted & (FI_MR_BASIC | FI_MR_SCALABLE)) != 0 || FI_VERSION_LT(version, FI_VERSION(1, 5));
    return !old || wanted == FI_MR_UNSPEC || wanted == FI_MR_BASIC || wanted == FI_MR_SCALABLE ||
           refuse("domain_attr->mr_mode, what must stand alone and more:", static_cast<unsigned>(wanted), FI_MR_BASIC | FI_MR_SCALABLE);
}

// Before 1.5 the provider chose if the application did not; of the bits since then we need none.
int mr_mode_for(int wanted, std::uint32_t version) noexcept
{
    const int choice = FI_VERSION_LT(version, FI_VERSION(1, 5)) ? FI_MR_SCALABLE : 0;
    return wanted == FI_MR_BASIC || wanted == FI_MR_SCALABLE ? wanted : choice;
}

Info make_offer(std::uint32_t version)
{
    Info i{fi_allocinfo()};
    if (i == nullptr) {
        throw std::bad_alloc{};
    }
    i->caps = kAllCaps;
    i->addr_format = kAddressFormat;
    fi_tx_attr& tx = *i->tx_attr;
    tx.caps = kTxCaps;
    tx.msg_order = kOrder;
    tx.inject_size = kInjectMax;
    tx.size = kQueueSize;
    tx.iov_limit = kIovUnasked;
    tx.rma_iov_limit = 1;
    fi_rx_attr& rx = *i->rx_attr;
    rx.caps = kRxCaps;
    rx.msg_order = kOrder;
    rx.size = kQueueSize;
    rx.iov_limit = kIovUnasked;
    fi_ep_attr& ep = *i->ep_attr;
    ep.type = FI_EP_RDM;
    ep.protocol = kAddressFormat;
    ep.protocol_version = 1;
    ep.max_msg_size = kMessageMax;
    ep.max_order_raw_size = ep.max_order_war_size = ep.max_order_waw_size = LINNET_RMA_ORDERED;
    ep.mem_tag_format = kTagFields;
    ep.tx_ctx_cnt = 1;
    ep.rx_ctx_cnt = 1;
    fi_domain_attr& d = *i->domain_attr;
    d.name = ::strdup(kName);
    d.threading = FI_THREAD_SAFE;
    d.control_progress = FI_PROGRESS_AUTO;
    d.data_progress = FI_PROGRESS_AUTO;
    d.resource_mgmt = FI_RM_ENABLED;
    d.av_type = FI_AV_UNSPEC;   // both
    d.mr_mode = mr_mode_for(FI_MR_UNSPEC, version);
    d.mr_key_size = sizeof(std::uint64_t);
    d.cq_data_size = kCqDataBytes;
    d.cq_cnt = d.ep_cnt = d.tx_ctx_cnt = d.rx_ctx_cnt = d.cntr_cnt = kObjects;
    d.max_ep_tx_ctx = 1;
    d.max_ep_rx_ctx = 1;
    d.max_ep_stx_ctx = kObjects;
    d.max_ep_srx_ctx = kObjects;
    d.mr_iov_limit = 1;
    d.mr_cnt = kObjects;
    d.caps = kDomainCaps;
    i->fabric_attr->name = ::strdup(kName);
    i->fabric_attr->prov_version = provider.version;
    i->fabric_attr->api_version = version;
    return i;
}

// ---- the hints, structure by structure: the offer is narrowed to them, or they are refused ----

// Which ways its operations go; fi_getinfo(3): none named is all.
std::uint64_t directions(std::uint64_t caps)
{
    const auto of = [&](std::uint64_t primary, std::uint64_t modifiers) {
        const std::uint64_t named = caps & modifiers;
        return named != 0 ? named : (caps & primary) != 0 ? modifiers : 0;
    };
    return of(FI_MSG | FI_TAGGED, kMessageModifiers) | of(kRmaCaps, kRmaModifiers);
}

bool take_caps(const fi_info& hints, fi_info& offer)
{
    if (hints.caps == 0) {
        return true;
    }
    if (!within("caps", hints.caps, kAllCaps)) {
        return false;
    }
    if ((hints.caps & kRmaModifiers) != 0 && (hints.caps & kRmaCaps) == 0) {
        return refuse("caps: FI_READ, FI_WRITE without FI_RMA or FI_ATOMIC", hints.caps, kAllCaps);
    }
    const std::uint64_t direction = directions(hints.caps);
    if ((hints.caps & FI_RMA_EVENT) != 0 && (direction & (FI_REMOTE_READ | FI_REMOTE_WRITE)) == 0) {   // nothing could happen to it
        return refuse("caps: FI_RMA_EVENT of an endpoint that is the target of no FI_RMA nor FI_ATOMIC", hints.caps, kAllCaps);
    }
    offer.caps = (hints.caps & (kPrimaryCaps | kSecondaryCaps)) | direction | kDomainCaps;
    // Hints that name no operation close neither side: FI_DIRECTED_RECV alone is a receiver's.
    const auto side = [&](std::uint64_t own, std::uint64_t modifiers) { return direction == 0 || (direction & modifiers) != 0 ? offer.caps & own : 0; };
    offer.tx_attr->caps = side(kTxCaps, FI_SEND | FI_READ | FI_WRITE);
    offer.rx_attr->caps = side(kRxCaps, FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE);
    return true;
}

bool take_tx(const fi_tx_attr& want, fi_info& offer)
{
    fi_tx_attr& tx = *offer.tx_attr;
    const bool good = within("tx_attr->caps", want.caps, offer.caps) && within("tx_attr->op_flags", want.op_flags, kTxOpFlags) &&
                      within("tx_attr->msg_order", want.msg_order, tx.msg_order) && within("tx_attr->comp_order", want.comp_order, tx.comp_order) &&
                      at_most("tx_attr->inject_size", want.inject_size, tx.inject_size) && at_most("tx_attr->size", want.size, tx.size) &&
                      at_most("tx_attr->iov_limit", want.iov_limit, kIovMax) &&
                      at_most("tx_attr->rma_iov_limit", want.rma_iov_limit, tx.rma_iov_limit);
    if (good && want.caps != 0) {
        tx.caps = want.caps;
    }
    tx.iov_limit = std::max(want.iov_limit, tx.iov_limit);
    tx.op_flags = want.op_flags;
    return good;
}

bool take_rx(const fi_rx_attr& want, fi_info& offer)
{
    fi_rx_attr& rx = *offer.rx_attr;
    const bool good = within("rx_attr->caps", want.caps, offer.caps) && within("rx_attr->op_flags", want.op_flags, kRxOpFlags) &&
                      within("rx_attr->msg_order", want.msg_order, rx.msg_order) && within("rx_attr->comp_order", want.comp_order, rx.comp_order) &&
                      at_most("rx_attr->size", want.size, rx.size) && at_most("rx_attr->iov_limit", want.iov_limit, kIovMax);
    if (good && want.caps != 0) {
        rx.caps = want.caps;
    }
    rx.iov_limit = std::max(want.iov_limit, rx.iov_limit);
    rx.total_buffered_recv = want.total_buffered_recv;   // there is no limit but the peers'
    rx.op_flags = want.op_flags;
    return good;
}

bool take_ep(const fi_ep_attr& want, const fi_info& offer)
{
    fi_ep_attr& ep = *offer.ep_attr;
    const auto shared = [](std::size_t n) { return n == FI_SHARED_CONTEXT; };
    if (number_of(want.type) != FI_EP_UNSPEC && number_of(want.type) != FI_EP_RDM) {
        return refuse("ep_attr->type", number_of(want.type), ep.type);
    }
    if (want.protocol != FI_PROTO_UNSPEC && want.protocol != ep.protocol) {
        return refuse("ep_attr->protocol", want.protocol, ep.protocol);
    }
    if (shared(want.tx_ctx_cnt)) {
        ep.tx_ctx_cnt = FI_SHARED_CONTEXT;
    }
    if (shared(want.rx_ctx_cnt)) {   // which matches inside the application's calls alone
        ep.rx_ctx_cnt = FI_SHARED_CONTEXT;
        offer.domain_attr->data_progress = FI_PROGRESS_MANUAL;
    }
    if (want.mem_tag_format != 0) {   // every bit may be compared or ignored by itself, whatever fields the application makes of them
        ep.mem_tag_format = want.mem_tag_format;
    }
    return at_most("ep_attr->protocol_version", want.protocol_version, ep.protocol_version) &&
           at_most("ep_attr->max_msg_size", want.max_msg_size, ep.max_msg_size) &&
           at_most("ep_attr->msg_prefix_size", want.msg_prefix_size, ep.msg_prefix_size) &&
           at_most("ep_attr->max_order_raw_size", want.max_order_raw_size, ep.max_order_raw_size) &&
           at_most("ep_attr->max_order_war_size", want.max_order_war_size, ep.max_order_war_size) &&
           at_most("ep_attr->max_order_waw_size", want.max_order_waw_size, ep.max_order_waw_size) &&
           at_most("ep_attr->tx_ctx_cnt", want.tx_ctx_cnt, ep.tx_ctx_cnt) && at_most("ep_attr->rx_ctx_cnt", want.rx_ctx_cnt, ep.rx_ctx_cnt) &&
           no_key("ep_attr->auth_key_size", want.auth_key_size, offer.fabric_attr->api_version);
}

bool take_domain(const fi_domain_attr& want, fi_info& offer)
{
    fi_domain_attr& d = *offer.domain_attr;
    if (want.name != nullptr && std::strcmp(want.name, d.name) != 0) {
        return refuse_text("domain_attr->name", want.name);
    }
    const Presence presence = Domain::presence(want.domain);
    if (want.domain != nullptr && presence == Presence::kNone) {
        return refuse("domain_attr->domain, which is none of linnet's:", reinterpret_cast<std::uintptr_t>(want.domain), 0);
    }
    if (!one_of("domain_attr->threading", want.threading, FI_THREAD_ENDPOINT) ||
        !one_of("domain_attr->control_progress", want.control_progress, FI_PROGRESS_MANUAL) ||
        !one_of("domain_attr->data_progress", want.data_progress, FI_PROGRESS_MANUAL) ||
        !one_of("domain_attr->resource_mgmt", want.resource_mgmt, FI_RM_ENABLED) || !one_of("domain_attr->av_type", want.av_type, FI_AV_TABLE)) {
        return false;
    }
    if (want.data_progress == FI_PROGRESS_AUTO && d.data_progress == FI_PROGRESS_MANUAL) {
        return refuse("domain_attr->data_progress, with a shared receive context:", want.data_progress, FI_PROGRESS_MANUAL);
    }
    const bool good =
        at_most("domain_attr->mr_key_size", want.mr_key_size, d.mr_key_size) && at_most("domain_attr->cq_data_size", want.cq_data_size, d.cq_data_size) &&
        at_most("domain_attr->cq_cnt", want.cq_cnt, d.cq_cnt) && at_most("domain_attr->ep_cnt", want.ep_cnt, d.ep_cnt) &&
        at_most("domain_attr->tx_ctx_cnt", want.tx_ctx_cnt, d.tx_ctx_cnt) && at_most("domain_attr->rx_ctx_cnt", want.rx_ctx_cnt, d.rx_ctx_cnt) &&
        at_most("domain_attr->max_ep_tx_ctx", want.max_ep_tx_ctx, d.max_ep_tx_ctx) &&
        at_most("domain_attr->max_ep_rx_ctx", want.max_ep_rx_ctx, d.max_ep_rx_ctx) &&
        at_most("domain_attr->max_ep_stx_ctx", want.max_ep_stx_ctx, d.max_ep_stx_ctx) &&
        at_most("domain_attr->max_ep_srx_ctx", want.max_ep_srx_ctx, d.max_ep_srx_ctx) &&
        at_most("domain_attr->cntr_cnt", want.cntr_cnt, d.cntr_cnt) && at_most("domain_attr->mr_iov_limit", want.mr_iov_limit, d.mr_iov_limit) &&
        at_most("domain_attr->mr_cnt", want.mr_cnt, d.mr_cnt) && mr_mode_possible(want.mr_mode, offer.fabric_attr->api_version) &&
        within("domain_attr->caps", want.caps, d.caps) && at_most("domain_attr->max_err_data", want.max_err_data, d.max_err_data) &&
        no_key("domain_attr->auth_key_size", want.auth_key_size, offer.fabric_attr->api_version);
    d.domain = presence == Presence::kOpen ? want.domain : nullptr;
    // Everything is safe and automatic inside, so any weaker wish is granted by its name.
    d.threading = want.threading != FI_THREAD_UNSPEC ? want.threading : d.threading;
    d.control_progress = want.control_progress != FI_PROGRESS_UNSPEC ? want.control_progress : d.control_progress;
    d.data_progress = want.data_progress != FI_PROGRESS_UNSPEC ? want.data_progress : d.data_progress;
    d.resource_mgmt = want.resource_mgmt != FI_RM_UNSPEC ? want.resource_mgmt : d.resource_mgmt;
    d.av_type = want.av_type != FI_AV_UNSPEC ? want.av_type : d.av_type;
    d.mr_mode = mr_mode_for(want.mr_mode, offer.fabric_attr->api_version);
    return good;
}

bool take_fabric(const fi_fabric_attr& want, fi_info& offer)
{
    const Presence presence = Fabric::presence(want.fabric);
    if (want.fabric != nullptr && presence == Presence::kNone) {
        return refuse("fabric_attr->fabric, which is none of linnet's:", reinterpret_cast<std::uintptr_t>(want.fabric), 0);
    }
    offer.fabric_attr->fabric = presence == Presence::kOpen ? want.fabric : nullptr;
    if (want.name != nullptr && std::strcmp(want.name, kName) != 0) {
        return refuse_text("fabric_attr->name", want.name);
    }
    // libfabric itself compares prov_name, which may be in other letters' case, or name those that are not to be asked ("^tcp").
    return at_most("fabric_attr->prov_version", want.prov_version, provider.version);
}

bool take_hints(const fi_info& hints, fi_info& offer)
{
    if (hints.addr_format != FI_FORMAT_UNSPEC && !format_known(hints.addr_format)) {
        return refuse("addr_format", hints.addr_format, kAddressFormat);
    }
    if (hints.addr_format != FI_FORMAT_UNSPEC) {
        offer.addr_format = hints.addr_format;
    }
    return take_caps(hints, offer) && (hints.tx_attr == nullptr || take_tx(*hints.tx_attr, offer)) &&
           (hints.rx_attr == nullptr || take_rx(*hints.rx_attr, offer)) && (hints.ep_attr == nullptr || take_ep(*hints.ep_attr, offer)) &&
           (hints.domain_attr == nullptr || take_domain(*hints.domain_attr, offer)) &&
           (hints.fabric_attr == nullptr || take_fabric(*hints.fabric_attr, offer));
}

// ---- addresses ----

void put_address(const Address& a, std::uint32_t format, void*& to, std::size_t& bytes)
{
    const std::string encoded = a.encode(format);
    to = std::calloc(1, encoded.size());
    if (to == nullptr) {
        throw std::bad_alloc{};
    }
    std::memcpy(to, encoded.data(), encoded.size());
    bytes = encoded.size();
}

bool take_addresses(const char* node, const char* service, std::uint64_t flags, const fi_info* hints, fi_info& offer)
{
    const std::uint32_t format = offer.addr_format;
    const bool source = (flags & FI_SOURCE) != 0;
    std::optional<Address> from;
    std::optional<Address> to;
    if (node != nullptr || service != nullptr) {
        std::optional<Address>& named = source ? from : to;
        named = Address::resolve(node, service, (flags & FI_NUMERICHOST) != 0, source, format);
        if (!named) {
            return false;
        }
    }
    const auto hinted = [&](std::optional<Address>& slot, const char* what, const void* address, std::size_t bytes) {
        if (slot || address == nullptr) {
            return true;
        }
        slot = Address::decode(address, bytes, format);
        return slot.has_value() || refuse(what, bytes, format_bytes(format));
    };
    if (hints != nullptr && !source && !hinted(from, "src_addr, of length", hints->src_addr, hints->src_addrlen)) {
        return false;
    }
    if (from && from->is_name()) {   // with the secret of an endpoint that is there: the next makes its own
        return refuse("src_addr, a name of length", LINNET_NAME_BYTES, 0);
    }
    if (hints != nullptr && (source || (node == nullptr && service == nullptr)) &&
        !hinted(to, "dest_addr, of length", hints->dest_addr, hints->dest_addrlen)) {
        return false;
    }
    if (!from) {   // any address of this host, any port, of the family that the other end or the format asks for
        const bool six = to ? to->ipv6() : format == FI_SOCKADDR_IN6;
        if (to && to->loopback()) {   // which is reached from there alone
            from = Address::inet(six ? "::1" : "127.0.0.1", 0);
        } else {
            from = Address::inet(six ? "::" : "0.0.0.0", 0);
        }
    }
    put_address(*from, format, offer.src_addr, offer.src_addrlen);
    if (to) {
        put_address(*to, format, offer.dest_addr, offer.dest_addrlen);
    }
    return true;
}

int make_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags, const fi_info* hints, fi_info** info)
{
    constexpr std::uint64_t kFlags = FI_NUMERICHOST | FI_PROV_ATTR_ONLY | FI_SOURCE;
    if ((flags & ~kFlags) != 0) {
        return -FI_EBADFLAGS;
    }
    if ((flags & FI_SOURCE) != 0 && node == nullptr && service == nullptr) {
        return -FI_EINVAL;
    }
    Info offer = make_offer(version);
    if ((flags & FI_PROV_ATTR_ONLY) == 0) {
        if (hints != nullptr && !take_hints(*hints, *offer)) {
            return -FI_ENODATA;
        }
        if (!take_addresses(node, service, flags, hints, *offer)) {
            return -FI_ENODATA;
        }
        fi_domain_attr& d = *offer->domain_attr;
        d.domain = d.domain != nullptr ? d.domain : Domain::opened(offer->fabric_attr->fabric);
        fid_fabric*& fabric = offer->fabric_attr->fabric;
        if (fabric != nullptr && d.domain != nullptr && Domain::of(d.domain).fabric() != fabric) {
            refuse("domain_attr->domain, which is not of fabric_attr->fabric:", reinterpret_cast<std::uintptr_t>(d.domain), 0);
            return -FI_ENODATA;
        }
        if (fabric == nullptr) {
            fabric = d.domain != nullptr ? Domain::of(d.domain).fabric() : Fabric::opened();
        }
        if (hints != nullptr) {
            offer->handle = hints->handle;
        }
    }
    *info = offer.release();
    return FI_SUCCESS;
}
}   // namespace

bool endpoint_possible(const fi_info& info, std::uint32_t api_version)
{
    const Info offer = make_offer(api_version);
    return within("caps", info.caps, kAllCaps) && (info.tx_attr == nullptr || take_tx(*info.tx_attr, *offer)) &&
           (info.rx_attr == nullptr || take_rx(*info.rx_attr, *offer)) && (info.ep_attr == nullptr || take_ep(*info.ep_attr, *offer));
}

bool domain_possible(const fi_info& info, std::uint32_t api_version)
{
    if (!format_known(info.addr_format)) {
        return refuse("addr_format", info.addr_format, kAddressFormat);
    }
    if (info.domain_attr == nullptr) {
        return true;
    }
    fi_domain_attr attr = *info.domain_attr;
    attr.domain = nullptr;   // of which the answer spoke; it may be closed by now
    return take_domain(attr, *make_offer(api_version));
}

bool take_shared_tx(fi_tx_attr& attr)
{
    const Info offer = make_offer(FI_VERSION(1, 5));
    if (!take_tx(attr, *offer)) {
        return false;
    }
    const fi_tx_attr& tx = *offer->tx_attr;
    attr.caps = tx.caps | (directions(tx.caps) & kTxCaps);
    attr.inject_size = std::max(attr.inject_size, tx.inject_size);
    attr.size = std::max(attr.size, tx.size);
    attr.iov_limit = std::max(attr.iov_limit, tx.iov_limit);
    attr.rma_iov_limit = std::max(attr.rma_iov_limit, tx.rma_iov_limit);
    return true;
}

bool take_shared_rx(fi_rx_attr& attr)
{
    const Info offer = make_offer(FI_VERSION(1, 5));
    if (!take_rx(attr, *offer)) {
        return false;
    }
    const fi_rx_attr& rx = *offer->rx_attr;
    attr.caps = rx.caps | (directions(rx.caps) & kRxCaps);
    attr.size = std::max(attr.size, rx.size);
    attr.iov_limit = std::max(attr.iov_limit, rx.iov_limit);
    return true;
}

int get_info(std::uint32_t version, const char* node, const char* service, std::uint64_t flags, const fi_info* hints, fi_info** info) noexcept
{
    return guarded([&] { return make_info(version, node, service, flags, hints, info); });
}

}   // namespace linnet::ofi
