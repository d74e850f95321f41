// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// MatchSpace against a model: two ordered lists searched from the front, which is the text of MPI 4.0 section 3.5 as a program.
// Random operations, seeded by LINNET_TEST_SEED; a failure prints the seed and the number of the operation.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <iterator>
#include <list>
#include <random>
#include <set>
#include <vector>

#include "match/match_space.h"
#include "support/seed.h"

namespace linnet {
namespace {

constexpr std::uint64_t kAnyTag = 0x7fffffff;

struct Receive : PostedReceive {};
struct Message : UnexpectedMessage {};

class Model {
public:
    UnexpectedMessage* post(PostedReceive& r)
    {
        UnexpectedMessage* m = probe(r.spec);
        if (m != nullptr) {
            unexpected.remove(m);
        } else {
            posted.push_back(&r);
        }
        return m;
    }
    PostedReceive* arrive(PeerId source, std::uint64_t bits)
    {
        const auto r = std::find_if(posted.begin(), posted.end(), [&](auto* p) { return p->spec.accepts(source, bits); });
        if (r == posted.end()) {
            return nullptr;
        }
        PostedReceive* found = *r;
        posted.erase(r);
        return found;
    }
    UnexpectedMessage* probe(const MatchSpec& spec)
    {
        const auto m =
            std::find_if(unexpected.begin(), unexpected.end(), [&](auto* u) { return spec.accepts(u->source, u->bits); });
        return m == unexpected.end() ? nullptr : *m;
    }
    bool cancel(PostedReceive& r)
    {
        const auto at = std::find(posted.begin(), posted.end(), &r);
        const bool queued = at != posted.end();
        if (queued) {
            posted.erase(at);
        }
        return queued;
    }

    std::list<PostedReceive*> posted;
    std::list<UnexpectedMessage*> unexpected;
};

struct Workload {
    const char* name;
    int operations;
    std::uint32_t sources;    // how many different ones
    std::uint64_t tags;
    std::uint64_t classes;    // values of the bits outside the mask
    unsigned wildcards;       // percent of receives with each kind of wildcard
    unsigned other_masks;     // percent of receives with an arbitrary mask
    std::size_t target;       // queue length around which the load swings
    unsigned repeated{0};     // percent of receives that accept the same as the one before
};

class MatchModel : public ::testing::TestWithParam<Workload> {
protected:
    using Random = std::mt19937_64;

    [[nodiscard]] std::uint64_t below(std::uint64_t n) { return random_() % n; }
    [[nodiscard]] bool percent(unsigned p) { return below(100) < p; }

    [[nodiscard]] std::uint64_t some_bits()
    {
        return below(w_.tags) | below(w_.classes) << 31 | (w_.classes > 1000 ? below(2) << 63 : 0);
    }
    [[nodiscard]] PeerId some_source() { return PeerId{static_cast<std::uint32_t>(below(w_.sources))}; }
    [[nodiscard]] MatchSpec some_spec()
    {
        MatchSpec s{percent(w_.wildcards) ? kAnySource : some_source(), some_bits(), 0};
        if (percent(w_.other_masks)) {
            constexpr std::uint64_t kMasks[] = {1, 3, 0xff, ~0ULL, kAnyTag >> 1, ~kAnyTag, 1ULL << 63};
            s.ignore = kMasks[below(std::size(kMasks))];
        } else if (percent(w_.wildcards)) {
            s.ignore = kAnyTag;
        }
        return s;
    }

    Receive& free_receive()
    {
        if (free_receives_.empty()) {
            return receives_.emplace_back();
        }
        const auto at = below(free_receives_.size());
        std::swap(free_receives_[at], free_receives_.back());
        Receive& r = *free_receives_.back();
        free_receives_.pop_back();
        return r;
    }
    Message& free_message()
    {
        if (free_messages_.empty()) {
            return messages_.emplace_back();
        }
        const auto at = below(free_messages_.size());
        std::swap(free_messages_[at], free_messages_.back());
        Message& m = *free_messages_.back();
        free_messages_.pop_back();
        return m;
    }
    void done(PostedReceive& r) { free_receives_.push_back(&static_cast<Receive&>(r)); }
    void done(UnexpectedMessage& m) { free_messages_.push_back(&static_cast<Message&>(m)); }

    void post()
    {
        Receive& r = free_receive();
        r.spec = last_spec_ = percent(w_.repeated) ? last_spec_ : some_spec();
        UnexpectedMessage* expected = model_.post(r);
        ASSERT_EQ(space_.post(r), expected);
        if (expected != nullptr) {
            done(*expected);
            done(r);
        }
    }
    void arrive()
    {
        const PeerId source = some_source();
        const std::uint64_t bits = some_bits();
        PostedReceive* expected = model_.arrive(source, bits);
        ASSERT_EQ(space_.arrive(source, bits), expected);
        if (expected != nullptr) {
            done(*expected);
            return;
        }
        Message& m = free_message();
        m.source = source;
        m.bits = bits;
        model_.unexpected.push_back(&m);
        space_.add_unexpected(m);
    }
    void probe(bool claim)
    {
        const MatchSpec spec = some_spec();
        UnexpectedMessage* expected = model_.probe(spec);
        ASSERT_EQ(space_.probe(spec), expected);
        if (claim && expected != nullptr) {
            model_.unexpected.remove(expected);
            space_.claim(*expected);
            done(*expected);
        }
    }
    void cancel()
    {
        if (receives_.empty()) {
            return;
        }
        Receive& r = receives_[below(receives_.size())];   // often one that is not queued
        const bool expected = model_.cancel(r);
        ASSERT_EQ(space_.cancel(r), expected);
        if (expected) {
            done(r);
        }
    }
    void detach(bool all)
    {
        const PeerId peer = some_source();
        const auto receive_leaves = [&](const PostedReceive* r) { return all || r->spec.source == peer; };
        const auto message_leaves = [&](const UnexpectedMessage* m) { return all || m->source == peer; };
        std::set<PostedReceive*> expected;
        std::copy_if(model_.posted.begin(), model_.posted.end(), std::inserter(expected, expected.end()), receive_leaves);
        std::set<PostedReceive*> receives;
        auto posted = all ? space_.detach_posted() : space_.detach_posted(peer);
        while (PostedReceive* r = posted.pop()) {
            receives.insert(r);
            done(*r);
        }
        ASSERT_EQ(receives, expected);
        model_.posted.remove_if(receive_leaves);

        auto unexpected = all ? space_.detach_unexpected() : space_.detach_unexpected(peer);
        for (UnexpectedMessage* m : model_.unexpected) {
            if (message_leaves(m)) {
                ASSERT_EQ(unexpected.pop(), m);
                done(*m);
            }
        }
        ASSERT_TRUE(unexpected.empty());
        model_.unexpected.remove_if(message_leaves);
    }

    // The load swings: phases in which posting prevails alternate with phases in which arrivals do.
    void step(int i)
    {
        const bool posting = i / static_cast<int>(4 * w_.target) % 2 == 0;
        const std::uint64_t dice = below(1000);
        if (dice < 600) {
            posting ? post() : arrive();
        } else if (dice < 850) {
            posting ? arrive() : post();
        } else if (dice < 900) {
            probe(false);
        } else if (dice < 950) {
            probe(true);
        } else if (dice < 997) {
            cancel();
        } else {
            detach(model_.posted.size() + model_.unexpected.size() > 4 * w_.target || below(100) == 0);
        }
    }

    Workload w_{GetParam()};
    std::uint64_t seed_{testing::test_seed(20260101)};
    Random random_{seed_};
    MatchSpec last_spec_;
    Model model_;
    MatchSpace space_{kAnyTag, seed_};
    std::deque<Receive> receives_;
    std::deque<Message> messages_;
    std::vector<Receive*> free_receives_;
    std::vector<Message*> free_messages_;
};

TEST_P(MatchModel, AgreesWithOrderedLists)
{
    std::size_t most_posted = 0;
    std::size_t most_unexpected = 0;
    for (int i = 0; i < w_.operations; ++i) {
        step(i);
        if (HasFatalFailure()) {
            FAIL() << "workload " << w_.name << " operation " << i;
        }
        ASSERT_EQ(space_.posted(), model_.posted.size());
        ASSERT_EQ(space_.unexpected(), model_.unexpected.size());
        most_posted = std::max(most_posted, space_.posted());
        most_unexpected = std::max(most_unexpected, space_.unexpected());
    }
    EXPECT_GT(most_posted, w_.target / 2) << "the workload does not reach the lengths it is meant to test";
    EXPECT_GT(most_unexpected, w_.target / 2);
}

// Together a little under 2 million operations.
INSTANTIATE_TEST_SUITE_P(Workloads, MatchModel,
                         ::testing::Values(Workload{"Tiny", 300000, 2, 2, 1, 30, 10, 4},             // rings only, mostly
                                           Workload{"Boundary", 400000, 3, 3, 2, 25, 10, 12},        // to and from the index
                                           Workload{"Runs", 300000, 2, 3, 1, 30, 10, 40, 85},        // of equal receives
                                           Workload{"FewRuns", 300000, 3, 4, 2, 25, 10, 100, 97},    // in rings, mostly
                                           Workload{"FewKeys", 300000, 3, 4, 2, 20, 5, 100},         // long chains
                                           Workload{"ManyKeys", 200000, 50, 50, 5, 10, 3, 200},      // many chains
                                           Workload{"HugeKeys", 60000, 100000, kAnyTag + 1, 1ULL << 32, 3, 1, 300},
                                           Workload{"ExactOnly", 60000, 40, 40, 2, 0, 0, 400},
                                           Workload{"MasksOnly", 60000, 4, 16, 2, 20, 100, 60}),
                         [](const auto& p) { return p.param.name; });

}   // namespace
}   // namespace linnet
