// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The choice of a path: a sender of long messages over simulated paths, on a clock of its own.
#include "model/path_choice.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "support/seed.h"

namespace linnet::model {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMega = 1 << 20;

class Sender {
public:
    explicit Sender(std::vector<Line> truth, std::vector<Line> expected = {}) : truth_{std::move(truth)}
    {
        for (std::size_t i = 0; i < truth_.size(); ++i) {
            EXPECT_EQ(choice.add(i < expected.size() ? expected[i] : Line{5000, 1}), i);
            used.push_back(0);
        }
    }
    // One transfer where the link is; then the link is moved where it is wanted.
    void transfer(std::uint64_t bytes = kMega)
    {
        const unsigned at = choice.at();
        const double ns = truth_[at].at(static_cast<double>(bytes)) * noise_(random_);
        const Nanos took{static_cast<std::int64_t>(ns)};
        now += took;
        ++used[at];
        choice.sample(at, bytes, took, now);
        if (choice.wanted() != choice.at() && choice.wanted() != shut) {
            now += 200us;
            choice.moved(choice.wanted(), now);
            ++moves;
        } else if (choice.wanted() == shut) {
            choice.failed(shut, now);
            ++failures;
        }
    }
    void transfers(unsigned count, std::uint64_t bytes = kMega)
    {
        for (unsigned i = 0; i < count; ++i) {
            transfer(bytes);
        }
    }
    void run(Nanos time)
    {
        for (const TimePoint end = now + time; now < end;) {
            transfer();
        }
    }
    void set(unsigned path, const Line& line) { truth_[path] = line; }
    void noisy(double most) { noise_ = std::uniform_real_distribution<double>{1, most}; }

    PathChoice choice{PathChoice::Config{}};
    TimePoint now{1000s};
    std::vector<unsigned> used;
    unsigned moves{0};
    unsigned failures{0};
    unsigned shut{PathChoice::kNone};   // a path that cannot be opened

private:
    std::vector<Line> truth_;
    std::mt19937_64 random_{testing::test_seed(0x5eed)};
    std::uniform_real_distribution<double> noise_{1, 1.0001};
};

constexpr Line kGigabit{50'000, 8};
constexpr Line kTenth{50'000, 80};
constexpr Line kDouble{50'000, 4};

TEST(PathChoice, OfOnePathStaysThere)
{
    Sender s{{kGigabit}};
    s.transfers(1000);
    EXPECT_EQ(s.moves, 0u);
    EXPECT_TRUE(s.choice.measured(0));
    EXPECT_NEAR(s.choice.cost(0).at(kMega), kGigabit.at(kMega), kGigabit.at(kMega) * 0.01);
}

TEST(PathChoice, TakesAsManyPathsAsItHasRoomFor)
{
    PathChoice c{PathChoice::Config{}};
    for (unsigned i = 0; i < PathChoice::kMost; ++i) {
        EXPECT_EQ(c.add({}), i);
    }
    EXPECT_EQ(c.add({}), PathChoice::kNone);
}

TEST(PathChoice, BeginsWithTheFirstAndStaysWhatIsExpectedUntilMeasured)
{
    Sender s{{kGigabit, kDouble}, {{100, 2}, {100, 3}}};
    EXPECT_EQ(s.choice.at(), 0u);
    EXPECT_EQ(s.choice.cost(1), (Line{100, 3}));
    EXPECT_FALSE(s.choice.measured(0));
}

TEST(PathChoice, MovesToAPathThatTakesHalfTheTime)
{
    Sender s{{kGigabit, kDouble}};
    s.run(5s);
    EXPECT_EQ(s.choice.at(), 1u);
    EXPECT_EQ(s.moves, 1u) << "the trial is the move";
}

TEST(PathChoice, TriesAPathThatPromisesMoreAtOnce)
{
    Sender s{{kGigabit, kDouble}, {{1500, 0.8}, {4500, 0.3}}};
    s.transfers(20);   // of 8 ms: long before the pause between trials is over
    EXPECT_EQ(s.choice.at(), 1u);
    EXPECT_EQ(s.moves, 1u);
}

TEST(PathChoice, PromiseThatIsNotKeptCostsOneTrial)
{
    Sender s{{kGigabit, kTenth}, {{1500, 0.8}, {4500, 0.3}}};
    s.transfers(60);
    EXPECT_EQ(s.choice.at(), 0u);
    EXPECT_EQ(s.moves, 2u);
    EXPECT_LE(s.used[1], 4u);
}

TEST(PathChoice, StaysForLessThanAFifth)
{
    Sender s{{kGigabit, {50'000, 7}}};
    s.run(60s);
    EXPECT_EQ(s.choice.at(), 0u);
    EXPECT_GE(s.moves, 2u) << "it was tried";
}

TEST(PathChoice, SpendsLittleOnTrialsThatAreLost)
{
    Sender s{{kGigabit, kTenth}};
    s.run(600s);
    EXPECT_EQ(s.choice.at(), 0u);
    // After 1 s, and then 10, 20, 40, ... 320 s apart: at most 8; each ended after four transfers, two of which are warm-up.
    EXPECT_LE(s.used[1], 8u * 4u);
    EXPECT_GE(s.used[1], 4u * 4u);
}

TEST(PathChoice, FollowsAPathThatBecomesSlow)
{
    Sender s{{kGigabit, {50'000, 9}}};
    s.run(20s);
    ASSERT_EQ(s.choice.at(), 0u);
    s.set(0, kTenth);
    const TimePoint then = s.now;
    while (s.choice.at() == 0 && s.now < then + 60s) {
        s.transfer();
    }
    EXPECT_EQ(s.choice.at(), 1u);
    EXPECT_LT(s.now - then, 2s);
    s.run(5s);
    EXPECT_EQ(s.choice.at(), 1u) << "and stays";
}

TEST(PathChoice, GoesBackWhenThePathIsFastAgain)
{
    Sender s{{kGigabit, {50'000, 16}}};
    s.run(20s);
    s.set(0, kTenth);
    s.run(20s);
    ASSERT_EQ(s.choice.at(), 1u);
    s.set(0, kGigabit);
    s.run(Nanos{340s});   // it may have lost trials meanwhile
    EXPECT_EQ(s.choice.at(), 0u);
}

TEST(PathChoice, DoesNotRunAfterNoise)
{
    Sender s{{kGigabit, kGigabit, {40'000, 8.5}}};
    s.noisy(1.4);
    s.run(300s);
    // Trials and returns, never a stay elsewhere.
    EXPECT_EQ(s.choice.wanted(), 0u);
    EXPECT_LT(s.used[1] + s.used[2], s.used[0] / 20);
}

TEST(PathChoice, AllPathsSlowTogetherEndWhereItIsBest)
{
    Sender s{{kGigabit, {50'000, 4}, {50'000, 16}}};
    s.run(20s);
    ASSERT_EQ(s.choice.at(), 1u);
    s.set(0, kTenth);
    s.set(1, {50'000, 40});
    s.set(2, {50'000, 160});
    s.run(30s);
    EXPECT_EQ(s.choice.wanted(), 1u);
}

TEST(PathChoice, PathThatCannotBeOpenedIsAskedForLessAndLess)
{
    Sender s{{kGigabit, kDouble}};
    s.shut = 1;
    s.run(600s);
    EXPECT_EQ(s.choice.at(), 0u);
    EXPECT_GE(s.failures, 4u);
    EXPECT_LE(s.failures, 8u);
}

TEST(PathChoice, TrialThatIsPutOffComesSoonAndCountsForNothing)
{
    Nanos least = Nanos::max(), most{};
    for (std::uint64_t seed = 0; seed < 100; ++seed) {
        PathChoice c{PathChoice::Config{}, seed};
        EXPECT_EQ(c.add({5000, 1}), 0u);
        EXPECT_EQ(c.add({5000, 0.1}), 1u);
        TimePoint now{1000s};
        const auto until_a_trial = [&] {
            const TimePoint from = now;
            while (c.wanted() == 0 && now - from < 60s) {
                now += 10ms;
                c.sample(0, kMega, 10ms, now);
            }
            return now - from;
        };
        EXPECT_LE(until_a_trial(), 1s);
        c.put_off(1, now);
        EXPECT_EQ(c.wanted(), 0u);
        const Nanos pause = until_a_trial();
        least = std::min(least, pause);
        most = std::max(most, pause);
        c.put_off(1, now);
        EXPECT_LE(until_a_trial(), 3s) << "no longer the second time";
        EXPECT_TRUE(c.tries(1));
        EXPECT_FALSE(c.tries(0));
    }
    EXPECT_GE(least, 1s);
    EXPECT_LE(least, 1200ms);
    EXPECT_GE(most, 1700ms) << "all of them at the same time";
    EXPECT_LE(most, 2100ms);
}

TEST(PathChoice, TrialThatGetsNowhereEnds)
{
    Sender s{{kGigabit, kDouble}};
    s.shut = PathChoice::kNone;
    PathChoice& c = s.choice;
    while (c.wanted() == 0) {
        s.now += 10ms;
        c.sample(0, kMega, 10ms, s.now);
    }
    for (unsigned i = 0; i < 5000 && c.wanted() == 1; ++i) {   // nobody moves the link
        s.now += 10ms;
        c.sample(0, kMega, 10ms, s.now);
    }
    EXPECT_EQ(c.wanted(), 0u);
}

TEST(PathChoice, LinkThatWasMovedByOthersIsWhereItIs)
{
    Sender s{{kGigabit, kGigabit}};
    s.transfers(5);
    s.choice.moved(1, s.now);
    EXPECT_EQ(s.choice.at(), 1u);
    EXPECT_EQ(s.choice.wanted(), 1u);
    s.choice.moved(7, s.now);   // none of ours
    EXPECT_EQ(s.choice.at(), 1u);
}

TEST(PathChoice, IgnoresTransfersFromBeforeAMove)
{
    Sender s{{kGigabit, kGigabit}};
    s.choice.moved(1, s.now);
    s.choice.sample(0, kMega, 1ms, s.now);
    EXPECT_FALSE(s.choice.measured(0));
}

// ---- a path behind the others ----

class BehindTest : public ::testing::Test {
protected:
    BehindTest()
    {
        EXPECT_EQ(choice.add({5000, 1}), 0u);
        EXPECT_EQ(choice.add({5000, 3}, true), 1u);
    }
    // Transfers of a megabyte; of those at home one in `each` takes `lost` longer.
    void transfers(unsigned count, unsigned each = 0, Nanos lost = {})
    {
        for (unsigned i = 0; i < count; ++i) {
            const unsigned at = choice.at();
            const bool late = at == 0 && each != 0 && ++seen % each == 0;
            const Nanos took = (at == 0 ? Nanos{1ms} : truth) + (late ? lost : Nanos{});
            now += took;
            choice.loses(at == 0 && each != 0);
            choice.sample(at, kMega, took, now);
            if (choice.wanted() != choice.at()) {
                choice.moved(choice.wanted(), now);
                ++moves;
            }
        }
    }
    PathChoice choice{PathChoice::Config{}};
    TimePoint now{1000s};
    Nanos truth{3ms};   // there
    unsigned moves{0};
    unsigned seen{0};
};

TEST_F(BehindTest, IsNotTriedWhereNothingIsLost)
{
    transfers(100'000);
    EXPECT_EQ(moves, 0u);
}

TEST_F(BehindTest, TakesOverWhereLossesCostMoreThanItDoes)
{
    transfers(200, 3, 30ms);   // 11 ms on the average; the least is 1 ms all the same
    EXPECT_EQ(choice.at(), 1u);
    EXPECT_EQ(moves, 1u);
}

// Put off at one of them, its owner asks at the next transfer over the other: who put it off meant both.
TEST_F(BehindTest, PutOffAreAllThatAreBehind)
{
    EXPECT_EQ(choice.add({5000, 2}, true), 2u);
    const auto lossy = [&] {
        now += 10ms;
        choice.loses(true);
        choice.sample(0, kMega, 10ms, now);
        return choice.wanted();
    };
    while (lossy() == 0) {
        ASSERT_LT(now - TimePoint{1000s}, 60s);
    }
    choice.put_off(choice.wanted(), now);
    for (const TimePoint end = now + 900ms; now < end;) {
        ASSERT_EQ(lossy(), 0u);
    }
    for (const TimePoint end = now + 1200ms; now < end && lossy() == 0;) {
    }
    EXPECT_NE(choice.wanted(), 0u);
}

TEST_F(BehindTest, IsLeftWhenLossesEndAndNotBefore)
{
    transfers(200, 3, 30ms);
    ASSERT_EQ(choice.at(), 1u);
    for (const TimePoint end = now + 60s; now < end;) {
        transfers(1, 3, 30ms);
    }
    EXPECT_EQ(choice.at(), 1u);
    EXPECT_LE(moves, 7u) << "trials of home after 10, 20, 40 s";
    for (const TimePoint end = now + 100s; now < end;) {
        transfers(1);
    }
    EXPECT_EQ(choice.at(), 0u);
}

TEST_F(BehindTest, IsTriedLessAndLessWhereItDoesNotHelp)
{
    truth = 9ms;                   // it promised 3
    transfers(20'000, 10, 40ms);   // 5 ms on the average, 100 s
    EXPECT_EQ(choice.at(), 0u);
    EXPECT_GE(moves, 2u);
    EXPECT_LE(moves, 2 * 5u);
}

TEST_F(BehindTest, IsNotTriedWhereItPromisesNoMore)
{
    transfers(10'000, 10, 10ms);   // 2 ms on the average
    EXPECT_EQ(moves, 0u);
}

TEST_F(BehindTest, SingleStopIsNoLoss)
{
    transfers(100);
    transfers(1, 1, 2s);
    transfers(10'000, 1'000'000, 0ms);   // which says that frames are lost
    EXPECT_EQ(moves, 0u) << "but 16 ms of one is all that is believed";
}

TEST(PathChoice, SameCallsGiveTheSameChoice)
{
    std::vector<unsigned> where[2];
    for (auto& w : where) {
        Sender s{{kGigabit, kDouble, kTenth}};
        s.noisy(2);
        for (unsigned i = 0; i < 5000; ++i) {
            s.transfer();
            w.push_back(s.choice.at());
        }
    }
    EXPECT_EQ(where[0], where[1]);
}

}   // namespace
}   // namespace linnet::model
