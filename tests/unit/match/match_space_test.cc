// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The rules of MPI matching, one behaviour per case. Every rule is tested with a short queue and with a long one, because the two
// are kept in different structures.
#include "match/match_space.h"

#include <gtest/gtest.h>

#include <deque>
#include <set>

namespace linnet {
namespace {

constexpr std::uint64_t kAnyTag = 0x7fffffff;
constexpr PeerId kAlice{1};
constexpr PeerId kBob{2};
constexpr PeerId kStranger{999};

struct Receive : PostedReceive {
    Receive(PeerId source, std::uint64_t bits, std::uint64_t ignore = 0) { spec = {source, bits, ignore}; }
};
struct Message : UnexpectedMessage {
    Message(PeerId from, std::uint64_t b) { source = from, bits = b; }
};

// The parameter is the number of unrelated entries queued before those of the test, in both queues.
class Matching : public ::testing::TestWithParam<int> {
protected:
    Matching()
    {
        for (int i = 0; i < GetParam(); ++i) {
            const std::uint64_t bits = 0x5000000000000000 + static_cast<std::uint64_t>(i);
            space_.add_unexpected(other_messages_.emplace_back(kStranger, bits));
            EXPECT_EQ(space_.post(other_receives_.emplace_back(kStranger, bits ^ 0x2000000000000000)), nullptr);
        }
    }
    void post(Receive& r) { EXPECT_EQ(space_.post(r), nullptr); }
    void arrive(Message& m)
    {
        EXPECT_EQ(space_.arrive(m.source, m.bits), nullptr);
        space_.add_unexpected(m);
    }
    [[nodiscard]] std::size_t posted() const { return space_.posted() - static_cast<std::size_t>(GetParam()); }
    [[nodiscard]] std::size_t unexpected() const { return space_.unexpected() - static_cast<std::size_t>(GetParam()); }

    std::deque<Receive> other_receives_;
    std::deque<Message> other_messages_;
    MatchSpace space_{kAnyTag};
};

INSTANTIATE_TEST_SUITE_P(QueueLengths, Matching, ::testing::Values(0, 3, 8, 100),
                         [](const auto& p) { return "Behind" + std::to_string(p.param); });

// ---- MatchSpec ----

TEST(MatchSpec, ComparesSourceAndAllBitsThatAreNotIgnored)
{
    const MatchSpec exact{kAlice, 7, 0};
    EXPECT_TRUE(exact.accepts(kAlice, 7));
    EXPECT_FALSE(exact.accepts(kBob, 7));
    EXPECT_FALSE(exact.accepts(kAlice, 8));
    EXPECT_TRUE((MatchSpec{kAnySource, 7, 0}.accepts(kBob, 7)));
    EXPECT_TRUE((MatchSpec{kAlice, 0x10, 0xf}.accepts(kAlice, 0x1f)));
    EXPECT_FALSE((MatchSpec{kAlice, 0x10, 0xf}.accepts(kAlice, 0x2f)));
}

TEST(MatchSpec, IgnoredBitsOfTheSpecItselfDoNotMatter)
{
    EXPECT_TRUE((MatchSpec{kAlice, 0x1a, 0xf}.accepts(kAlice, 0x15)));
}

// ---- arriving messages ----

TEST_P(Matching, MessageFindsTheExactReceive)
{
    Receive r{kAlice, 7};
    post(r);
    EXPECT_EQ(space_.arrive(kAlice, 7), &r);
    EXPECT_EQ(posted(), 0U);
    EXPECT_EQ(space_.arrive(kAlice, 7), nullptr);
}

TEST_P(Matching, MessageOfAnotherSourceTagOrClassFindsNothing)
{
    Receive r{kAlice, 7};
    post(r);
    EXPECT_EQ(space_.arrive(kBob, 7), nullptr);
    EXPECT_EQ(space_.arrive(kAlice, 8), nullptr);
    EXPECT_EQ(space_.arrive(kAlice, 7 | 1ULL << 40), nullptr);
    EXPECT_EQ(posted(), 1U);
}

TEST_P(Matching, EqualReceivesMatchInPostingOrder)
{
    Receive first{kAlice, 7};
    Receive second{kAlice, 7};
    Receive third{kAlice, 7};
    post(first);
    post(second);
    post(third);
    EXPECT_EQ(space_.arrive(kAlice, 7), &first);
    EXPECT_EQ(space_.arrive(kAlice, 7), &second);
    EXPECT_EQ(space_.arrive(kAlice, 7), &third);
}

TEST_P(Matching, OlderWildcardWinsOverYoungerExactReceive)
{
    for (const Receive& wild : {Receive{kAnySource, 7}, Receive{kAlice, 0, kAnyTag}, Receive{kAnySource, 0, kAnyTag},
                                Receive{kAlice, 5, 0x2}, Receive{kAnySource, 3, 0x4}}) {
        Receive older{wild.spec.source, wild.spec.bits, wild.spec.ignore};
        Receive exact{kAlice, 7};
        post(older);
        post(exact);
        EXPECT_EQ(space_.arrive(kAlice, 7), &older);
        EXPECT_EQ(space_.arrive(kAlice, 7), &exact);
    }
}

TEST_P(Matching, OlderExactReceiveWinsOverYoungerWildcard)
{
    for (const Receive& wild : {Receive{kAnySource, 7}, Receive{kAlice, 0, kAnyTag}, Receive{kAnySource, 0, kAnyTag},
                                Receive{kAlice, 5, 0x2}, Receive{kAnySource, 3, 0x4}}) {
        Receive exact{kAlice, 7};
        Receive younger{wild.spec.source, wild.spec.bits, wild.spec.ignore};
        post(exact);
        post(younger);
        EXPECT_EQ(space_.arrive(kAlice, 7), &exact);
        EXPECT_EQ(space_.arrive(kAlice, 7), &younger);
    }
}

TEST_P(Matching, AllKindsOfReceivesMatchInPostingOrder)
{
    Receive masked{kAnySource, 3, 0x4};
    Receive any_tag{kAlice, 0, kAnyTag};
    Receive exact{kAlice, 7};
    Receive any_any{kAnySource, 0, kAnyTag};
    Receive any_source{kAnySource, 7};
    for (Receive* r : {&masked, &any_tag, &exact, &any_any, &any_source}) {
        post(*r);
    }
    for (Receive* r : {&masked, &any_tag, &exact, &any_any, &any_source}) {
        EXPECT_EQ(space_.arrive(kAlice, 7), r);
    }
}

TEST_P(Matching, AnyTagComparesTheBitsOutsideItsMask)
{
    constexpr std::uint64_t kInternal = 0x80000000;   // a negative tag of the MPI library's own
    Receive any_tag{kAlice, 0, kAnyTag};
    post(any_tag);
    EXPECT_EQ(space_.arrive(kAlice, kInternal | 5), nullptr);
    EXPECT_EQ(space_.arrive(kAlice, 5), &any_tag);
}

TEST_P(Matching, OneComparedBitIsEnoughToReject)
{
    Receive nearly_all{kAnySource, 0x1234, ~(1ULL << 62)};   // the unrelated entries have bit 62
    post(nearly_all);
    EXPECT_EQ(space_.arrive(kBob, 0xfeadbeefdeadbeef), nullptr);
    EXPECT_EQ(space_.arrive(kBob, 0xbeadbeefdeadbeef), &nearly_all);
}

// ---- posting ----

TEST_P(Matching, ReceiveTakesTheOldestMessageItAccepts)
{
    Message other{kAlice, 6};
    Message first{kAlice, 7};
    Message second{kAlice, 7};
    arrive(other);
    arrive(first);
    arrive(second);
    Receive r{kAlice, 7};
    EXPECT_EQ(space_.post(r), &first);
    EXPECT_EQ(space_.post(r), &second);
    EXPECT_EQ(unexpected(), 1U);
    EXPECT_EQ(posted(), 0U);
}

TEST_P(Matching, AnySourceTakesInOrderOfArrivalOverAllSources)
{
    Message m1{kBob, 7};
    Message m2{kAlice, 7};
    Message m3{kBob, 7};
    arrive(m1);
    arrive(m2);
    arrive(m3);
    Receive any{kAnySource, 7};
    EXPECT_EQ(space_.post(any), &m1);
    EXPECT_EQ(space_.post(any), &m2);
    EXPECT_EQ(space_.post(any), &m3);
}

TEST_P(Matching, AnyTagTakesInOrderOfArrivalOverAllTagsOfItsClass)
{
    Message internal{kAlice, 0x80000001};
    Message m9{kAlice, 9};
    Message of_bob{kBob, 1};
    Message m1{kAlice, 1};
    arrive(internal);
    arrive(m9);
    arrive(of_bob);
    arrive(m1);
    Receive any_tag{kAlice, 0, kAnyTag};
    EXPECT_EQ(space_.post(any_tag), &m9);
    EXPECT_EQ(space_.post(any_tag), &m1);
    EXPECT_EQ(space_.post(any_tag), nullptr);
    EXPECT_TRUE(space_.cancel(any_tag));
}

TEST_P(Matching, AnySourceAnyTagTakesInOrderOfArrival)
{
    Message internal{kAlice, 0x80000001};
    Message m9{kAlice, 9};
    Message of_bob{kBob, 1};
    arrive(internal);
    arrive(m9);
    arrive(of_bob);
    Receive any{kAnySource, 0, kAnyTag};
    EXPECT_EQ(space_.post(any), &m9);
    EXPECT_EQ(space_.post(any), &of_bob);
    EXPECT_EQ(space_.post(any), nullptr);
    EXPECT_TRUE(space_.cancel(any));
}

TEST_P(Matching, ArbitraryMaskTakesTheOldestMessageItAccepts)
{
    Message m1{kAlice, 0x21};
    Message m2{kBob, 0x13};
    Message m3{kAlice, 0x12};
    arrive(m1);
    arrive(m2);
    arrive(m3);
    Receive masked{kAlice, 0x10, 0xf};
    EXPECT_EQ(space_.post(masked), &m3);
    Receive any_masked{kAnySource, 0x10, 0xf};
    EXPECT_EQ(space_.post(any_masked), &m2);
}

TEST_P(Matching, MessageArrivingAgainIsTheYoungest)
{
    Message m1{kAlice, 7};
    Message m2{kBob, 7};
    arrive(m1);
    arrive(m2);
    Receive any{kAnySource, 7};
    EXPECT_EQ(space_.post(any), &m1);
    arrive(m1);
    EXPECT_EQ(space_.post(any), &m2);
    EXPECT_EQ(space_.post(any), &m1);
}

// ---- cancel ----

TEST_P(Matching, CancelledReceiveDoesNotMatch)
{
    Receive first{kAlice, 7};
    Receive second{kAlice, 7};
    post(first);
    post(second);
    EXPECT_TRUE(space_.cancel(first));
    EXPECT_EQ(space_.arrive(kAlice, 7), &second);
    EXPECT_EQ(posted(), 0U);
}

TEST_P(Matching, CancelAtEveryPlaceOfAChainKeepsTheOthersInOrder)
{
    for (std::size_t victim = 0; victim < 4; ++victim) {
        std::deque<Receive> r;
        for (int i = 0; i < 4; ++i) {
            post(r.emplace_back(kAlice, 7));
        }
        EXPECT_TRUE(space_.cancel(r[victim]));
        for (std::size_t i = 0; i < 4; ++i) {
            if (i != victim) {
                EXPECT_EQ(space_.arrive(kAlice, 7), &r[i]) << "victim " << victim;
            }
        }
    }
}

TEST_P(Matching, RunsOfEqualReceivesStayInOrderWhileTheQueueGrowsAndShrinks)
{
    constexpr std::size_t kRun = 20;
    for (int others = 0; others < 12; ++others) {   // up to more specs than a short queue holds
        std::deque<Receive> exact, wild, unrelated;
        for (std::size_t i = 0; i < kRun; ++i) {
            post(exact.emplace_back(kAlice, 7));
        }
        for (std::size_t i = 0; i < kRun; ++i) {
            post(wild.emplace_back(kAnySource, 7));
        }
        for (int i = 0; i < others; ++i) {
            post(unrelated.emplace_back(kBob, 100 + static_cast<std::uint64_t>(i)));
        }
        post(exact.emplace_back(kAlice, 7));   // equal to the first ones, and not posted right behind them
        EXPECT_EQ(posted(), 2 * kRun + 1 + static_cast<std::size_t>(others));
        EXPECT_EQ(space_.arrive(kBob, 7), &wild[0]);
        EXPECT_TRUE(space_.cancel(exact[0]) && space_.cancel(exact[kRun - 1]) && space_.cancel(exact[5]) && space_.cancel(wild[kRun - 1]));
        for (std::size_t i = 1; i < kRun - 1; ++i) {
            if (i != 5) {
                EXPECT_EQ(space_.arrive(kAlice, 7), &exact[i]);
            }
        }
        for (std::size_t i = 1; i < kRun - 1; ++i) {
            EXPECT_EQ(space_.arrive(kAlice, 7), &wild[i]);
        }
        EXPECT_EQ(space_.arrive(kAlice, 7), &exact[kRun]);
        EXPECT_EQ(space_.arrive(kAlice, 7), nullptr);
        for (Receive& r : unrelated) {
            EXPECT_EQ(space_.arrive(kBob, r.spec.bits), &r);
        }
        EXPECT_EQ(posted(), 0U);
    }
}

TEST_P(Matching, CancelSaysWhetherTheReceiveWasQueued)
{
    Receive r{kAlice, 7};
    EXPECT_FALSE(space_.cancel(r)) << "never posted";
    post(r);
    EXPECT_TRUE(space_.cancel(r));
    EXPECT_FALSE(space_.cancel(r)) << "cancelled";
    post(r);
    EXPECT_EQ(space_.arrive(kAlice, 7), &r);
    EXPECT_FALSE(space_.cancel(r)) << "matched";
}

TEST_P(Matching, DetachedReceiveIsNotQueuedEvenBeforeItIsPopped)
{
    Receive r1{kAlice, 7};
    Receive r2{kAlice, 8};
    post(r1);
    post(r2);
    auto detached = space_.detach_posted(kAlice);
    EXPECT_FALSE(space_.cancel(r1));
    EXPECT_FALSE(space_.cancel(r2));
    EXPECT_NE(detached.pop(), nullptr);
    EXPECT_NE(detached.pop(), nullptr);
    EXPECT_EQ(detached.pop(), nullptr);
    EXPECT_TRUE(detached.empty());
}

// ---- probe and claim ----

TEST_P(Matching, ProbeFindsTheOldestAndLeavesIt)
{
    Message m1{kAlice, 7};
    Message m2{kAlice, 7};
    arrive(m1);
    arrive(m2);
    EXPECT_EQ(space_.probe({kAlice, 7, 0}), &m1);
    EXPECT_EQ(space_.probe({kAnySource, 0, kAnyTag}), &m1);
    EXPECT_EQ(space_.probe({kAlice, 0, kAnyTag}), &m1);
    EXPECT_EQ(space_.probe({kAlice, 5, 0x2}), &m1);
    EXPECT_EQ(space_.probe({kBob, 7, 0}), nullptr);
    EXPECT_EQ(unexpected(), 2U);
}

TEST_P(Matching, ClaimedMessageIsSeenByNobodyElse)
{
    Message m1{kAlice, 7};
    Message m2{kAlice, 7};
    arrive(m1);
    arrive(m2);
    space_.claim(m1);
    EXPECT_EQ(space_.probe({kAlice, 7, 0}), &m2);
    Receive r{kAnySource, 0, kAnyTag};
    EXPECT_EQ(space_.post(r), &m2);
    EXPECT_EQ(unexpected(), 0U);
}

TEST_P(Matching, ClaimAtEveryPlaceKeepsTheOthersInOrderForEveryKindOfReceive)
{
    for (const MatchSpec& spec : {MatchSpec{kAlice, 7, 0}, MatchSpec{kAnySource, 7, 0}, MatchSpec{kAlice, 0, kAnyTag},
                                  MatchSpec{kAnySource, 0, kAnyTag}, MatchSpec{kAlice, 5, 0x2}}) {
        for (std::size_t victim = 0; victim < 4; ++victim) {
            std::deque<Message> m;
            for (int i = 0; i < 4; ++i) {
                arrive(m.emplace_back(kAlice, 7));
            }
            space_.claim(m[victim]);
            Receive r{spec.source, spec.bits, spec.ignore};
            for (std::size_t i = 0; i < 4; ++i) {
                if (i != victim) {
                    EXPECT_EQ(space_.post(r), &m[i]) << "victim " << victim;
                }
            }
        }
    }
}

// ---- death of a peer, end of the space ----

TEST_P(Matching, DeadPeersReceivesAreThoseThatNameIt)
{
    Receive exact{kAlice, 7};
    Receive any_tag{kAlice, 0, kAnyTag};
    Receive masked{kAlice, 0, 0x3};
    Receive any_source{kAnySource, 7};
    Receive of_bob{kBob, 7};
    for (Receive* r : {&exact, &any_source, &any_tag, &of_bob, &masked}) {
        post(*r);
    }
    std::set<PostedReceive*> detached;
    auto list = space_.detach_posted(kAlice);
    while (PostedReceive* r = list.pop()) {
        detached.insert(r);
    }
    EXPECT_EQ(detached, (std::set<PostedReceive*>{&exact, &any_tag, &masked}));
    EXPECT_EQ(posted(), 2U);
    EXPECT_EQ(space_.arrive(kAlice, 7), &any_source);
    EXPECT_EQ(space_.arrive(kBob, 7), &of_bob);
}

TEST_P(Matching, DeadPeersMessagesLeaveOldestFirst)
{
    Message m1{kAlice, 9};
    Message of_bob{kBob, 7};
    Message m2{kAlice, 1};
    arrive(m1);
    arrive(of_bob);
    arrive(m2);
    auto list = space_.detach_unexpected(kAlice);
    EXPECT_EQ(list.pop(), &m1);
    EXPECT_EQ(list.pop(), &m2);
    EXPECT_EQ(list.pop(), nullptr);
    EXPECT_EQ(space_.probe({kAnySource, 0, kAnyTag}), &of_bob);
    EXPECT_EQ(unexpected(), 1U);
}

TEST_P(Matching, ClosingDetachesEverythingAndTheSpaceStaysUsable)
{
    Receive r{kAlice, 7};
    Receive masked{kBob, 0, 0x3};
    Message m{kAlice, 9};
    post(r);
    post(masked);
    arrive(m);
    std::size_t receives = 0;
    for (auto list = space_.detach_posted(); list.pop() != nullptr;) {
        ++receives;
    }
    std::size_t messages = 0;
    for (auto list = space_.detach_unexpected(); list.pop() != nullptr;) {
        ++messages;
    }
    EXPECT_EQ(receives, static_cast<std::size_t>(GetParam()) + 2);
    EXPECT_EQ(messages, static_cast<std::size_t>(GetParam()) + 1);
    EXPECT_EQ(space_.posted() + space_.unexpected(), 0U);
    EXPECT_EQ(space_.post(r), nullptr);
    EXPECT_EQ(space_.arrive(kAlice, 7), &r);
}

// ---- masks at the edges ----

TEST(MatchSpaceMask, ZeroWildMaskMakesAllReceivesWithoutIgnoreExact)
{
    MatchSpace space{0};
    Receive r{kAlice, 7};
    EXPECT_EQ(space.post(r), nullptr);
    EXPECT_EQ(space.arrive(kAlice, 6), nullptr);
    EXPECT_EQ(space.arrive(kAlice, 7), &r);
}

TEST(MatchSpaceMask, FullWildMaskKeepsArrivalOrderInALongQueue)
{
    MatchSpace space{~0ULL};
    std::deque<Message> m;
    for (std::uint64_t i = 0; i < 50; ++i) {
        space.add_unexpected(m.emplace_back(PeerId{static_cast<std::uint32_t>(i % 3)}, i * 0x123456789));
    }
    Receive any{kAnySource, 42, ~0ULL};
    for (Message& expected : m) {
        EXPECT_EQ(space.post(any), &expected);
    }
}

// ---- cost ----

// The depth of searches must not grow with the length of the queue, however regular the keys are; nor for some seeds.
TEST(MatchSpaceCost, LongQueuesAreSearchedInConstantDepth)
{
    constexpr std::uint32_t kDepth = 2000;
    for (unsigned shift = 0; shift < 56; shift += 3) {
        for (const std::uint64_t seed : {0x0ULL, 0x1ULL, ~0x0ULL, 0x9E3779B97F4A7C15ULL}) {
            for (unsigned kind = 0; kind < 5; ++kind) {
                MatchSpace space{kAnyTag, seed};
                std::deque<Receive> r;
                for (std::uint32_t i = 0; i < kDepth; ++i) {
                    const std::uint64_t bits = std::uint64_t{i} << shift;
                    const MatchSpec specs[] = {
                        {kAlice, bits, 0}, {PeerId{i}, 7, 0}, {PeerId{i}, bits, 0}, {kAnySource, bits, 0}, {PeerId{i}, bits, kAnyTag}};
                    Receive& next = r.emplace_back(specs[kind].source, specs[kind].bits, specs[kind].ignore);
                    ASSERT_EQ(space.post(next), nullptr);
                }
                const MatchStats before = space.stats();
                for (Receive& oldest : r) {   // equal ones, where high bits of i are shifted out, are in order of posting
                    const PeerId source = kind == 3 ? kBob : oldest.spec.source;
                    ASSERT_EQ(space.arrive(source, oldest.spec.bits), &oldest);
                }
                const auto examined = static_cast<double>(space.stats().examined - before.examined);
                EXPECT_LT(examined / kDepth, 1.7) << "shift " << shift << " seed " << seed << " kind " << kind;
            }
        }
    }
}

TEST(MatchSpaceCost, LongUnexpectedQueuesAreSearchedInConstantDepthInAnyOrder)
{
    constexpr std::uint32_t kDepth = 2000;
    for (const MatchSpec& kind : {MatchSpec{kAlice, 0, 0}, MatchSpec{kAnySource, 0, 0}}) {
        for (const std::uint32_t stride : {1U, kDepth - 1, 777U}) {   // oldest first, youngest first, all over
            MatchSpace space{kAnyTag};
            std::deque<Message> m;
            for (std::uint32_t i = 0; i < kDepth; ++i) {
                space.add_unexpected(m.emplace_back(kAlice, i));
            }
            const MatchStats before = space.stats();
            for (std::uint32_t n = 0; n < kDepth; ++n) {
                const std::uint32_t i = (n * stride + stride - 1) % kDepth;
                Receive r{kind.source, i};
                ASSERT_EQ(space.post(r), &m[i]);
            }
            const auto examined = static_cast<double>(space.stats().examined - before.examined);
            EXPECT_LT(examined / kDepth, 2.7) << "stride " << stride;   // one of it to make the table
        }
    }
}

TEST(MatchSpaceCost, EqualKeysAreOneChain)
{
    MatchSpace space{kAnyTag};
    std::deque<Receive> r;
    for (int i = 0; i < 10000; ++i) {
        ASSERT_EQ(space.post(r.emplace_back(kAnySource, 7)), nullptr);
    }
    const MatchStats before = space.stats();
    for (Receive& expected : r) {
        ASSERT_EQ(space.arrive(kBob, 7), &expected);
    }
    EXPECT_EQ(space.stats().searches - before.searches, 10000U);
    EXPECT_EQ(space.stats().examined - before.examined, 10000U);
}

TEST(MatchSpaceCost, IdleSpaceAndElementsAreSmall)
{
    EXPECT_LE(sizeof(MatchSpace), 512U);
    EXPECT_LE(sizeof(PostedReceive), 96U);
    EXPECT_LE(sizeof(UnexpectedMessage), 96U);
}

}   // namespace
}   // namespace linnet
