// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_cq(3), fi_poll(3): several threads that wait for the same queue, each in its own way; none may take the wake-up of another along.
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <time.h>

#include <atomic>
#include <random>
#include <thread>

#include "integration/ofi/node.h"

namespace linnet::ofi_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kPing = 1;
constexpr std::uint64_t kBulk = 2;
constexpr int kForever = 20000;   // milliseconds, of a call that is expected to end long before

int descriptor_of(fid_cq* cq)
{
    int fd = -1;
    EXPECT_EQ(fi_control(&cq->fid, FI_GETWAIT, &fd), 0);
    return fd;
}

std::chrono::nanoseconds cpu_time()
{
    timespec t{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return std::chrono::seconds{t.tv_sec} + std::chrono::nanoseconds{t.tv_nsec};
}

// One endpoint that sends to itself. The thread of the test posts and delivers, others wait for what comes.
class Self {
public:
    Self()
    {
        self_ = n.insert(n.name());
    }
    // A message is there, and delivered by this thread, which does not want it.
    void send()
    {
        n.post([&] { return fi_trecv(n.ep, &in_, 1, nullptr, FI_ADDR_UNSPEC, kPing, 0, &in_); });
        n.post([&] { return fi_tinject(n.ep, "x", 1, self_, kPing); });
        fi_cq_tagged_entry e{};
        EXPECT_EQ(fi_cq_read(n.tx, &e, 1), -FI_EAGAIN);
    }
    void take() { taken_.fetch_add(1); }
    // Nothing of libfabric is called meanwhile.
    [[nodiscard]] bool taken(int count) const
    {
        const auto end = Clock::now() + std::chrono::milliseconds{kForever / 2};
        while (taken_.load() < count && Clock::now() < end) {
        }
        return taken_.load() == count;
    }
    void end()
    {
        ending_.store(true);
        EXPECT_EQ(fi_cq_signal(n.rx), 0);
    }
    [[nodiscard]] bool ending() const { return ending_.load(); }

    Node n{{.wait = FI_WAIT_FD}};
    std::atomic<int> turn{0};   // threads that give up wait for the next

private:
    fi_addr_t self_{FI_ADDR_UNSPEC};
    std::atomic<int> taken_{0};
    std::atomic<bool> ending_{false};
    char in_{0};
};

// In the descriptor.
void poll_descriptor(Self& s)
{
    const int fd = descriptor_of(s.n.rx);
    while (!s.ending()) {
        struct fid* fids[] = {&s.n.rx->fid};
        if (fi_trywait(s.n.fabric, fids, 1) == 0) {
            pollfd f{fd, POLLIN, 0};
            EXPECT_GE(::poll(&f, 1, kForever), 0);
        }
        fi_cq_tagged_entry e{};
        if (fi_cq_read(s.n.rx, &e, 1) == 1) {
            s.take();
        }
    }
}

// In one blocking read per turn, which ends after a moment.
void read_and_give_up(Self& s)
{
    int seen = 0;
    while (!s.ending()) {
        const int turn = s.turn.load();
        if (turn == seen) {
            std::this_thread::yield();
            continue;
        }
        seen = turn;
        fi_cq_tagged_entry e{};
        if (fi_cq_sread(s.n.rx, &e, 1, nullptr, 1) == 1) {
            s.take();
        }
    }
}

// In every second round others wait too, and begin to about when the message comes. What that one rings for all, they must not silence.
void rounds(Self& s, int count)
{
    std::minstd_rand dice{5};
    int sent = 0;
    for (int i = 0; i < count; ++i) {
        if (i % 2 == 0) {
            ++s.turn;
            const auto begin = Clock::now();
            const std::chrono::microseconds pause{dice() % 60};
            while (Clock::now() < begin + pause) {
            }
        }
        s.send();
        ++sent;
        ASSERT_TRUE(s.taken(sent)) << "nobody was woken in round " << i;
        if (i % 2 == 0) {
            std::this_thread::sleep_for(std::chrono::microseconds{dice() % 100});
        } else {
            std::this_thread::sleep_for(1100us);   // all who give up have
        }
    }
}

constexpr int kRounds = 300;

TEST(LinnetWaiting, BlockingReadTakesNoWakeUpOfADescriptorAlong)
{
    two_processes(
        [](Friend&) {
            Self s;
            std::thread sleeps{[&] { poll_descriptor(s); }};
            std::thread gives_up{[&] { read_and_give_up(s); }};
            std::thread gives_up_too{[&] { read_and_give_up(s); }};
            rounds(s, kRounds);
            s.end();
            for (std::thread* t : {&sleeps, &gives_up, &gives_up_too}) {
                t->join();
            }
        },
        [](Friend&) {});
}

TEST(LinnetWaiting, ThreadsThatPollOneDescriptorMissNothing)
{
    two_processes(
        [](Friend&) {
            Self s;
            std::thread sleeps{[&] { poll_descriptor(s); }};
            std::thread sleeps_too{[&] { poll_descriptor(s); }};
            std::thread gives_up{[&] { read_and_give_up(s); }};
            rounds(s, kRounds);
            s.end();
            for (std::thread* t : {&sleeps, &sleeps_too, &gives_up}) {
                t->join();
            }
        },
        [](Friend&) {});
}

void on_one_core()
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(0, &one);
    ::sched_setaffinity(0, sizeof one, &one);   // of this thread; where it may not, the race is only rarer
}

// A thread that posts and goes to compute must not undo what another made ready to sleep.
TEST(LinnetWaiting, PostingThreadTakesNoWakeUpAlong)
{
    static constexpr int kTurns = 20;
    static constexpr std::size_t kBytes = 1u << 20;
    two_processes(
        [](Friend& other) {
            Node n{{.wait = FI_WAIT_UNSPEC}};
            n.connect(other);
            char in = 0;
            int context = 0;
            const auto out = pattern(kBytes, 1);
            on_one_core();
            for (int i = 0; i < kTurns; ++i) {
                n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, kPing, 0, &context); });
                std::atomic<bool> woken{false};
                std::thread sleeps{[&] {
                    on_one_core();
                    ::setpriority(PRIO_PROCESS, 0, 19);   // of this thread: others are first to see what arrives
                    fi_cq_tagged_entry e{};
                    EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, kForever), 1) << i;
                    woken.store(true);
                }};
                std::this_thread::sleep_for(2ms);
                // No call of any kind follows until the message is there; the send stays open meanwhile.
                n.post([&] { return fi_tsend(n.ep, out.data(), out.size(), nullptr, n.peer, kBulk, &context); });
                other.tell("now");
                while (!woken.load()) {
                }
                sleeps.join();
                if (::testing::Test::HasFailure()) {
                    return;
                }
                other.tell("take it");
                EXPECT_EQ(n.next(n.tx).op_context, &context);
            }
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            std::vector<char> in(kBytes);
            for (int i = 0; i < kTurns; ++i) {
                EXPECT_EQ(other.hear(), "now");
                std::this_thread::sleep_for(500us);
                n.post([&] { return fi_tinject(n.ep, "x", 1, n.peer, kPing); });
                EXPECT_EQ(other.hear(), "take it");
                n.post([&] { return fi_trecv(n.ep, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, kBulk, 0, in.data()); });
                EXPECT_EQ(n.next(n.rx).len, kBytes);
            }
            other.meet();
        });
}

// A counter of a descriptor, by itself.
class WatchedCounter {
public:
    WatchedCounter()
    {
        fi_cntr_attr attr{};
        attr.wait_obj = FI_WAIT_FD;
        EXPECT_EQ(fi_cntr_open(node_.domain, &attr, &counter, nullptr), 0);
        EXPECT_EQ(fi_control(&counter->fid, FI_GETWAIT, &descriptor_), 0);
    }
    ~WatchedCounter() { EXPECT_EQ(fi_close(&counter->fid), 0); }
    WatchedCounter(const WatchedCounter&) = delete;
    WatchedCounter& operator=(const WatchedCounter&) = delete;
    [[nodiscard]] bool readable() const
    {
        pollfd f{descriptor_, POLLIN, 0};
        return ::poll(&f, 1, 0) == 1;
    }
    [[nodiscard]] int trywait() const
    {
        struct fid* fids[] = {&counter->fid};
        return fi_trywait(node_.fabric, fids, 1);
    }
    fid_cntr* counter{nullptr};

private:
    Node node_;
    int descriptor_{-1};
};

// What a counter's descriptor has been made readable for stays, whoever waits for something else meanwhile.
TEST(LinnetWaiting, WaitForAnotherValueLeavesTheDescriptorReadable)
{
    two_processes(
        [](Friend&) {
            const WatchedCounter c;
            EXPECT_EQ(c.trywait(), 0);
            EXPECT_FALSE(c.readable());
            EXPECT_EQ(fi_cntr_add(c.counter, 1), 0);
            EXPECT_EQ(fi_cntr_wait(c.counter, 2, 20), -FI_ETIMEDOUT);
            EXPECT_TRUE(c.readable());
            EXPECT_EQ(c.trywait(), -FI_EAGAIN);
            EXPECT_EQ(fi_cntr_read(c.counter), 1u);
            EXPECT_EQ(c.trywait(), 0);
            EXPECT_FALSE(c.readable());
        },
        [](Friend&) {});
}

// fi_poll(3): of an error that was read nothing is queued any more.
TEST(LinnetWaiting, CounterWhoseErrorWasReadIsQuiet)
{
    two_processes(
        [](Friend&) {
            const WatchedCounter c;
            for (std::uint64_t errors = 1; errors <= 2; ++errors) {
                EXPECT_EQ(c.trywait(), 0);
                EXPECT_FALSE(c.readable());
                EXPECT_EQ(fi_cntr_adderr(c.counter, 1), 0);
                EXPECT_TRUE(c.readable());
                EXPECT_EQ(c.trywait(), -FI_EAGAIN);
                EXPECT_EQ(fi_cntr_readerr(c.counter), errors);
            }
            EXPECT_EQ(c.trywait(), 0);
            EXPECT_FALSE(c.readable());
        },
        [](Friend&) {});
}

// By a handler that does nothing. What the system can begin again it does (SA_RESTART), which is not so of poll(2): signal(7).
void handle_disturbance()
{
    struct sigaction action{};
    action.sa_handler = [](int) {};
    action.sa_flags = SA_RESTART;
    ASSERT_EQ(::sigaction(SIGUSR1, &action, nullptr), 0);
}

// The signal comes again and again: the first may come before the thread sleeps. How often it came.
int disturb(pthread_t reader, const std::atomic<bool>& over)
{
    int times = 0;
    for (; !over.load(); ++times) {
        std::this_thread::sleep_for(20ms);
        ::pthread_kill(reader, SIGUSR1);
    }
    return times;
}

// Who waits behind another thread, that of FI_WAIT_MUTEX_COND or the program's own, has signals too; the other sleeps on.
TEST(LinnetWaiting, SignalEndsTheReadOfTheThreadItComesToAndOfNoOther)
{
    two_processes(
        [](Friend&) {
            handle_disturbance();
            for (const fi_wait_obj wait : {FI_WAIT_FD, FI_WAIT_MUTEX_COND}) {
                Node n{{.wait = wait}};
                std::atomic<bool> ended{false};
                std::thread other{[&] {
                    fi_cq_tagged_entry e{};
                    EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, -1), -FI_EAGAIN);
                    ended.store(true);
                }};
                std::this_thread::sleep_for(50ms);   // by then it waits in front; if not, the two have changed places
                std::atomic<bool> over{false};
                int signals = 0;
                std::thread disturber{[&, reader = ::pthread_self()] { signals = disturb(reader, over); }};
                fi_cq_tagged_entry e{};
                for (int i = 0; i < 5; ++i) {
                    EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, -1), -FI_EAGAIN);
                }
                over.store(true);
                disturber.join();
                EXPECT_LT(signals, 100) << "they did not end it; something else did, later";
                EXPECT_FALSE(ended.load());
                EXPECT_EQ(fi_cq_signal(n.rx), 0);
                other.join();
            }
        },
        [](Friend&) {});
}

TEST(Waiting, SignalThatIsHandledEndsABlockingRead)
{
    two_processes(
        [](Friend&) {
            Node n{{.wait = FI_WAIT_UNSPEC}};
            handle_disturbance();
            fi_eq_attr attr{};
            attr.wait_obj = FI_WAIT_UNSPEC;
            fid_eq* eq = nullptr;
            ASSERT_EQ(fi_eq_open(n.fabric, &attr, &eq, nullptr), 0);
            std::atomic<bool> over{false};
            std::thread disturber{[&, reader = ::pthread_self()] { static_cast<void>(disturb(reader, over)); }};
            fi_cq_tagged_entry e{};
            EXPECT_LT(fi_cq_sread(n.rx, &e, 1, nullptr, -1), 0);   // -FI_EAGAIN in fi_cq(3), -FI_EINTR of others
            std::uint32_t event = 0;
            fi_eq_entry entry{};
            EXPECT_LT(fi_eq_sread(eq, &event, &entry, sizeof entry, -1, 0), 0);
            if (is_linnet()) {
                EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, -1), -FI_EAGAIN);
                EXPECT_EQ(fi_eq_sread(eq, &event, &entry, sizeof entry, -1, 0), -FI_EAGAIN);
            }
            over.store(true);
            disturber.join();
            EXPECT_EQ(fi_close(&eq->fid), 0);
        },
        [](Friend&) {});
}

// Two queues of one endpoint and a thread in each, and nothing happens: they sleep, and do not wake each other for ever.
TEST(LinnetWaiting, ThreadsWithNothingToDoSleep)
{
    two_processes(
        [](Friend& other) {
            Node n{{.wait = FI_WAIT_UNSPEC}};
            n.connect(other);
            n.post([&] { return fi_tinject(n.ep, "x", 1, n.peer, 1); });
            other.meet();
            const auto before = cpu_time();
            std::vector<std::thread> waiters;
            for (fid_cq* const cq : {n.tx, n.rx, n.tx, n.rx}) {
                waiters.emplace_back([cq] {
                    fi_cq_tagged_entry e{};
                    EXPECT_EQ(fi_cq_sread(cq, &e, 1, nullptr, 1000), -FI_EAGAIN);
                });
            }
            for (std::thread& t : waiters) {
                t.join();
            }
            EXPECT_LT(cpu_time() - before, 300ms);
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            other.meet();
            other.meet();
        });
}

// fi_trywait(3) of several at once: what it did for the first it must not undo for the next.
TEST(LinnetWaiting, DescriptorsOfTwoQueuesAreQuietWhenNothingHappens)
{
    two_processes(
        [](Friend& other) {
            Node n{{.wait = FI_WAIT_FD}};
            n.connect(other);
            n.post([&] { return fi_tinject(n.ep, "x", 1, n.peer, 1); });
            other.meet();
            std::this_thread::sleep_for(20ms);
            int turns = 0;
            for (const auto end = Clock::now() + 500ms; Clock::now() < end; ++turns) {
                struct fid* fids[] = {&n.tx->fid, &n.rx->fid};
                if (fi_trywait(n.fabric, fids, 2) == 0) {
                    pollfd f[] = {{descriptor_of(n.tx), POLLIN, 0}, {descriptor_of(n.rx), POLLIN, 0}};
                    EXPECT_GE(::poll(f, 2, 100), 0);
                }
                fi_cq_tagged_entry e{};
                EXPECT_EQ(fi_cq_read(n.tx, &e, 1), -FI_EAGAIN);
                EXPECT_EQ(fi_cq_read(n.rx, &e, 1), -FI_EAGAIN);
            }
            EXPECT_LT(turns, 100);
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            other.meet();
            other.meet();
        });
}

}   // namespace
}   // namespace linnet::ofi_test
