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
    // Blocks asked for again need no credit: theirs was lost with them.
    [[nodiscard]] bool can_send(std::uint32_t limit) const noexcept { return wanted_trains() || (unsent_ != 0 && before(used_, limit)); }
    [[nodiscard]] Picked pick(Stamp now) noexcept;
    // Another full block of the train that pick() took one of, if it is as good as pick() again and neither the last of the train nor that of the credit; null:
    // ask pick().
    [[nodiscard]] TrainTx* pick_next(std::uint32_t train, std::uint32_t limit) noexcept;
    void not_sent(std::uint32_t train, unsigned index) noexcept;

    [[nodiscard]] bool plausible(std::uint32_t ack, std::uint64_t sack) const noexcept;
    // The oldest train that `ack` and `sack` say is complete, taken out; null: no more.
    [[nodiscard]] TrainTx* take_done(std::uint32_t ack, std::uint64_t sack) noexcept;
    // The trains of `cookie`, if every block of them was sent: taken out, one by one. Null: no more, or there is one of which blocks were never sent.
    [[nodiscard]] TrainTx* take_sent(const void* cookie) noexcept;
    // The receiver misses these blocks. `echo`: our newest stamp that it had seen. Returns whether there is such a train.
    bool on_pull(std::uint32_t train, unsigned first, std::span<const std::uint64_t> missing, const Stamp* echo, bool again) noexcept;
    // No news for long. False: nothing was ever sent that could be sent again; ask for credit.
    [[nodiscard]] bool probe() noexcept;
    // Any train, taken out, at the end of the connection; null: no more.
    [[nodiscard]] TrainTx* take_any() noexcept;

    [[nodiscard]] bool idle() const noexcept { return una_ == next_; }
    [[nodiscard]] std::uint32_t used() const noexcept { return used_; }
    [[nodiscard]] std::uint32_t resent() const noexcept { return resent_; }
    [[nodiscard]] std::uint32_t next() const noexcept { return next_; }

private:
    // A block of each train that was begun and that the receiver may know nothing of. Returns whether there is one.
    bool seek() noexcept;
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
    bool ask{false};                // a pull is owed
    bool ask_again{false};          // and it is a repetition
    bool asked_part{false};         // the last pull left out what was beyond its share: it waits until that has come
    std::uint16_t blocks{0};
    std::uint16_t block_bytes{0};
    std::uint16_t received{0};
    std::uint16_t frontier{0};      // one more than the highest block that came
    std::uint16_t ask_below{0};     // what the owed pull covers
    std::uint16_t asked_below{0};   // holes below it have been asked for
    std::uint16_t patience{0};      // frames to come after the sender has seen our pull, before we ask again
    Stamp asked_stamp{0};
    TimePoint gap_due{TimePoint::max()};   // holes near the frontier count as lost then
    TimePoint quiet_since{};               // the last block, or the last question
    std::uint8_t silence{0};               // questions in a row that nothing answered
    BlockSet got;

    [[nodiscard]] std::size_t landed() const noexcept { return std::min(room, bytes); }
};

class BulkRx {
public:
    explicit BulkRx(std::uint32_t first) noexcept : base_{first}, seen_{first} {}

    enum class Verdict : std::uint8_t { kNew, kDuplicate, kBeyond, kMismatch, kNoTrain };
    struct Arrived {
        Verdict verdict;
        TrainRx* train{nullptr};
    };
    // The head of a block; kNew: it belongs at its place of `train`, which is created for the first of its blocks. Counts nothing yet.
    [[nodiscard]] Arrived arrive(std::uint32_t number, const wire::BlockHead& head, std::size_t payload_bytes, Pool<TrainRx>& pool) noexcept;
    // The block is in place. `echo`: the newest of our stamps that its sender had seen. True: the train is complete.
    bool placed(TrainRx& t, unsigned index, TimePoint now, Nanos window, const Stamp* echo, bool in_order_path) noexcept;
    // Whether the block after the highest may come in a row: nothing is missing before it, nothing is asked for, and it is not the last.
    [[nodiscard]] static bool in_row(const TrainRx& t) noexcept { return t.received == t.frontier && t.asked_below == 0 && t.frontier + 1 < t.blocks; }
    // It came, and is in place.
    void placed_next(TrainRx& t) noexcept;
    // Take a complete train out; it is acknowledged from now on.
    void finish(TrainRx& t) noexcept;
    // Time has passed: mark pulls as owed.
    // `patience`: how long a train may be quiet before all that misses is asked for.
    void run(TimePoint now, const Timing& timing, Nanos patience) noexcept;
    [[nodiscard]] TimePoint due(const Timing& timing, Nanos patience) const noexcept;
    // The next train with a pull owed, or null.
    [[nodiscard]] TrainRx* asking() noexcept;
    // The words of that pull, for at most `most` blocks, and that it goes out now.
    [[nodiscard]] unsigned ask(TrainRx& t, Stamp now, unsigned most, unsigned& first, std::span<std::uint64_t> words) noexcept;
    [[nodiscard]] TrainRx* take_any() noexcept;

    [[nodiscard]] TrainRx* find(std::uint32_t number) const noexcept { return number - base_ < kTrains ? trains_[number % kTrains] : nullptr; }
    [[nodiscard]] std::uint32_t ack() const noexcept { return base_; }
    [[nodiscard]] std::uint64_t sack() const noexcept { return done_ >> 1; }
    [[nodiscard]] std::uint32_t seen() const noexcept { return seen_; }
    [[nodiscard]] bool idle() const noexcept { return open_ == 0; }
    [[nodiscard]] unsigned open() const noexcept { return open_; }

private:
    void look_for_holes(TrainRx& t, TimePoint now, Nanos window, bool in_order_path) noexcept;

    std::array<TrainRx*, kTrains> trains_{};
    std::uint32_t base_;       // the first train that is not complete
    std::uint64_t done_{0};    // bit i: train base_ + i is
    std::uint32_t seen_;       // blocks that arrived, each counted once
    unsigned open_{0};
};

}   // namespace linnet::flow
