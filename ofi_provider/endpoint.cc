// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoints: opening, binding, names, options, closing. Data transfer is in transmit.cc, rma.cc, atomic.cc, receive.cc, multi_recv.cc, peek.cc.
#include "endpoint.h"

#include <algorithm>
#include <cstring>

#include "av.h"
#include "cntr.h"
#include "cq.h"
#include "eq.h"
#include "fabric.h"
#include "mr.h"
#include "shared_rx.h"
#include "shared_tx.h"
#include "transfer_ops.h"

namespace linnet::ofi {

namespace {
int fid_close(struct fid* f) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    Endpoint& endpoint = e.endpoint;
    delete &e;
    endpoint.release();
    return FI_SUCCESS;
}

int fid_bind(struct fid* f, struct fid* what, std::uint64_t flags) noexcept
{
    return guarded([&] { return EndpointFid::of(f).endpoint.bind(what, flags); });
}

// One direction and the flags that become its default.
int ops_flags(EndpointFid& e, int command, std::uint64_t& flags) noexcept
{
    const std::uint64_t direction = flags & (FI_TRANSMIT | FI_RECV);
    if (direction != FI_TRANSMIT && direction != FI_RECV) {
        return -FI_EINVAL;
    }
    std::uint64_t& own = direction == FI_TRANSMIT ? e.tx_flags : e.rx_flags;
    if (command == FI_GETOPSFLAG) {
        flags = own;
        return FI_SUCCESS;
    }
    const std::uint64_t wanted = flags & ~direction;
    if ((wanted & ~(direction == FI_TRANSMIT ? kTxOpFlags : kRxOpFlags)) != 0) {
        return -FI_EBADFLAGS;
    }
    own = wanted;
    return FI_SUCCESS;
}

int fid_control(struct fid* f, int command, void* arg) noexcept
{
    EndpointFid& e = EndpointFid::of(f);
    switch (command) {
        case FI_ENABLE: return guarded([&] { return e.endpoint.enable(); });
        case FI_ALIAS: return arg == nullptr ? -FI_EINVAL : guarded([&] { return e.endpoint.alias(e, *static_cast<struct fi_alias*>(arg)); });
        case FI_GETOPSFLAG:
        case FI_SETOPSFLAG: return arg == nullptr ? -FI_EINVAL : ops_flags(e, command, *static_cast<std::uint64_t*>(arg));
        default: return -FI_ENOSYS;
    }
}

ssize_t ep_cancel(fid_t f, void* context) noexcept { return EndpointFid::of(f).endpoint.cancel(context); }

int ep_getopt(fid_t f, int level, int name, void* value, std::size_t* bytes) noexcept
{
    return get_least_multi_recv(EndpointFid::of(f).endpoint.least_multi_recv(), level, name, value, bytes);
}
int ep_setopt(fid_t f, int level, int name, const void* value, std::size_t bytes) noexcept
{
    return set_least_multi_recv(EndpointFid::of(f).endpoint.least_multi_recv(), level, name, value, bytes);
}

int cm_setname(fid_t f, void* address, std::size_t bytes) noexcept
{
    return guarded([&] { return EndpointFid::of(f).endpoint.set_name(address, bytes); });
}
int cm_getname(fid_t f, void* to, std::size_t* bytes) noexcept
{
    return guarded([&] { return EndpointFid::of(f).endpoint.get_name(to, bytes); });
}
}   // namespace

int get_least_multi_recv(const std::atomic<std::size_t>& least, int level, int name, void* value, std::size_t* bytes) noexcept
{
    if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV) {
        return -FI_ENOPROTOOPT;
    }
    if (value == nullptr || bytes == nullptr) {
        return -FI_EINVAL;
    }
    const std::size_t now = least.load(std::memory_order_relaxed);
    const bool fits = *bytes >= sizeof now;
    if (fits) {
        std::memcpy(value, &now, sizeof now);
    }
    *bytes = sizeof now;
    return fits ? FI_SUCCESS : -FI_ETOOSMALL;
}

int set_least_multi_recv(std::atomic<std::size_t>& least, int level, int name, const void* value, std::size_t bytes) noexcept
{
    if (level != FI_OPT_ENDPOINT || name != FI_OPT_MIN_MULTI_RECV) {
        return -FI_ENOPROTOOPT;
    }
    std::size_t wanted = 0;
    if (value == nullptr || bytes < sizeof wanted) {
        return -FI_EINVAL;
    }
    std::memcpy(&wanted, value, sizeof wanted);
    least.store(wanted, std::memory_order_relaxed);
    return FI_SUCCESS;
}

EndpointFid::EndpointFid(Endpoint& e, std::uint64_t tx, std::uint64_t rx, void* user) : fid_ep{}, endpoint{e}, tx_flags{tx}, rx_flags{rx}
{
    static fi_ops base = {sizeof base, fid_close, fid_bind, fid_control, no_ops_open, nullptr, nullptr};
    static fi_ops_ep own = {sizeof own, ep_cancel, ep_getopt, ep_setopt, unsupported, unsupported, unsupported, unsupported};
    static fi_ops_cm names = {sizeof names, cm_setname, cm_getname, unsupported, unsupported, unsupported, unsupported, unsupported, unsupported, unsupported};
    fid.fclass = FI_CLASS_EP;
    fid.context = user;
    fid.ops = &base;
    ops = &own;
    cm = &names;
    msg = (e.caps_ & FI_MSG) != 0 ? message_ops() : no_message_ops();
    tagged = (e.caps_ & FI_TAGGED) != 0 ? tagged_ops() : no_tagged_ops();
    const bool starts = e.may(FI_READ | FI_WRITE);
    rma = starts && (e.caps_ & FI_RMA) != 0 ? rma_ops() : no_rma_ops();
    atomic = starts && (e.caps_ & FI_ATOMIC) != 0 ? atomic_ops() : no_atomic_ops();
    collective = no_collective_ops();
}

int Endpoint::open(fid_domain* domain, fi_info* info, fid_ep** out, void* context) noexcept { return open_with_flags(domain, info, out, 0, context); }

int Endpoint::open_with_flags(fid_domain* domain, fi_info* info, fid_ep** out, std::uint64_t flags, void* context) noexcept
{
    return guarded([&] {
        if (info == nullptr || flags != 0) {
            return -FI_EINVAL;
        }
        if (!endpoint_possible(*info, Domain::of(domain).api_version())) {
            return -FI_EINVAL;
        }
        std::unique_ptr<Endpoint, void (*)(Endpoint*)> e{new Endpoint{Domain::of(domain), *info}, [](Endpoint* gone) { gone->release(); }};
        if (info->src_addr != nullptr) {
            if (const int error = e->choose_name(info->src_addr, info->src_addrlen); error != FI_SUCCESS) {
                return error;
            }
        }
        *out = new EndpointFid{*e, info->tx_attr != nullptr ? info->tx_attr->op_flags : 0, info->rx_attr != nullptr ? info->rx_attr->op_flags : 0, context};
        static_cast<void>(e.release());
        return FI_SUCCESS;
    });
}

Endpoint::Endpoint(Domain& domain, const fi_info& info)
    : domain_{domain}, caps_{info.caps}, tx_caps_{info.tx_attr != nullptr && info.tx_attr->caps != 0 ? info.tx_attr->caps : info.caps & kTxCaps},
      rx_caps_{info.rx_attr != nullptr && info.rx_attr->caps != 0 ? info.rx_attr->caps : info.caps & kRxCaps},
      shares_tx_{info.ep_attr != nullptr && info.ep_attr->tx_ctx_cnt == FI_SHARED_CONTEXT},
      may_share_tx_{shares_tx_ || info.ep_attr == nullptr || info.ep_attr->tx_ctx_cnt == 0},
      shares_rx_{info.ep_attr != nullptr && info.ep_attr->rx_ctx_cnt == FI_SHARED_CONTEXT}, sends_messages_{may(FI_SEND)}, receives_messages_{may(FI_RECV)},
      most_sent_{std::max(info.tx_attr != nullptr ? info.tx_attr->iov_limit : 0, kIovUnasked)},
      most_received_{std::max(info.rx_attr != nullptr ? info.rx_attr->iov_limit : 0, kIovUnasked)}
{
    ++domain_.users;
}

Endpoint::~Endpoint() = default;

int Endpoint::alias(EndpointFid& of, const struct fi_alias& want)
{
    const std::uint64_t direction = want.flags & (FI_TRANSMIT | FI_RECV);
    const std::uint64_t flags = want.flags & ~direction;
    if ((direction != FI_TRANSMIT && direction != FI_RECV) || want.fid == nullptr) {
        return -FI_EINVAL;
    }
    if ((flags & ~(direction == FI_TRANSMIT ? kTxOpFlags : kRxOpFlags)) != 0) {
        return -FI_EBADFLAGS;
    }
    auto* const a = new EndpointFid{*this, direction == FI_TRANSMIT ? flags : of.tx_flags, direction == FI_RECV ? flags : of.rx_flags, of.fid.context};
    ++aliases_;
    *want.fid = &a->fid;
    return FI_SUCCESS;
}

// With the last alias all ends: what is under way is dropped without a completion, as fi_endpoint(3) says, unless it ends while what was sent is acknowledged.
void Endpoint::release() noexcept
{
    if (--aliases_ != 0) {
        return;
    }
    if (enabled_) {
        linnet_attend(source_.context(), nullptr, nullptr);
        leave();
    }
    if (source_.context() != nullptr) {
        {
            const std::lock_guard guard{claims_lock_};
            for (auto& [context, claim] : claims_) {
                drop(claim.message);
            }
            claims_.clear();
        }
        linnet_context_close(source_.context());
        if (shared_rx_ != nullptr) {
            shared_rx_->ended(*this);
        }
    }
    if (shared_tx_ != nullptr) {
        shared_tx_->leave();
    }
    if (shared_rx_ != nullptr) {
        --shared_rx_->users;
    }
    for (Cq* cq : {tx_cq_, rx_cq_}) {
        if (cq != nullptr) {
            --cq->users;
        }
    }
    for (const auto& slot : counters_) {
        if (Counter* const c = slot.load(std::memory_order_relaxed); c != nullptr) {
            --c->users;
        }
    }
    if (eq_ != nullptr) {
        --eq_->users;
    }
    if (av_ != nullptr) {
        --av_->users;
    }
    --domain_.users;
    delete this;
}

// ---- binding ----

namespace {
// Null: it is of a fabric.
const Domain* domain_of(struct fid* what) noexcept
{
    switch (what->fclass) {
        case FI_CLASS_CQ: return &object<Cq, fid_cq>(what).domain();
        case FI_CLASS_CNTR: return &object<Counter, fid_cntr>(what).domain();
        case FI_CLASS_AV: return &object<Av, fid_av>(what).domain();
        case FI_CLASS_MR: return &object<Region, fid_mr>(what).domain();
        case FI_CLASS_STX_CTX: return &object<SharedTx, fid_stx>(what).domain();
        case FI_CLASS_SRX_CTX: return &object<SharedRx, fid_ep>(what).domain();
        default: return nullptr;
    }
}
}   // namespace

int Endpoint::bind(struct fid* what, std::uint64_t flags)
{
    if (what == nullptr) {
        return -FI_EINVAL;
    }
    if (const Domain* const its = domain_of(what); its != nullptr && its != &domain_) {
        LINNET_FI_INFO(FI_LOG_EP_CTRL, "endpoint: what is bound to it must be of its own domain\n");
        return -FI_EDOMAIN;
    }
    if (what->fclass == FI_CLASS_MR) {   // each region of its domain is its own already
        return (flags & ~(FI_REMOTE_READ | FI_REMOTE_WRITE)) == 0 ? FI_SUCCESS : -FI_EBADFLAGS;
    }
    // Counters and shared transmit contexts need nothing of what enabling does, and Sandia OpenSHMEM binds its own afterwards.
    if (enabled_ && what->fclass != FI_CLASS_CNTR && what->fclass != FI_CLASS_STX_CTX) {
        return -FI_EOPBADSTATE;
    }
    switch (what->fclass) {
        case FI_CLASS_CQ: return bind_cq(object<Cq, fid_cq>(what), flags);
        case FI_CLASS_CNTR: return bind_counter(object<Counter, fid_cntr>(what), flags);
        case FI_CLASS_STX_CTX:
        case FI_CLASS_SRX_CTX: return bind_shared(what, flags);
        case FI_CLASS_AV:
            if (flags != 0 || av_ != nullptr) {
                return -FI_EINVAL;
            }
            av_ = &object<Av, fid_av>(what);
            ++av_->users;
            return FI_SUCCESS;
        case FI_CLASS_EQ:
            if (flags != 0 || eq_ != nullptr) {
                return -FI_EINVAL;
            }
            eq_ = &object<Eq, fid_eq>(what);
            ++eq_->users;
            return FI_SUCCESS;
        default: return -FI_EINVAL;
    }
}

int Endpoint::bind_cq(Cq& cq, std::uint64_t flags)
{
    if ((flags & ~(FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION)) != 0) {
        return -FI_EBADFLAGS;
    }
    const bool tx = (flags & FI_TRANSMIT) != 0;
    const bool rx = (flags & FI_RECV) != 0;
    if ((!tx && !rx) || (tx && tx_cq_ != nullptr) || (rx && rx_cq_ != nullptr)) {
        return -FI_EINVAL;
    }
    const bool selective = (flags & FI_SELECTIVE_COMPLETION) != 0;
    if (tx) {
        tx_cq_ = &cq;
        tx_selective_ = selective;
        ++cq.users;
    }
    if (rx) {
        rx_cq_ = &cq;
        rx_selective_ = selective;
        ++cq.users;
    }
    return FI_SUCCESS;
}

// Only what the endpoint was opened for, once, and of which it uses a subset.
int Endpoint::bind_shared(struct fid* what, std::uint64_t flags)
{
    const bool tx = what->fclass == FI_CLASS_STX_CTX;
    if (flags != 0 || !(tx ? may_share_tx_ : shares_rx_) || (tx ? shared_tx_ != nullptr : shared_rx_ != nullptr)) {
        return -FI_EINVAL;
    }
    if (tx) {
        SharedTx& s = object<SharedTx, fid_stx>(what);
        if (s.admits(tx_caps_)) {
            shared_tx_ = &s;
            s.use();
            return FI_SUCCESS;
        }
    } else {
        SharedRx& s = object<SharedRx, fid_ep>(what);
        if (s.admits(rx_caps_)) {
            shared_rx_ = &s;
            ++s.users;
            return FI_SUCCESS;
        }
    }
    LINNET_FI_INFO(FI_LOG_EP_CTRL, "endpoint: a shared context without the endpoint's capabilities 0x%llx\n",
                   static_cast<unsigned long long>(tx ? tx_caps_ : rx_caps_));
    return -FI_EINVAL;
}

int Endpoint::bind_counter(Counter& counter, std::uint64_t flags)
{
    constexpr std::uint64_t kFlags = FI_SEND | FI_RECV | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;
    if ((flags & ~kFlags) != 0 || flags == 0) {
        return -FI_EBADFLAGS;
    }
    // Who is never the target counts the accesses of others without it: there are none.
    const bool target = may(FI_REMOTE_READ | FI_REMOTE_WRITE);
    if ((flags & (FI_REMOTE_READ | FI_REMOTE_WRITE)) != 0 && target && (caps_ & FI_RMA_EVENT) == 0) {
        LINNET_FI_INFO(FI_LOG_EP_CTRL, "endpoint: counters of remote accesses need FI_RMA_EVENT, caps are 0x%llx\n", static_cast<unsigned long long>(caps_));
        return -FI_EINVAL;
    }
    const std::pair<std::uint64_t, CounterSlot> slots[] = {{FI_SEND, kCountSend}, {FI_RECV, kCountRecv}, {FI_READ, kCountRead}, {FI_WRITE, kCountWrite},
                                                           {FI_REMOTE_READ, kCountRemoteRead}, {FI_REMOTE_WRITE, kCountRemoteWrite}};
    for (const auto& [flag, slot] : slots) {
        if ((flags & flag) != 0 && counters_[slot].load(std::memory_order_relaxed) != nullptr) {
            return -FI_EINVAL;
        }
    }
    for (const auto& [flag, slot] : slots) {
        if ((flags & flag) == 0) {
            continue;
        }
        if (const int error = enabled_ ? counter.add_source(source_) : FI_SUCCESS; error != FI_SUCCESS) {
            return error;   // what is bound by now stays so, as after any other call that failed half way
        }
        ++counter.users;
        counters_[slot].store(&counter, std::memory_order_release);
    }
    return FI_SUCCESS;
}

void Endpoint::count(CounterSlot slot, bool success, std::uint32_t times) noexcept
{
    Counter* const counter = counters_[slot].load(std::memory_order_acquire);
    for (std::uint32_t i = 0; counter != nullptr && i < times; ++i) {
        counter->count(success);
    }
}

// One of these directions, of messages (FI_SEND, FI_RECV) or of one-sided operations; capabilities that name none have all.
bool Endpoint::may(std::uint64_t direction) const noexcept
{
    const bool messages = (direction & kMessageModifiers) != 0;
    const std::uint64_t named = caps_ & (messages ? kMessageModifiers : kRmaModifiers);
    return (caps_ & (messages ? FI_MSG | FI_TAGGED : kRmaCaps)) != 0 && (named == 0 || (named & direction) != 0);
}

// ---- enabling ----

int Endpoint::enable()
{
    if (enabled_) {
        return FI_SUCCESS;
    }
    if (av_ == nullptr) {
        return -FI_ENOAV;
    }
    const bool starts = may(FI_SEND) || may(FI_READ | FI_WRITE);
    if ((starts && tx_cq_ == nullptr) || (may(FI_RECV) && rx_cq_ == nullptr)) {
        return -FI_ENOCQ;
    }
    if ((shares_tx_ && shared_tx_ == nullptr) || (shares_rx_ && shared_rx_ == nullptr)) {
        LINNET_FI_INFO(FI_LOG_EP_CTRL, "endpoint: opened for a shared context, and bound to none\n");
        return -FI_EOPBADSTATE;
    }
    if (const int error = open_context(); error != FI_SUCCESS) {
        return error;
    }
    if (const int error = feed(); error != FI_SUCCESS) {
        return error;
    }
    if (const int error = guarded([this] { return join(); }); error != FI_SUCCESS) {   // the application may try again
        leave();   // first: nobody teaches it any more
        av_->unteach(*this);
        return error;
    }
    linnet_attend(source_.context(), on_attend, this);
    enabled_ = true;
    return FI_SUCCESS;
}

// FI_PROGRESS_AUTO, on the event thread: what begins when something else is complete, that behind a fence and the next message of a buffer that takes several,
// begins without the application. All other completions wait for it as well as in a queue, and those of a peer's writes in bounded memory: so nothing is handed
// out while they gather in the queues.
void Endpoint::on_attend(void* arg) noexcept
{
    auto& e = *static_cast<Endpoint*>(arg);
    bool waits = e.fence_.holds();
    if (!waits) {
        const std::lock_guard guard{e.posted_lock_};
        waits = e.multis_ != nullptr || e.held_ != nullptr;
    }
    const auto gathers = [](const Cq* cq) { return cq != nullptr && cq->gathers(); };
    if (waits && !gathers(e.tx_cq_) && !gathers(e.rx_cq_)) {
        e.source_.hand_out();
    }
}

// What others know of an enabled endpoint. Without memory some of it, which leave() takes back.
int Endpoint::join()
{
    if (may(FI_REMOTE_READ | FI_REMOTE_WRITE)) {
        linnet_remote_register(source_.context(), on_remote, this);
        if (const int error = domain_.attach(*this); error != FI_SUCCESS) {
            return error;
        }
    }
    if (const int error = av_->attach(*this); error != FI_SUCCESS) {
        return error;
    }
    return shared_rx_ != nullptr ? shared_rx_->attach(*this, *av_) : FI_SUCCESS;   // when it knows its peers
}

void Endpoint::leave() noexcept
{
    av_->detach(*this);
    domain_.detach(*this);
    unfeed();
    if (shared_rx_ != nullptr) {
        shared_rx_->detach(*this);
    }
}

int Endpoint::open_context()
{
    if (source_.context() != nullptr) {
        return FI_SUCCESS;
    }
    auto chosen = parameters_set();
    if (fi_log_enabled(&provider, FI_LOG_INFO, FI_LOG_CORE) != 0) {
        chosen.insert(chosen.begin(), {"log_level", fi_log_enabled(&provider, FI_LOG_DEBUG, FI_LOG_CORE) != 0 ? "debug" : "info"});
    }
    if (local_ && local_->port() != 0) {
        for (const char* const setting : {"tcp_port_min", "tcp_port_max", "udp_port_min", "udp_port_max"}) {   // its name has one port for both
            chosen.emplace_back(setting, std::to_string(local_->port()));
        }
    }
    if (local_ && !local_->any_node()) {
        chosen.emplace_back("net_include", local_->interface_node() + (local_->ipv6() ? "/128" : "/32"));
    }
    std::vector<linnet_setting_t> settings;
    for (const auto& [name, value] : chosen) {
        settings.push_back({name.c_str(), value.c_str()});
    }
    linnet_open_options_t options{};
    options.size = sizeof options;
    options.settings = settings.data();
    options.setting_count = settings.size();
    options.log = log_line;
    linnet_context_t* context = nullptr;
    const linnet_status_t s = linnet_context_open(&options, &context);
    if (s == LINNET_ERR_UNREACHABLE && local_ && !local_->any_node()) {   // no interface has that address
        return -FI_EADDRNOTAVAIL;
    }
    if (s == LINNET_ERR_INVALID && local_ && local_->port() != 0) {   // or a wrong setting, which the log tells
        return -FI_EADDRINUSE;
    }
    if (s != LINNET_OK) {
        return -fi_errno_of(s);
    }
    const auto reserved = [&](std::uint32_t space) {
        const linnet_match_t all{LINNET_PEER_ANY, space, 0, ~std::uint64_t{0}};
        return linnet_reserve(context, &all, &shared_reservations_[space == kTaggedSpace ? 0 : 1]) == LINNET_OK;
    };
    if (shares_rx_ && !(reserved(kTaggedSpace) && reserved(kMessageSpace))) {
        linnet_context_close(context);
        return -FI_ENOMEM;
    }
    source_.open(context, fence_);
    return FI_SUCCESS;
}

void Endpoint::close_context() noexcept
{
    if (source_.context() != nullptr) {
        linnet_context_close(source_.context());
        source_.open(nullptr, fence_);
    }
}

std::array<Waitable*, 2 + kCountSlots> Endpoint::fed() const noexcept
{
    std::array<Waitable*, 2 + kCountSlots> all{tx_cq_, rx_cq_};
    std::transform(counters_.begin(), counters_.end(), all.begin() + 2, [](const auto& slot) { return slot.load(std::memory_order_relaxed); });
    return all;
}

// All of them, or none: as often as they are to forget the endpoint.
int Endpoint::feed() noexcept
{
    const auto all = fed();
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (const int error = all[i] != nullptr ? all[i]->add_source(source_) : FI_SUCCESS; error != FI_SUCCESS) {
            while (i-- > 0) {
                if (all[i] != nullptr) {
                    all[i]->remove_source(source_);
                }
            }
            return error;
        }
    }
    return FI_SUCCESS;
}

void Endpoint::unfeed() noexcept
{
    for (Waitable* const w : fed()) {
        if (w != nullptr) {
            w->remove_source(source_);
        }
    }
}

// ---- names ----

int Endpoint::choose_name(const void* address, std::size_t bytes)
{
    const auto a = Address::decode(address, bytes, domain_.address_format());
    if (!a || a->is_name()) {
        return -FI_EINVAL;
    }
    local_ = *a;
    return FI_SUCCESS;
}

// Whether it can have that address only its context can tell.
int Endpoint::set_name(const void* address, std::size_t bytes)
{
    if (enabled_ || name_told_) {
        return -FI_EOPBADSTATE;
    }
    const std::optional<Address> before = local_;
    if (const int error = choose_name(address, bytes); error != FI_SUCCESS) {
        return error;
    }
    close_context();
    const int error = open_context();
    if (error != FI_SUCCESS) {
        local_ = before;
    }
    return error;
}

// An endpoint that was not enabled yet gets its context here: its address is fixed from now on.
int Endpoint::get_name(void* to, std::size_t* bytes)
{
    if (bytes == nullptr || (to == nullptr && *bytes != 0)) {
        return -FI_EINVAL;
    }
    const std::size_t need = format_bytes(domain_.address_format());
    if (need != 0 && *bytes == 0) {   // only how long it is
        *bytes = need;
        return -FI_ETOOSMALL;
    }
    if (const int error = open_context(); error != FI_SUCCESS) {
        return error;
    }
    name_told_ = true;
    linnet_name_t name{};
    const linnet_status_t s = linnet_context_name(source_.context(), &name);
    if (s != LINNET_OK) {
        return -fi_errno_of(s);
    }
    const std::string encoded = Address{name}.encode(domain_.address_format());
    const bool fits = *bytes >= encoded.size();
    if (to != nullptr) {
        std::memcpy(to, encoded.data(), std::min(*bytes, encoded.size()));
    }
    *bytes = encoded.size();
    return fits ? FI_SUCCESS : -FI_ETOOSMALL;
}

// ---- peers ----

int Endpoint::learn_peer(fi_addr_t index, const Address& address) noexcept
{
    linnet_peer_t peer = LINNET_PEER_UNKNOWN;
    const int error = guarded([&] {
        const linnet_status_t s =
            address.is_name() ? linnet_peer_add(source_.context(), &address.name(), &peer)
                              : linnet_peer_add_address(source_.context(), address.interface_node().c_str(), std::to_string(address.port()).c_str(), &peer);
        return s == LINNET_OK ? FI_SUCCESS : -fi_errno_of(s);
    });
    if (error != FI_SUCCESS) {
        return error;
    }
    const std::lock_guard guard{peers_lock_};
    if (!peers_.set(index, peer)) {
        return -FI_ENOMEM;
    }
    const std::uint32_t names = names_.get(peer);
    if (!names_.set(peer, names + 1) || (names == 0 && !addresses_.set(peer, index))) {
        names_.set(peer, names);
        peers_.set(index, LINNET_PEER_UNKNOWN);
        return -FI_ENOMEM;
    }
    return FI_SUCCESS;
}

int Endpoint::no_peer(fi_addr_t address) const noexcept { return av_->holds(address) ? -FI_EHOSTUNREACH : -FI_EINVAL; }

linnet_status_t Endpoint::why_lost(fi_addr_t address) const noexcept
{
    const linnet_peer_t peer = peers_.get(address);
    return peer == LINNET_PEER_UNKNOWN ? LINNET_ERR_PEER_DOWN : linnet_peer_status(source_.context(), peer);
}

void Endpoint::forget_peer(fi_addr_t index) noexcept
{
    const std::lock_guard guard{peers_lock_};
    const linnet_peer_t peer = peers_.get(index);
    if (peer == LINNET_PEER_UNKNOWN) {
        return;
    }
    peers_.set(index, LINNET_PEER_UNKNOWN);
    const std::uint32_t names = names_.get(peer) - 1;
    names_.set(peer, names);
    if (names == 0) {
        addresses_.set(peer, FI_ADDR_NOTAVAIL);
        linnet_peer_remove(source_.context(), peer);
    } else if (addresses_.get(peer) == index) {
        addresses_.set(peer, peers_.find(peer));
    }
}

}   // namespace linnet::ofi
