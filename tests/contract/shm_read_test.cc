// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Long messages that are read out of their sender's memory pass by pass: every byte, what gets through meanwhile, and every end before the last one.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <set>
#include <vector>

#include "contract/shm_processes.h"
#include "transport/shm/long_read.h"

namespace linnet::contract {
namespace {

TEST(ShmLongRead, EveryByteIsRightAndOtherPacketsGetThroughMeanwhile)
{
    for (const char* const kind : {"Shm", "ShmWithHelpers"}) {
        Pair pair{kind_named(kind)};
        ASSERT_TRUE(pair.ready()) << pair.why_not();
        const Pair::Ends ends = pair.open(LinkRole::kLane);
        for (const std::size_t bytes : {shm::LongRead::kLeast, shm::LongRead::kLeast + 1, kLongRead - 5, kLongRead}) {
            const Bytes data = pattern(static_cast<std::uint32_t>(bytes), bytes);
            Bytes got(bytes + 1, std::byte{0xee});
            const auto from = reinterpret_cast<std::uintptr_t>(data.data());
            ASSERT_EQ(pair.b().transport->begin_read(ends.at_b, got.data(), from, bytes, &got, false), Status::kInProgress);
            EXPECT_FALSE(pair.b().transport->prepare_sleep());
            pair.b().transport->finish_sleep();
            const Packet small = eager(7, 8);
            const std::array batch{small.lane()};
            const std::size_t before = pair.b().sink.packets.size();
            ASSERT_EQ(pair.a().transport->send_lane(ends.at_a, batch).taken, 1u);
            ASSERT_TRUE(pair.run_until([&] { return pair.b().sink.packets.size() > before; }));
            EXPECT_TRUE(bytes < 8 * shm::LongRead::kPiece || pair.b().sink.reads.empty()) << "it waited for the long one";
            ASSERT_TRUE(pair.run_until([&] { return !pair.b().sink.reads.empty(); }));
            EXPECT_EQ(pair.b().sink.reads[0].status, Status::kOk);
            EXPECT_EQ(pair.b().sink.reads[0].cookie, &got);
            EXPECT_EQ(got.back(), std::byte{0xee});
            got.pop_back();
            EXPECT_TRUE(got == data) << bytes;
            pair.b().sink.reads.clear();
        }
    }
}

class RefusedLongRead : public ::testing::Test {
protected:
    void SetUp() override
    {
        ASSERT_TRUE(pair_.ready()) << pair_.why_not();
        at_b_ = pair_.open(LinkRole::kLane).at_b;
    }
    Status begin(std::size_t bytes, bool alone) { return pair_.b().transport->begin_read(at_b_, got_.data(), from(), bytes, nullptr, alone); }
    [[nodiscard]] std::uintptr_t from() const { return reinterpret_cast<std::uintptr_t>(data_.data()); }

    Pair pair_{kind_named("Shm")};
    LinkId at_b_{};
    const Bytes data_ = pattern(3, kLongRead);
    Bytes got_ = Bytes(kLongRead);
};

TEST_F(RefusedLongRead, ShortOrTooLong)
{
    for (const std::size_t bytes : {shm::LongRead::kLeast - 1, shm::LongRead::kMost + 1}) {
        EXPECT_EQ(begin(bytes, false), Status::kUnsupported);
    }
}

// One call for all of it is quicker, and hardly anybody waits meanwhile.
TEST_F(RefusedLongRead, AloneAndWithoutHelpersItIsReadInOneGo)
{
    EXPECT_EQ(begin(kLongRead, true), Status::kUnsupported);
    EXPECT_EQ(pair_.b().transport->read(at_b_, got_.data(), from(), kLongRead), Status::kOk);
    EXPECT_TRUE(got_ == data_);
}

// However many there are, a pass does a part of a few, and the others have their turn.
class ManyLongReads : public ::testing::Test {
protected:
    static constexpr std::size_t kReads = 11, kEach = 4 * shm::LongRead::kLeast;
    void begin()
    {
        ASSERT_TRUE(pair_.ready()) << pair_.why_not();
        for (std::size_t i = 0; i < kReads; ++i) {
            data_[i] = pattern(static_cast<std::uint32_t>(i), kEach);
            got_[i].resize(kEach);
            const auto from = reinterpret_cast<std::uintptr_t>(data_[i].data());
            ASSERT_EQ(pair_.b().transport->begin_read(ends_.at_b, got_[i].data(), from, kEach, &got_[i], false), Status::kInProgress) << i;
        }
    }
    const std::vector<Sink::Read>& reads() { return pair_.b().sink.reads; }

    Pair pair_{kind_named("ShmWithHelpers")};
    Pair::Ends ends_ = pair_.open(LinkRole::kLane);
    std::array<Bytes, kReads> data_, got_;
};

TEST_F(ManyLongReads, AreReadInTurn)
{
    begin();
    ASSERT_TRUE(pair_.run_until([&] { return reads().size() == kReads; }));
    for (std::size_t i = 0; i < kReads; ++i) {
        EXPECT_EQ(reads()[i].status, Status::kOk);
        EXPECT_TRUE(got_[i] == data_[i]) << i;
    }
    pair_.settle();
    EXPECT_EQ(reads().size(), kReads);
}

TEST_F(ManyLongReads, EachEndsOnceWhenTheLinkIsDropped)
{
    begin();
    pair_.b().transport->poll(64);
    pair_.b().transport->drop(ends_.at_b);
    ASSERT_EQ(reads().size(), kReads);
    std::set<const void*> cookies;
    for (const auto& read : reads()) {
        EXPECT_EQ(read.status, Status::kPeerDown);
        cookies.insert(read.cookie);
    }
    EXPECT_EQ(cookies.size(), kReads);
    pair_.settle();
    EXPECT_EQ(reads().size(), kReads);
}

// Nobody writes to the memory when drop() has returned, and the reader was told before.
TEST(ShmLongRead, LinkThatIsDroppedEndsWhatIsBeingRead)
{
    for (const char* const kind : {"Shm", "ShmWithHelpers"}) {
        Pair pair{kind_named(kind)};
        ASSERT_TRUE(pair.ready()) << pair.why_not();
        const Pair::Ends ends = pair.open(LinkRole::kLane);
        const Bytes data = pattern(4, kLongRead);
        auto got = std::make_unique<Bytes>(kLongRead);
        const auto from = reinterpret_cast<std::uintptr_t>(data.data());
        ASSERT_EQ(pair.b().transport->begin_read(ends.at_b, got->data(), from, got->size(), &got, false), Status::kInProgress);
        pair.b().transport->poll(64);
        pair.b().transport->drop(ends.at_b);
        ASSERT_EQ(pair.b().sink.reads.size(), 1u);
        EXPECT_EQ(pair.b().sink.reads[0].status, Status::kPeerDown);
        EXPECT_TRUE(pair.copies().tree.empty()) << "a slice is still to be had";
        got.reset();
        pair.settle();
        EXPECT_EQ(pair.b().sink.reads.size(), 1u);
    }
}

TEST(ShmLongRead, PeerThatDiesMeanwhileGivesNoBytes)
{
    Copies copies;
    Solo child{11};
    Solo parent{12, &copies.together};
    int address[2];
    ASSERT_EQ(::pipe(address), 0);
    Child process{[&] {
        if (!child.open()) {
            ::_exit(3);
        }
        const std::vector<std::byte> data(kLongRead, std::byte{0x55});
        const auto at = reinterpret_cast<std::uintptr_t>(data.data());
        if (::write(address[1], &at, sizeof at) != sizeof at) {
            ::_exit(4);
        }
        while (true) {
            child.end.transport->poll(64);
        }
    }};
    ASSERT_TRUE(parent.open());
    ASSERT_TRUE(parent.calls(child, LinkRole::kLane));
    ASSERT_TRUE(parent.run_until([&] { return !parent.end.sink.ups.empty(); }));
    std::uintptr_t at = 0;
    ASSERT_EQ(::read(address[0], &at, sizeof at), static_cast<::ssize_t>(sizeof at));
    Bytes got(kLongRead);
    ASSERT_EQ(parent.end.transport->begin_read(parent.end.sink.ups[0].link, got.data(), at, got.size(), &got, false), Status::kInProgress);
    parent.end.transport->poll(64);
    process.kill();
    ASSERT_TRUE(parent.run_until([&] { return !parent.end.sink.downs.empty(); }));
    ASSERT_EQ(parent.end.sink.reads.size(), 1u);
    EXPECT_EQ(parent.end.sink.reads[0].status, Status::kPeerDown);
    EXPECT_TRUE(copies.tree.empty());
    parent.end.transport->shutdown();
    child.end.transport->shutdown();
    ::close(address[0]);
    ::close(address[1]);
}

}   // namespace
}   // namespace linnet::contract
