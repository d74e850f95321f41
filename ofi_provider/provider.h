// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The provider itself: its registration with libfabric, its parameters, its log, and the translation of Linnet's statuses.
//
// What it is     liblinnet-fi.so: libfabric's interface on top of linnet.h; no protocol in it.
// Owner          libfabric loads it once per process.
// Threads        Any, everywhere in the provider, whatever threading model the application declared.
// Blocking       Only where fi_cq(3), fi_cntr(3), fi_eq(3) say so: the sread and wait calls.
// Failure        Negative fi_errno values; the reason goes to libfabric's log.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "capi/linnet.h"

namespace linnet::ofi {

extern fi_provider provider;

// One line to libfabric's log (FI_LOG_LEVEL, FI_LOG_SUBSYS).
#define LINNET_FI_WARN(subsystem, ...) FI_WARN(&::linnet::ofi::provider, subsystem, __VA_ARGS__)
#define LINNET_FI_INFO(subsystem, ...) FI_INFO(&::linnet::ofi::provider, subsystem, __VA_ARGS__)

// FI_LINNET_<setting>, in the environment, as settings of a context: what was set, no more.
std::vector<std::pair<std::string, std::string>> parameters_set();

// linnet_log_fn: to libfabric's log; to standard error when that log is off.
void log_line(void* arg, linnet_log_level_t level, const char* line) noexcept;

// Positive fi_errno value of a negative status.
int fi_errno_of(linnet_status_t status) noexcept;

// fi_cq_strerror(3), fi_eq_strerror(3): of a status; at `to` as far as there is room, if it is given.
const char* status_text(int provider_error, char* to, std::size_t bytes) noexcept;

// FI_GETWAITOBJ and its like.
template <class T>
int told(void* to, const T& what) noexcept
{
    if (to == nullptr) {
        return -FI_EINVAL;
    }
    *static_cast<T*>(to) = what;
    return FI_SUCCESS;
}

// The number that an application put into a field of an enumeration. A program in C may have put any there, and C++ may read as the enumeration only what its
// names have room for, so that a field is looked at with these before its value is.
template <class Enumeration>
std::uint32_t number_of(const Enumeration& field) noexcept
{
    std::uint32_t number;
    static_assert(sizeof number == sizeof field);
    std::memcpy(&number, &field, sizeof number);
    return number;
}
template <class Enumeration>
bool beyond(const Enumeration& field, Enumeration last) noexcept
{
    return number_of(field) > static_cast<std::uint32_t>(last);
}

// The body of an entry: nothing thrown may reach C.
template <class Body>
auto guarded(Body&& body) noexcept -> decltype(body())
{
    try {
        return std::forward<Body>(body)();
    } catch (const std::bad_alloc&) {
        return -FI_ENOMEM;
    } catch (...) {
        return -FI_EOTHER;
    }
}

// The object behind a libfabric descriptor: every object of ours derives from its fid_* structure, which begins with the fid.
template <class Object, class Descriptor>
Object& object(fid* f) noexcept
{
    return static_cast<Object&>(*reinterpret_cast<Descriptor*>(f));
}

// ---- what libfabric wants to be there, and we do not offer ----
int no_bind(fid*, fid*, std::uint64_t) noexcept;
int no_control(fid*, int, void*) noexcept;
int no_ops_open(fid*, const char*, std::uint64_t, void**, void*) noexcept;

}   // namespace linnet::ofi
