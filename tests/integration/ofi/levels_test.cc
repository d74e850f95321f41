// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_cq(3), completion levels: no completion comes before what it says is so. fi_endpoint(3), message ordering: what is declared is kept.
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <thread>

#include "integration/ofi/node.h"
#include "integration/ofi/region.h"

namespace linnet::ofi_test {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kLevels[] = {FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE, FI_DELIVERY_COMPLETE, FI_MATCH_COMPLETE};

void send_at(Node& n, const void* bytes, std::size_t size, std::uint64_t level, void* context)
{
    const iovec iov{const_cast<void*>(bytes), size};
    fi_msg m{};
    m.msg_iov = &iov;
    m.iov_count = 1;
    m.addr = n.peer;
    m.context = context;
    n.post([&] { return fi_sendmsg(n.ep, &m, FI_COMPLETION | level); });
}

TEST(Levels, BufferMayBeChangedAfterAnyCompletion)
{
    constexpr std::size_t kSizes[] = {8, 3000, 50000, 200000, 2u << 20};
    const std::uint64_t levels[] = {0, FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE, FI_DELIVERY_COMPLETE};
    two_processes(
        [&](Friend& other) {
            Node n;
            n.connect(other);
            for (const std::size_t size : kSizes) {
                for (const std::uint64_t level : levels) {
                    auto out = pattern(size, 4);
                    send_at(n, out.data(), size, level, nullptr);
                    static_cast<void>(n.next(n.tx));
                    std::fill(out.begin(), out.end(), '\0');
                }
            }
            other.meet();
        },
        [&](Friend& other) {
            Node n;
            n.connect(other);
            for (const std::size_t size : kSizes) {
                for (std::size_t i = 0; i < std::size(levels); ++i) {
                    std::vector<char> in(size);
                    n.post([&] { return fi_recv(n.ep, in.data(), size, nullptr, FI_ADDR_UNSPEC, nullptr); });
                    EXPECT_EQ(n.next(n.rx).len, size);
                    EXPECT_EQ(in, pattern(size, 4)) << size << ' ' << i;
                }
            }
            other.meet();
        });
}

// The receiver looks at its buffer, and calls nothing: data that was still on its way to there would be missing.
TEST(LinnetLevels, DeliveryMeansThatThePostedBufferHasTheData)
{
    constexpr std::size_t kSizes[] = {8, 3000, 20000, 60000, 200000, 4u << 20};
    constexpr int kRounds = 5;
    two_processes(
        [&](Friend& other) {
            Node n;
            n.connect(other);
            for (const std::size_t size : kSizes) {
                for (int i = 0; i < kRounds; ++i) {
                    const auto out = pattern(size, static_cast<unsigned>(size) + static_cast<unsigned>(i));
                    EXPECT_EQ(other.hear(), "posted");
                    send_at(n, out.data(), size, FI_DELIVERY_COMPLETE, nullptr);
                    static_cast<void>(n.next(n.tx));
                    other.tell("delivered");
                }
            }
            other.meet();
        },
        [&](Friend& other) {
            Node n;
            n.connect(other);
            for (const std::size_t size : kSizes) {
                for (int i = 0; i < kRounds; ++i) {
                    std::vector<char> in(size);
                    n.post([&] { return fi_recv(n.ep, in.data(), size, nullptr, FI_ADDR_UNSPEC, nullptr); });
                    other.tell("posted");
                    EXPECT_EQ(other.hear(), "delivered");
                    EXPECT_EQ(as_left_by_the_other_side(in), pattern(size, static_cast<unsigned>(size) + static_cast<unsigned>(i))) << size;
                    EXPECT_EQ(n.next(n.rx).len, size);
                }
            }
            other.meet();
        });
}

// fi_cq(3): "delivered to the peer endpoint", whatever it does with it; however often it has been seen by then that reading such messages out of the
// sender's memory, or sending them another way, takes less time.
TEST(LinnetLevels, MessagesUpToTheEagerLimitCompleteBeforeTheirReceiveIsPosted)
{
    constexpr std::size_t kSizes[] = {8, 5000, 20000, 40000, 65536};
    constexpr int kRounds = 15;
    two_processes(
        [&](Friend& other) {
            Node n;
            n.connect(other);
            for (const std::size_t size : kSizes) {
                for (int i = 0; i < kRounds; ++i) {
                    const auto out = pattern(size, static_cast<unsigned>(i));
                    send_at(n, out.data(), size, i % 2 == 0 ? FI_TRANSMIT_COMPLETE : FI_DELIVERY_COMPLETE, nullptr);
                    static_cast<void>(n.next(n.tx));
                    other.tell("sent");
                    EXPECT_EQ(other.hear(), "received");
                }
            }
            other.meet();
        },
        [&](Friend& other) {
            Node n;
            n.connect(other);
            for (const std::size_t size : kSizes) {
                for (int i = 0; i < kRounds; ++i) {
                    EXPECT_EQ(other.hear(), "sent");
                    std::vector<char> in(size);
                    n.post([&] { return fi_recv(n.ep, in.data(), size, nullptr, FI_ADDR_UNSPEC, nullptr); });
                    EXPECT_EQ(n.next(n.rx).len, size);
                    EXPECT_EQ(in, pattern(size, static_cast<unsigned>(i))) << size << ' ' << i;
                    other.tell("received");
                }
            }
            other.meet();
        });
}

// A peer that is stopped acknowledges nothing: what is complete then needed no peer.
TEST(LinnetLevels, NoneButInjectionCompletesWhileThePeerIsStopped)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            const auto out = pattern(1000, 1);
            send_at(n, out.data(), out.size(), FI_DELIVERY_COMPLETE, nullptr);   // they are connected
            static_cast<void>(n.next(n.tx));
            const pid_t second = static_cast<pid_t>(std::stol(other.hear()));
            ASSERT_NO_FATAL_FAILURE(stop(second));
            send_at(n, out.data(), out.size(), FI_INJECT_COMPLETE, nullptr);
            static_cast<void>(n.next(n.tx));
            int context[3] = {};
            for (int i = 1; i <= 3; ++i) {
                send_at(n, out.data(), out.size(), kLevels[i], &context[i - 1]);
            }
            EXPECT_TRUE(n.quiet_for(300ms));
            ASSERT_EQ(::kill(second, SIGCONT), 0);
            bool done[3] = {};
            for (int i = 0; i < 3; ++i) {
                done[static_cast<int*>(n.next(n.tx).op_context) - context] = true;
                if (i == 1) {   // the matched one waits for its receive
                    EXPECT_TRUE(done[0] && done[1]);
                    EXPECT_TRUE(n.quiet_for(50ms));
                    other.tell("receive");
                }
            }
            EXPECT_TRUE(done[2]);
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            std::vector<char> in(1000);
            const auto receive = [&] {
                n.post([&] { return fi_recv(n.ep, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, nullptr); });
                static_cast<void>(n.next(n.rx));
            };
            receive();
            other.tell(std::to_string(::getpid()));
            EXPECT_EQ(other.hear(), "receive");
            for (int i = 0; i < 4; ++i) {
                receive();
            }
            other.meet();
        });
}

// ---- writes ----

struct Remote {
    Node& n;
    const Where& there;
    void write(const void* from, std::size_t size, std::uint64_t at, std::uint64_t flags) const
    {
        const iovec iov{const_cast<void*>(from), size};
        const fi_rma_iov remote{there.at(at), size, there.key};
        const fi_msg_rma m{&iov, nullptr, 1, n.peer, &remote, 1, nullptr, 0};
        n.post([&] { return fi_writemsg(n.ep, &m, flags); });
    }
    void read(void* to, std::size_t size, std::uint64_t at) const
    {
        n.post([&] { return fi_read(n.ep, to, size, nullptr, n.peer, there.at(at), there.key, nullptr); });
    }
};

void with_region(std::uint64_t caps, std::size_t bytes, const std::function<void(const Remote&, Friend&)>& user,
                 const std::function<void(Region&, Friend&)>& owner)
{
    Options o;
    o.caps = caps;
    two_processes(
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            const Where there{other.hear()};
            user({n, there}, other);
            other.meet();
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            Region r{n, bytes, FI_REMOTE_READ | FI_REMOTE_WRITE};
            other.tell(r.where());
            owner(r, other);
            other.meet();
        });
}

TEST(Levels, DeliveredWriteIsInTheMemoryOfItsTarget)
{
    constexpr std::size_t kSizes[] = {1, 3000, 60000, 200000, 4u << 20};
    with_region(
        FI_MSG | FI_RMA, 4u << 20,
        [&](const Remote& r, Friend& other) {
            for (const std::size_t size : kSizes) {
                const auto out = pattern(size, static_cast<unsigned>(size));
                r.write(out.data(), size, 0, FI_COMPLETION | FI_DELIVERY_COMPLETE);
                static_cast<void>(r.n.next(r.n.tx));
                other.tell("delivered");
                EXPECT_EQ(other.hear(), "seen");
            }
        },
        [&](Region& r, Friend& other) {
            for (const std::size_t size : kSizes) {
                EXPECT_EQ(other.hear(), "delivered");
                const auto all = r.content();
                const auto wanted = pattern(size, static_cast<unsigned>(size));
                EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), all.begin())) << size;
                other.tell("seen");
            }
        });
}

// FI_ORDER_RAW, WAR, WAW, RAR up to max_order_*_size: nobody waits for anything, and each read finds what the last write before it left.
TEST(LinnetOrder, ShortWritesAndReadsTakeEffectInTheOrderOfTheirCalls)
{
    with_region(
        FI_MSG | FI_RMA, 16384,
        [](const Remote& r, Friend&) {
            constexpr std::size_t kRounds = 200;
            const std::size_t most = r.n.info->ep_attr->max_order_raw_size;
            EXPECT_EQ(most, 16384u);
            EXPECT_EQ(r.n.info->ep_attr->max_order_war_size, most);
            EXPECT_EQ(r.n.info->ep_attr->max_order_waw_size, most);
            constexpr std::uint64_t kDeclared = FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_WAR | FI_ORDER_WAW | FI_ORDER_SAS;
            EXPECT_EQ(r.n.info->tx_attr->msg_order & kDeclared, kDeclared);
            const std::size_t sizes[] = {8, 100, 2000, 5000, most};
            std::vector<std::vector<char>> out;
            std::vector<std::vector<char>> in;
            for (std::size_t i = 0; i < kRounds; ++i) {
                const std::size_t size = sizes[i % std::size(sizes)];
                out.push_back(std::vector<char>(size, static_cast<char>(i + 1)));
                in.emplace_back(size);
            }
            const std::vector<char> overwritten(most, '\x7f');
            for (std::size_t i = 0; i < kRounds; ++i) {
                r.write(overwritten.data(), out[i].size(), 0, FI_COMPLETION);
                r.write(out[i].data(), out[i].size(), 0, FI_COMPLETION);
                r.read(in[i].data(), in[i].size(), 0);
            }
            for (std::size_t i = 0; i < 3 * kRounds; ++i) {
                static_cast<void>(r.n.next(r.n.tx));
            }
            for (std::size_t i = 0; i < kRounds; ++i) {
                EXPECT_EQ(in[i], out[i]) << i;
            }
        },
        [](Region&, Friend&) {});
}

// FI_ORDER_ATOMIC_*: likewise.
TEST(LinnetOrder, AtomicOperationsTakeEffectInTheOrderOfTheirCalls)
{
    with_region(
        FI_MSG | FI_RMA | FI_ATOMIC, 4096,
        [](const Remote& r, Friend&) {
            constexpr std::size_t kRounds = 200;
            std::vector<std::uint64_t> set(kRounds);
            std::vector<std::uint64_t> was(kRounds);
            std::vector<std::uint64_t> read(kRounds);
            const std::uint64_t one = 1;
            const Where& t = r.there;
            for (std::size_t i = 0; i < kRounds; ++i) {
                set[i] = 1000 * (i + 1);
                r.n.post([&] { return fi_atomic(r.n.ep, &set[i], 1, nullptr, r.n.peer, t.at(0), t.key, FI_UINT64, FI_ATOMIC_WRITE, nullptr); });
                r.n.post([&] { return fi_fetch_atomic(r.n.ep, &one, 1, nullptr, &was[i], nullptr, r.n.peer, t.at(0), t.key, FI_UINT64, FI_SUM, nullptr); });
                r.n.post([&] {
                    return fi_fetch_atomic(r.n.ep, nullptr, 1, nullptr, &read[i], nullptr, r.n.peer, t.at(0), t.key, FI_UINT64, FI_ATOMIC_READ, nullptr);
                });
            }
            for (std::size_t i = 0; i < 3 * kRounds; ++i) {
                static_cast<void>(r.n.next(r.n.tx));
            }
            for (std::size_t i = 0; i < kRounds; ++i) {
                EXPECT_EQ(was[i], set[i]) << i;
                EXPECT_EQ(read[i], set[i] + 1) << i;
            }
        },
        [](Region&, Friend&) {});
}

}   // namespace
}   // namespace linnet::ofi_test
