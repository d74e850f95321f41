// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Completion counters.
#include "cntr.h"

#include <utility>

#include "fabric.h"

namespace linnet::ofi {

Counter::Counter(Domain& domain) : fid_cntr{}, domain_{domain}
{
    fid.fclass = FI_CLASS_CNTR;
    fid.ops = const_cast<fi_ops*>(fid_ops());
    ops = const_cast<fi_ops_cntr*>(cntr_ops());
    ++domain_.users;
}

int Counter::open(fid_domain* domain, fi_cntr_attr* attr, fid_cntr** out, void* context) noexcept
{
    return guarded([&] {
        static constexpr fi_wait_obj kNone = FI_WAIT_NONE;
        const fi_wait_obj& kind = attr != nullptr ? attr->wait_obj : kNone;
        if (attr != nullptr && (beyond(attr->events, FI_CNTR_EVENTS_COMP) || attr->flags != 0)) {
            LINNET_FI_INFO(FI_LOG_CNTR, "cntr attr: events %u or flags cannot be had\n", number_of(attr->events));
            return -FI_EINVAL;
        }
        auto* const counter = new Counter{Domain::of(domain)};
        counter->fid.context = context;
        if (const int error = counter->Waitable::open(kind); error != 0) {
            LINNET_FI_INFO(FI_LOG_CNTR, "cntr attr: wait object %u cannot be had\n", number_of(kind));
            close_fid(&counter->fid);
            return error;
        }
        *out = counter;
        return FI_SUCCESS;
    });
}

int Counter::close_fid(struct fid* f) noexcept
{
    Counter& c = object<Counter, fid_cntr>(f);
    if (c.users.load() != 0) {
        return -FI_EBUSY;
    }
    c.Waitable::close();
    --c.domain_.users;
    delete &c;
    return FI_SUCCESS;
}

int Counter::control(struct fid* f, int command, void* arg) noexcept
{
    Counter& c = object<Counter, fid_cntr>(f);
    switch (command) {
        case FI_GETWAIT: return arg == nullptr ? -FI_EINVAL : c.get_wait(arg);
        case FI_GETWAITOBJ: return told(arg, c.kind());
        case FI_GETOPSFLAG: return told(arg, std::uint64_t{0});   // there are none to set
        case FI_SETOPSFLAG: return arg == nullptr ? -FI_EINVAL : *static_cast<const std::uint64_t*>(arg) == 0 ? FI_SUCCESS : -FI_EBADFLAGS;
        default: return -FI_ENOSYS;
    }
}

void Counter::count(bool success) noexcept
{
    (success ? value_ : errors_).fetch_add(1, std::memory_order_release);
    changes_.fetch_add(1, std::memory_order_seq_cst);
    wake();
}

bool Counter::has_events() noexcept { return changes_.load(std::memory_order_seq_cst) != seen_.load(std::memory_order_relaxed); }

bool Counter::poll(std::uint64_t& seen) noexcept
{
    progress();
    const std::uint64_t now = changes_.load(std::memory_order_acquire);
    return std::exchange(seen, now) != now;
}

// A program that waits for successes reads the value, one that waits for errors these: to either all changes are known then.
void Counter::look() noexcept
{
    returned();
    progress();
    seen_.store(changes_.load(std::memory_order_acquire), std::memory_order_relaxed);
    emptied();
}

std::uint64_t Counter::read(fid_cntr* f) noexcept
{
    of(f).look();
    return of(f).value_.load(std::memory_order_acquire);
}

std::uint64_t Counter::read_error(fid_cntr* f) noexcept
{
    of(f).look();
    return of(f).tell_errors();
}

std::uint64_t Counter::tell_errors() noexcept
{
    const std::uint64_t errors = errors_.load(std::memory_order_acquire);
    std::uint64_t told = errors_told_.load(std::memory_order_relaxed);
    while (told < errors && !errors_told_.compare_exchange_weak(told, errors, std::memory_order_relaxed)) {   // another thread may know of more
    }
    return errors;
}

int Counter::changed() noexcept
{
    changes_.fetch_add(1, std::memory_order_seq_cst);
    wake();
    return FI_SUCCESS;
}

int Counter::add(fid_cntr* f, std::uint64_t value) noexcept
{
    of(f).value_.fetch_add(value, std::memory_order_release);
    return of(f).changed();
}

int Counter::set(fid_cntr* f, std::uint64_t value) noexcept
{
    of(f).value_.store(value, std::memory_order_release);
    return of(f).changed();
}

int Counter::add_error(fid_cntr* f, std::uint64_t value) noexcept
{
    of(f).errors_.fetch_add(value, std::memory_order_release);
    return of(f).changed();
}

int Counter::set_error(fid_cntr* f, std::uint64_t value) noexcept
{
    of(f).errors_.store(value, std::memory_order_release);
    of(f).errors_told_.store(value, std::memory_order_relaxed);
    return of(f).changed();
}

// An error that the program does not know of ends it, also one that came before the call did: an operation may fail while it is posted. Once: errors that
// were told end no further wait. With no time to wait it is one step of progress.
int Counter::wait(fid_cntr* f, std::uint64_t threshold, int timeout) noexcept
{
    using Clock = std::chrono::steady_clock;
    return guarded([&] {
        Counter& c = of(f);   // without a wait object it yields: no program should do that, and some do
        const std::uint64_t told = c.errors_told_.load(std::memory_order_relaxed);
        const auto reached = [&] { return c.value_.load(std::memory_order_seq_cst) >= threshold; };
        const auto ready = [&] { return reached() || c.errors_.load(std::memory_order_seq_cst) != told; };
        const auto deadline = timeout < 0 ? Clock::time_point::max() : Clock::now() + std::chrono::milliseconds{timeout};
        c.progress();
        while (!ready() && Clock::now() < deadline) {
            c.sleep(deadline, ready);
        }
        if (reached()) {
            return FI_SUCCESS;
        }
        return ready() ? (c.tell_errors(), -FI_EAVAIL) : -FI_ETIMEDOUT;
    });
}

const fi_ops* Counter::fid_ops() noexcept
{
    static const fi_ops kOps = {sizeof kOps, close_fid, no_bind, control, no_ops_open, nullptr, nullptr};
    return &kOps;
}

const fi_ops_cntr* Counter::cntr_ops() noexcept
{
    static const fi_ops_cntr kOps = {sizeof kOps, read, read_error, add, set, wait, add_error, set_error};
    return &kOps;
}

}   // namespace linnet::ofi
