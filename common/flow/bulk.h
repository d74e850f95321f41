// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Bulk: trains of blocks, pulled by the receiver. Pure.
//
// A train is the payload of one bulk packet. The sender keeps a pointer to it, no copy, until the receiver has all of it; the receiver keeps a bitmap and asks
// for the blocks that it misses. Trains are numbered per connection; at most kTrains are open at a time. Blocks have no numbers of their own in
// the lane's sense: nothing is acknowledged but whole trains.
// Owner: Machine. TrainTx and TrainRx are taken from its pools.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/intrusive_list.h"
#include "flow/numbers.h"
#include "flow/timing.h"
#include "mem/pool.h"
#include "wire/frame.h"

namespace linnet::flow {

inline constexpr unsigned kTrains = 8;   // open per connection and direction; a power of two
inline constexpr unsigned kReorderBlocks = 3;

// A set of blocks of one train.
class BlockSet {
public:
    [[nodiscard]] bool has(unsigned i) const noexcept { return (words_[i / 64] >> (i % 64) & 1) != 0; }
    void add(unsigned i) noexcept { words_[i / 64] |= std::uint64_t{1} << (i % 64); }
    void remove(unsigned i) noexcept { words_[i / 64] &= ~(std::uint64_t{1} << (i % 64)); }
    void add_word(unsigned w, std::uint64_t members) noexcept { words_[w] |= members; }
    void remove_word(unsigned w, std::uint64_t members) noexcept { words_[w] &= ~members; }
    void clear() noexcept { words_ = {}; }
    [[nodiscard]] std::uint64_t word(unsigned w) const noexcept { return words_[w]; }
    // Numbers below `end` that are not in the set, as word `w` of a set.
    [[nodiscard]] std::uint64_t missing(unsigned w, unsigned end) const noexcept
    {
        const unsigned begin = w * 64;
        return end <= begin ? 0 : ~words_[w] & (end - begin >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << (end - begin)) - 1);
    }
    [[nodiscard]] unsigned count_missing(unsigned begin, unsigned end) const noexcept;
    // Members in a row from 0, at most `end`.
    [[nodiscard]] unsigned count_leading(unsigned end) const noexcept;
    // The first member, or kMaxTrainBlocks.
    [[nodiscard]] unsigned first() const noexcept;

private:
    std::array<std::uint64_t, wire::kTrainWords> words_{};
};

struct TrainTx {
    std::uint32_t number{0};
    wire::BulkHead head;
    std::span<const std::byte> payload;   // of this part
    void* cookie{nullptr};
    std::uint16_t part{0};
    std::uint16_t blocks{0};
    std::uint16_t block_bytes{0};
    std::uint16_t next{0};           // blocks before it have been sent at least once
    std::uint16_t wanted_count{0};
    BlockSet wanted;                 // asked for again
    BlockSet resent;                 // answered, and not yet known to have been seen by the receiver
    Stamp resent_stamp{0};           // of the last answer
    bool resent_any{false};
    bool known{false};               // to the receiver: it has asked for blocks of it
    bool sought{false};              // a block was sent again so that it is

    [[nodiscard]] std::span<const std::byte> block(unsigned i) const noexcept
    {
        const std::size_t from = std::size_t{i} * block_bytes;
        return payload.subspan(from, std::min<std::size_t>(block_bytes, payload.size() - from));
    }
    void want(unsigned i) noexcept;
};

class BulkTx {
public:
    explicit BulkTx(std::uint32_t first) noexcept : una_{first}, next_{first}, used_{first} {}

    [[nodiscard]] bool full(unsigned most) const noexcept { return next_ - una_ >= most; }
    void add(TrainTx& t) noexcept;

    struct Picked {
        TrainTx* train;
        std::uint16_t index;
        bool again;
    };
    // Blocks asked for again need no credit: who asks has a place for each.
    [[nodiscard]] bool can_send(std::uint32_t limit) const noexcept { return wanted_trains() || (unsent_ != 0 && before(used_, limit)); }
    [[nodiscard]] Picked pick(Stamp now) noexcept;
    // Another full block of the train that pick() took one of, if it is as good as pick() again and neither the last of the train nor that of the credit; null:
    // ask pick().
    [[nodiscard]] TrainTx* pick_next(std::uint32_t train, std::uint32_t limit) noexcept;
    // The network did not take it; of several, the one picked last comes first. True: it never left at all, and is new again; false: it is wanted again.
    bool not_sent(std::uint32_t train, unsigned index) noexcept;

    [[nodiscard]] bool plausible(std::uint32_t ack, std::uint64_t sack) const noexcept;
    // The oldest train that `ack` and `sack` say is complete, taken out; null: no more.
    [[nodiscard]] TrainTx* take_done(std::uint32_t ack, std::uint64_t sack) noexcept;
    // The trains of `cookie`, if every block of them was sent: taken out, one by one. Null: no more, or there is one of which blocks were never sent.
    [[nodiscard]] TrainTx* take_sent(const void* cookie) noexcept;
    // The receiver misses these blocks. `echo`: our newest stamp that it had seen. Returns whether there is such a train.
    bool on_pull(std::uint32_t train, unsigned first, std::span<const std::uint64_t> missing, const Stamp* echo, bool again) noexcept;
    // No news for long. False: nothing was ever sent that could be sent again; ask for credit.
    [[nodiscard]] bool probe(bool first_time) noexcept;
    // Any train, taken out, at the end of the connection; null: no more.
    [[nodiscard]] TrainTx* take_any() noexcept;

    [[nodiscard]] bool idle() const noexcept { return una_ == next_; }
    [[nodiscard]] std::uint32_t used() const noexcept { return used_; }
    [[nodiscard]] std::uint32_t resent() const noexcept { return resent_; }
    [[nodiscard]] std::uint32_t next() const noexcept { return next_; }

private:
    // A block of the oldest train that was begun and that the receiver may know nothing of, and of the newest if `two`; those left out the last time unless
    // `anew`. Few places are kept for what is sent unasked; the next pull has those of the next two sent. Returns whether there is one.
    bool seek(bool anew, bool two) noexcept;
    [[nodiscard]] TrainTx*& at(std::uint32_t number) noexcept { return trains_[number % kTrains]; }
    [[nodiscard]] TrainTx* find(std::uint32_t number) noexcept { return number - una_ < next_ - una_ ? at(number) : nullptr; }
    [[nodiscard]] bool wanted_trains() const noexcept { return wanted_ != 0; }
    TrainTx* take(std::uint32_t number) noexcept;
    void want(TrainTx& t, unsigned index) noexcept;

    std::array<TrainTx*, kTrains> trains_{};
    std::uint32_t una_;          // trains: oldest open, next to be given
    std::uint32_t next_;
    std::uint32_t used_;         // blocks sent for the first time
    std::uint32_t unsent_{0};    // blocks never sent
    std::uint32_t wanted_{0};    // blocks asked for again
    std::uint32_t resent_{0};
    bool seeking_{false};        // there were more trains than seek() may send blocks of
};

struct TrainRx : QueueLink {
    TrainRx() noexcept {}   // chrono does not promise as much

    std::uint32_t number{0};
    wire::BulkHead head;
    std::size_t bytes{0};           // of this part of the packet
    std::byte* to{nullptr};
    std::size_t room{0};
    void* cookie{nullptr};
    std::uint16_t part{0};
    bool landing_known{false};
    bool guess{false};              // nothing came for long: a question is owed, for one block
    bool guess_over{false};         // the last question was one, and the one before it is open: its answer may be on its way, from a sender that had no core
    bool asked_over{false};         // the highest of what was asked for is here: the rest is lost when `gap_due` has come
    std::uint16_t blocks{0};
    std::uint16_t block_bytes{0};
    std::uint16_t received{0};
    std::uint16_t top{0};           // one more than the highest block that came
    std::uint16_t frontier{0};      // blocks before it have been sent at least once
    std::uint16_t lost_below{0};    // what misses below it is lost: `due`, or asked for again and not here yet
    std::uint16_t due_count{0};
    std::uint16_t asked_count{0};
    std::uint16_t asked_top{0};     // the highest block of the last pull
    std::uint16_t patience{0};      // frames to come after the sender has seen it, before what it asked for counts as lost again
    Stamp asked_stamp{0};
    TimePoint gap_due{TimePoint::max()};   // what misses below the frontier counts as lost then
    TimePoint quiet_since{};               // the last block, or the last question
    std::uint8_t silence{0};               // questions in a row that nothing answered
    BlockSet got;
    BlockSet due;                   // lost, and to be asked for when there are places

    [[nodiscard]] std::size_t landed() const noexcept { return std::min(room, bytes); }
};

class BulkRx {
public:
    explicit BulkRx(std::uint32_t first) noexcept : base_{first}, newest_{first - 1}, seen_{first} {}

    enum class Verdict : std::uint8_t { kNew, kDuplicate, kBeyond, kMismatch, kNoTrain };
    struct Arrived {
        Verdict verdict;
        TrainRx* train{nullptr};
    };
    // The head of a block; kNew: it belongs at its place of `train`, which is created for the first of its blocks. Counts nothing yet.
    [[nodiscard]] Arrived arrive(std::uint32_t number, const wire::BlockHead& head, std::size_t payload_bytes, Pool<TrainRx>& pool) noexcept;
    struct Path {
        Nanos window;         // by which frames may overtake each other
        const Stamp* echo;    // the newest of our stamps that the sender had seen
        bool in_order;        // frames have never been seen to overtake each other
    };
    struct Placed {
        bool complete{false};
        unsigned missing{0};   // blocks that were sent before it, as is known now, and have not come
    };
    // The block is in place. `sent`: how many blocks of the train had been sent when it was, if its sender said so, or 0.
    Placed placed(TrainRx& t, unsigned index, unsigned sent, TimePoint now, const Path& path) noexcept;
    // Whether the block after the highest may come in a row: nothing is missing before it, nothing is asked for, and it is not the last.
    [[nodiscard]] static bool in_row(const TrainRx& t) noexcept
    {
        return t.received == t.frontier && t.asked_count == 0 && t.due_count == 0 && t.frontier + 1 < t.blocks;
    }
    // It came, and is in place.
    void placed_next(TrainRx& t) noexcept;
    // Take a complete train out; it is acknowledged from now on.
    void finish(TrainRx& t) noexcept;
    // Time has passed: mark pulls as owed.
    // `patience`: how long a train may be quiet before it is asked about.
    void run(TimePoint now, const Timing& timing, Nanos patience) noexcept;
    [[nodiscard]] TimePoint due(const Timing& timing, Nanos patience) const noexcept;
    [[nodiscard]] TimePoint gap_due() const noexcept;
    // The next train with a pull owed, or null. `places`: whether there are some for blocks that were lost.
    [[nodiscard]] TrainRx* asking(bool places) noexcept;
    // The words of that pull, which goes out now: for at most `most` lost blocks, or for one by a guess. Each question about a train waits until what the
    // last one asked for is here, or lost again.
    [[nodiscard]] unsigned ask(TrainRx& t, Stamp now, unsigned most, unsigned& first, std::span<std::uint64_t> words) noexcept;
    [[nodiscard]] TrainRx* take_any() noexcept;

    [[nodiscard]] TrainRx* find(std::uint32_t number) const noexcept { return number - base_ < kTrains ? trains_[number % kTrains] : nullptr; }
    [[nodiscard]] std::uint32_t ack() const noexcept { return base_; }
    [[nodiscard]] std::uint64_t sack() const noexcept { return done_ >> 1; }
    [[nodiscard]] std::uint32_t seen() const noexcept { return seen_; }
    // Blocks that are lost and not asked for again.
    [[nodiscard]] std::uint32_t lost() const noexcept { return lost_; }
    // Those that are asked for, and not here.
    [[nodiscard]] std::uint32_t asked() const noexcept;
    [[nodiscard]] bool idle() const noexcept { return open_ == 0; }
    [[nodiscard]] unsigned open() const noexcept { return open_; }

private:
    // So many blocks of it were sent. Returns how many of these are news, and not here.
    static unsigned advance(TrainRx& t, unsigned sent) noexcept;
    void look_for_holes(TrainRx& t, TimePoint now, const Path& path) noexcept;
    // What misses below `end` is lost.
    void lose(TrainRx& t, unsigned end) noexcept;
    // What was asked for is lost again, and asked for once more when there are places.
    void lose_asked(TrainRx& t) noexcept;
    [[nodiscard]] static bool quiet(const TrainRx& t, TimePoint now, const Timing& timing, Nanos patience) noexcept
    {
        return t.quiet_since + backed_off(timing, patience, t.silence) <= now;
    }

    std::array<TrainRx*, kTrains> trains_{};
    std::uint32_t base_;       // the first train that is not complete
    std::uint32_t newest_;     // the last train that was begun: of those before it all blocks were sent
    std::uint64_t done_{0};    // bit i: train base_ + i is
    std::uint32_t seen_;       // blocks that arrived, each counted once
    std::uint32_t lost_{0};
    unsigned open_{0};
};

}   // namespace linnet::flow
