// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Completion queues.
#include "cq.h"

#include <algorithm>
#include <cstring>

#include "fabric.h"

namespace linnet::ofi {

namespace {
constexpr std::size_t kLeastRing = 64;
// So many messages of a row of sends are read as complete, at most, before a look makes progress.
constexpr unsigned kMostSpared = 32;
// Below it no system puts anything that a pointer could mean.
constexpr std::uintptr_t kLeastAddress = 65536;

std::size_t bytes_of(fi_cq_format format) noexcept
{
    switch (format) {
        case FI_CQ_FORMAT_CONTEXT: return sizeof(fi_cq_entry);
        case FI_CQ_FORMAT_MSG: return sizeof(fi_cq_msg_entry);
        case FI_CQ_FORMAT_DATA: return sizeof(fi_cq_data_entry);
        case FI_CQ_FORMAT_TAGGED:
        case FI_CQ_FORMAT_UNSPEC: break;
    }
    return sizeof(fi_cq_tagged_entry);
}
// Each format is the beginning of the next, so that one copy serves all.
static_assert(offsetof(fi_cq_tagged_entry, flags) == offsetof(fi_cq_msg_entry, flags) && offsetof(fi_cq_tagged_entry, len) == offsetof(fi_cq_data_entry, len));
static_assert(offsetof(fi_cq_tagged_entry, buf) == offsetof(fi_cq_data_entry, buf) && offsetof(fi_cq_tagged_entry, data) == offsetof(fi_cq_data_entry, data));
void tell(char* to, const fi_cq_tagged_entry& entry, std::size_t bytes) noexcept
{
    if (bytes == sizeof entry) {   // of a size that the compiler knows
        std::memcpy(to, &entry, sizeof entry);
    } else {
        std::memcpy(to, &entry, bytes);
    }
}
}   // namespace

// Who leaves the format open gets the shortest entries, as from libfabric's own providers: Sandia OpenSHMEM has no room for more.
Cq::Cq(Domain& domain, const fi_cq_attr& attr)
    : fid_cq{}, domain_{domain}, format_{attr.format == FI_CQ_FORMAT_UNSPEC ? FI_CQ_FORMAT_CONTEXT : attr.format},
      entry_bytes_{bytes_of(format_)}, unread_most_{std::max(kUnread, attr.size)},
      thresholds_{number_of(attr.wait_cond) == FI_CQ_COND_THRESHOLD}, ring_(kLeastRing)
{
    fid.fclass = FI_CLASS_CQ;
    fid.ops = const_cast<fi_ops*>(fid_ops());
    ops = const_cast<fi_ops_cq*>(cq_ops());
    ++domain_.users;
}

int Cq::open(fid_domain* domain, fi_cq_attr* attr, fid_cq** out, void* context) noexcept
{
    return guarded([&] {
        static const fi_cq_attr kDefault{};
        const fi_cq_attr& want = attr != nullptr ? *attr : kDefault;
        const bool conditional = number_of(want.wait_obj) != FI_WAIT_NONE;   // else the condition is ignored
        if (beyond(want.format, FI_CQ_FORMAT_TAGGED) || (conditional && beyond(want.wait_cond, FI_CQ_COND_THRESHOLD)) || (want.flags & ~FI_AFFINITY) != 0) {
            LINNET_FI_INFO(FI_LOG_CQ, "cq attr: format %u, wait condition %u or flags 0x%llx cannot be had\n", number_of(want.format),
                           number_of(want.wait_cond), static_cast<unsigned long long>(want.flags));
            return -FI_EINVAL;
        }
        auto* const cq = new Cq{Domain::of(domain), want};
        cq->fid.context = context;
        if (const int error = cq->Waitable::open(want.wait_obj); error != 0) {
            LINNET_FI_INFO(FI_LOG_CQ, "cq attr: wait object %u cannot be had\n", number_of(want.wait_obj));
            close_fid(&cq->fid);
            return error;
        }
        *out = cq;
        return FI_SUCCESS;
    });
}

int Cq::close_fid(struct fid* f) noexcept
{
    Cq& cq = object<Cq, fid_cq>(f);
    if (cq.users.load() != 0) {
        return -FI_EBUSY;
    }
    cq.Waitable::close();
    --cq.domain_.users;
    delete &cq;
    return FI_SUCCESS;
}

int Cq::control(struct fid* f, int command, void* arg) noexcept
{
    Cq& cq = object<Cq, fid_cq>(f);
    switch (command) {
        case FI_GETWAIT: return arg == nullptr ? -FI_EINVAL : cq.get_wait(arg);
        case FI_GETWAITOBJ: return told(arg, cq.kind());
        default: return -FI_ENOSYS;
    }
}

bool Cq::grow() noexcept
{
    try {
        std::vector<CqEntry> larger(ring_.size() * 2);
        for (std::size_t i = 0; i < ring_.size(); ++i) {
            larger[i] = ring_[(head_ + i) & (ring_.size() - 1)];
        }
        ring_ = std::move(larger);
        head_ = 0;
        return true;
    } catch (const std::bad_alloc&) {
        return false;
    }
}

void Cq::overrun() noexcept
{
    if (!overrun_.exchange(true, std::memory_order_relaxed)) {
        LINNET_FI_WARN(FI_LOG_CQ, "no memory for a completion queue of more than %zu entries: overrun\n", ring_.size());
    }
}

// Entries up to the first error.
ssize_t Cq::take(void* to, std::size_t count, fi_addr_t* from) noexcept
{
    if (count_.load(std::memory_order_acquire) == 0) {
        return -FI_EAGAIN;
    }
    const std::lock_guard guard{lock_};
    const std::size_t here = count_.load(std::memory_order_relaxed);
    const std::size_t wanted = std::min(count, here);
    std::size_t n = 0;
    while (n < wanted) {
        const CqEntry& e = ring_[(head_ + n) & (ring_.size() - 1)];
        if (e.error != 0) {
            break;
        }
        tell(static_cast<char*>(to) + n * entry_bytes_, e.told, entry_bytes_);
        if (from != nullptr) {
            from[n] = e.source;
        }
        ++n;
    }
    if (n == 0) {
        return here == 0 ? -FI_EAGAIN : wanted == 0 ? 0 : -FI_EAVAIL;
    }
    head_ = (head_ + n) & (ring_.size() - 1);
    count_.store(here - n, std::memory_order_release);
    just_emptied_.store(n == here, std::memory_order_relaxed);
    emptied();
    return static_cast<ssize_t>(n);
}

// Programs read until nothing is left, to find the end: that look says nothing of waiting. It would cost a pass over all transports, and end a row of sends,
// each of which is read as complete before the next (docs/threading.md, "Packets held back"). Who waits looks again.
bool Cq::was_just_emptied() noexcept
{
    const unsigned spared = spared_.load(std::memory_order_relaxed);
    if (!just_emptied_.load(std::memory_order_relaxed) || spared >= kMostSpared) {
        spared_.store(0, std::memory_order_relaxed);
        return false;
    }
    just_emptied_.store(false, std::memory_order_relaxed);
    spared_.store(spared + 1, std::memory_order_relaxed);
    return true;
}

ssize_t Cq::read_from(fid_cq* f, void* to, std::size_t count, fi_addr_t* from) noexcept
{
    Cq& cq = of(f);
    if (to == nullptr && count != 0) {
        return -FI_EINVAL;
    }
    const std::size_t here = cq.count_.load(std::memory_order_acquire);
    if (count != 0 && here == 0 && cq.was_just_emptied()) {
        cq.progress(LINNET_IF_COMPLETE);   // what others have completed meanwhile, such as a receive
    } else if (count == 0 || here == 0) {
        cq.returned();
        cq.progress(LINNET_MAY_YIELD);
    } else if (here > 1) {   // who lets completions gather is at the end of a row of posts: what is held back of it need not wait for the reading
        cq.progress(LINNET_IF_HELD);
    }
    const ssize_t n = cq.take(to, count, from);
    return n == -FI_EAGAIN && cq.overrun_.load(std::memory_order_relaxed) ? -FI_EAVAIL : n;
}

ssize_t Cq::read(fid_cq* f, void* to, std::size_t count) noexcept { return read_from(f, to, count, nullptr); }

ssize_t Cq::read_error(fid_cq* f, fi_cq_err_entry* to, std::uint64_t) noexcept
{
    Cq& cq = of(f);
    if (to == nullptr) {
        return -FI_EINVAL;
    }
    if (!cq.has_events()) {
        cq.progress();
    }
    const std::lock_guard guard{cq.lock_};
    const std::size_t count = cq.count_.load(std::memory_order_relaxed);
    const CqEntry& e = cq.ring_[cq.head_];
    const bool lost = count == 0 && cq.overrun_.load(std::memory_order_relaxed);
    if (!lost && (count == 0 || e.error == 0)) {
        return -FI_EAGAIN;
    }
    // Before 1.5 the entry ended with err_data.
    const bool sized = FI_VERSION_GE(cq.domain_.api_version(), FI_VERSION(1, 5));
    const bool its_own = sized && to->err_data_size != 0;
    fi_cq_err_entry told{};
    told.err_data = its_own ? to->err_data : nullptr;   // else it would become ours: there is none
    if (lost) {
        told.err = FI_EOVERRUN;
    } else {
        told.op_context = e.told.op_context;
        told.flags = e.told.flags;
        told.len = e.told.len;
        told.buf = e.told.buf;
        told.data = e.told.data;
        told.tag = e.told.tag;
        told.olen = e.overflow;
        told.err = e.error;
        told.prov_errno = e.provider_error;
    }
    std::memcpy(to, &told, sized ? sizeof told : offsetof(fi_cq_err_entry, err_data_size));
    if (lost) {
        return 1;
    }
    cq.head_ = (cq.head_ + 1) & (cq.ring_.size() - 1);
    cq.failed_.store(cq.failed_.load(std::memory_order_relaxed) - 1, std::memory_order_relaxed);
    cq.count_.store(count - 1, std::memory_order_release);
    cq.emptied();
    return 1;
}

ssize_t Cq::wait_and_take(void* to, std::size_t count, fi_addr_t* from, int timeout, std::size_t threshold)
{
    using Clock = std::chrono::steady_clock;
    const auto deadline = timeout < 0 ? Clock::time_point::max() : Clock::now() + std::chrono::milliseconds{timeout};
    const unsigned signals = signals_.load(std::memory_order_seq_cst);
    const auto enough = [&] { return count_.load(std::memory_order_seq_cst) >= threshold || failed_.load(std::memory_order_seq_cst) != 0; };
    const auto signaled = [&] { return unheard_.load(std::memory_order_seq_cst) || signals_.load(std::memory_order_seq_cst) != signals; };
    const auto ready = [&] { return enough() || signaled(); };
    for (;;) {
        const bool there = enough() || (has_events() && Clock::now() >= deadline);
        const ssize_t n = there ? take(to, count, from) : -FI_EAGAIN;
        if (n != -FI_EAGAIN) {
            return n;
        }
        if (signaled()) {
            unheard_.store(false, std::memory_order_seq_cst);
            return take(to, count, from);   // fewer than were waited for, or none
        }
        if (Clock::now() >= deadline) {
            progress();
            return take(to, count, from);
        }
        if (!sleep(deadline, ready)) {   // the application's handler may have asked for the end of the wait
            return take(to, count, from);
        }
    }
}

ssize_t Cq::sread_from(fid_cq* f, void* to, std::size_t count, fi_addr_t* from, const void* cond, int timeout) noexcept
{
    return guarded([&]() -> ssize_t {
        Cq& cq = of(f);
        if (!cq.can_sleep() || (to == nullptr && count != 0)) {
            return -FI_EINVAL;
        }
        // The threshold is the value of `cond`, as of all providers of libfabric 1.17. Others take it for a pointer to one: then, as a wait may, this one
        // ends with any completion. More than the caller has room for would never be seen to be met.
        const auto value = reinterpret_cast<std::uintptr_t>(cond);
        const bool wants_many = cq.thresholds_ && value < kLeastAddress;
        const std::size_t threshold = wants_many ? std::clamp<std::size_t>(value, 1, std::max<std::size_t>(count, 1)) : 1;
        return cq.wait_and_take(to, count, from, timeout, threshold);
    });
}

ssize_t Cq::sread(fid_cq* f, void* to, std::size_t count, const void* cond, int timeout) noexcept
{
    return sread_from(f, to, count, nullptr, cond, timeout);
}

int Cq::signal(fid_cq* f) noexcept
{
    Cq& cq = of(f);
    if (!cq.can_sleep()) {
        return -FI_EINVAL;
    }
    cq.unheard_.store(true, std::memory_order_seq_cst);
    cq.signals_.fetch_add(1, std::memory_order_seq_cst);
    cq.wake();
    return FI_SUCCESS;
}

const char* Cq::error_text(fid_cq*, int provider_error, const void*, char* to, std::size_t bytes) noexcept { return status_text(provider_error, to, bytes); }

bool Cq::poll() noexcept
{
    if (!has_events()) {
        progress();
    }
    return has_events();
}

const fi_ops* Cq::fid_ops() noexcept
{
    static const fi_ops kOps = {sizeof kOps, close_fid, no_bind, control, no_ops_open, nullptr, nullptr};
    return &kOps;
}

const fi_ops_cq* Cq::cq_ops() noexcept
{
    static const fi_ops_cq kOps = {sizeof kOps, read, read_from, read_error, sread, sread_from, signal, error_text};
    return &kOps;
}

}   // namespace linnet::ofi
