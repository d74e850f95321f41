// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Event queues.
#include "eq.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>

#include "fabric.h"
#include "wait.h"

namespace linnet::ofi {

Eq::Eq(Fabric& fabric, fi_wait_obj kind, bool writable) : fid_eq{}, fabric_{fabric}, kind_{kind}, writable_{writable}
{
    static fi_ops base = {sizeof base, close_fid, no_bind, control, no_ops_open, nullptr, nullptr};
    static fi_ops_eq own = {sizeof own, read, read_error, write, sread, error_text};
    fid.fclass = FI_CLASS_EQ;
    fid.ops = &base;
    ops = &own;
    if (kind != FI_WAIT_NONE) {
        fd_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    }
    ++fabric_.users;
}

Eq::~Eq()
{
    if (fd_ >= 0) {
        ::close(fd_);
    }
    ::pthread_mutex_destroy(&mutex_);
    ::pthread_cond_destroy(&cond_);
}

int Eq::open(fid_fabric* fabric, fi_eq_attr* attr, fid_eq** out, void* context) noexcept
{
    return guarded([&] {
        static constexpr fi_wait_obj kNone = FI_WAIT_NONE;
        const fi_wait_obj& kind = attr != nullptr ? attr->wait_obj : kNone;
        if (beyond(kind, FI_WAIT_POLLFD) || (attr != nullptr && (attr->flags & ~(FI_WRITE | FI_AFFINITY)) != 0)) {
            return -FI_EINVAL;
        }
        if (kind == FI_WAIT_SET || kind == FI_WAIT_POLLFD) {
            LINNET_FI_INFO(FI_LOG_EQ, "eq attr: wait object %d cannot be had\n", kind);
            return -FI_ENOSYS;
        }
        auto* const eq = new Eq{Fabric::of(fabric), kind, attr != nullptr && (attr->flags & FI_WRITE) != 0};
        eq->fid.context = context;
        if (const int error = errno; kind != FI_WAIT_NONE && eq->fd_ < 0) {
            close_fid(&eq->fid);
            return -error;
        }
        *out = eq;
        return FI_SUCCESS;
    });
}

int Eq::close_fid(struct fid* f) noexcept
{
    Eq& eq = object<Eq, fid_eq>(f);
    if (eq.users.load() != 0) {
        return -FI_EBUSY;
    }
    --eq.fabric_.users;
    delete &eq;
    return FI_SUCCESS;
}

int Eq::control(struct fid* f, int command, void* arg) noexcept
{
    Eq& eq = object<Eq, fid_eq>(f);
    if (arg == nullptr) {
        return -FI_EINVAL;
    }
    if (command == FI_GETWAITOBJ) {
        return told(arg, eq.kind_);
    }
    if (command == FI_GETWAIT && eq.kind_ == FI_WAIT_FD) {
        *static_cast<int*>(arg) = eq.fd_;
        return FI_SUCCESS;
    }
    if (command == FI_GETWAIT && eq.kind_ == FI_WAIT_MUTEX_COND) {
        *static_cast<fi_mutex_cond*>(arg) = {&eq.mutex_, &eq.cond_};
        return FI_SUCCESS;
    }
    return command == FI_GETWAIT ? -FI_ENODATA : -FI_ENOSYS;
}

// Under lock_: the descriptor says whether there is something.
void Eq::show() noexcept
{
    std::uint64_t count = is_empty() ? 0 : 1;
    if (fd_ >= 0) {
        std::uint64_t old = 0;
        [[maybe_unused]] ssize_t n = ::read(fd_, &old, sizeof old);
        if (count != 0) {
            n = ::write(fd_, &count, sizeof count);
        }
    }
}

template <class Entry>
void Eq::add(std::deque<Entry>& to, Entry&& entry)
{
    {
        const std::lock_guard guard{lock_};
        to.push_back(std::move(entry));
        show();
    }
    if (kind_ == FI_WAIT_MUTEX_COND) {
        ::pthread_mutex_lock(&mutex_);   // who asked fi_trywait() under it is inside pthread_cond_wait() by now
        ::pthread_cond_broadcast(&cond_);
        ::pthread_mutex_unlock(&mutex_);
    }
}

void Eq::report(std::uint32_t event, const fi_eq_entry& entry)
{
    add(events_, Event{event, {reinterpret_cast<const char*>(&entry), sizeof entry}});
}

void Eq::report_error(const fi_eq_err_entry& entry) { add(errors_, fi_eq_err_entry{entry}); }

ssize_t Eq::take(std::uint32_t* event, void* to, std::size_t bytes, std::uint64_t flags)
{
    if (!errors_.empty()) {
        return -FI_EAVAIL;
    }
    if (events_.empty()) {
        return -FI_EAGAIN;
    }
    const Event& e = events_.front();
    if (bytes < e.bytes.size()) {
        return -FI_ETOOSMALL;
    }
    if (event != nullptr) {
        *event = e.kind;
    }
    std::memcpy(to, e.bytes.data(), e.bytes.size());
    const auto n = static_cast<ssize_t>(e.bytes.size());
    if ((flags & FI_PEEK) == 0) {
        events_.pop_front();
        show();
    }
    return n;
}

ssize_t Eq::read(fid_eq* f, std::uint32_t* event, void* to, std::size_t bytes, std::uint64_t flags) noexcept
{
    return guarded([&]() -> ssize_t {
        auto& eq = static_cast<Eq&>(*f);
        if ((to == nullptr && bytes != 0) || (flags & ~FI_PEEK) != 0) {
            return -FI_EINVAL;
        }
        const std::lock_guard guard{eq.lock_};
        return eq.take(event, to, bytes, flags);
    });
}

ssize_t Eq::read_error(fid_eq* f, fi_eq_err_entry* to, std::uint64_t flags) noexcept
{
    auto& eq = static_cast<Eq&>(*f);
    if (to == nullptr) {
        return -FI_EINVAL;
    }
    const std::lock_guard guard{eq.lock_};
    if (eq.errors_.empty()) {
        return -FI_EAGAIN;
    }
    // Before 1.5 the entry ended with err_data.
    const bool sized = FI_VERSION_GE(eq.fabric_.api_version, FI_VERSION(1, 5));
    const std::size_t bytes = sized ? sizeof *to : offsetof(fi_eq_err_entry, err_data_size);
    fi_eq_err_entry told = eq.errors_.front();
    told.err_data = sized && to->err_data_size != 0 ? to->err_data : nullptr;   // else it would become ours: there is none
    told.err_data_size = 0;
    std::memcpy(to, &told, bytes);
    if ((flags & FI_PEEK) == 0) {
        eq.errors_.pop_front();
        eq.show();
    }
    return static_cast<ssize_t>(bytes);
}

ssize_t Eq::write(fid_eq* f, std::uint32_t event, const void* from, std::size_t bytes, std::uint64_t flags) noexcept
{
    return guarded([&]() -> ssize_t {
        if (!static_cast<Eq&>(*f).writable_) {
            return -FI_ENOSYS;
        }
        if (flags != 0 || (from == nullptr && bytes != 0)) {
            return -FI_EINVAL;
        }
        auto& eq = static_cast<Eq&>(*f);
        eq.add(eq.events_, Event{event, {static_cast<const char*>(from), bytes}});
        return static_cast<ssize_t>(bytes);
    });
}

ssize_t Eq::sread(fid_eq* f, std::uint32_t* event, void* to, std::size_t bytes, int timeout, std::uint64_t flags) noexcept
{
    return guarded([&]() -> ssize_t {
        auto& eq = static_cast<Eq&>(*f);
        if (eq.kind_ == FI_WAIT_NONE || (to == nullptr && bytes != 0) || (flags & ~FI_PEEK) != 0) {
            return -FI_EINVAL;
        }
        using Clock = std::chrono::steady_clock;
        const auto deadline = timeout < 0 ? Clock::time_point::max() : Clock::now() + std::chrono::milliseconds{timeout};
        for (bool over = false;;) {
            {
                const std::lock_guard guard{eq.lock_};
                const ssize_t n = eq.take(event, to, bytes, flags);
                if (n != -FI_EAGAIN || over) {
                    return n;
                }
            }
            // Another thread may take what this one is woken for. A signal handler ends the wait.
            pollfd p{eq.fd_, POLLIN, 0};
            over = ::poll(&p, 1, milliseconds_until(deadline)) < 0 || Clock::now() >= deadline;
        }
    });
}

int Eq::try_wait() noexcept
{
    const std::lock_guard guard{lock_};
    return kind_ == FI_WAIT_NONE ? -FI_EINVAL : is_empty() ? FI_SUCCESS : -FI_EAGAIN;
}

const char* Eq::error_text(fid_eq*, int provider_error, const void*, char* to, std::size_t bytes) noexcept { return status_text(provider_error, to, bytes); }

}   // namespace linnet::ofi
