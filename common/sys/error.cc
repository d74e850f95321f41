// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// errno as a Status.
#include "sys/error.h"

#include <cerrno>
#include <cstring>

namespace linnet {

Status status_from_errno(int error) noexcept
{
    switch (error) {
        case 0: return Status::kOk;
        case EAGAIN:
        case EINTR: return Status::kAgain;
        case EINPROGRESS:
        case EALREADY: return Status::kInProgress;
        case ENOBUFS: return Status::kNoResource;
        case ENOMEM: return Status::kNoMemory;
        case EMFILE:
        case ENFILE: return Status::kNoDescriptors;
        case EPERM:
        case EACCES: return Status::kPermission;
        case ENOENT:
        case ENODEV:
        case ENXIO:
        case ESRCH: return Status::kNotFound;
        case EINVAL:
        case EADDRINUSE:
        case EADDRNOTAVAIL: return Status::kInvalid;
        case ENOSYS:
        case EOPNOTSUPP:
        case ENOPROTOOPT:
        case EAFNOSUPPORT:
        case EPROTONOSUPPORT: return Status::kUnsupported;
        case ETIMEDOUT: return Status::kTimedOut;
        case ECONNRESET:
        case EPIPE:
        case ESHUTDOWN: return Status::kPeerDown;
        case ECONNREFUSED:
        case EHOSTUNREACH:
        case EHOSTDOWN:
        case ENETUNREACH:
        case ENETDOWN: return Status::kUnreachable;
        default: return Status::kIo;
    }
}

const char* errno_text(int error) noexcept
{
    const char* text = strerrordesc_np(error);   // unlike strerror(), no shared buffer
    return text != nullptr ? text : "unknown error";
}

Status log_errno(const Log& log, const char* what, int error) noexcept
{
    LINNET_LOG(log, kError, "%s: %s%s", what, errno_text(error), error == EMFILE ? "; raise the limit of open files (ulimit -n, RLIMIT_NOFILE)" : "");
    return status_from_errno(error);
}

}   // namespace linnet
