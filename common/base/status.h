// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Status and Result<T>: errors are values.
//
// The first function that can tell which error it is logs it once with the exact cause; callers pass it on silently.
// Codes are grouped by the largest thing they kill: an operation, a peer, the context. The numbers are part of the
// C ABI (capi/linnet.h repeats them; a static_assert in capi/ keeps the two equal).
#pragma once

#include <type_traits>
#include <utility>

namespace linnet {

enum class [[nodiscard]] Status : int {
    kOk = 0,
    kInProgress = 1,        // accepted; a completion will follow
    // nothing happened; the caller may retry or choose another way
    kNoResource = -1,       // back-pressure: retry after progress
    kNoMemory = -2,
    kNotFound = -3,         // probe: no such message; peer: no such name
    kInvalid = -4,          // the caller's argument or setting is wrong
    kUnsupported = -5,
    kAgain = -6,            // a non-blocking call would block
    kTimedOut = -7,         // a bounded wait ended
    // the operation ended with an error; others go on
    kTruncated = -10,       // the message was longer than the buffer; the true length is reported
    kCanceled = -11,
    kKey = -12,             // no memory region has this key, or another one has it already
    kBounds = -13,          // the bytes asked for do not lie within the memory region
    kNotAllowed = -14,      // the memory region may not be used so
    // the peer is lost
    kPeerDown = -20,        // died, reset for good, or departed
    kUnreachable = -21,     // no way to it was found within the connect timeout
    kRefused = -22,         // it answered and refused: wrong secret, other incarnation, other version
    kProtocol = -23,        // it sent what no correct peer sends
    // the context is lost
    kIo = -30,              // a system call failed in a way that no retry cures
    kNoDescriptors = -31,   // EMFILE, ENFILE
    kPermission = -32,
    kClosed = -33,          // the context is closed, or belongs to the parent of a fork
    kInternal = -34,
};

// Lower-case words for messages ("peer down"); never null.
[[nodiscard]] constexpr const char* status_text(Status s) noexcept
{
    switch (s) {
        case Status::kOk: return "ok";
        case Status::kInProgress: return "in progress";
        case Status::kNoResource: return "no resource";
        case Status::kNoMemory: return "out of memory";
        case Status::kNotFound: return "not found";
        case Status::kInvalid: return "invalid argument";
        case Status::kUnsupported: return "not supported";
        case Status::kAgain: return "would block";
        case Status::kTimedOut: return "timed out";
        case Status::kTruncated: return "message truncated";
        case Status::kCanceled: return "canceled";
        case Status::kKey: return "no such memory region";
        case Status::kBounds: return "outside of the memory region";
        case Status::kNotAllowed: return "not allowed for the memory region";
        case Status::kPeerDown: return "peer down";
        case Status::kUnreachable: return "peer unreachable";
        case Status::kRefused: return "refused by peer";
        case Status::kProtocol: return "protocol violation";
        case Status::kIo: return "input/output error";
        case Status::kNoDescriptors: return "out of file descriptors";
        case Status::kPermission: return "permission denied";
        case Status::kClosed: return "closed";
        case Status::kInternal: return "internal error";
    }
    return "unknown status";
}

[[nodiscard]] constexpr bool failed(Status s) noexcept { return static_cast<int>(s) < 0; }

// A value, or the Status that says why there is none. T is default-constructible and movable; kOk never stands without a value.
template <class T>
class [[nodiscard]] Result {
public:
    Result(Status why) noexcept : status_{why == Status::kOk ? Status::kInternal : why} {}   // NOLINT: implicit on purpose
    Result(T value) noexcept(std::is_nothrow_move_constructible_v<T>)                          // NOLINT: implicit on purpose
        : status_{Status::kOk}, value_{std::move(value)}
    {
    }
    [[nodiscard]] bool ok() const noexcept { return status_ == Status::kOk; }
    explicit operator bool() const noexcept { return ok(); }
    [[nodiscard]] Status status() const noexcept { return status_; }
    [[nodiscard]] T& value() & noexcept { return value_; }
    [[nodiscard]] const T& value() const& noexcept { return value_; }
    [[nodiscard]] T&& value() && noexcept { return std::move(value_); }
    [[nodiscard]] T* operator->() noexcept { return &value_; }
    [[nodiscard]] const T* operator->() const noexcept { return &value_; }
    [[nodiscard]] T& operator*() & noexcept { return value_; }
    [[nodiscard]] const T& operator*() const& noexcept { return value_; }

private:
    Status status_;
    T value_{};
};

}   // namespace linnet
