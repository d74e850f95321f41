// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Bulk: see bulk.h.
#include "flow/bulk.h"

#include <algorithm>
#include <cstring>

#include "base/assert.h"

namespace linnet::flow {

unsigned BlockSet::count_missing(unsigned begin, unsigned end) const noexcept
{
    unsigned n = 0;
    for (unsigned w = begin / 64; w * 64 < end; ++w) {
        std::uint64_t bits = missing(w, end);
        if (w == begin / 64) {
            bits &= ~std::uint64_t{0} << (begin % 64);
        }
        n += static_cast<unsigned>(std::popcount(bits));
    }
    return n;
}

unsigned BlockSet::count_leading(unsigned end) const noexcept
{
    unsigned n = 0;
    while (n < end && has(n)) {
        ++n;
    }
    return n;
}

unsigned BlockSet::first() const noexcept
{
    for (unsigned w = 0; w < words_.size(); ++w) {
        if (words_[w] != 0) {
            return w * 64 + static_cast<unsigned>(std::countr_zero(words_[w]));
        }
    }
    return wire::kMaxTrainBlocks;
}

void TrainTx::want(unsigned i) noexcept
{
    if (!wanted.has(i)) {
        wanted.add(i);
        ++wanted_count;
    }
}

// ---- sender ----

void BulkTx::want(TrainTx& t, unsigned index) noexcept
{
    const unsigned before_it = t.wanted_count;
    t.want(index);
    wanted_ += t.wanted_count - before_it;
}

void BulkTx::add(TrainTx& t) noexcept
{
    LINNET_ASSERT(!full(kTrains));
    t.number = next_++;
    at(t.number) = &t;
    unsent_ += t.blocks;
}

BulkTx::Picked BulkTx::pick(Stamp now) noexcept
{
    TrainTx* fresh = nullptr;
    for (std::uint32_t n = una_; n != next_; ++n) {
        TrainTx* const t = at(n);
        if (t == nullptr) {
            continue;
        }
        if (t->wanted_count != 0) {
            const unsigned i = t->wanted.first();
            t->wanted.remove(i);
            t->resent.add(i);
            t->resent_stamp = now;
            t->resent_any = true;
            --t->wanted_count;
            --wanted_;
            ++resent_;
            return {t, static_cast<std::uint16_t>(i), true};
        }
        if (fresh == nullptr && t->next < t->blocks) {
            fresh = t;
        }
        if (wanted_ == 0 && fresh != nullptr) {
            break;
        }
    }
    LINNET_ASSERT(fresh != nullptr);
    ++used_;
    --unsent_;
    return {fresh, fresh->next++, false};
}

TrainTx* BulkTx::pick_next(std::uint32_t train, std::uint32_t limit) noexcept
{
    TrainTx* const t = find(train);
    if (wanted_ != 0 || t == nullptr || t->next + 1u >= t->blocks || !before(used_ + 1, limit)) {
        return nullptr;
    }
    ++used_;
    --unsent_;
    ++t->next;
    return t;
}

void BulkTx::not_sent(std::uint32_t train, unsigned index) noexcept
{
    if (TrainTx* const t = find(train); t != nullptr) {
        want(*t, index);
    }
}

bool BulkTx::plausible(std::uint32_t ack, std::uint64_t sack) const noexcept
{
    const std::uint32_t top = sack == 0 ? ack : ack + 1 + static_cast<std::uint32_t>(64 - std::countl_zero(sack));
    return !before(next_, ack) && !before(next_, top) && una_ - ack + 0x40000000u < 0x80000000u;
}

TrainTx* BulkTx::take(std::uint32_t number) noexcept
{
    TrainTx* const t = at(number);
    at(number) = nullptr;
    wanted_ -= t->wanted_count;
    unsent_ -= static_cast<std::uint32_t>(t->blocks - t->next);
    while (una_ != next_ && at(una_) == nullptr) {
        ++una_;
    }
    return t;
}

TrainTx* BulkTx::take_done(std::uint32_t ack, std::uint64_t sack) noexcept
{
    for (std::uint32_t n = una_; n != next_; ++n) {
        const bool done = before(n, ack) || (before(ack, n) && n - ack <= 64 && (sack >> (n - ack - 1) & 1) != 0);
        // A train of which blocks were never sent cannot be complete; who says so is wrong.
        if (done && at(n) != nullptr && at(n)->next == at(n)->blocks) {
            return take(n);
        }
    }
    return nullptr;
}

TrainTx* BulkTx::take_sent(const void* cookie) noexcept
{
    TrainTx* found = nullptr;
    for (std::uint32_t n = una_; n != next_; ++n) {
        TrainTx* const t = at(n);
        if (t != nullptr && t->cookie == cookie) {
            if (t->next != t->blocks) {
                return nullptr;
            }
            found = found == nullptr ? t : found;
        }
    }
    return found == nullptr ? nullptr : take(found->number);
}

TrainTx* BulkTx::take_any() noexcept
{
    return una_ == next_ ? nullptr : take(una_);
}

bool BulkTx::on_pull(std::uint32_t train, unsigned first, std::span<const std::uint64_t> missing, const Stamp* echo, bool again) noexcept
{
    TrainTx* const t = find(train);
    if (t == nullptr) {
        return false;
    }
    t->known = true;
    if (again) {   // nothing came for a while: of other trains neither, perhaps
        seek();
    }
    // What we have sent again since the receiver last heard of us may still be on its way.
    const bool seen_ours = echo != nullptr && !before(*echo, t->resent_stamp);
    if (t->resent_any && (seen_ours || again)) {
        t->resent.clear();
        t->resent_any = false;
    }
    for (unsigned w = 0; w < missing.size(); ++w) {
        for (std::uint64_t bits = missing[w]; bits != 0; bits &= bits - 1) {
            const unsigned i = first + w * 64 + static_cast<unsigned>(std::countr_zero(bits));
            if (i < t->next && !t->resent.has(i)) {
                want(*t, i);
            }
        }
    }
    return true;
}

bool BulkTx::seek() noexcept
{
    bool any = false;
    for (std::uint32_t n = una_; n != next_; ++n) {
        if (TrainTx* const t = at(n); t != nullptr && t->next != 0 && !t->known) {
            want(*t, t->next - 1u);
            any = true;
        }
    }
    return any;
}

bool BulkTx::probe() noexcept
{
    if (seek()) {
        return true;
    }
    for (std::uint32_t n = una_; n != next_; ++n) {
        if (TrainTx* const t = at(n); t != nullptr && t->next != 0) {
            want(*t, t->next - 1u);
            return true;
        }
    }
    return false;
}

// ---- receiver ----

BulkRx::Arrived BulkRx::arrive(std::uint32_t number, const wire::BlockHead& head, std::size_t payload_bytes, Pool<TrainRx>& pool) noexcept
{
    if (before(number, base_)) {
        return {Verdict::kDuplicate};
    }
    const std::uint32_t ahead = number - base_;
    if (ahead >= kTrains) {
        return {Verdict::kBeyond};
    }
    if ((done_ >> ahead & 1) != 0) {
        return {Verdict::kDuplicate};
    }
    const unsigned index = head.index.get();
    const std::size_t part = head.part.get();
    const std::size_t all = wire::train_bytes(head.bulk.body_bytes.get(), head.block_bytes.get(), part);
    const std::size_t blocks = all == 0 && part != 0 ? 0 : wire::train_blocks(all, head.block_bytes.get());
    if (!wire::bulk_head_ok(head.bulk) || index >= blocks) {
        return {Verdict::kMismatch};
    }
    TrainRx*& t = trains_[number % kTrains];
    const bool fresh = t == nullptr;
    if (!fresh && (t->block_bytes != head.block_bytes.get() || t->part != part || std::memcmp(&t->head, &head.bulk, sizeof head.bulk) != 0)) {
        return {Verdict::kMismatch};
    }
    const std::size_t from = std::size_t{index} * head.block_bytes.get();
    if (payload_bytes != std::min<std::size_t>(head.block_bytes.get(), all - from)) {
        return {Verdict::kMismatch};
    }
    if (fresh) {
        t = pool.create();
        if (t == nullptr) {
            return {Verdict::kNoTrain};
        }
        t->number = number;
        t->head = head.bulk;
        t->bytes = all;
        t->part = static_cast<std::uint16_t>(part);
        t->blocks = static_cast<std::uint16_t>(blocks);
        t->block_bytes = head.block_bytes.get();
        ++open_;
    }
    return {t->got.has(index) ? Verdict::kDuplicate : Verdict::kNew, t};
}

void BulkRx::look_for_holes(TrainRx& t, TimePoint now, Nanos window, bool in_order_path) noexcept
{
    if (t.received == t.frontier || t.asked_part) {
        t.gap_due = TimePoint::max();
        return;
    }
    const unsigned sure = in_order_path && t.frontier > kReorderBlocks ? t.frontier - kReorderBlocks : 0;
    if (sure > t.asked_below && t.got.count_missing(t.asked_below, sure) != 0) {
        t.ask = true;
        t.ask_below = static_cast<std::uint16_t>(sure);
    }
    const unsigned from = std::max<unsigned>(t.asked_below, sure);
    if (t.got.count_missing(from, t.frontier) == 0) {
        t.gap_due = TimePoint::max();
    } else if (t.gap_due == TimePoint::max()) {
        t.gap_due = now + window;
    }
}

bool BulkRx::placed(TrainRx& t, unsigned index, TimePoint now, Nanos window, const Stamp* echo, bool in_order_path) noexcept
{
    LINNET_ASSERT(!t.got.has(index));
    t.got.add(index);
    ++t.received;
    ++seen_;
    t.silence = 0;
    t.quiet_since = now;
    t.frontier = std::max(t.frontier, static_cast<std::uint16_t>(index + 1));
    if (t.received == t.blocks) {
        return true;
    }
    // The sender answers a pull before it sends anything new. Once it has seen ours, and as many frames as we asked for and a few more have come, what is
    // missing still was lost again.
    if (t.asked_below != 0 && echo != nullptr && !before(*echo, t.asked_stamp)) {
        if (t.patience != 0) {
            --t.patience;
        } else {
            t.asked_below = 0;
            t.asked_part = false;
        }
    }
    look_for_holes(t, now, window, in_order_path);
    return false;
}

void BulkRx::placed_next(TrainRx& t) noexcept
{
    t.got.add(t.frontier);
    ++t.frontier;
    ++t.received;
    ++seen_;
}

void BulkRx::finish(TrainRx& t) noexcept
{
    const std::uint32_t ahead = t.number - base_;
    trains_[t.number % kTrains] = nullptr;
    --open_;
    done_ |= std::uint64_t{1} << ahead;
    const int ones = std::countr_one(done_);
    base_ += static_cast<std::uint32_t>(ones);
    done_ >>= ones;
}

TimePoint BulkRx::due(const Timing& timing, Nanos patience) const noexcept
{
    TimePoint next = TimePoint::max();
    for (const TrainRx* t : trains_) {
        if (t != nullptr) {
            next = std::min({next, t->gap_due, t->quiet_since + backed_off(timing, patience, t->silence)});
        }
    }
    return next;
}

void BulkRx::run(TimePoint now, const Timing& timing, Nanos patience) noexcept
{
    for (TrainRx* t : trains_) {
        if (t == nullptr) {
            continue;
        }
        if (t->gap_due <= now) {
            t->gap_due = TimePoint::max();
            t->ask = true;
            t->ask_below = t->frontier;
        }
        if (t->quiet_since + backed_off(timing, patience, t->silence) <= now) {
            t->ask = t->ask_again = true;
            t->ask_below = t->blocks;
            t->silence = static_cast<std::uint8_t>(std::min<unsigned>(t->silence + 1u, 200u));
            t->quiet_since = now;
        }
    }
}

TrainRx* BulkRx::asking() noexcept
{
    const auto it = std::find_if(trains_.begin(), trains_.end(), [](const TrainRx* t) { return t != nullptr && t->ask; });
    return it == trains_.end() ? nullptr : *it;
}

unsigned BulkRx::ask(TrainRx& t, Stamp now, unsigned most, unsigned& first, std::span<std::uint64_t> words) noexcept
{
    unsigned w = 0;
    while (w * 64 < t.ask_below && t.got.missing(w, t.ask_below) == 0) {
        ++w;
    }
    first = w * 64;
    unsigned count = 0;
    unsigned asked = 0;
    bool more = false;
    for (; w * 64 < t.ask_below && count < words.size() && !more; ++w) {
        std::uint64_t bits = t.got.missing(w, t.ask_below);
        while (asked + static_cast<unsigned>(std::popcount(bits)) > most) {
            bits &= ~(std::uint64_t{1} << (63 - std::countl_zero(bits)));   // the highest
            more = true;
        }
        words[count++] = bits;
        asked += static_cast<unsigned>(std::popcount(bits));
    }
    while (count != 0 && words[count - 1] == 0) {
        --count;
    }
    t.ask = t.ask_again = false;
    t.asked_below = std::min(t.ask_below, t.frontier);
    t.asked_stamp = now;
    t.asked_part = more;
    t.patience = static_cast<std::uint16_t>(more ? asked - 1 : asked + kReorderBlocks);
    return count;
}

TrainRx* BulkRx::take_any() noexcept
{
    for (TrainRx*& t : trains_) {
        if (t != nullptr) {
            TrainRx* const taken = t;
            t = nullptr;
            --open_;
            return taken;
        }
    }
    return nullptr;
}

}   // namespace linnet::flow
