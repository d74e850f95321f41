// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FI_FENCE of fi_msg(3), fi_tagged(3), fi_rma(3), fi_atomic(3): it and what is posted after it begin when all before it to the same peer has completed.
#include <poll.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstring>
#include <set>
#include <thread>

#include "integration/ofi/node.h"
#include "integration/ofi/region.h"

namespace linnet::ofi_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kLong = 4u << 20;

Options fenced(fi_wait_obj wait = FI_WAIT_NONE)
{
    Options o;
    o.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_FENCE;
    o.wait = wait;
    return o;
}

// No provider of ours makes an application come again for a fence; others may.
void post(const Node& n, const std::function<ssize_t()>& operation)
{
    if (is_linnet()) {
        EXPECT_EQ(operation(), 0);
    } else {
        n.post(operation);
    }
}

ssize_t read_behind_a_fence(const Node& n, const Where& there, char* to, std::size_t bytes, std::uint64_t at, void* context)
{
    const iovec iov{to, bytes};
    const fi_rma_iov remote{there.at(at), bytes, there.key};
    const fi_msg_rma m{&iov, nullptr, 1, n.peer, &remote, 1, context, 0};
    return fi_readmsg(n.ep, &m, FI_COMPLETION | FI_FENCE);
}

void owner(Friend& other)
{
    Node n{fenced()};
    Region r{n, kLong, FI_REMOTE_READ | FI_REMOTE_WRITE};
    n.connect(other);
    other.tell(r.where());
    other.meet();
}

TEST(Fence, WhatIsBehindItSeesAllThatWentBefore)
{
    two_processes(owner, [](Friend& other) {
        Node n{fenced()};
        n.connect(other);
        const Where there{other.hear()};
        for (int round = 0; round < 10; ++round) {
            const auto out = pattern(kLong, static_cast<unsigned>(round));
            char last[3] = {};
            int contexts[3];
            post(n, [&] { return fi_write(n.ep, out.data(), kLong, nullptr, n.peer, there.at(0), there.key, nullptr); });
            post(n, [&] { return read_behind_a_fence(n, there, &last[0], 1, kLong - 1, &contexts[0]); });
            post(n, [&] { return fi_read(n.ep, &last[1], 1, nullptr, n.peer, there.at(kLong - 2), there.key, &contexts[1]); });
            post(n, [&] { return read_behind_a_fence(n, there, &last[2], 1, kLong - 3, &contexts[2]); });
            for (int i = 0; i < 4; ++i) {
                const fi_cq_tagged_entry e = n.next(n.tx);
                EXPECT_EQ(e.flags & FI_WRITE, i == 0 ? FI_WRITE : 0) << "what is fenced ends after what was before";
            }
            for (std::size_t i = 0; i < 3; ++i) {
                EXPECT_EQ(last[i], out[kLong - 1 - i]) << i;
            }
        }
        other.meet();
    });
}

// What was before it has come to its end, of which the program has not been told when it posts what is fenced.
TEST(LinnetFence, WhatIsBehindItEndsAfterwardsThoughItEndsAtOnce)
{
    two_processes(owner, [](Friend& other) {
        Node n{fenced()};
        n.connect(other);
        const Where there{other.hear()};
        for (int round = 0; round < 5; ++round) {
            char byte = 1;
            n.post([&] { return fi_write(n.ep, &byte, 1, nullptr, n.peer, there.at(0), there.key, nullptr); });
            std::this_thread::sleep_for(100ms);
            const iovec iov{&byte, 1};
            const fi_msg_tagged m{&iov, nullptr, 1, n.peer, 1, 0, nullptr, 0};
            n.post([&] { return fi_tsendmsg(n.ep, &m, FI_COMPLETION | FI_FENCE); });
            EXPECT_EQ(n.next(n.tx).flags & FI_WRITE, FI_WRITE) << round;
            EXPECT_EQ(n.next(n.tx).flags & FI_WRITE, 0u) << round;
        }
        other.meet();
    });
}

// A send that is to be matched is over when it is, for the fence too; and what is fenced may be such a one.
TEST(LinnetFence, WaitsForSendsToBeMatched)
{
    two_processes(
        [](Friend& other) {
            Node n{fenced()};
            n.connect(other);
            const auto send = [&n](const char* text, std::uint64_t tag, std::uint64_t flags) {
                const iovec iov{const_cast<char*>(text), 1};
                const fi_msg_tagged m{&iov, nullptr, 1, n.peer, tag, 0, const_cast<char*>(text), 0};
                post(n, [&] { return fi_tsendmsg(n.ep, &m, FI_COMPLETION | FI_MATCH_COMPLETE | flags); });
            };
            const std::string texts[] = {"1", "2", "3"};
            for (std::uint64_t tag = 1; tag <= 3; ++tag) {
                send(texts[tag - 1].data(), tag, tag == 1 ? 0 : FI_FENCE);
            }
            for (const std::string& text : texts) {
                EXPECT_TRUE(n.quiet_for(100ms));
                other.meet();   // it is received then
                EXPECT_EQ(n.next(n.tx).op_context, text.data());
            }
            other.meet();
        },
        [](Friend& other) {
            Node n{fenced()};
            n.connect(other);
            for (std::uint64_t tag = 1; tag <= 3; ++tag) {
                other.meet();
                char in = 0;
                n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, tag, 0, nullptr); });
                EXPECT_EQ(n.next(n.rx).tag, tag);
                EXPECT_EQ(in, static_cast<char>('0' + tag));
            }
            other.meet();
        });
}

// ---- a peer that is stopped completes nothing: the fence stays closed until it goes on ----

// The second side, which the first has stopped; it goes on in the end, whatever happens.
class Stopped {
public:
    explicit Stopped(const std::string& process) : process_{static_cast<pid_t>(std::stol(process))}
    {
        stop(process_);
    }
    ~Stopped() { go_on(); }
    Stopped(const Stopped&) = delete;
    Stopped& operator=(const Stopped&) = delete;
    void go_on() const { EXPECT_EQ(::kill(process_, SIGCONT), 0); }

private:
    pid_t process_;
};

using First = std::function<void(Node&, const Where&, Friend&, const std::string& second)>;
using Second = std::function<void(Node&, const Region&)>;

// They are connected, and nothing is open.
void with_a_peer_to_stop(const Options& o, const First& first, const Second& second, int second_dies_of = 0)
{
    two_processes(
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            const Where there{other.hear()};
            char byte = 0;
            n.post([&] { return fi_read(n.ep, &byte, 1, nullptr, n.peer, there.at(0), there.key, nullptr); });
            static_cast<void>(n.next(n.tx));
            first(n, there, other, other.hear());
        },
        [&](Friend& other) {
            Node n{o};
            Region r{n, kLong, FI_REMOTE_READ | FI_REMOTE_WRITE};
            n.connect(other);
            other.tell(r.where());
            other.tell(std::to_string(::getpid()));
            second(n, r);
            other.meet();
        },
        second_dies_of);
}

TEST(LinnetFence, HoldsBackInOrderAndForItsPeerAlone)
{
    Options o = fenced();
    o.caps |= FI_ATOMIC;
    with_a_peer_to_stop(
        o,
        [](Node& n, const Where& there, Friend& other, const std::string& second) {
            const fi_addr_t self = n.insert(n.name());
            const auto out = pattern(kLong, 5);
            char in = 0;
            std::uint64_t numbers[2] = {0, 1};
            const std::string text = "first";   // the provider's until its completion
            {
                const Stopped peer{second};
                EXPECT_EQ(fi_write(n.ep, out.data(), kLong, nullptr, n.peer, there.at(0), there.key, nullptr), 0);
                const iovec pieces[2] = {{const_cast<char*>(text.data()), 2}, {const_cast<char*>(text.data()) + 2, 3}};
                fi_msg_tagged m{};
                m.msg_iov = pieces;
                m.iov_count = 2;
                m.addr = n.peer;
                m.tag = 1;
                EXPECT_EQ(fi_tsendmsg(n.ep, &m, FI_COMPLETION | FI_FENCE), 0);
                std::string gone = "second";   // copied: it may be changed at once
                EXPECT_EQ(fi_tinjectdata(n.ep, gone.data(), gone.size(), 77, n.peer, 1), 0);
                EXPECT_EQ(fi_inject_atomic(n.ep, &numbers[1], 1, n.peer, there.at(0), there.key, FI_UINT64, FI_ATOMIC_WRITE), 0);
                gone.assign(gone.size(), 'x');
                numbers[1] = 0;
                EXPECT_EQ(fi_fetch_atomic(n.ep, nullptr, 1, nullptr, &numbers[0], nullptr, n.peer, there.at(0), there.key, FI_UINT64, FI_ATOMIC_READ, nullptr),
                          0);
                EXPECT_EQ(fi_tsend(n.ep, "third", 5, nullptr, n.peer, 1, nullptr), 0);
                EXPECT_TRUE(n.quiet_for(200ms));
                EXPECT_EQ(fi_tsend(n.ep, "s", 1, nullptr, self, 9, nullptr), 0) << "another peer";
                EXPECT_EQ(fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 9, 0, nullptr), 0);
                static_cast<void>(n.next(n.rx));
                static_cast<void>(n.next(n.tx));
                EXPECT_EQ(in, 's');
            }
            for (int i = 0; i < 4; ++i) {   // the write, two sends, the value that was fetched
                EXPECT_EQ(n.next(n.tx).flags & FI_WRITE, i == 0 ? FI_WRITE : 0);
            }
            EXPECT_EQ(numbers[0], 1u);
            EXPECT_TRUE(n.quiet_for(20ms));
            other.meet();
        },
        [](Node& n, const Region& r) {
            for (const std::string wanted : {"first", "second", "third"}) {
                char in[8] = {};
                n.post([&] { return fi_trecv(n.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr); });
                const fi_cq_tagged_entry e = n.next(n.rx);
                EXPECT_EQ(std::string(in, e.len), wanted);
                EXPECT_EQ(e.flags & FI_REMOTE_CQ_DATA, wanted == "second" ? FI_REMOTE_CQ_DATA : 0);
                const auto all = r.content();
                EXPECT_EQ(std::memcmp(all.data() + 8, pattern(kLong, 5).data() + 8, kLong - 8), 0) << "the write came before the fence";
            }
        });
}

TEST(LinnetFence, ComesAgainOnlyWhenTooManyWaitAndThenAllEnd)
{
    constexpr int kTooMany = 1 << 16;
    with_a_peer_to_stop(
        fenced(),
        [](Node& n, const Where& there, Friend& other, const std::string& second) {
            const auto out = pattern(kLong, 5);
            char in = 0;
            int posted = 0;
            {
                const Stopped peer{second};
                EXPECT_EQ(fi_write(n.ep, out.data(), kLong, nullptr, n.peer, there.at(0), there.key, nullptr), 0);
                EXPECT_EQ(read_behind_a_fence(n, there, &in, 1, kLong - 1, nullptr), 0);
                ssize_t s = 0;
                while (posted < kTooMany && (s = fi_tinject(n.ep, &posted, sizeof posted, n.peer, 1)) == 0) {
                    ++posted;
                }
                EXPECT_EQ(s, -FI_EAGAIN);
                EXPECT_GT(posted, 100);
                EXPECT_EQ(fi_tinject(n.ep, &posted, sizeof posted, n.peer, 1), -FI_EAGAIN);
            }
            // Who does nothing but come again makes progress.
            const auto end = Clock::now() + 20s;
            ssize_t s = -FI_EAGAIN;
            while (s == -FI_EAGAIN && Clock::now() < end) {
                s = fi_tinject(n.ep, &posted, sizeof posted, n.peer, 1);
            }
            EXPECT_EQ(s, 0);
            ++posted;
            n.post([&] { return fi_tinject(n.ep, &posted, sizeof posted, n.peer, 2); });
            static_cast<void>(n.next(n.tx));
            static_cast<void>(n.next(n.tx));
            EXPECT_EQ(in, out.back());
            other.meet();
        },
        [](Node& n, const Region&) {
            int number = -1;
            int total = -1;
            n.post([&] { return fi_trecv(n.ep, &total, sizeof total, nullptr, FI_ADDR_UNSPEC, 2, 0, nullptr); });
            static_cast<void>(n.next(n.rx));
            for (int i = 0; i < total && !::testing::Test::HasFailure(); ++i) {
                n.post([&] { return fi_trecv(n.ep, &number, sizeof number, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr); });
                static_cast<void>(n.next(n.rx));
                EXPECT_EQ(number, i);
            }
        });
}

TEST(LinnetFence, WhatIsHeldBackCanBeCanceled)
{
    with_a_peer_to_stop(
        fenced(),
        [](Node& n, const Where& there, Friend& other, const std::string& second) {
            const auto out = pattern(kLong, 5);
            char in = 0;
            int write = 0;
            int read = 0;
            int sends[2] = {};
            {
                const Stopped peer{second};
                EXPECT_EQ(fi_write(n.ep, out.data(), kLong, nullptr, n.peer, there.at(0), there.key, &write), 0);
                EXPECT_EQ(read_behind_a_fence(n, there, &in, 1, kLong - 1, &read), 0);
                EXPECT_EQ(fi_tinject(n.ep, "0", 1, n.peer, 1), 0);
                EXPECT_EQ(fi_tsend(n.ep, "1", 1, nullptr, n.peer, 1, &sends[0]), 0);
                EXPECT_EQ(fi_tsend(n.ep, "2", 1, nullptr, n.peer, 1, &sends[1]), 0);
                EXPECT_EQ(fi_cancel(&n.ep->fid, &write), -FI_ENOENT) << "it has begun";
                EXPECT_EQ(fi_cancel(&n.ep->fid, nullptr), -FI_ENOENT) << "an injection has no context";
                for (int* const canceled : {&sends[0], &read}) {
                    EXPECT_EQ(fi_cancel(&n.ep->fid, canceled), 0);
                    const fi_cq_err_entry e = n.next_error(n.tx);
                    EXPECT_EQ(e.err, FI_ECANCELED);
                    EXPECT_EQ(e.op_context, canceled);
                    EXPECT_EQ(fi_cancel(&n.ep->fid, canceled), -FI_ENOENT);
                }
            }
            std::set<void*> ended{n.next(n.tx).op_context};
            ended.insert(n.next(n.tx).op_context);
            EXPECT_EQ(ended, (std::set<void*>{&write, &sends[1]}));
            EXPECT_TRUE(n.quiet_for(20ms));
            EXPECT_EQ(in, 0) << "nobody has read";
            other.meet();
        },
        [](Node& n, const Region&) {
            for (const char wanted : {'0', '2'}) {
                char in = 0;
                n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr); });
                static_cast<void>(n.next(n.rx));
                EXPECT_EQ(in, wanted);
            }
        });
}

double processor_seconds()
{
    rusage u{};
    ::getrusage(RUSAGE_SELF, &u);
    return static_cast<double>(u.ru_utime.tv_sec + u.ru_stime.tv_sec) + static_cast<double>(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

// Asleep in a blocking call or a descriptor while a fence is closed, it is woken for what is behind.
TEST(LinnetFence, SleeperIsWokenForWhatWasHeldBack)
{
    for (const fi_wait_obj wait : {FI_WAIT_UNSPEC, FI_WAIT_FD}) {
        with_a_peer_to_stop(
            fenced(wait),
            [&](Node& n, const Where& there, Friend& other, const std::string& second) {
                const auto out = pattern(kLong, 5);
                char in = 0;
                const Stopped peer{second};
                EXPECT_EQ(fi_write(n.ep, out.data(), kLong, nullptr, n.peer, there.at(0), there.key, nullptr), 0);
                EXPECT_EQ(read_behind_a_fence(n, there, &in, 1, kLong - 1, nullptr), 0);
                const double before = processor_seconds();
                std::thread waker{[&] {
                    std::this_thread::sleep_for(1s);
                    EXPECT_LT(processor_seconds() - before, 0.5) << "it does not sleep";
                    peer.go_on();
                }};
                int fd = -1;
                EXPECT_EQ(fi_control(&n.tx->fid, FI_GETWAIT, &fd) == 0, wait == FI_WAIT_FD);
                int got = 0;
                const auto end = Clock::now() + 20s;
                while (got < 2 && Clock::now() < end) {
                    fi_cq_tagged_entry e{};
                    struct fid* const fids[] = {&n.tx->fid};
                    if (wait == FI_WAIT_FD && fi_trywait(n.fabric, const_cast<struct fid**>(fids), 1) == 0) {
                        pollfd p{fd, POLLIN, 0};
                        EXPECT_EQ(::poll(&p, 1, 20000), 1);
                    }
                    got += (wait == FI_WAIT_FD ? fi_cq_read(n.tx, &e, 1) : fi_cq_sread(n.tx, &e, 1, nullptr, 20000)) == 1 ? 1 : 0;
                }
                EXPECT_EQ(got, 2);
                EXPECT_EQ(in, out.back());
                waker.join();
                other.meet();
            },
            [](Node&, const Region&) {});
    }
}

// Each thread writes to a part of its own, and reads it behind a fence that it shares with all.
TEST(LinnetFence, ThreadsShareFencesAndEachSeesItsWrites)
{
    constexpr std::size_t kThreads = 3;
    constexpr std::size_t kPart = 1u << 20;
    constexpr int kRounds = 20;
    two_processes(owner, [](Friend& other) {
        Node n{fenced()};
        n.connect(other);
        const Where there{other.hear()};
        std::atomic<std::size_t> writing{kThreads};
        const auto write = [&](std::size_t thread) {
            std::vector<std::vector<char>> out;
            std::vector<char> last(kRounds);
            std::atomic<int> read{0};
            const auto again = [](const std::function<ssize_t()>& operation) {
                ssize_t s = -FI_EAGAIN;
                while ((s = operation()) == -FI_EAGAIN) {
                }
                EXPECT_EQ(s, 0);
            };
            for (int i = 0; i < kRounds; ++i) {
                out.push_back(std::vector<char>(kPart, static_cast<char>(i + 1)));
                again([&] { return fi_write(n.ep, out.back().data(), kPart, nullptr, n.peer, there.at(thread * kPart), there.key, nullptr); });
                again([&] { return read_behind_a_fence(n, there, &last[static_cast<std::size_t>(i)], 1, (thread + 1) * kPart - 1, &read); });
            }
            while (read.load() < kRounds && !::testing::Test::HasFailure()) {
                std::this_thread::yield();
            }
            for (int i = 0; i < kRounds; ++i) {
                EXPECT_GE(last[static_cast<std::size_t>(i)], i + 1) << "thread " << thread;   // the next write may have come
            }
            --writing;
        };
        std::vector<std::thread> threads;
        for (std::size_t i = 0; i < kThreads; ++i) {
            threads.emplace_back(write, i);
        }
        const auto end = Clock::now() + 60s;
        while (writing.load() != 0 && Clock::now() < end) {
            fi_cq_tagged_entry e{};
            if (const ssize_t s = fi_cq_read(n.tx, &e, 1); s == 1 && e.op_context != nullptr) {
                ++*static_cast<std::atomic<int>*>(e.op_context);
            } else {
                EXPECT_TRUE(s == 1 || s == -FI_EAGAIN) << s;
            }
        }
        EXPECT_EQ(writing.load(), 0u);
        for (std::thread& t : threads) {
            t.join();
        }
        other.meet();
    });
}

TEST(LinnetFence, WhatIsHeldBackEndsWithItsPeer)
{
    with_a_peer_to_stop(
        fenced(),
        [](Node& n, const Where& there, Friend&, const std::string& second) {
            const auto out = pattern(kLong, 5);
            char in = 0;
            int contexts[2];
            ASSERT_NO_FATAL_FAILURE(stop(static_cast<pid_t>(std::stol(second))));
            EXPECT_EQ(fi_write(n.ep, out.data(), kLong, nullptr, n.peer, there.at(0), there.key, nullptr), 0);
            EXPECT_EQ(read_behind_a_fence(n, there, &in, 1, kLong - 1, &contexts[0]), 0);
            EXPECT_EQ(fi_tsend(n.ep, out.data(), 100, nullptr, n.peer, 1, &contexts[1]), 0);
            ASSERT_EQ(::kill(static_cast<pid_t>(std::stol(second)), SIGKILL), 0);
            std::set<void*> ended;   // in no order: comp_order is FI_ORDER_NONE
            for (int i = 0; i < 3; ++i) {
                const fi_cq_err_entry e = n.next_error(n.tx);
                EXPECT_EQ(e.err, FI_ECONNRESET);
                ended.insert(e.op_context);
            }
            EXPECT_EQ(ended, (std::set<void*>{nullptr, &contexts[0], &contexts[1]}));
        },
        [](Node&, const Region&) { ::pause(); }, SIGKILL);
}

}   // namespace
}   // namespace linnet::ofi_test
