// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Cost of matching: one post() plus one arrive() (or add_unexpected() plus post()) with many entries queued.
//
// posted: `depth` receives stay posted; the message of one of them arrives, and that receive is posted again.
// unexpected: `depth` messages stay waiting; the receive of one of them is posted, and that message arrives again.
// burst: `depth` receives are queued in an empty space and then all matched, tables growing and shrinking on the way.
// The time is that of the whole cycle. The counter match_ns is the matching half alone: cycles are done in batches, with the clock read between
// the halves; with deep queues a batch is of one space, and what must be found as cold as the order of visits makes it; with short ones (names that
// end in /spaces) each match of a batch is in a space of its own, all of which fit into the second-level cache. What arrives or is being posted is
// warm, as it is in life. Every match is compared with the expected partner: a wrong one aborts.
//
// Names: scenario/depth/how the keys of entries differ/which wildcards receives use/which entry is matched next.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <numeric>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "match/match_space.h"

namespace linnet {
namespace {

constexpr std::uint64_t kTagMask = 0x7fffffff;

enum Keys : std::uint32_t { kSameKey, kTags, kSources, kBoth };
enum Receives : std::uint32_t { kExactOnly, kAnySourceOnly, kAnyTagOnly, kAnyAnyOnly, kMixed, kMixedClasses };
enum Order : std::uint32_t { kOldestFirst, kShuffled, kNewestFirst };

const char* name_of(Keys k)
{
    return std::array{"same_key", "tags", "sources", "tags_and_sources"}[static_cast<std::size_t>(k)];
}
const char* name_of(Receives r)
{
    return std::array{"exact", "any_source", "any_tag", "any_any", "mixed", "mixed_classes"}[static_cast<std::size_t>(r)];
}
const char* name_of(Order o)
{
    return std::array{"oldest_first", "shuffled", "newest_first"}[static_cast<std::size_t>(o)];
}

// What a core's records look like in memory: the links are a part of something larger.
struct Receive : PostedReceive {
    std::uint64_t state[10]{};
};
struct Message : UnexpectedMessage {
    std::uint64_t state[4]{};
};
static_assert(sizeof(Receive) == 128 && sizeof(Message) == 128);

struct Envelope {
    PeerId source;
    std::uint64_t bits;
};

// Entry i of the pattern. The upper half of the bits is a class that "any tag" still compares. It differs from entry to entry where
// wildcards would otherwise make them equal, so that the pattern says which entry must match; except in "mixed", where a wildcard
// takes the oldest of all it accepts.
Envelope envelope(std::uint32_t i, Keys keys, Receives receives)
{
    const std::uint32_t tag = keys == kTags || keys == kBoth ? i : 7;
    const std::uint32_t source = keys == kSources || keys == kBoth ? i : 3;
    const bool distinct_class = keys != kSameKey && receives != kExactOnly && receives != kMixed;
    return {PeerId{source}, (distinct_class ? std::uint64_t{i} << 32 : 0) | tag};
}

MatchSpec spec(std::uint32_t i, Envelope e, Receives receives)
{
    const std::uint32_t kind = receives >= kMixed ? i % 4 : static_cast<std::uint32_t>(receives);
    return {(kind & 1) != 0 ? kAnySource : e.source, e.bits, (kind & 2) != 0 ? kTagMask : 0};
}

// Whole rounds over all entries, at least `least` visits, each shuffled anew, so that the order of a visit is not that of the previous one.
std::vector<std::uint32_t> visiting_order(std::uint32_t depth, Order order, std::size_t least)
{
    std::vector<std::uint32_t> round(depth);
    std::iota(round.begin(), round.end(), 0U);
    if (order == kNewestFirst) {
        std::reverse(round.begin(), round.end());
    }
    std::vector<std::uint32_t> visits;
    std::mt19937 random{20};
    do {
        if (order == kShuffled) {
            std::shuffle(round.begin(), round.end(), random);
        }
        visits.insert(visits.end(), round.begin(), round.end());
    } while (visits.size() < least);
    return visits;
}

[[noreturn]] void wrong_match()
{
    std::fputs("match_bench: wrong match\n", stderr);
    std::abort();
}

struct Pattern {
    const char* scenario;
    std::uint32_t depth;
    Keys keys;
    Receives receives;
    Order order;
};

struct Setup {
    explicit Setup(const Pattern& p, std::size_t least_visits = 40000)
        : pattern{p}, batch{p.depth >= 1000 ? 1000U : 1U}, visits{visiting_order(p.depth, p.order, least_visits)},
          receives{std::make_unique<Receive[]>(p.depth)}, messages{std::make_unique<Message[]>(p.depth)}, waiting(p.depth)
    {
        for (std::uint32_t i = 0; i < p.depth; ++i) {
            const Envelope e = envelope(i, p.keys, p.receives);
            receives[i].spec = spec(i, e, p.receives);
            messages[i].source = e.source;
            messages[i].bits = e.bits;
        }
    }
    // The entries of the next batch, all different.
    std::span<const std::uint32_t> next_batch()
    {
        if (at == visits.size()) {
            at = 0;
        }
        at += batch;
        return {visits.data() + at - batch, batch};
    }
    [[nodiscard]] bool identified() const { return pattern.keys != kSameKey && pattern.receives != kMixed; }
    // The message for receive `i` arrives.
    PostedReceive& arrive(std::uint32_t i)
    {
        const Envelope e = envelope(i, pattern.keys, pattern.receives);
        PostedReceive* r = space.arrive(e.source, e.bits);
        if (r == nullptr || (identified() && r != &receives[i])) {
            wrong_match();
        }
        return *r;
    }
    // The receive for message `i` is posted; for any message when `i` went to an older wildcard.
    UnexpectedMessage& receive(std::uint32_t i)
    {
        const Envelope e = envelope(i, pattern.keys, pattern.receives);
        warm.spec = waiting[i] != 0 ? spec(i, e, pattern.receives) : MatchSpec{kAnySource, e.bits, kTagMask};
        UnexpectedMessage* m = space.post(warm);
        if (m == nullptr || (identified() && m != &messages[i])) {
            wrong_match();
        }
        waiting[index(*m)] = 0;
        return *m;
    }
    [[nodiscard]] std::size_t index(UnexpectedMessage& m) const
    {
        return static_cast<std::size_t>(static_cast<Message*>(&m) - messages.get());
    }
    void post(PostedReceive& r)
    {
        if (space.post(r) != nullptr) {
            wrong_match();
        }
    }
    void queue(UnexpectedMessage& m)
    {
        if (space.arrive(m.source, m.bits) != nullptr) {
            wrong_match();
        }
        waiting[index(m)] = 1;
        space.add_unexpected(m);
    }

    Pattern pattern;
    std::uint32_t batch;
    std::vector<std::uint32_t> visits;
    std::size_t at{0};
    std::unique_ptr<Receive[]> receives;
    std::unique_ptr<Message[]> messages;
    std::vector<std::uint8_t> waiting;   // apart from the messages, which stay cold
    Receive warm;
    MatchSpace space{kTagMask, 0x5eed};
};

std::chrono::nanoseconds cpu_time()   // of this thread, because the machine may be shared
{
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

// The two queues of a space: what stays in it, how an entry is taken out of it, and how it gets there again.
struct PostedQueue {
    using Element = PostedReceive;
    static void fill(Setup& s, std::uint32_t i) { s.post(s.receives[i]); }
    static Element& match(Setup& s, std::uint32_t i) { return s.arrive(i); }
    static void queue(Setup& s, Element& r) { s.post(r); }
};
struct UnexpectedQueue {
    using Element = UnexpectedMessage;
    static void fill(Setup& s, std::uint32_t i) { s.queue(s.messages[i]); }
    static Element& match(Setup& s, std::uint32_t i) { return s.receive(i); }
    static void queue(Setup& s, Element& m) { s.queue(m); }
};

template <class Queue>
void fill(Setup& s)
{
    for (std::uint32_t i = 0; i < s.pattern.depth; ++i) {
        Queue::fill(s, i);
    }
}

// Cycles in one space: the entries of a batch are matched, then queued again.
template <class Queue>
void in_one_space(benchmark::State& state, const Pattern& p)
{
    Setup s{p};
    fill<Queue>(s);
    std::vector<typename Queue::Element*> matched(s.batch);
    for (std::uint32_t n = 0; n < p.depth; n += s.batch) {   // once round untimed: tables that searches need exist
        std::size_t k = 0;
        for (const std::uint32_t i : s.next_batch()) {
            matched[k++] = &Queue::match(s, i);
        }
        for (auto* e : matched) {
            Queue::queue(s, *e);
        }
    }
    std::chrono::nanoseconds matching{0};
    std::uint64_t cycles = 0;
    while (state.KeepRunningBatch(s.batch)) {
        if (s.batch == 1) {
            Queue::queue(s, Queue::match(s, s.next_batch()[0]));
            continue;
        }
        const auto begin = cpu_time();
        std::size_t n = 0;
        for (const std::uint32_t i : s.next_batch()) {
            matched[n++] = &Queue::match(s, i);
        }
        matching += cpu_time() - begin;
        for (auto* e : matched) {
            Queue::queue(s, *e);
        }
        cycles += s.batch;
    }
    if (cycles != 0) {
        state.counters["match_ns"] = static_cast<double>(matching.count()) / static_cast<double>(cycles);
    }
}

// The same for queues that are too short to hold a batch: one cycle in each of many spaces.
template <class Queue>
void in_many_spaces(benchmark::State& state, const Pattern& p)
{
    constexpr std::size_t kSpaces = 256;
    std::vector<std::unique_ptr<Setup>> spaces;
    for (std::size_t n = 0; n < kSpaces; ++n) {
        spaces.push_back(std::make_unique<Setup>(p, n == 0 ? 40000 : 1));   // all follow the visits of the first
        fill<Queue>(*spaces.back());
    }
    std::array<typename Queue::Element*, kSpaces> matched{};
    std::chrono::nanoseconds matching{0};
    std::chrono::nanoseconds reading{0};   // what the clock itself takes, the same number of times
    std::uint64_t batches = 0;
    while (state.KeepRunningBatch(kSpaces)) {
        const std::uint32_t next = spaces.front()->next_batch()[0];
        const auto begin = cpu_time();
        for (std::size_t n = 0; n < kSpaces; ++n) {
            matched[n] = &Queue::match(*spaces[n], next);
        }
        const auto end = cpu_time();
        for (std::size_t n = 0; n < kSpaces; ++n) {
            Queue::queue(*spaces[n], *matched[n]);
        }
        const auto read = cpu_time();
        reading += cpu_time() - read;
        matching += end - begin;
        ++batches;
    }
    state.counters["match_ns"] = static_cast<double>((matching - reading).count()) / static_cast<double>(batches * kSpaces);
}

void burst(benchmark::State& state, const Pattern& p)
{
    Setup s{p};
    while (state.KeepRunningBatch(p.depth)) {
        for (std::uint32_t i = 0; i < p.depth; ++i) {
            s.post(s.receives[i]);
        }
        for (std::uint32_t n = 0; n < p.depth; ++n) {
            s.arrive(s.visits[n]);
        }
    }
}

void add(void (*run)(benchmark::State&, const Pattern&), const Pattern& p, const char* suffix = "")
{
    const std::string name = std::string{p.scenario} + '/' + std::to_string(p.depth) + '/' + name_of(p.keys) + '/' +
                             name_of(p.receives) + '/' + name_of(p.order) + suffix;
    benchmark::RegisterBenchmark(name.c_str(), [run, p](benchmark::State& state) { run(state, p); });
}

void add_all()
{
    for (const std::uint32_t depth : {1U, 8U, 64U, 10000U}) {
        for (const auto keys : {kSameKey, kTags, kSources, kBoth}) {
            for (const auto receives : {kExactOnly, kAnySourceOnly, kAnyTagOnly, kAnyAnyOnly, kMixed, kMixedClasses}) {
                for (const auto order : {kOldestFirst, kShuffled}) {
                    const Pattern early{"posted", depth, keys, receives, order};
                    const Pattern late{"unexpected", depth, keys, receives, order};
                    add(in_one_space<PostedQueue>, early);
                    add(in_one_space<UnexpectedQueue>, late);
                    if (depth <= 8) {
                        add(in_many_spaces<PostedQueue>, early, "/spaces");
                        add(in_many_spaces<UnexpectedQueue>, late, "/spaces");
                    }
                }
                for (const auto order : {kOldestFirst, kShuffled, kNewestFirst}) {
                    if (receives != kMixed) {   // there a wildcard may take a message that leaves another receive without one
                        add(burst, {"burst", depth, keys, receives, order});
                    }
                }
            }
        }
    }
}

}   // namespace
}   // namespace linnet

int main(int argc, char** argv)
{
    linnet::add_all();
    benchmark::Initialize(&argc, argv);
    if (benchmark::ReportUnrecognizedArguments(argc, argv)) {
        return 1;
    }
    benchmark::RunSpecifiedBenchmarks();
    return 0;
}
