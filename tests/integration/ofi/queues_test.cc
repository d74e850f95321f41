// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_cq(3), fi_cntr(3), fi_poll(3): formats, selective completion, overflow, every way to wait.
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "integration/ofi/node.h"

namespace linnet::ofi_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Sends `count` messages of one byte with tag 1, a moment after the other side is ready.
Side sender(int count, std::chrono::milliseconds pause = 0ms)
{
    return [=](Friend& other) {
        Node n;
        n.connect(other);
        other.meet();
        std::this_thread::sleep_for(pause);
        const char byte = 'x';
        for (int i = 0; i < count; ++i) {
            n.post([&] { return fi_tinject(n.ep, &byte, 1, n.peer, 1); });
        }
        other.meet();
    };
}

void post_receives(const Node& n, int count, char* to, void* context = nullptr)
{
    for (int i = 0; i < count; ++i) {
        n.post([&] { return fi_trecv(n.ep, to, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, context); });
    }
}

class Formats : public ::testing::TestWithParam<fi_cq_format> {};

TEST_P(Formats, EntriesAreAsLongAsTheFormatSays)
{
    two_processes(sender(3), [&](Friend& other) {
        Node n{{.format = GetParam()}};
        n.connect(other);
        char in = 0;
        int context = 0;
        post_receives(n, 3, &in, &context);
        other.meet();
        const std::size_t sizes[] = {sizeof(fi_cq_entry), sizeof(fi_cq_entry), sizeof(fi_cq_msg_entry), sizeof(fi_cq_data_entry), sizeof(fi_cq_tagged_entry)};
        const std::size_t size = sizes[GetParam()];
        unsigned char room[4 * sizeof(fi_cq_tagged_entry)];
        std::fill(std::begin(room), std::end(room), 0xee);
        ssize_t got = 0;
        while (got < 3) {
            const ssize_t r = fi_cq_read(n.rx, room + static_cast<std::size_t>(got) * size, static_cast<std::size_t>(3 - got));
            got += r > 0 ? r : 0;
        }
        for (std::size_t i = 0; i < 3; ++i) {
            fi_cq_tagged_entry e{};
            std::copy_n(room + i * size, size, reinterpret_cast<unsigned char*>(&e));
            EXPECT_EQ(e.op_context, &context);
            if (size >= sizeof(fi_cq_msg_entry)) {
                EXPECT_EQ(e.len, 1u);
            }
        }
        EXPECT_EQ(room[3 * size], 0xee);
        other.meet();
    });
}
INSTANTIATE_TEST_SUITE_P(All, Formats,
                         ::testing::Values(FI_CQ_FORMAT_UNSPEC, FI_CQ_FORMAT_CONTEXT, FI_CQ_FORMAT_MSG, FI_CQ_FORMAT_DATA, FI_CQ_FORMAT_TAGGED));

TEST(CompletionQueue, SelectiveCompletionReportsOnlyWhatIsAskedFor)
{
    const auto side = [](Friend& other, bool sends) {
        Node n{{.bind_flags = FI_SELECTIVE_COMPLETION}};
        n.connect(other);
        char byte = 'x';
        iovec iov{&byte, 1};
        for (int i = 0; i < 4; ++i) {
            int context = i;
            fi_msg_tagged m{};
            m.msg_iov = &iov;
            m.iov_count = 1;
            m.addr = sends ? n.peer : FI_ADDR_UNSPEC;
            m.tag = 1;
            m.context = &context;
            const std::uint64_t flags = i == 3 ? FI_COMPLETION : 0;
            n.post([&] { return sends ? fi_tsendmsg(n.ep, &m, flags) : fi_trecvmsg(n.ep, &m, flags); });
        }
        EXPECT_NE(n.next(sends ? n.tx : n.rx).flags & FI_TAGGED, 0u);
        EXPECT_TRUE(n.quiet_for(50ms));
        other.meet();
    };
    two_processes([&](Friend& f) { side(f, true); }, [&](Friend& f) { side(f, false); });
}

TEST(CompletionQueue, MoreCompletionsThanItsSizeAreNotLost)
{
    constexpr int kCount = 5000;
    two_processes(sender(kCount), [](Friend& other) {
        Node n{{.cq_size = 4}};
        n.connect(other);
        char in = 0;
        int context = 0;
        int posted = 0;
        int got = 0;
        other.meet();
        fi_cq_tagged_entry e{};
        while (posted < kCount) {   // a provider may refuse to accept more than it has room for
            const ssize_t r = fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, &context);
            posted += r == 0 ? 1 : 0;
            got += r == -FI_EAGAIN && fi_cq_read(n.rx, &e, 1) == 1 ? 1 : 0;
        }
        while (got < kCount && !::testing::Test::HasFailure()) {
            EXPECT_EQ(n.next(n.rx).len, 1u);
            ++got;
        }
        other.meet();
    });
}

TEST(CompletionQueue, BlockingReadEndsWithACompletionATimeoutOrASignal)
{
    two_processes(sender(1, 100ms), [](Friend& other) {
        Node n{{.wait = FI_WAIT_UNSPEC}};
        n.connect(other);
        char in = 0;
        int context = 0;
        post_receives(n, 1, &in, &context);
        fi_cq_tagged_entry e{};
        const auto begin = Clock::now();
        EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, 50), -FI_EAGAIN);
        EXPECT_GE(Clock::now() - begin, 40ms);
        other.meet();
        EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, 10000), 1);
        EXPECT_EQ(e.op_context, &context);
        EXPECT_LT(Clock::now() - begin, 9s);
        std::thread signaller{[&] {
            std::this_thread::sleep_for(100ms);
            EXPECT_EQ(fi_cq_signal(n.rx), 0);
        }};
        EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, -1), -FI_EAGAIN);
        signaller.join();
        other.meet();
    });
}

TEST(LinnetCompletionQueue, ThresholdIsTheValueOfTheConditionAndAnErrorEndsItsWait)
{
    two_processes(sender(3), [](Friend& other) {
        Node n{{.wait = FI_WAIT_UNSPEC, .wait_cond = FI_CQ_COND_THRESHOLD}};
        n.connect(other);
        char in = 0;
        int context = 0;
        post_receives(n, 4, &in, &context);
        other.meet();
        const auto threshold = [](std::uintptr_t value) { return reinterpret_cast<const void*>(value); };
        fi_cq_tagged_entry e[4]{};
        EXPECT_EQ(fi_cq_sread(n.rx, e, 4, threshold(3), 10000), 3);
        const auto begin = Clock::now();
        EXPECT_EQ(fi_cq_sread(n.rx, e, 4, threshold(2), 50), -FI_EAGAIN);
        EXPECT_GE(Clock::now() - begin, 40ms);
        EXPECT_EQ(fi_cancel(&n.ep->fid, &context), 0);
        EXPECT_EQ(fi_cq_sread(n.rx, e, 4, threshold(2), -1), -FI_EAVAIL);
        EXPECT_EQ(n.next_error(n.rx).err, FI_ECANCELED);
        // A number is no address; what may be one is not read.
        post_receives(n, 1, &in, &context);
        EXPECT_EQ(fi_cancel(&n.ep->fid, &context), 0);
        EXPECT_EQ(fi_cq_sread(n.rx, e, 4, threshold(UINTPTR_MAX), -1), -FI_EAVAIL);
        other.meet();
    });
}

// fi_cq(3): -FI_EAGAIN if the thread is signaled and nothing is there.
TEST(LinnetCompletionQueue, SignalBelowTheThresholdGivesWhatIsThere)
{
    two_processes(sender(1), [](Friend& other) {
        Node n{{.wait = FI_WAIT_UNSPEC, .wait_cond = FI_CQ_COND_THRESHOLD, .counters = true}};
        n.connect(other);
        char in = 0;
        int context = 0;
        post_receives(n, 1, &in, &context);
        other.meet();
        EXPECT_EQ(fi_cntr_wait(n.received, 1, 20000), 0);   // it is in the queue
        std::thread signaller{[&] {
            std::this_thread::sleep_for(100ms);
            EXPECT_EQ(fi_cq_signal(n.rx), 0);
        }};
        fi_cq_tagged_entry e[4]{};
        EXPECT_EQ(fi_cq_sread(n.rx, e, 4, reinterpret_cast<const void*>(std::uintptr_t{2}), -1), 1);
        signaller.join();
        EXPECT_EQ(e[0].op_context, &context);
        other.meet();
    });
}

TEST(LinnetCompletionQueue, SignalEndsTheWaitOfEveryThread)
{
    two_processes(
        [](Friend&) {
            Node n{{.wait = FI_WAIT_UNSPEC}};
            std::vector<std::thread> waiters;
            for (int i = 0; i < 3; ++i) {
                waiters.emplace_back([&] {
                    fi_cq_tagged_entry e{};
                    EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, 30000), -FI_EAGAIN);
                });
            }
            const auto begin = Clock::now();
            std::this_thread::sleep_for(200ms);
            EXPECT_EQ(fi_cq_signal(n.rx), 0);
            for (std::thread& t : waiters) {
                t.join();
            }
            EXPECT_LT(Clock::now() - begin, 10s);
            fi_cq_tagged_entry e{};
            EXPECT_EQ(fi_cq_signal(n.rx), 0);   // for whoever comes next, once
            EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, 30000), -FI_EAGAIN);
            EXPECT_LT(Clock::now() - begin, 10s);
            const auto again = Clock::now();
            EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, 50), -FI_EAGAIN);
            EXPECT_GE(Clock::now() - again, 40ms);
        },
        [](Friend&) {});
}

TEST(CompletionQueue, DescriptorIsReadableWhenThereIsSomethingToRead)
{
    constexpr int kRounds = 20;
    const auto side = [](Friend& other, bool first) {
        Node n{{.wait = FI_WAIT_FD}};
        n.connect(other);
        int fd = -1;
        EXPECT_EQ(fi_control(&n.rx->fid, FI_GETWAIT, &fd), 0);
        char in = 0;
        for (int i = 0; i < kRounds; ++i) {
            int context = 0;
            n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, &context); });
            if (first == (i % 2 == 0)) {
                other.meet();
                std::this_thread::sleep_for(3ms);
                n.post([&] { return fi_tinject(n.ep, "x", 1, n.peer, 1); });
                // what it posted itself is for the next round
                EXPECT_EQ(fi_cancel(&n.ep->fid, &context), 0);
                EXPECT_EQ(n.next_error(n.rx).err, FI_ECANCELED);
                continue;
            }
            other.meet();
            fi_cq_tagged_entry e{};
            ssize_t got = -FI_EAGAIN;
            const auto end = Clock::now() + 10s;
            while (got == -FI_EAGAIN && Clock::now() < end) {
                struct fid* fids[] = {&n.rx->fid};
                if (fi_trywait(n.fabric, fids, 1) == 0) {
                    pollfd p{fd, POLLIN, 0};
                    EXPECT_GE(::poll(&p, 1, 5000), 0);
                }
                got = fi_cq_read(n.rx, &e, 1);
            }
            EXPECT_EQ(got, 1) << i;
        }
        other.meet();
    };
    two_processes([&](Friend& f) { side(f, true); }, [&](Friend& f) { side(f, false); });
}

TEST(LinnetCompletionQueue, ConditionVariableIsSignalled)
{
    two_processes(sender(1, 100ms), [](Friend& other) {
        Node n{{.wait = FI_WAIT_MUTEX_COND}};
        n.connect(other);
        fi_mutex_cond w{};
        EXPECT_EQ(fi_control(&n.rx->fid, FI_GETWAIT, &w), 0);
        char in = 0;
        int context = 0;
        post_receives(n, 1, &in, &context);
        other.meet();
        fi_cq_tagged_entry e{};
        ssize_t got = -FI_EAGAIN;
        const auto begin = Clock::now();
        while (got == -FI_EAGAIN && Clock::now() - begin < 8s) {
            ::pthread_mutex_lock(w.mutex);
            struct fid* fids[] = {&n.rx->fid};
            if (fi_trywait(n.fabric, fids, 1) == 0) {
                timespec until{};
                ::clock_gettime(CLOCK_REALTIME, &until);
                until.tv_sec += 10;
                EXPECT_EQ(::pthread_cond_timedwait(w.cond, w.mutex, &until), 0);
            }
            ::pthread_mutex_unlock(w.mutex);
            got = fi_cq_read(n.rx, &e, 1);
        }
        EXPECT_EQ(got, 1);
        EXPECT_LT(Clock::now() - begin, 8s);
        other.meet();
    });
}

// Before 1.5 the entry was shorter, and the data always the provider's.
TEST(LinnetCompletionQueue, ErrorEntryIsThatOfTheInterfaceThatWasAskedFor)
{
    two_processes(
        [](Friend&) {
            for (const unsigned minor : {4u, 5u, 17u}) {
                const bool sized = minor >= 5;
                Node n{{.version = FI_VERSION(1, minor)}};
                char in = 0;
                fi_context2 context;
                n.post([&] { return fi_recv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, &context); });
                EXPECT_EQ(fi_cancel(&n.ep->fid, &context), 0);
                char data[8];
                fi_cq_err_entry e{};
                e.err_data = data;
                e.err_data_size = sizeof data;
                EXPECT_EQ(fi_cq_readerr(n.rx, &e, 0), 1);
                EXPECT_EQ(e.err, FI_ECANCELED);
                EXPECT_EQ(e.op_context, &context);
                EXPECT_EQ(e.err_data == data, sized);
                EXPECT_EQ(e.err_data_size, sized ? 0 : sizeof data);
            }
        },
        [](Friend&) {});
}

TEST(CompletionQueue, CannotBeClosedWhileAnEndpointNamesIt)
{
    two_processes([](Friend&) {
        Node n;
        EXPECT_EQ(fi_close(&n.rx->fid), -FI_EBUSY);
        EXPECT_EQ(fi_close(&n.av->fid), -FI_EBUSY);
        EXPECT_EQ(fi_close(&n.domain->fid), -FI_EBUSY);
        EXPECT_EQ(fi_close(&n.fabric->fid), -FI_EBUSY);
    }, [](Friend&) {});
}

// Two threads wait on one queue; one gives up. The other is woken all the same, by a thread that makes the endpoint progress for another queue.
TEST(LinnetCompletionQueue, ThreadThatGivesUpWaitingTakesNoOthersWakeUpAlong)
{
    two_processes(
        [](Friend& other) {
            Node n{{.wait = FI_WAIT_UNSPEC}};
            n.connect(other);
            char in = 0;
            int context = 0;
            n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, &context); });
            std::atomic<bool> woken{false};
            std::thread stays{[&] {
                fi_cq_tagged_entry e{};
                EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, 30000), 1);
                woken.store(true);
            }};
            std::this_thread::sleep_for(50ms);
            std::thread gives_up{[&] {
                fi_cq_tagged_entry e{};
                EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, 50), -FI_EAGAIN);
            }};
            gives_up.join();
            fi_cq_tagged_entry none{};
            const auto progress_for = [&](std::chrono::milliseconds time) {
                for (const auto end = Clock::now() + time; !woken.load() && Clock::now() < end;) {
                    EXPECT_EQ(fi_cq_read(n.tx, &none, 1), -FI_EAGAIN);
                }
            };
            progress_for(50ms);
            other.tell("now");
            progress_for(20000ms);
            EXPECT_TRUE(woken.load());
            stays.join();
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            EXPECT_EQ(other.hear(), "now");
            n.post([&] { return fi_tinject(n.ep, "x", 1, n.peer, 1); });
            other.meet();
        });
}

// All messages come while all threads wait, each for one. None goes on waiting while there is an entry, whoever made the progress.
TEST(LinnetCompletionQueue, ThreadsThatWaitTogetherEachGetTheirEntry)
{
    constexpr int kThreads = 4;
    constexpr int kRounds = 50;
    two_processes(
        [](Friend& other) {
            Node n{{.wait = FI_WAIT_UNSPEC}};
            n.connect(other);
            char in = 0;
            std::atomic<int> got{0};
            std::vector<std::thread> waiters;
            for (int i = 0; i < kThreads; ++i) {
                waiters.emplace_back([&] {
                    for (int round = 0; round < kRounds; ++round) {
                        fi_cq_tagged_entry e{};
                        EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, 20000), 1);
                        ++got;
                    }
                });
            }
            for (int round = 0; round < kRounds; ++round) {
                post_receives(n, kThreads, &in);
                other.tell("now");
                while (got.load() < (round + 1) * kThreads && !::testing::Test::HasFailure()) {
                    round % 2 == 0 ? std::this_thread::sleep_for(100us) : static_cast<void>(fi_cq_read(n.tx, nullptr, 0));
                }
            }
            for (std::thread& t : waiters) {
                t.join();
            }
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            for (int round = 0; round < kRounds; ++round) {
                EXPECT_EQ(other.hear(), "now");
                for (int i = 0; i < kThreads; ++i) {
                    n.post([&] { return fi_tinject(n.ep, "x", 1, n.peer, 1); });
                }
            }
            other.meet();
        });
}

TEST(Counters, CountWhatCompletesAndCanBeWaitedFor)
{
    const auto side = [](Friend& other, bool sends) {
        Node n{{.counters = true}};
        n.connect(other);
        char byte = 'x';
        other.meet();
        if (sends) {
            std::this_thread::sleep_for(50ms);
            for (int i = 0; i < 10; ++i) {
                n.post([&] { return fi_tsend(n.ep, &byte, 1, nullptr, n.peer, 1, nullptr); });
            }
            EXPECT_EQ(fi_cntr_wait(n.sent, 10, 10000), 0);
            EXPECT_EQ(fi_cntr_read(n.sent), 10u);
            EXPECT_EQ(fi_cntr_read(n.received), 0u);
        } else {
            post_receives(n, 10, &byte);
            EXPECT_EQ(fi_cntr_wait(n.received, 11, 10), -FI_ETIMEDOUT);
            EXPECT_EQ(fi_cntr_wait(n.received, 10, 10000), 0);
            EXPECT_EQ(fi_cntr_read(n.received), 10u);
            EXPECT_EQ(fi_cntr_readerr(n.received), 0u);
            EXPECT_EQ(fi_cntr_set(n.received, 5), 0);
            EXPECT_EQ(fi_cntr_add(n.received, 2), 0);
            EXPECT_EQ(fi_cntr_wait(n.received, 7, 1000), 0);
            EXPECT_EQ(fi_cntr_read(n.received), 7u);
        }
        other.meet();
    };
    two_processes([&](Friend& f) { side(f, true); }, [&](Friend& f) { side(f, false); });
}

// Programs bind their counters when the endpoint works already.
TEST(LinnetCounters, HaveNoFlagsToSet)
{
    two_processes(
        [](Friend&) {
            Node n;
            fid_cntr* counter = nullptr;
            ASSERT_EQ(fi_cntr_open(n.domain, nullptr, &counter, nullptr), 0);
            std::uint64_t flags = 7;
            EXPECT_EQ(fi_control(&counter->fid, FI_GETOPSFLAG, &flags), 0);
            EXPECT_EQ(flags, 0u);
            EXPECT_EQ(fi_control(&counter->fid, FI_SETOPSFLAG, &flags), 0);
            flags = FI_COMPLETION;
            EXPECT_EQ(fi_control(&counter->fid, FI_SETOPSFLAG, &flags), -FI_EBADFLAGS);
            EXPECT_EQ(fi_close(&counter->fid), 0);
        },
        [](Friend&) {});
}

TEST(LinnetCounters, CountFromWhenTheyAreBoundOn)
{
    const auto side = [](Friend& other) {
        Node n;
        n.connect(other);
        const auto exchange = [&] {
            char out = 'x';
            char in = ' ';
            n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr); });
            n.post([&] { return fi_tsend(n.ep, &out, 1, nullptr, n.peer, 1, nullptr); });
            static_cast<void>(n.next(n.tx));
            static_cast<void>(n.next(n.rx));
        };
        exchange();
        other.meet();
        fi_cntr_attr attr{};
        attr.wait_obj = FI_WAIT_UNSPEC;
        fid_cntr* both = nullptr;
        ASSERT_EQ(fi_cntr_open(n.domain, &attr, &both, nullptr), 0);
        EXPECT_EQ(fi_ep_bind(n.ep, &both->fid, FI_SEND | FI_RECV), 0);
        EXPECT_EQ(fi_ep_bind(n.ep, &both->fid, FI_RECV), -FI_EINVAL) << "there is one";
        EXPECT_EQ(fi_cntr_read(both), 0u);
        other.meet();
        exchange();
        EXPECT_EQ(fi_cntr_wait(both, 2, 20000), 0);
        EXPECT_EQ(fi_cntr_read(both), 2u);
        EXPECT_EQ(fi_close(&both->fid), -FI_EBUSY);
        other.meet();
        EXPECT_EQ(fi_close(&n.ep->fid), 0);
        n.ep = nullptr;
        EXPECT_EQ(fi_close(&both->fid), 0);
    };
    two_processes(side, side);
}

TEST(PollSets, NameTheQueuesWithSomethingToRead)
{
    two_processes(sender(1), [](Friend& other) {
        Node n;
        n.connect(other);
        fid_poll* set = nullptr;
        fi_poll_attr attr{};
        ASSERT_EQ(fi_poll_open(n.domain, &attr, &set), 0);
        EXPECT_EQ(fi_poll_add(set, &n.rx->fid, 0), 0);
        EXPECT_EQ(fi_poll_add(set, &n.tx->fid, 0), 0);
        void* who[2] = {};
        EXPECT_EQ(fi_poll(set, who, 2), 0);
        char in = 0;
        post_receives(n, 1, &in);
        other.meet();
        const auto end = Clock::now() + 10s;
        int due = 0;
        while (due == 0 && Clock::now() < end) {
            due = fi_poll(set, who, 2);
        }
        EXPECT_EQ(due, 1);
        EXPECT_EQ(who[0], &n.rx);
        static_cast<void>(n.next(n.rx));
        EXPECT_EQ(fi_poll(set, who, 2), 0);
        EXPECT_EQ(fi_poll_del(set, &n.rx->fid, 0), 0);
        EXPECT_EQ(fi_poll_del(set, &n.tx->fid, 0), 0);
        EXPECT_EQ(fi_close(&set->fid), 0);
        other.meet();
    });
}

// The receiver computes: it calls nothing. FI_PROGRESS_AUTO promises the sender that its message arrives.
TEST(LinnetProgress, LongMessageArrivesWhileTheReceiverComputes)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            const auto out = pattern(4u << 20, 1);
            int context = 0;
            other.meet();
            n.post([&] { return fi_tsend(n.ep, out.data(), out.size(), nullptr, n.peer, 1, &context); });
            EXPECT_EQ(n.next(n.tx).op_context, &context);
            other.tell("sent");
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            std::vector<char> in(4u << 20);
            int context = 0;
            n.post([&] { return fi_trecv(n.ep, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, 1, 0, &context); });
            other.meet();
            EXPECT_EQ(other.hear(), "sent");   // without a call in between
            EXPECT_EQ(n.next(n.rx).len, in.size());
            EXPECT_EQ(in, pattern(in.size(), 1));
        });
}

TEST(LinnetPollSet, CounterThatFindsNoRoomIsToldTheNextTime)
{
    two_processes(
        [](Friend&) {
            Node n;
            fid_poll* set = nullptr;
            fi_poll_attr attr{};
            ASSERT_EQ(fi_poll_open(n.domain, &attr, &set), 0);
            fid_cntr* counters[3] = {};
            fi_cntr_attr counter_attr{};
            for (fid_cntr*& c : counters) {
                ASSERT_EQ(fi_cntr_open(n.domain, &counter_attr, &c, &c), 0);
                EXPECT_EQ(fi_poll_add(set, &c->fid, 0), 0);
                EXPECT_EQ(fi_cntr_add(c, 1), 0);
            }
            void* told[4] = {};
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(fi_poll(set, &told[i], 1), 1);
            }
            std::sort(told, told + 3);
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(told[i], static_cast<void*>(&counters[i]));
            }
            EXPECT_EQ(fi_poll(set, told, 4), 0);
            EXPECT_EQ(fi_close(&set->fid), 0);
            for (fid_cntr* const c : counters) {
                EXPECT_EQ(fi_close(&c->fid), 0);
            }
        },
        [](Friend&) {});
}

TEST(LinnetPollSet, CounterOfTwoSetsIsToldByBoth)
{
    two_processes(
        [](Friend&) {
            Node n;
            fid_poll* sets[2] = {};
            fid_cntr* counter = nullptr;
            fi_poll_attr attr{};
            ASSERT_EQ(fi_cntr_open(n.domain, nullptr, &counter, &counter), 0);
            for (fid_poll*& set : sets) {
                ASSERT_EQ(fi_poll_open(n.domain, &attr, &set), 0);
                EXPECT_EQ(fi_poll_add(set, &counter->fid, 0), 0);
            }
            EXPECT_EQ(fi_cntr_add(counter, 1), 0);
            for (fid_poll* const set : sets) {
                void* told = nullptr;
                EXPECT_EQ(fi_poll(set, &told, 1), 1);
                EXPECT_EQ(fi_poll(set, &told, 1), 0);
                EXPECT_EQ(fi_close(&set->fid), 0);
            }
            EXPECT_EQ(fi_close(&counter->fid), 0);
        },
        [](Friend&) {});
}

TEST(LinnetEndpoint, VectorOfAnEndpointThatIsNotEnabledYetCannotBeClosed)
{
    two_processes(
        [](Friend&) {
            Node n{{}, false};
            EXPECT_EQ(fi_close(&n.av->fid), -FI_EBUSY);
            n.enable();
            EXPECT_EQ(fi_close(&n.av->fid), -FI_EBUSY);
        },
        [](Friend&) {});
}

TEST(LinnetErrors, DeadPeerEndsItsOperationsAndIsNoReasonToTryAgain)
{
    two_processes(
        [](Friend& other) {
            Node n{{.caps = FI_TAGGED | FI_DIRECTED_RECV}};
            n.connect(other);
            const auto pid = static_cast<pid_t>(std::stol(other.hear()));
            std::vector<char> in(100);
            fi_context2 contexts[2];
            n.post([&] { return fi_trecv(n.ep, in.data(), in.size(), nullptr, n.peer, 99, 0, &contexts[0]); });
            n.post([&] { return fi_tinject(n.ep, in.data(), 1, n.peer, 1); });
            static_cast<void>(other.hear());   // there is a link, whose end is an end; without one the peer would be called until connect_timeout
            ::kill(pid, SIGKILL);
            fi_cq_err_entry e = n.next_error(n.rx);
            EXPECT_EQ(e.err, FI_ECONNRESET);
            EXPECT_EQ(e.op_context, &contexts[0]);
            const auto out = pattern(1u << 20, 1);
            n.post([&] { return fi_tsend(n.ep, out.data(), out.size(), nullptr, n.peer, 1, &contexts[1]); });
            e = n.next_error(n.tx);
            EXPECT_EQ(e.op_context, &contexts[1]);
            EXPECT_EQ(e.err, FI_ECONNRESET);
        },
        [](Friend& other) {
            Node n{{.caps = FI_TAGGED | FI_DIRECTED_RECV}};
            n.connect(other);
            other.tell(std::to_string(::getpid()));
            char in = 0;
            n.post([&] { return fi_trecv(n.ep, &in, sizeof in, nullptr, n.peer, 1, 0, nullptr); });
            static_cast<void>(n.next(n.rx));
            other.tell("has come");
            ::pause();
        },
        SIGKILL);
}

}   // namespace
}   // namespace linnet::ofi_test
