// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_cq(3), FI_DELIVERY_COMPLETE: "If an application buffer was ready to receive the results of the message when it arrived, then delivery complete indicates
// that the data was placed into the application's buffer." Buffers are ready, too, that take several messages, and those posted behind them.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <string>
#include <vector>

#include "integration/ofi/shared_hub.h"

namespace linnet::ofi_test {
namespace {

// The first of each group is a long one, whose receive takes its time.
constexpr unsigned kGroup = 5;
constexpr unsigned kMessages = 24 * kGroup;
constexpr std::size_t kShort = 512;
constexpr std::size_t kLong = 1u << 20;
constexpr unsigned kWindow = 2 * kGroup;

constexpr std::size_t bytes_of(unsigned message) { return message % kGroup == 0 ? kLong : kShort; }
// In the buffers, one message behind the other in the order of sending.
constexpr std::size_t place_of(unsigned message) { return (message + kGroup - 1) / kGroup * (kLong - kShort) + message * kShort; }
constexpr std::size_t kAll = place_of(kMessages);

// The buffers, which both processes see: the sender looks there itself, and at once.
class SeenByBoth {
public:
    explicit SeenByBoth(std::size_t bytes) : bytes_{bytes}, name_{"/linnet-delivery-" + std::to_string(test_process())}
    {
        const int fd = ::shm_open(name_.c_str(), O_RDWR | O_CREAT, 0600);
        EXPECT_GE(fd, 0);
        EXPECT_EQ(::ftruncate(fd, static_cast<off_t>(bytes)), 0);
        void* const at = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        EXPECT_NE(at, MAP_FAILED);
        memory_ = static_cast<char*>(at);
        ::close(fd);
    }
    ~SeenByBoth()
    {
        ::munmap(memory_, bytes_);
        ::shm_unlink(name_.c_str());
    }
    SeenByBoth(const SeenByBoth&) = delete;
    SeenByBoth& operator=(const SeenByBoth&) = delete;
    [[nodiscard]] char* at(std::size_t offset) const { return memory_ + offset; }

private:
    std::size_t bytes_;
    std::string name_;
    char* memory_{nullptr};
};

void deliver(const Node& n, fi_addr_t to, const char* data, std::size_t bytes, void* context)
{
    const iovec iov{const_cast<char*>(data), bytes};
    fi_msg m{};
    m.msg_iov = &iov;
    m.iov_count = 1;
    m.addr = to;
    m.context = context;
    n.post([&] { return fi_sendmsg(n.ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE); });
}

char filling(unsigned message) { return static_cast<char>(1 + message % 120); }

// A window of messages; each is looked for when it is delivered.
void send_and_look(Node& n, const SeenByBoth& memory)
{
    std::vector<std::vector<char>> out(kMessages);
    std::vector<std::size_t> missing;
    unsigned open = 0;
    const auto look = [&] {
        const auto* const data = static_cast<std::vector<char>*>(n.next(n.tx).op_context);
        const auto message = static_cast<unsigned>(data - out.data());
        const volatile char* const there = memory.at(place_of(message));
        if (there[0] != filling(message) || there[bytes_of(message) - 1] != filling(message)) {
            missing.push_back(message);
        }
        --open;
    };
    for (unsigned i = 0; i < kMessages; ++i) {
        out[i].assign(bytes_of(i), filling(i));
        deliver(n, n.peer, out[i].data(), out[i].size(), &out[i]);
        if (++open == kWindow) {
            look();
        }
    }
    while (open != 0) {
        look();
    }
    EXPECT_EQ(missing, std::vector<std::size_t>{}) << "these were not in their buffers when they had been delivered";
}

void receive(const Node& n, const SeenByBoth& memory, unsigned first, unsigned behind, std::uint64_t flags)
{
    receive(n, memory.at(place_of(first)), place_of(behind) - place_of(first), FI_ADDR_UNSPEC, flags, nullptr);
}

// The receiver posts what there is room for, as `post` says, and then takes nothing from its queue until all has been delivered.
void delivered_is_there(bool calls, const std::function<void(const Node&, const SeenByBoth&)>& post)
{
    Options o;
    o.caps = FI_MSG | FI_MULTI_RECV;
    two_processes(
        [&](Friend& other) {
            const SeenByBoth memory{kAll};
            Node n{o};
            std::size_t least = kShort;
            ASSERT_EQ(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least), 0);
            n.connect(other);
            post(n, memory);
            other.meet();
            if (calls) {   // now and then
                other.idle = [&n] { fi_cq_read(n.rx, nullptr, 0); };
            }
            EXPECT_EQ(other.hear(), "seen");   // else blocked in recv(2)
            other.idle = nullptr;
            for (unsigned i = 0; i < kMessages; ++i) {
                EXPECT_EQ(n.next(n.rx).len, bytes_of(i));
            }
            other.meet();
        },
        [&](Friend& other) {
            const SeenByBoth memory{kAll};
            Node n{o};
            n.connect(other);
            other.meet();
            send_and_look(n, memory);
            other.tell("seen");
            other.meet();
        });
}

// Whether the receiver's program calls meanwhile.
class LinnetDelivery : public ::testing::TestWithParam<bool> {};

TEST_P(LinnetDelivery, IsInTheBufferThatTakesThemAll)
{
    delivered_is_there(GetParam(), [](const Node& n, const SeenByBoth& memory) { receive(n, memory, 0, kMessages, FI_MULTI_RECV); });
}

TEST_P(LinnetDelivery, IsInTheBufferBehindTheFullOne)
{
    delivered_is_there(GetParam(), [](const Node& n, const SeenByBoth& memory) {
        for (unsigned i = 0; i < kMessages; i += kGroup) {
            receive(n, memory, i, i + kGroup, FI_MULTI_RECV);
        }
    });
}

TEST_P(LinnetDelivery, IsInTheReceiveBehindTheFullBuffer)
{
    delivered_is_there(GetParam(), [](const Node& n, const SeenByBoth& memory) {
        for (unsigned i = 0; i < kMessages; i += kGroup) {
            receive(n, memory, i, i + kGroup - 1, FI_MULTI_RECV);
            receive(n, memory, i + kGroup - 1, i + kGroup, 0);
        }
    });
}

INSTANTIATE_TEST_SUITE_P(Program, LinnetDelivery, ::testing::Bool(), [](const auto& p) { return p.param ? std::string{"calls"} : std::string{"computes"}; });

// A receive was held behind a buffer for one source, so the space is watched; then nothing is posted any more. The program computes, and is told nothing.
TEST(LinnetUnmeantDelivery, IsToldThoughTheReceiverComputes)
{
    constexpr std::size_t kBytes = 100;
    Options o;
    o.caps = FI_MSG | FI_MULTI_RECV | FI_DIRECTED_RECV;
    two_processes(
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            std::vector<char> in(10 * kBytes);
            receive(n, in.data(), in.size(), n.peer, FI_MULTI_RECV, &n);
            receive(n, in.data(), kBytes, FI_ADDR_UNSPEC, 0, &in);
            for (void* const context : {static_cast<void*>(&in), static_cast<void*>(&n)}) {
                EXPECT_EQ(fi_cancel(&n.ep->fid, context), 0);
                EXPECT_EQ(n.next_error(n.rx).err, FI_ECANCELED);
            }
            other.meet();
            EXPECT_EQ(other.hear(), "delivered");   // blocked in recv(2)
            n.post([&] { return fi_recv(n.ep, in.data(), kBytes, nullptr, FI_ADDR_UNSPEC, nullptr); });
            EXPECT_EQ(n.next(n.rx).len, kBytes);
            other.meet();
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            other.meet();
            const std::vector<char> out(kBytes, 'x');
            deliver(n, n.peer, out.data(), kBytes, nullptr);
            static_cast<void>(n.next(n.tx));
            other.tell("delivered");
            other.meet();
        });
}

// The buffers of a receiver that computes are never all posted while their messages are long and follow one another; that does not concern another's message,
// for which there is no receive.
TEST(LinnetUnmeantDelivery, IsToldThoughBuffersForOthersAreBusy)
{
    constexpr std::size_t kBytes = 2u << 20;
    constexpr unsigned kMost = 150;
    constexpr unsigned kOpen = 4;
    Options o;
    o.caps = FI_MSG | FI_MULTI_RECV | FI_DIRECTED_RECV;
    two_processes(
        [&](Friend& other) {
            std::vector<char> in(kMost * kBytes);   // until the node is closed
            Node n{o};
            other.tell(n.name());
            const fi_addr_t streams = n.insert(other.hear());
            n.insert(other.hear());
            receive(n, in.data(), in.size(), streams, FI_MULTI_RECV, nullptr);
            other.meet();
            EXPECT_EQ(other.hear(), "over");   // blocked in recv(2)
            other.meet();
        },
        [&](Friend& other) {
            Node streams{o};
            Node another{o};
            const std::string name = other.hear();
            other.tell(streams.name());
            other.tell(another.name());
            streams.peer = streams.insert(name);
            another.peer = another.insert(name);
            other.meet();
            const auto out = pattern(kBytes, 1);
            bool told = false;
            unsigned sent = 0;
            unsigned ended = 0;
            fi_cq_tagged_entry e{};
            for (; ended < kMost && !told; ++ended) {
                for (; sent < kMost && sent - ended < kOpen; ++sent) {
                    streams.post([&] { return fi_send(streams.ep, out.data(), kBytes, nullptr, streams.peer, nullptr); });
                }
                if (ended == kOpen) {
                    deliver(another, another.peer, out.data(), 100, nullptr);
                }
                static_cast<void>(streams.next(streams.tx));
                told = ended >= kOpen && fi_cq_read(another.tx, &e, 1) == 1;
            }
            EXPECT_TRUE(told) << "not until " << ended << " messages of others had come";
            for (; ended < sent; ++ended) {
                static_cast<void>(streams.next(streams.tx));
            }
            other.tell("over");
            other.meet();
        });
}

// As many completions as the queue was opened for wait in it, and nobody reads them.
TEST(LinnetQueuedDelivery, OfAsManyAsTheQueueOfTheReceiverHolds)
{
    constexpr unsigned kEntries = 3000;
    constexpr std::size_t kBytes = 40;
    Options o;
    o.caps = FI_MSG | FI_MULTI_RECV;
    o.cq_size = kEntries;
    two_processes(
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            std::vector<char> in(kEntries * kBytes);
            std::size_t least = kBytes;
            ASSERT_EQ(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least), 0);
            receive(n, in.data(), in.size(), FI_ADDR_UNSPEC, FI_MULTI_RECV, nullptr);
            other.meet();
            EXPECT_EQ(other.hear(), "delivered");   // blocked in recv(2)
            for (unsigned i = 0; i < kEntries; ++i) {
                EXPECT_EQ(n.next(n.rx).len, kBytes);
            }
            other.meet();
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            other.meet();
            const std::vector<char> out(kBytes, 'x');
            for (unsigned i = 0; i < kEntries; ++i) {
                deliver(n, n.peer, out.data(), kBytes, nullptr);
                static_cast<void>(n.next(n.tx));
            }
            other.tell("delivered");
            other.meet();
        });
}

// A shared receive context's are the buffers of a program whose calls make its progress: until then nothing is delivered; then it is, to a receive or to none.
TEST(LinnetSharedDelivery, IsToldWhenItsProgramHasLooked)
{
    static constexpr std::size_t kBytes = 1000;
    hub_and_peers(
        [](Hub& h, Friend& f) {
            std::vector<char> in(3 * kBytes);
            const iovec iov{in.data(), in.size()};
            fi_msg m{};
            m.msg_iov = &iov;
            m.iov_count = 1;
            m.addr = FI_ADDR_UNSPEC;
            m.context = &in;
            std::size_t least = kBytes;
            ASSERT_EQ(fi_setopt(&h.srx->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least), 0);
            h.post([&] { return fi_recvmsg(h.srx, &m, FI_MULTI_RECV); });
            f.meet();
            EXPECT_EQ(f.hear(), "nothing yet");   // blocked in recv(2)
            f.idle = [&h] { h.progress(); };
            f.meet();
            EXPECT_EQ(f.hear(), "delivered");
            f.idle = nullptr;
            EXPECT_EQ(std::vector<char>(in.begin(), in.begin() + kBytes), pattern(kBytes, 1));
            EXPECT_EQ(h.next(0).told.len, kBytes);
            f.meet();
            f.idle = [&h] { h.progress(); };   // no receive is tagged
            EXPECT_EQ(f.hear(), "delivered to nobody");
            f.idle = nullptr;
            std::vector<char> tagged(kBytes);
            h.post([&] { return fi_trecv(h.srx, tagged.data(), kBytes, nullptr, FI_ADDR_UNSPEC, 5, 0, nullptr); });
            EXPECT_EQ(h.next(0).told.len, kBytes);
            EXPECT_EQ(tagged, pattern(kBytes, 2));
            EXPECT_EQ(fi_cancel(&h.srx->fid, &in), 0);
        },
        [](Peers& p, Friend& f) {
            const Node& n = p.node[0];
            const auto sends = [&](const std::vector<char>& out, bool tagged) {
                if (!tagged) {
                    deliver(n, p.hub[0], out.data(), kBytes, nullptr);
                    return;
                }
                const iovec iov{const_cast<char*>(out.data()), kBytes};
                fi_msg_tagged t{};
                t.msg_iov = &iov;
                t.iov_count = 1;
                t.addr = p.hub[0];
                t.tag = 5;
                n.post([&] { return fi_tsendmsg(n.ep, &t, FI_COMPLETION | FI_DELIVERY_COMPLETE); });
            };
            const auto first = pattern(kBytes, 1);
            const auto second = pattern(kBytes, 2);
            f.meet();
            sends(first, false);
            EXPECT_TRUE(n.quiet_for(100ms)) << "nobody has looked for it";
            f.tell("nothing yet");
            f.meet();
            static_cast<void>(n.next(n.tx));
            f.tell("delivered");
            f.meet();
            sends(second, true);
            static_cast<void>(n.next(n.tx));
            f.tell("delivered to nobody");
        },
        {.caps = FI_TAGGED | FI_MSG | FI_MULTI_RECV});
}

}   // namespace
}   // namespace linnet::ofi_test
