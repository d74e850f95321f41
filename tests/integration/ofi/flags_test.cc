// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_msg(3), fi_tagged(3), fi_rma(3), fi_atomic(3): what the flags of one call do, how many pieces and bytes one call may have.
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "integration/ofi/node.h"
#include "integration/ofi/region.h"

namespace linnet::ofi_test {
namespace {

using namespace std::chrono_literals;

// A tagged message of pieces; the address is the peer of whoever sends.
struct Call {
    Call(std::vector<iovec> its_pieces, fi_addr_t addr, std::uint64_t tag, void* context = nullptr) : pieces{std::move(its_pieces)}
    {
        m.msg_iov = pieces.data();
        m.iov_count = pieces.size();
        m.addr = addr;
        m.tag = tag;
        m.context = context;
    }
    Call(const Call&) = delete;
    Call& operator=(const Call&) = delete;
    std::vector<iovec> pieces;
    fi_msg_tagged m{};
};

void send_with(const Node& n, const Call& c, std::uint64_t flags)
{
    n.post([&] { return fi_tsendmsg(n.ep, &c.m, flags); });
}

std::vector<char> receive(const Node& n, std::uint64_t tag, std::size_t room)
{
    std::vector<char> in(room);
    n.post([&] { return fi_trecv(n.ep, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, tag, 0, nullptr); });
    in.resize(n.next(n.rx).len);
    return in;
}

// The endpoint's own flags are those of calls that bring none; fi_inject is silent whatever they are.
TEST(Flags, OfACallReplaceThoseOfTheEndpoint)
{
    two_processes(
        [](Friend& other) {
            Node n{{.bind_flags = FI_SELECTIVE_COMPLETION, .tx_flags = FI_COMPLETION}};
            n.connect(other);
            char byte = 'x';
            int context = 0;
            const Call c{{{&byte, 1}}, n.peer, 1, &context};
            n.post([&] { return fi_tsend(n.ep, &byte, 1, nullptr, n.peer, 1, &context); });
            EXPECT_EQ(n.next(n.tx).op_context, &context);
            send_with(n, c, 0);
            n.post([&] { return fi_tinject(n.ep, &byte, 1, n.peer, 1); });
            EXPECT_TRUE(n.quiet_for(50ms));
            send_with(n, c, FI_COMPLETION);
            EXPECT_EQ(n.next(n.tx).op_context, &context);
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            for (int i = 0; i < 4; ++i) {
                EXPECT_EQ(receive(n, 1, 8).size(), 1u);
            }
            other.meet();
        });
}

// The buffers are the application's again when the call returns, and the completion comes nevertheless.
TEST(Flags, InjectedBuffersMayBeChangedAtOnceAndComplete)
{
    constexpr int kCount = 200;
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            char buffer[64];
            for (int i = 0; i < kCount; ++i) {
                std::memset(buffer, i & 0x7f, sizeof buffer);
                int context = 0;
                const Call c{{{buffer, 10}, {buffer + 10, 54}}, n.peer, 1, &context};
                send_with(n, c, FI_INJECT | FI_COMPLETION | (i % 2 == 0 ? FI_TRANSMIT_COMPLETE : 0));
                std::memset(buffer, 'x', sizeof buffer);
                EXPECT_EQ(n.next(n.tx).op_context, &context);
            }
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            for (int i = 0; i < kCount; ++i) {
                EXPECT_EQ(receive(n, 1, 64), std::vector<char>(64, static_cast<char>(i & 0x7f))) << i;
            }
            other.meet();
        });
}

// FI_MORE promises another call soon, and is a promise to nobody but the provider.
TEST(Flags, WhatIsAnnouncedWithMoreArrivesWithTheLast)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            const auto out = pattern(3000, 1);
            for (int i = 0; i < 10; ++i) {
                const Call c{{{const_cast<char*>(out.data()), 300u * static_cast<unsigned>(i + 1)}}, n.peer, 1};
                send_with(n, c, FI_COMPLETION | (i < 9 ? FI_MORE : 0));
            }
            for (int i = 0; i < 10; ++i) {
                static_cast<void>(n.next(n.tx));
            }
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            const auto wanted = pattern(3000, 1);
            char in[10][3000];
            for (int i = 0; i < 10; ++i) {
                const Call c{{{in[i], 3000}}, FI_ADDR_UNSPEC, 1};
                n.post([&] { return fi_trecvmsg(n.ep, &c.m, FI_COMPLETION | (i < 9 ? FI_MORE : 0)); });
            }
            for (std::size_t i = 0; i < 10; ++i) {
                const std::size_t size = 300 * (i + 1);
                EXPECT_EQ(n.next(n.rx).len, size);
                EXPECT_EQ(std::memcmp(in[i], wanted.data(), size), 0);
            }
            other.meet();
        });
}

// The provider says whether it copied, and a copy is right.
TEST(Flags, PeekWithABufferCopiesOrSaysThatItDidNot)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            n.post([&] { return fi_tinject(n.ep, "0123456789", 10, n.peer, 3); });
            n.post([&] { return fi_tinject(n.ep, "end", 3, n.peer, 4); });
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            EXPECT_EQ(receive(n, 4, 3).size(), 3u);   // by then the first has come
            char in[4] = {'x', 'x', 'x', 'x'};
            fi_context2 context;
            const Call c{{{in, 4}}, FI_ADDR_UNSPEC, 3, &context};
            n.post([&] { return fi_trecvmsg(n.ep, &c.m, FI_PEEK); });
            const fi_cq_tagged_entry e = n.next(n.rx);
            EXPECT_EQ(e.len, 10u) << "of the message";
            EXPECT_EQ(e.tag, 3u);
            EXPECT_EQ(std::string(in, 4), e.buf == nullptr ? "xxxx" : "0123");
            EXPECT_EQ(receive(n, 3, 10), (std::vector<char>{'0', '1', '2', '3', '4', '5', '6', '7', '8', '9'}));
            other.meet();
        });
}

TEST(LinnetFlags, ContextNamesOneClaimAndWhatIsRefusedTakesNothing)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            for (const char* text : {"a", "b", "e"}) {
                n.post([&] { return fi_tinject(n.ep, text, 1, n.peer, *text == 'e' ? 2 : 1); });
            }
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            EXPECT_EQ(receive(n, 2, 1), (std::vector<char>{'e'}));
            fi_context2 context;
            char in = 0;
            const Call c{{{&in, 1}}, FI_ADDR_UNSPEC, 1, &context};
            EXPECT_EQ(fi_trecvmsg(n.ep, &c.m, FI_PEEK | FI_CLAIM), 0);
            EXPECT_EQ(n.next(n.rx).len, 1u);
            EXPECT_EQ(fi_trecvmsg(n.ep, &c.m, FI_PEEK | FI_CLAIM), -FI_EINVAL) << "it names a message already";
            EXPECT_EQ(fi_trecvmsg(n.ep, &c.m, FI_PEEK | FI_CLAIM | FI_DISCARD), -FI_EINVAL);
            EXPECT_EQ(receive(n, 1, 1), (std::vector<char>{'b'})) << "the second is there still";
            EXPECT_EQ(fi_trecvmsg(n.ep, &c.m, FI_CLAIM), 0);
            EXPECT_EQ(n.next(n.rx).op_context, &context);
            EXPECT_EQ(in, 'a');
            EXPECT_EQ(fi_trecvmsg(n.ep, &c.m, FI_PEEK | FI_CLAIM), 0);
            EXPECT_EQ(n.next_error(n.rx).err, FI_ENOMSG);
            EXPECT_EQ(fi_trecvmsg(n.ep, &c.m, FI_CLAIM), -FI_EINVAL) << "nothing was found";
            other.meet();
        });
}

TEST(LinnetFlags, MatchCompletionComesWithADiscardToo)
{
    for (const std::uint64_t how : {FI_PEEK | FI_DISCARD, FI_PEEK | FI_CLAIM}) {
        two_processes(
            [&](Friend& other) {
                Node n;
                n.connect(other);
                char bytes[100] = {};
                const Call c{{{bytes, sizeof bytes}}, n.peer, 1};
                send_with(n, c, FI_COMPLETION | FI_MATCH_COMPLETE);
                n.post([&] { return fi_tinject(n.ep, bytes, 1, n.peer, 2); });
                EXPECT_TRUE(n.quiet_for(100ms));
                other.meet();
                static_cast<void>(n.next(n.tx));
                other.meet();
            },
            [&](Friend& other) {
                Node n;
                n.connect(other);
                EXPECT_EQ(receive(n, 2, 1).size(), 1u);
                other.meet();
                fi_context2 context;
                const Call c{{}, FI_ADDR_UNSPEC, 1, &context};
                EXPECT_EQ(fi_trecvmsg(n.ep, &c.m, how), 0);
                EXPECT_EQ(n.next(n.rx).len, 100u);
                if ((how & FI_CLAIM) != 0) {
                    EXPECT_EQ(fi_trecvmsg(n.ep, &c.m, FI_CLAIM | FI_DISCARD), 0);
                    EXPECT_EQ(n.next(n.rx).op_context, &context);
                }
                other.meet();
            });
    }
}

// The entry that releases the buffer comes even if nobody asked for entries.
TEST(MultiRecv, ReleaseIsToldWhateverTheCompletionsAre)
{
    two_processes(
        [](Friend& other) {
            Node n{{.caps = FI_MSG | FI_MULTI_RECV}};
            n.connect(other);
            other.meet();
            for (int i = 0; i < 4; ++i) {
                n.post([&] { return fi_inject(n.ep, "0123456789", 10, n.peer); });
            }
            other.meet();
        },
        [](Friend& other) {
            Node n{{.caps = FI_MSG | FI_MULTI_RECV, .bind_flags = FI_SELECTIVE_COMPLETION}};
            std::size_t least = 10;
            EXPECT_EQ(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least), 0);
            n.connect(other);
            char room[45];
            fi_context2 context;
            const iovec iov{room, sizeof room};
            fi_msg m{};
            m.msg_iov = &iov;
            m.iov_count = 1;
            m.addr = FI_ADDR_UNSPEC;
            m.context = &context;
            n.post([&] { return fi_recvmsg(n.ep, &m, FI_MULTI_RECV); });
            other.meet();
            const fi_cq_tagged_entry e = n.next(n.rx);
            EXPECT_EQ(e.op_context, &context);
            EXPECT_EQ(e.flags & FI_MULTI_RECV, FI_MULTI_RECV);
            EXPECT_TRUE(n.quiet_for(50ms)) << "no other";
            EXPECT_EQ(std::memcmp(room, "0123456789012345678901234567890123456789", 40), 0);
            other.meet();
        });
}

// fi_endpoint(3), fi_cancel: a buffer is pending until it is released, also with a message in it that nobody has looked at yet.
TEST(LinnetMultiRecv, CanceledBufferTakesNoMoreThanTheMessageItHas)
{
    for (const std::size_t bytes : {std::size_t{10}, std::size_t{300000}}) {
        two_processes(
            [&](Friend& other) {
                Node n{{.caps = FI_MSG | FI_MULTI_RECV}};
                n.connect(other);
                const auto out = pattern(bytes, 7);
                other.meet();
                n.post([&] { return fi_send(n.ep, out.data(), out.size(), nullptr, n.peer, nullptr); });
                if (bytes < 100) {
                    n.next(n.tx);
                    other.meet();
                    other.meet();
                } else {
                    other.meet();
                    other.meet();
                    n.next(n.tx);
                }
                n.post([&] { return fi_inject(n.ep, "later", 5, n.peer); });
                other.meet();
            },
            [&](Friend& other) {
                Node n{{.caps = FI_MSG | FI_MULTI_RECV}};
                n.connect(other);
                std::vector<char> room(2 * bytes + 1000000);
                char plain[5] = {};
                fi_context2 contexts[2];
                const iovec iov{room.data(), room.size()};
                fi_msg m{};
                m.msg_iov = &iov;
                m.iov_count = 1;
                m.addr = FI_ADDR_UNSPEC;
                m.context = &contexts[0];
                n.post([&] { return fi_recvmsg(n.ep, &m, FI_MULTI_RECV); });
                n.post([&] { return fi_recv(n.ep, plain, sizeof plain, nullptr, FI_ADDR_UNSPEC, &contexts[1]); });
                other.meet();
                other.meet();
                std::this_thread::sleep_for(20ms);   // so that the event thread has it
                EXPECT_EQ(fi_cancel(&n.ep->fid, &contexts[0]), 0);
                EXPECT_EQ(fi_cancel(&n.ep->fid, &contexts[0]), -FI_ENOENT);
                other.meet();
                // Its message, if it had come by then, and its end.
                fi_cq_tagged_entry e{};
                ssize_t got = -FI_EAGAIN;
                for (const auto end = std::chrono::steady_clock::now() + 20s; got == -FI_EAGAIN && std::chrono::steady_clock::now() < end;) {
                    got = fi_cq_read(n.rx, &e, 1);
                }
                const bool had = got == 1;
                if (had) {
                    EXPECT_EQ(e.op_context, &contexts[0]);
                    EXPECT_EQ(e.flags & FI_MULTI_RECV, 0u);
                    EXPECT_EQ(e.len, bytes);
                    EXPECT_EQ(std::vector<char>(room.begin(), room.begin() + static_cast<std::ptrdiff_t>(bytes)), pattern(bytes, 7));
                }
                const fi_cq_err_entry bad = n.next_error(n.rx);
                EXPECT_EQ(bad.err, FI_ECANCELED);
                EXPECT_EQ(bad.op_context, &contexts[0]);
                EXPECT_EQ(bad.flags & FI_MULTI_RECV, FI_MULTI_RECV);
                // What comes now goes to the receive behind it.
                if (had) {
                    EXPECT_EQ(n.next(n.rx).op_context, &contexts[1]);
                    EXPECT_EQ(std::string(plain, 5), "later");
                }
                other.meet();
            });
    }
}

// `many`: a multi-receive buffer. Its address is the context.
void post(const Node& n, void* to, std::size_t bytes, fi_addr_t from, bool many)
{
    receive(n, to, bytes, from, many ? FI_MULTI_RECV : 0, to);
}

// fi_msg(3): receives match in the order of posting, and a buffer for one source matches nothing of another.
void receive_behind_a_buffer(Node& n, Friend& other, bool of_many)
{
    const fi_addr_t self = n.insert(n.name());
    std::vector<char> room(400000);
    std::vector<char> behind(64 * 1024);
    char last[8] = {};
    const auto receives = [&](void* context, const void* at, const std::string& text) {
        fi_cq_tagged_entry e{};
        EXPECT_EQ(fi_cq_sread(n.rx, &e, 1, nullptr, 20000), 1);
        EXPECT_EQ(e.op_context, context);
        ASSERT_EQ(e.len, text.size());
        EXPECT_EQ(std::memcmp(at, text.data(), text.size()), 0);
    };
    const auto send = [&](const char* text) { n.post([&] { return fi_inject(n.ep, text, std::strlen(text), self); }); };
    const auto cancels = [&](void* context) {
        EXPECT_EQ(fi_cancel(&n.ep->fid, context), 0);
        EXPECT_EQ(n.next_error(n.rx).op_context, context);
    };
    post(n, room.data(), room.size(), n.peer, true);
    post(n, behind.data(), behind.size(), FI_ADDR_UNSPEC, of_many);
    post(n, last, sizeof last, self, false);   // behind that one, which takes what it could
    send("mine");
    receives(behind.data(), behind.data(), "mine");
    if (!of_many) {
        send("again");
        receives(last, last, "again");
    }
    other.meet();   // nothing of the other's passes by its buffer
    const auto long_one = pattern(300000, 3);
    receives(room.data(), room.data(), {long_one.begin(), long_one.end()});
    receives(room.data(), room.data() + 300000, "first");
    if (of_many) {
        send("again");
        receives(behind.data(), behind.data() + 4, "again");
        cancels(behind.data());
        send("last");
        receives(last, last, "last");
    }
    cancels(room.data());
}

TEST(LinnetMultiRecv, ReceivesBehindABufferForOneSourceTakeWhatOthersSend)
{
    constexpr std::uint64_t kCaps = FI_MSG | FI_MULTI_RECV | FI_DIRECTED_RECV;
    for (const char* const transports : {"shm,tcp", "tcp"}) {
        for (const bool of_many : {false, true}) {   // what is posted behind it is a buffer, too
            two_processes(
                [&](Friend& other) {
                    ::setenv("FI_LINNET_TRANSPORTS", transports, 1);
                    Node n{{.caps = kCaps}};
                    n.connect(other);
                    other.meet();
                    const auto out = pattern(300000, 3);
                    n.post([&] { return fi_send(n.ep, out.data(), out.size(), nullptr, n.peer, nullptr); });
                    n.post([&] { return fi_inject(n.ep, "first", 5, n.peer); });
                    n.next(n.tx);
                    other.meet();
                },
                [&](Friend& other) {
                    ::setenv("FI_LINNET_TRANSPORTS", transports, 1);
                    Node n{{.caps = kCaps, .wait = FI_WAIT_FD}};
                    n.connect(other);
                    receive_behind_a_buffer(n, other, of_many);
                    other.meet();
                });
        }
    }
}

// A buffer that takes a long message is in the way of what is posted later, also when nothing is in its own way any more.
TEST(LinnetMultiRecv, BufferThatIsHeldStaysInFrontWhileItTakesAMessage)
{
    constexpr std::uint64_t kCaps = FI_MSG | FI_MULTI_RECV | FI_DIRECTED_RECV;
    constexpr std::size_t kLong = 3'000'000;
    two_processes(
        [&](Friend& other) {
            ::setenv("FI_LINNET_TRANSPORTS", "tcp", 1);
            Node n{{.caps = kCaps}};
            n.connect(other);
            other.meet();
            const auto out = pattern(kLong, 5);
            n.post([&] { return fi_send(n.ep, out.data(), out.size(), nullptr, n.peer, nullptr); });
            n.post([&] { return fi_inject(n.ep, "next", 4, n.peer); });
            n.next(n.tx);
            other.meet();
        },
        [&](Friend& other) {
            ::setenv("FI_LINNET_TRANSPORTS", "tcp", 1);
            Node n{{.caps = kCaps}};
            n.connect(other);
            const fi_addr_t self = n.insert(n.name());
            char of_self[100];
            std::vector<char> room(kLong + 5000);
            char plain[8] = {};
            post(n, of_self, sizeof of_self, self, true);
            post(n, room.data(), room.size(), FI_ADDR_UNSPEC, true);
            other.meet();
            for (const auto end = std::chrono::steady_clock::now() + 500us; std::chrono::steady_clock::now() < end;) {   // it begins
                static_cast<void>(fi_cq_read(n.rx, nullptr, 0));
            }
            EXPECT_EQ(fi_cancel(&n.ep->fid, of_self), 0);
            n.post([&] { return fi_recv(n.ep, plain, sizeof plain, nullptr, FI_ADDR_UNSPEC, plain); });
            std::vector<std::size_t> taken;
            bool canceled = false;
            for (const auto end = std::chrono::steady_clock::now() + 20s; (taken.size() < 2 || !canceled) && std::chrono::steady_clock::now() < end;) {
                fi_cq_tagged_entry e{};
                const ssize_t got = fi_cq_read(n.rx, &e, 1);
                if (got == -FI_EAVAIL) {
                    EXPECT_EQ(n.next_error(n.rx).op_context, of_self);
                    canceled = true;
                } else if (got == 1) {
                    EXPECT_EQ(e.op_context, room.data());
                    taken.push_back(e.len);
                }
            }
            EXPECT_EQ(taken, (std::vector<std::size_t>{kLong, 4}));
            EXPECT_TRUE(canceled);
            EXPECT_EQ(std::string(room.data() + kLong, 4), "next");
            other.meet();
        });
}

// ---- how much one call may have ----

void with_everything(const std::function<void(Node&, const Where&, Friend&)>& user, const std::function<void(Node&, Region&, Friend&)>& owner)
{
    Options o;
    o.caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;
    o.pieces = is_linnet() ? 8 : 0;   // all that can be had
    two_processes(
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            user(n, Where{other.hear()}, other);
            other.meet();
        },
        [&](Friend& other) {
            Node n{o};
            Region r{n, 4096, FI_REMOTE_READ | FI_REMOTE_WRITE};
            n.connect(other);
            other.tell(r.where());
            owner(n, r, other);
            other.meet();
        });
}

TEST(Limits, AsManyPiecesAsTheAttributesSay)
{
    with_everything(
        [](Node& n, const Where& there, Friend&) {
            const std::size_t pieces = n.info->tx_attr->iov_limit;
            auto out = pattern(pieces * 8, 1);
            std::vector<char> in(out.size());
            std::vector<iovec> from;
            std::vector<iovec> to;
            for (std::size_t i = 0; i < pieces; ++i) {
                from.push_back({out.data() + 8 * i, 8});
                to.push_back({in.data() + 8 * i, 8});
            }
            n.post([&] { return fi_tsendv(n.ep, from.data(), nullptr, pieces, n.peer, 1, nullptr); });
            static_cast<void>(n.next(n.tx));
            n.post([&] { return fi_writev(n.ep, from.data(), nullptr, pieces, n.peer, there.at(8), there.key, nullptr); });
            static_cast<void>(n.next(n.tx));
            n.post([&] { return fi_readv(n.ep, to.data(), nullptr, pieces, n.peer, there.at(8), there.key, nullptr); });
            static_cast<void>(n.next(n.tx));
            EXPECT_EQ(in, out);
        },
        [](Node& n, Region&, Friend&) {
            const std::size_t pieces = n.info->rx_attr->iov_limit;
            const std::size_t size = n.info->tx_attr->iov_limit * 8;
            std::vector<char> in(size);
            std::vector<iovec> to;
            for (std::size_t i = 0; i < pieces; ++i) {
                const std::size_t begin = size * i / pieces;
                to.push_back({in.data() + begin, size * (i + 1) / pieces - begin});
            }
            n.post([&] { return fi_trecvv(n.ep, to.data(), nullptr, pieces, FI_ADDR_UNSPEC, 1, 0, nullptr); });
            EXPECT_EQ(n.next(n.rx).len, size);
            EXPECT_EQ(in, pattern(size, 1));
        });
}

TEST(Limits, NoBytesAreAMessageToo)
{
    with_everything(
        [](Node& n, const Where& there, Friend&) {
            int context = 0;
            n.post([&] { return fi_tsend(n.ep, nullptr, 0, nullptr, n.peer, 1, &context); });
            EXPECT_EQ(n.next(n.tx).op_context, &context);
            n.post([&] { return fi_tsendv(n.ep, nullptr, nullptr, 0, n.peer, 1, &context); });
            EXPECT_EQ(n.next(n.tx).op_context, &context);
            n.post([&] { return fi_tinject(n.ep, nullptr, 0, n.peer, 1); });
            n.post([&] { return fi_write(n.ep, nullptr, 0, nullptr, n.peer, there.at(0), there.key, &context); });
            EXPECT_EQ(n.next(n.tx).op_context, &context);
            n.post([&] { return fi_read(n.ep, nullptr, 0, nullptr, n.peer, there.at(0), there.key, &context); });
            EXPECT_EQ(n.next(n.tx).op_context, &context);
        },
        [](Node& n, Region&, Friend&) {
            for (int i = 0; i < 3; ++i) {
                EXPECT_EQ(receive(n, 1, 8).size(), 0u);
            }
        });
}

TEST(LinnetLimits, MoreThanTheAttributesSayIsRefused)
{
    with_everything(
        [](Node& n, const Where& there, Friend&) {
            char byte = 'x';
            std::uint64_t number = 0;
            constexpr std::size_t kTooMany = 9;
            const std::size_t too_long = n.info->ep_attr->max_msg_size + 1;
            const std::vector<iovec> pieces(kTooMany, iovec{&byte, 1});
            const std::vector<fi_ioc> numbers(kTooMany, fi_ioc{&number, 1});
            const auto key = there.key;
            EXPECT_EQ(fi_writev(n.ep, pieces.data(), nullptr, kTooMany, n.peer, there.at(0), key, nullptr), -FI_EINVAL);
            EXPECT_EQ(fi_readv(n.ep, pieces.data(), nullptr, kTooMany, n.peer, there.at(0), key, nullptr), -FI_EINVAL);
            EXPECT_EQ(fi_atomicv(n.ep, numbers.data(), nullptr, kTooMany, n.peer, there.at(0), key, FI_UINT64, FI_SUM, nullptr), -FI_EINVAL);
            EXPECT_EQ(fi_tsend(n.ep, &byte, too_long, nullptr, n.peer, 1, nullptr), -FI_EMSGSIZE);
            EXPECT_EQ(fi_write(n.ep, &byte, too_long, nullptr, n.peer, there.at(0), key, nullptr), -FI_EMSGSIZE);
            EXPECT_EQ(fi_read(n.ep, &byte, too_long, nullptr, n.peer, there.at(0), key, nullptr), -FI_EMSGSIZE);
            const iovec two[2] = {{&byte, SIZE_MAX}, {&byte, 2}};   // together one byte, for who only adds
            EXPECT_EQ(fi_sendv(n.ep, two, nullptr, 2, n.peer, nullptr), -FI_EMSGSIZE);
            const std::vector<char> large(n.info->tx_attr->inject_size + 1);
            const Call c{{{const_cast<char*>(large.data()), large.size()}}, n.peer, 1};
            EXPECT_EQ(fi_tsendmsg(n.ep, &c.m, FI_INJECT), -FI_EMSGSIZE);
            fi_rma_iov places[2] = {{there.at(0), 1, key}, {there.at(1), 1, key}};
            fi_msg_rma m{two, nullptr, 1, n.peer, places, 2, nullptr, 0};
            const iovec both[2] = {{&byte, 1}, {&byte, 1}};
            m.msg_iov = both;
            EXPECT_EQ(fi_writemsg(n.ep, &m, 0), -FI_EINVAL) << "rma_iov_limit is one";
            m.rma_iov_count = 1;
            m.iov_count = 2;
            EXPECT_EQ(fi_readmsg(n.ep, &m, 0), -FI_EINVAL) << "more here than there";
            EXPECT_EQ(fi_readmsg(n.ep, &m, FI_REMOTE_CQ_DATA), -FI_EBADFLAGS);
            EXPECT_EQ(fi_writemsg(n.ep, &m, FI_COMMIT_COMPLETE), -FI_EBADFLAGS) << "there is no persistent memory";
            m.iov_count = 0;
            m.rma_iov_count = 0;
            EXPECT_EQ(fi_writemsg(n.ep, &m, FI_COMPLETION), 0) << "no bytes need no place";
            static_cast<void>(n.next(n.tx));
            fi_rma_ioc place{there.at(0), 1, key};
            fi_ioc before[2] = {{&number, 1}, {&number, 1}};
            fi_msg_atomic a{numbers.data(), nullptr, 2, n.peer, &place, 1, FI_UINT64, FI_SUM, nullptr, 0};
            EXPECT_EQ(fi_atomicmsg(n.ep, &a, 0), -FI_EINVAL) << "more here than there";
            EXPECT_EQ(fi_fetch_atomicmsg(n.ep, &a, before, nullptr, 2, 0), -FI_EINVAL);
            place.count = 2;
            EXPECT_EQ(fi_fetch_atomicmsg(n.ep, &a, before, nullptr, 1, 0), -FI_EINVAL) << "results of another length";
            EXPECT_EQ(fi_atomicmsg(n.ep, &a, FI_TAGGED), -FI_EBADFLAGS);
            EXPECT_EQ(fi_atomicmsg(n.ep, &a, FI_INJECT | FI_COMPLETION), 0);
            static_cast<void>(n.next(n.tx));
            std::vector<std::uint64_t> many(256);   // results are not injected
            const fi_ioc room{many.data(), many.size()};
            place.count = many.size();
            a.op = FI_ATOMIC_READ;
            a.iov_count = 0;
            EXPECT_EQ(fi_fetch_atomicmsg(n.ep, &a, const_cast<fi_ioc*>(&room), nullptr, 1, FI_INJECT | FI_COMPLETION), 0);
            static_cast<void>(n.next(n.tx));
        },
        [](Node&, Region&, Friend&) {});
}

}   // namespace
}   // namespace linnet::ofi_test
