// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Stress: two contexts, several threads each, messages of all kinds and sizes at once, while their connections are killed. Every byte, the order of every
// stream and the end of every request are checked. LINNET_TEST_SOAK_SECONDS says how long; LINNET_TEST_SEED repeats the choices (not the schedule).
#include <sys/socket.h>

#include <atomic>
#include <cstdlib>
#include <random>
#include <thread>

#include "integration/waist/waist.h"
#include "support/seed.h"

namespace linnet::testing {
namespace {

constexpr unsigned kThreads = 3;       // per context
constexpr std::uint64_t kAnyTag = 0xff;
constexpr std::size_t kLargest = 4u << 20;

double seconds()
{
    const char* const soak = std::getenv("LINNET_TEST_SOAK_SECONDS");
    return soak == nullptr ? 2.0 : std::strtod(soak, nullptr);
}

std::size_t random_size(std::mt19937_64& random)
{
    switch (random() % 20) {
        case 0: return 0;
        case 1: return random() % kLargest;
        case 2:
        case 3: return random() % (256u << 10);
        case 4:
        case 5:
        case 6: return random() % (64u << 10);
        default: return random() % 3000;
    }
}

// Byte i of message `number` of a stream.
unsigned char byte_of(std::uint64_t number, std::size_t i) { return static_cast<unsigned char>(number * 167 + i * 13 + (i >> 8)); }

void fill(std::vector<unsigned char>& memory, std::uint64_t number)
{
    for (std::size_t i = 0; i < memory.size(); ++i) {
        memory[i] = byte_of(number, i);
    }
}

// A pair of threads, one in each context, and the space that is theirs: what one sends the other receives, in order.
struct Outcome {
    std::atomic<std::uint64_t> messages{0};
    std::atomic<std::uint64_t> bytes{0};
    std::atomic<std::uint64_t> canceled{0};
    std::atomic<bool> stop{false};
    std::mutex lock;
    std::string wrong;
    void fail(const std::string& what)
    {
        std::lock_guard guard{lock};
        wrong += what + "; ";
        stop.store(true);
    }
};

// A thread waits for its own operations while others run their completions: `done` is atomic here.
struct Job {
    linnet_request_t request{};
    std::atomic<int> done{0};
    linnet_status_t started{LINNET_ERR_INTERNAL};
    std::vector<unsigned char> memory;
    std::uint64_t number{0};
    static void on_done(linnet_request_t*, void* arg) noexcept { static_cast<Job*>(arg)->done.fetch_add(1, std::memory_order_release); }
    [[nodiscard]] bool over() const { return started != LINNET_IN_PROGRESS || done.load(std::memory_order_acquire) != 0; }
};

class Worker {
public:
    Worker(Endpoint& here, linnet_peer_t other, unsigned stream, bool sender, std::uint64_t seed, Outcome& outcome)
        : here_{here}, other_{other}, space_{10 + stream}, sender_{sender}, random_{seed}, outcome_{outcome}
    {
    }
    void run()
    {
        if (sender_) {
            send_all();
        } else {
            receive_all();
        }
    }

private:
    void progress()
    {
        if (random_() % 8 == 0) {
            static_cast<void>(linnet_wait(here_.context(), 200'000));
        } else {
            linnet_progress(here_.context(), 0, random_() % 2 == 0 ? std::uint32_t{LINNET_MAY_SLEEP} : 0u);
        }
    }
    template <class Done>
    void until(Done done)
    {
        while (!done() && !outcome_.stop.load(std::memory_order_relaxed)) {
            progress();
        }
    }
    void send(Job& job, std::uint64_t bits, std::uint64_t immediate, std::uint32_t flags)
    {
        linnet_send_t s{};
        s.peer = other_;
        s.space = space_;
        s.match_bits = bits;
        s.immediate = immediate;
        s.flags = flags;
        s.data = contiguous(job.memory.data(), job.memory.size());
        s.done = Job::on_done;
        s.done_arg = &job;
        do {
            job.started = linnet_tag_send(here_.context(), &s, &job.request);
            if (job.started == LINNET_ERR_NO_RESOURCE) {
                progress();
            }
        } while (job.started == LINNET_ERR_NO_RESOURCE);
        if (job.started < 0) {
            outcome_.fail(std::string{"send: "} + linnet_status_text(job.started));
        }
    }
    // A window of sends; the tag is the size class, so that receives may name it. The last message says that it is the last.
    void send_all()
    {
        constexpr std::size_t kWindow = 12;
        std::vector<std::unique_ptr<Job>> window(kWindow);
        const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>{seconds()};
        std::uint64_t number = 0;
        for (bool last = false; !last && !outcome_.stop.load();) {
            last = std::chrono::steady_clock::now() > end;
            auto& job = window[number % kWindow];
            if (job != nullptr) {
                until([&] { return job->over(); });
            }
            job = std::make_unique<Job>();
            job->memory.resize(last ? 0 : random_size(random_));
            fill(job->memory, number);
            constexpr std::uint32_t kHow[] = {LINNET_SEND_SYNC, LINNET_SEND_DELIVERED, LINNET_SEND_ACKED, LINNET_SEND_COPY, LINNET_SEND_COPY, 0, 0, 0};
            const std::uint32_t flags = kHow[random_() % std::size(kHow)];
            send(*job, number % 3, number | (last ? std::uint64_t{1} << 63 : 0), flags);
            ++number;
        }
        for (auto& job : window) {
            if (job != nullptr) {
                until([&] { return job->over(); });
                if (!outcome_.stop.load() && job->started == LINNET_IN_PROGRESS && job->request.result.status != LINNET_OK) {
                    outcome_.fail(std::string{"a send ended with "} + linnet_status_text(job->request.result.status));
                }
                if (outcome_.stop.load() && !job->over()) {
                    static_cast<void>(job.release());   // it is the context's until that closes
                }
            }
        }
    }
    void expect(const linnet_result_t& r, const std::vector<unsigned char>& memory, std::uint64_t number)
    {
        const std::uint64_t immediate = r.immediate & ~(std::uint64_t{1} << 63);
        if (r.status != LINNET_OK || immediate != number || r.match_bits != number % 3 || r.length > memory.size()) {
            outcome_.fail("message " + std::to_string(number) + ": got " + std::to_string(immediate) + ", " + linnet_status_text(r.status));
            return;
        }
        for (std::size_t i = 0; i < r.length; ++i) {
            if (memory[i] != byte_of(number, i)) {
                outcome_.fail("message " + std::to_string(number) + ": byte " + std::to_string(i) + " of " + std::to_string(r.length));
                return;
            }
        }
        outcome_.messages.fetch_add(1);
        outcome_.bytes.fetch_add(r.length);
    }
    linnet_recv_t receive_of(Job& job, std::uint64_t number)
    {
        linnet_recv_t r{};
        r.peer = random_() % 2 == 0 ? other_ : LINNET_PEER_ANY;
        r.space = space_;
        r.match_bits = number % 3;
        r.ignore = random_() % 2 == 0 ? kAnyTag : 0;
        r.data = contiguous(job.memory.data(), job.memory.size());
        r.done = Job::on_done;
        r.done_arg = &job;
        return r;
    }
    // In order, each in one of four ways: exact or wild receive, cancelled and posted again, probe and receive, claimed.
    void receive_all()
    {
        for (std::uint64_t number = 0; !outcome_.stop.load(); ++number) {
            auto job = std::make_unique<Job>();
            job->memory = std::move(spare_);   // large: its pages are touched once
            job->memory.resize(kLargest);
            const std::uint64_t how = random_() % 8;
            linnet_recv_t r = receive_of(*job, number);
            if (how < 2) {
                receive_probed(*job, r, how == 0);
            } else {
                job->started = linnet_tag_recv(here_.context(), &r, &job->request);
            }
            if (how == 2 && job->started == LINNET_IN_PROGRESS && linnet_cancel(here_.context(), &job->request) == LINNET_OK) {
                outcome_.canceled.fetch_add(1);
                job->started = linnet_tag_recv(here_.context(), &r, &job->request);
            }
            if (job->started < 0 && !outcome_.stop.load()) {
                outcome_.fail(std::string{"receive: "} + linnet_status_text(job->started));
            }
            until([&] { return job->over(); });
            if (!job->over()) {
                static_cast<void>(job.release());
                return;
            }
            if (outcome_.stop.load()) {
                return;
            }
            expect(job->request.result, job->memory, number);
            spare_ = std::move(job->memory);
            if (job->request.result.immediate >> 63 != 0) {
                return;
            }
        }
    }
    void receive_probed(Job& job, const linnet_recv_t& r, bool claim)
    {
        const linnet_match_t match{r.peer, r.space, r.match_bits, r.ignore};
        linnet_result_t seen{};
        linnet_message_t* message = nullptr;
        linnet_status_t status = LINNET_ERR_NOT_FOUND;
        until([&] {
            status = claim ? linnet_probe_claim(here_.context(), &match, &message, &seen) : linnet_probe(here_.context(), &match, &seen);
            return status != LINNET_ERR_NOT_FOUND;
        });
        if (status == LINNET_OK) {
            job.started = claim ? linnet_message_recv(here_.context(), message, &r, &job.request) : linnet_tag_recv(here_.context(), &r, &job.request);
        }
    }

    Endpoint& here_;
    linnet_peer_t other_;
    std::uint32_t space_;
    bool sender_;
    std::mt19937_64 random_;
    Outcome& outcome_;
    std::vector<unsigned char> spare_;
};

void traffic(bool kill)
{
    const std::uint64_t seed = test_seed(7);
    Endpoint a{{{"transports", "tcp"}, {"finalize_timeout", "5s"}}, kAnyTag};
    Endpoint b{{{"transports", "tcp"}, {"finalize_timeout", "5s"}}, kAnyTag};
    const linnet_peer_t to_b = a.add(b);
    const linnet_peer_t to_a = b.add(a);
    Outcome outcome;
    std::atomic<bool> over{false};
    unsigned kills = 0;
    std::jthread killer;
    if (kill) {
        killer = std::jthread{[&] {
            std::mt19937_64 random{seed};
            while (!over.load()) {
                std::this_thread::sleep_for(std::chrono::milliseconds{20 + random() % 200});
                const std::vector<int> all = tcp_connections();
                if (!all.empty()) {
                    kills += ::shutdown(all[random() % all.size()], random() % 2 == 0 ? SHUT_RDWR : SHUT_WR) == 0 ? 1 : 0;
                }
            }
        }};
    }
    {
        std::vector<std::jthread> threads;
        for (unsigned t = 0; t < kThreads; ++t) {
            const bool from_a = t % 2 == 0;
            threads.emplace_back([&, t, from_a] { Worker{a, to_b, t, from_a, seed + t, outcome}.run(); });
            threads.emplace_back([&, t, from_a] { Worker{b, to_a, t, !from_a, seed + 100 + t, outcome}.run(); });
        }
    }
    over.store(true);
    if (killer.joinable()) {
        killer.join();
    }
    EXPECT_EQ(outcome.wrong, "");
    EXPECT_GE(outcome.messages.load(), 2u * kThreads);
    EXPECT_TRUE(!kill || kills > 0);
    std::printf("%llu messages, %llu bytes, %llu receives canceled, %u connections killed\n", static_cast<unsigned long long>(outcome.messages.load()),
                static_cast<unsigned long long>(outcome.bytes.load()), static_cast<unsigned long long>(outcome.canceled.load()), kills);
    EXPECT_EQ(linnet_context_flush(a.context(), 5'000'000'000), LINNET_OK);
    EXPECT_EQ(linnet_context_flush(b.context(), 5'000'000'000), LINNET_OK);
}

TEST(Traffic, OfManyThreadsArrivesWholeAndInOrder) { traffic(false); }

TEST(Traffic, SurvivesConnectionsThatAreKilled) { traffic(true); }

}   // namespace
}   // namespace linnet::testing
