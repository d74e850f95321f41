// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Bulk: see bulk.h.
#include "flow/bulk.h"

#include <algorithm>
#include <cstring>
#include <utility>

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

bool BulkTx::not_sent(std::uint32_t train, unsigned index) noexcept
{
    TrainTx* const t = find(train);
    if (t == nullptr) {
        return false;
    }
    if (index + 1u == t->next && !t->resent.has(index)) {   // its receiver is told how many were sent: what is not there counts as lost
        --t->next;
        --used_;
        ++unsent_;
        return true;
    }
    --resent_;
    want(*t, index);
    return false;
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
    if (again || seeking_) {   // nothing came for a while: of other trains neither, perhaps
        seek(again, true);
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

bool BulkTx::seek(bool anew, bool two) noexcept
{
    TrainTx* oldest = nullptr;
    TrainTx* newest = nullptr;
    unsigned unknown = 0;
    for (std::uint32_t n = una_; n != next_; ++n) {
        if (TrainTx* const t = at(n); t != nullptr && t->next != 0 && !t->known && (anew || !t->sought)) {
            t->sought = false;
            oldest = oldest == nullptr ? t : oldest;
            newest = t;
            ++unknown;
        }
    }
    seeking_ = unknown > (two ? 2u : 1u);
    if (oldest == nullptr) {
        return false;
    }
    for (TrainTx* const t : {oldest, two ? newest : oldest}) {
        t->sought = true;
        want(*t, t->next - 1u);
    }
    return true;
}

bool BulkTx::probe(bool first_time) noexcept
{
    if (seek(true, first_time)) {
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

unsigned BulkRx::advance(TrainRx& t, unsigned sent) noexcept
{
    const unsigned from = t.frontier;
    t.frontier = static_cast<std::uint16_t>(std::clamp<unsigned>(sent, from, t.blocks));
    return t.got.count_missing(from, t.frontier);
}

void BulkRx::lose(TrainRx& t, unsigned end) noexcept
{
    for (unsigned w = t.lost_below / 64; w * 64 < end; ++w) {
        std::uint64_t bits = t.got.missing(w, end);
        if (w == t.lost_below / 64) {
            bits &= ~std::uint64_t{0} << (t.lost_below % 64);
        }
        const auto count = static_cast<unsigned>(std::popcount(bits));
        t.due.add_word(w, bits);
        t.due_count = static_cast<std::uint16_t>(t.due_count + count);
        lost_ += count;
    }
    t.lost_below = std::max(t.lost_below, static_cast<std::uint16_t>(end));
}

void BulkRx::lose_asked(TrainRx& t) noexcept
{
    const unsigned end = t.lost_below;
    lost_ -= t.due_count;
    t.due_count = t.asked_count = t.lost_below = 0;
    lose(t, end);   // `due` is part of it
    t.asked_over = t.guess_over = false;
}

void BulkRx::look_for_holes(TrainRx& t, TimePoint now, const Path& path) noexcept
{
    if (t.received == t.frontier) {
        t.gap_due = TimePoint::max();
        return;
    }
    if (path.in_order && t.top > kReorderBlocks + t.lost_below) {
        lose(t, t.top - kReorderBlocks);
    }
    if (t.got.count_missing(t.lost_below, t.frontier) == 0 && !t.asked_over) {
        t.gap_due = TimePoint::max();
    } else if (t.gap_due == TimePoint::max()) {
        t.gap_due = now + path.window;
    }
}

BulkRx::Placed BulkRx::placed(TrainRx& t, unsigned index, unsigned sent, TimePoint now, const Path& path) noexcept
{
    LINNET_ASSERT(!t.got.has(index));
    Placed result;
    if (t.due.has(index)) {   // overtaken by others, not lost
        t.due.remove(index);
        --t.due_count;
        --lost_;
    } else if (index < t.lost_below) {
        --t.asked_count;
    }
    t.got.add(index);
    ++t.received;
    ++seen_;
    t.silence = 0;
    t.quiet_since = now;
    t.top = std::max(t.top, static_cast<std::uint16_t>(index + 1));
    const bool older = before(t.number, newest_);
    result.missing = advance(t, older ? t.blocks : std::max(index + 1, sent));
    if (t.received == 1 && before(newest_, t.number)) {   // trains are begun one after the other
        newest_ = t.number;
        for (TrainRx* const o : trains_) {
            if (o != nullptr && o != &t) {
                result.missing += advance(*o, o->blocks);
                look_for_holes(*o, now, path);
            }
        }
    }
    if (t.received == t.blocks) {
        result.complete = true;
        return result;
    }
    // The sender answers a pull before it sends anything new, the lower blocks first. When it has seen ours, and the highest of what we asked for is here,
    // or as many frames as that and a few more have come, then what is missing still was lost again.
    if (t.asked_count == 0) {
        t.asked_over = false;
    } else if (path.echo != nullptr && !before(*path.echo, t.asked_stamp)) {
        if (t.patience == 0 || (index == t.asked_top && path.in_order && !t.guess_over)) {
            lose_asked(t);
        } else {
            --t.patience;
            t.asked_over = t.asked_over || index == t.asked_top;
            t.gap_due = t.guess_over ? TimePoint::max() : t.gap_due;   // the answer to the question before may have begun, and goes on
        }
    }
    look_for_holes(t, now, path);
    return result;
}

void BulkRx::placed_next(TrainRx& t) noexcept
{
    t.got.add(t.frontier);
    t.top = ++t.frontier;
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

std::uint32_t BulkRx::asked() const noexcept
{
    std::uint32_t n = 0;
    for (const TrainRx* t : trains_) {
        n += t != nullptr ? t->asked_count : 0;
    }
    return n;
}

TimePoint BulkRx::gap_due() const noexcept
{
    TimePoint next = TimePoint::max();
    for (const TrainRx* t : trains_) {
        next = t != nullptr ? std::min(next, t->gap_due) : next;
    }
    return next;
}

// Nobody has a place for the answer to a guess: one block each of the oldest and the newest train that are quiet. What comes then says more.
void BulkRx::run(TimePoint now, const Timing& timing, Nanos patience) noexcept
{
    TrainRx* oldest = nullptr;
    TrainRx* newest = nullptr;
    for (std::uint32_t n = base_; n != base_ + kTrains; ++n) {
        TrainRx* const t = trains_[n % kTrains];
        if (t == nullptr) {
            continue;
        }
        if (t->gap_due <= now) {
            t->gap_due = TimePoint::max();
            lose(*t, t->frontier);
            if (t->asked_over) {
                lose_asked(*t);
            }
        }
        if (quiet(*t, now, timing, patience)) {
            t->silence = static_cast<std::uint8_t>(std::min<unsigned>(t->silence + 1u, 200u));
            t->quiet_since = now;
            oldest = oldest == nullptr ? t : oldest;
            newest = t;
        }
    }
    if (oldest != nullptr) {
        oldest->guess = newest->guess = true;
    }
}

TrainRx* BulkRx::asking(bool places) noexcept
{
    const auto it = std::find_if(trains_.begin(), trains_.end(), [places](const TrainRx* t) {
        return t != nullptr && (t->guess || (places && t->due_count != 0 && t->asked_count == 0));
    });
    return it == trains_.end() ? nullptr : *it;
}

unsigned BulkRx::ask(TrainRx& t, Stamp now, unsigned most, unsigned& first, std::span<std::uint64_t> words) noexcept
{
    unsigned asked = 0;
    unsigned count = 0;
    t.guess_over = t.guess && t.asked_count != 0;
    if (std::exchange(t.guess, false)) {
        // The first that is missing. Where it is known to be lost it stays `due`: should it be asked for by that name too, one copy is in vain.
        const unsigned i = t.got.count_leading(t.blocks);
        if (i >= t.lost_below) {
            t.lost_below = static_cast<std::uint16_t>(i + 1);
            ++t.asked_count;
        }
        first = i / 64 * 64;
        words[count++] = std::uint64_t{1} << (i % 64);
        t.asked_top = static_cast<std::uint16_t>(i);
        asked = 1;
    } else {
        unsigned w = t.due.first() / 64;
        first = w * 64;
        for (; asked < most && asked < t.due_count && count < words.size(); ++w) {
            std::uint64_t bits = t.due.word(w);
            while (asked + static_cast<unsigned>(std::popcount(bits)) > most) {
                bits &= ~(std::uint64_t{1} << (63 - std::countl_zero(bits)));   // the highest
            }
            words[count++] = bits;
            t.due.remove_word(w, bits);
            if (bits != 0) {
                asked += static_cast<unsigned>(std::popcount(bits));
                t.asked_top = static_cast<std::uint16_t>(w * 64 + 63 - static_cast<unsigned>(std::countl_zero(bits)));
            }
        }
        t.due_count = static_cast<std::uint16_t>(t.due_count - asked);
        t.asked_count = static_cast<std::uint16_t>(t.asked_count + asked);
        lost_ -= asked;
    }
    t.asked_stamp = now;
    t.patience = static_cast<std::uint16_t>((t.guess_over ? std::max<unsigned>(t.asked_count, asked) : asked) + kReorderBlocks);
    return count;
}

TrainRx* BulkRx::take_any() noexcept
{
    for (TrainRx*& t : trains_) {
        if (t != nullptr) {
            TrainRx* const taken = t;
            t = nullptr;
            --open_;
            lost_ -= taken->due_count;
            return taken;
        }
    }
    return nullptr;
}

}   // namespace linnet::flow
