// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoints: buffers that take several messages (FI_MULTI_RECV).
//
// A buffer is posted to the core for one message at a time, for what is left of it, and again when that message has come, also while the application
// stays away (Endpoint::on_attend). Messages that arrive in between wait as unexpected ones, in order. What was posted behind a buffer, and could take the
// same messages, waits here until the buffer is released: receives match in the order of posting; held_receives.cc has the messages that no buffer before it
// takes. All under posted_lock_.
// What they would take, and what is held here, is reserved: a sender that asks for FI_DELIVERY_COMPLETE hears of such a message when it is in the buffer.
// What waits is linked through itself: nothing here can fail for want of memory.
#include <algorithm>

#include "cq.h"
#include "endpoint.h"

namespace linnet::ofi {

namespace {
bool overlap(const RecvOperation& a, const RecvOperation& b) noexcept
{
    return a.peer == LINNET_PEER_ANY || b.peer == LINNET_PEER_ANY || a.peer == b.peer;
}
bool ended_well(linnet_status_t s) noexcept { return s == LINNET_OK || s == LINNET_ERR_TRUNCATED; }
}   // namespace

// By buffers in use, and by what waits: before it, if it waits, too.
bool Endpoint::blocked(const RecvOperation& op) const noexcept
{
    for (const RecvOperation* other = multis_; other != nullptr; other = other->next_multi) {
        if (overlap(*other, op)) {
            return true;
        }
    }
    for (const RecvOperation* other = held_; other != nullptr && other != &op; other = next_in(held_, *other)) {
        if (overlap(*other, op)) {
            return true;
        }
    }
    return false;
}

bool Endpoint::must_wait(const RecvOperation& op) const noexcept { return op.kind == FI_MSG && blocked(op); }

void Endpoint::hold(RecvOperation& op, const Bytes& bytes) noexcept
{
    std::copy_n(bytes.iov, bytes.count, op.iov.begin());
    op.request.result.length = bytes.count;   // until it starts, nobody else uses the request
    reserve(op);
    link(held_, op);
    look_past();
}

void Endpoint::reserve(RecvOperation& op) noexcept
{
    const linnet_match_t match{op.peer, kMessageSpace, op.tag, op.ignore};
    op.reserved = op.reserved || linnet_reserve(source_.context(), &match, &op.reservation) == LINNET_OK;   // else, without memory, senders are told too early
}

void Endpoint::unreserve(RecvOperation& op) noexcept
{
    if (op.reserved) {
        op.reserved = false;
        linnet_unreserve(source_.context(), &op.reservation);
    }
}

void Endpoint::leave_multis(const RecvOperation& op) noexcept
{
    RecvOperation** at = &multis_;
    while (*at != nullptr && *at != &op) {
        at = &(*at)->next_multi;
    }
    if (*at != nullptr) {
        *at = op.next_multi;
    }
}

void Endpoint::post_multi(RecvOperation& op) noexcept
{
    use_multi(op);
    start_held();
}

void Endpoint::use_multi(RecvOperation& op) noexcept
{
    op.next_multi = multis_;
    multis_ = &op;
    reserve(op);
    static_cast<void>(run_multi(op, LINNET_IN_PROGRESS));
}

// Its message is whole, or has failed. True: the buffer is released, but for being forgotten.
bool Endpoint::tell_multi(RecvOperation& op, linnet_status_t status) noexcept
{
    op.request.result.status = status;
    const linnet_result_t result = op.request.result;
    const std::size_t room = op.room - op.used;
    const std::size_t taken = ended_well(status) ? std::min<std::size_t>(result.length, room) : 0;
    const bool released = op.canceled || room - taken < op.least || !ended_well(status) || room == taken;
    const bool last_but_end = op.canceled && ended_well(status);   // an error is the end
    report_receive(op, result, released && !last_but_end ? FI_MULTI_RECV : 0);
    op.used += taken;
    if (last_but_end) {
        linnet_result_t canceled{};
        canceled.status = LINNET_ERR_CANCELED;
        report_receive(op, canceled, FI_MULTI_RECV);
    }
    return released;
}

// `status` of the receive that ended, or in progress for the first. Goes on until a message is awaited or the buffer released (then not in progress).
linnet_status_t Endpoint::run_multi(RecvOperation& op, linnet_status_t status) noexcept
{
    bool first = status == LINNET_IN_PROGRESS;
    for (;;) {
        if (!first && tell_multi(op, status)) {
            leave_multis(op);
            unreserve(op);
            receives_.release(op);
            return status;
        }
        first = false;
        const iovec rest{static_cast<char*>(op.iov[0].iov_base) + op.used, op.room - op.used};
        status = start(op, Bytes{&rest, 1});
        if (status == LINNET_IN_PROGRESS) {
            return status;
        }
    }
}

void Endpoint::end_multi(RecvOperation& op) noexcept
{
    const std::lock_guard guard{posted_lock_};
    if (op.busy) {
        passed(op, op.request.result.status);
    } else {
        unlink(posted_, op);
        static_cast<void>(run_multi(op, op.request.result.status));
    }
    start_held();   // it is gone; or the messages that it took were in front of others
}

void Endpoint::start_held() noexcept
{
    start_free();
    look_past();
}

// After a buffer is gone: those behind it, in order, that nothing is in the way of any more.
void Endpoint::start_free() noexcept
{
    RecvOperation* at = held_;
    while (at != nullptr) {
        RecvOperation& op = *at;
        if (blocked(op) || op.busy) {
            at = next_in(held_, op);
            continue;
        }
        RecvOperation* const after = next_in(held_, op);
        unlink(held_, op);
        if (op.multi) {
            use_multi(op);
            at = held_;   // it may be gone already
        } else {
            const std::array<iovec, kIovMax> iov = op.iov;
            const linnet_status_t status = start(op, Bytes{iov.data(), static_cast<std::size_t>(op.request.result.length)});
            unreserve(op);
            if (status != LINNET_IN_PROGRESS) {
                op.request.result.status = status;
                end_receive(op);
                receives_.release(op);
            }
            at = after;
        }
    }
}

}   // namespace linnet::ofi
