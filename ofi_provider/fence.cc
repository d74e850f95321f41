// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FI_FENCE: what an endpoint holds back.
#include "fence.h"

#include <algorithm>
#include <cstring>

#include "endpoint.h"

namespace linnet::ofi {

namespace {
linnet_peer_t peer_of(const Posting& what) noexcept
{
    struct {
        linnet_peer_t operator()(const linnet_send_t& s) const noexcept { return s.peer; }
        linnet_peer_t operator()(const Write& w) const noexcept { return w.rma.peer; }
        linnet_peer_t operator()(const Read& r) const noexcept { return r.rma.peer; }
        linnet_peer_t operator()(const linnet_atomic_t& a) const noexcept { return a.peer; }
    } of;
    return std::visit(of, what);
}

// The pieces one after the other at `to`, and the data there.
linnet_data_t gathered(const linnet_data_t& from, char* to) noexcept
{
    const iovec whole{from.base, from.length};
    return Operation::copied(from.iov != nullptr ? Bytes{from.iov, from.iov_count} : Bytes{&whole, 1}, to);
}
}   // namespace

std::optional<ssize_t> Fence::join(SendOperation& op, const Posting& what) noexcept
{
    const linnet_peer_t peer = peer_of(what);
    const std::lock_guard guard{lock_};
    const auto line = lines_.find(peer);
    if (line == lines_.end() || line->second.empty()) {
        return std::nullopt;
    }
    return append(peer, op, what);
}

// It is tried at once, when all know that it waits: who ends an operation before that does not look for it, and who does so later will.
ssize_t Fence::hold(SendOperation& op, const Posting& what) noexcept
{
    const linnet_peer_t peer = peer_of(what);
    const std::lock_guard guard{lock_};
    const ssize_t error = append(peer, op, what);
    if (error == FI_SUCCESS && run(lines_.find(peer)->second)) {
        lines_.erase(peer);
    }
    return error;
}

ssize_t Fence::append(linnet_peer_t peer, SendOperation& op, const Posting& what) noexcept
{
    if (held_.load(std::memory_order_relaxed) >= kMost) {
        return -FI_EAGAIN;
    }
    const int error = guarded([&] {
        Held one{&op, what, nullptr};
        if (auto* const a = std::get_if<linnet_atomic_t>(&one.what)) {
            one.operands = std::make_unique_for_overwrite<char[]>(a->operand.length + a->compare.length);
            a->operand = gathered(a->operand, one.operands.get());
            a->compare = gathered(a->compare, one.operands.get() + a->operand.length);
        }
        lines_[peer].push_back(std::move(one));
        return FI_SUCCESS;
    });
    if (error != FI_SUCCESS) {
        return -FI_EAGAIN;
    }
    held_.fetch_add(1, std::memory_order_seq_cst);
    return FI_SUCCESS;
}

// Those at the front that may begin do. True: the line is empty.
bool Fence::run(Line& line) noexcept
{
    while (!line.empty()) {
        Held& first = line.front();
        const linnet_status_t status = endpoint_.start(*first.op, first.what);
        if (status == LINNET_ERR_AGAIN) {
            return false;
        }
        if (status == LINNET_ERR_NO_RESOURCE || status == LINNET_ERR_NO_MEMORY) {
            stuck_.store(true, std::memory_order_seq_cst);
            return false;
        }
        if (status != LINNET_IN_PROGRESS) {
            endpoint_.end_send(*first.op, status);
        }
        line.pop_front();
        held_.fetch_sub(1, std::memory_order_seq_cst);
    }
    return true;
}

void Fence::resume() noexcept
{
    const std::lock_guard guard{lock_};
    stuck_.store(false, std::memory_order_seq_cst);
    for (auto at = lines_.begin(); at != lines_.end();) {
        at = run(at->second) ? lines_.erase(at) : std::next(at);
    }
}

SendOperation* Fence::take(const void* context) noexcept
{
    const std::lock_guard guard{lock_};
    for (auto& [peer, line] : lines_) {
        const auto at = std::find_if(line.begin(), line.end(), [&](const Held& h) { return h.op->context == context; });
        if (at != line.end()) {
            SendOperation* const op = at->op;
            line.erase(at);
            held_.fetch_sub(1, std::memory_order_seq_cst);
            return op;
        }
    }
    return nullptr;
}

}   // namespace linnet::ofi
