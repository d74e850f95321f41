// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_msg(3), fi_tagged(3): data, tags, sources, remote data, peeks, buffers for several messages.
#include <algorithm>
#include <cstring>
#include <thread>

#include "integration/ofi/node.h"

namespace linnet::ofi_test {
namespace {

using namespace std::chrono_literals;
constexpr std::size_t kSizes[] = {0, 1, 64, 1000, 4096, 16384, 65536, 100000, 1u << 20};

TEST(Tagged, MessagesOfEverySizeArriveWholeAndSayWhatTheyAre)
{
    const auto side = [](bool sends, Friend& other) {
        Node n;
        n.connect(other);
        for (const std::size_t size : kSizes) {
            for (const bool posted_first : {true, false}) {
                const std::uint64_t tag = 0xfedcba9876540000ull + size;
                const auto out = pattern(size, static_cast<unsigned>(size) + 1);
                std::vector<char> in(size + 1, 'x');
                int context = 0;
                if (sends) {
                    other.meet();
                    n.post([&] { return fi_tsend(n.ep, out.data(), size, nullptr, n.peer, tag, &context); });
                    const fi_cq_tagged_entry e = n.next(n.tx);
                    EXPECT_EQ(e.op_context, &context);
                    EXPECT_EQ(e.flags & (FI_SEND | FI_TAGGED), FI_SEND | FI_TAGGED);
                } else {
                    if (!posted_first) {
                        other.meet();
                        std::this_thread::sleep_for(5ms);
                    }
                    n.post([&] { return fi_trecv(n.ep, in.data(), size, nullptr, FI_ADDR_UNSPEC, tag, 0, &context); });
                    if (posted_first) {
                        other.meet();
                    }
                    const fi_cq_tagged_entry e = n.next(n.rx);
                    EXPECT_EQ(e.op_context, &context);
                    EXPECT_EQ(e.flags & (FI_RECV | FI_TAGGED | FI_REMOTE_CQ_DATA), FI_RECV | FI_TAGGED);
                    EXPECT_EQ(e.len, size);
                    EXPECT_EQ(e.tag, tag);
                    EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin())) << size;
                    EXPECT_EQ(in[size], 'x');
                }
            }
        }
        other.meet();
    };
    two_processes([&](Friend& f) { side(true, f); }, [&](Friend& f) { side(false, f); });
}

TEST(Tagged, IgnoredBitsAreNotComparedAndOthersAre)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            const char byte[2] = {'a', 'b'};
            n.post([&] { return fi_tinject(n.ep, &byte[0], 1, n.peer, 0x1200000000000034ull); });
            n.post([&] { return fi_tinject(n.ep, &byte[1], 1, n.peer, 0x1200000000000035ull); });
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            char in[2] = {};
            int contexts[2];
            n.post([&] { return fi_trecv(n.ep, &in[1], 1, nullptr, FI_ADDR_UNSPEC, 0x1200000000000035ull, 0, &contexts[1]); });
            n.post([&] { return fi_trecv(n.ep, &in[0], 1, nullptr, FI_ADDR_UNSPEC, 0xff00000000000034ull, 0xff00000000000000ull, &contexts[0]); });
            static_cast<void>(n.next(n.rx));
            static_cast<void>(n.next(n.rx));
            EXPECT_EQ(in[0], 'a');
            EXPECT_EQ(in[1], 'b');
            other.meet();
        });
}

TEST(Messages, UntaggedAndTaggedDoNotMatchEachOther)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            const char text[] = "plaintagged";
            n.post([&] { return fi_inject(n.ep, text, 5, n.peer); });
            n.post([&] { return fi_tinject(n.ep, text + 5, 6, n.peer, 0); });
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            char in[16] = {};
            int context = 0;
            n.post([&] { return fi_trecv(n.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 0, ~0ull, &context); });
            EXPECT_EQ(n.next(n.rx).len, 6u);
            EXPECT_EQ(std::string(in, 6), "tagged");
            n.post([&] { return fi_recv(n.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, &context); });
            const fi_cq_tagged_entry e = n.next(n.rx);
            EXPECT_EQ(e.len, 5u);
            EXPECT_EQ(e.flags & (FI_RECV | FI_MSG), FI_RECV | FI_MSG);
            EXPECT_EQ(std::string(in, 5), "plain");
            other.meet();
        });
}

TEST(Messages, VectorsAreGatheredAndScattered)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            auto out = pattern(5000, 3);
            const iovec iov[] = {{out.data(), 7}, {out.data() + 7, 0}, {out.data() + 7, 4000}, {out.data() + 4007, 993}};
            int context = 0;
            n.post([&] { return fi_sendv(n.ep, iov, nullptr, 4, n.peer, &context); });
            static_cast<void>(n.next(n.tx));
            n.post([&] { return fi_tsendv(n.ep, iov, nullptr, 4, n.peer, 9, &context); });
            static_cast<void>(n.next(n.tx));
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            const auto out = pattern(5000, 3);
            for (const bool tagged : {false, true}) {
                std::vector<char> in(5000);
                const iovec iov[] = {{in.data(), 2500}, {in.data() + 2500, 2500}};
                int context = 0;
                n.post([&] {
                    return tagged ? fi_trecvv(n.ep, iov, nullptr, 2, FI_ADDR_UNSPEC, 9, 0, &context)
                                  : fi_recvv(n.ep, iov, nullptr, 2, FI_ADDR_UNSPEC, &context);
                });
                EXPECT_EQ(n.next(n.rx).len, 5000u);
                EXPECT_EQ(in, out);
            }
            other.meet();
        });
}

TEST(Messages, RemoteDataComesWhenItWasSentAndOnlyThen)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            const char byte = 'x';
            int context = 0;
            const std::uint64_t data = n.info->domain_attr->cq_data_size >= 8 ? 0x0123456789abcdefull : 0x89abcdefull;
            n.post([&] { return fi_senddata(n.ep, &byte, 1, nullptr, data, n.peer, &context); });
            static_cast<void>(n.next(n.tx));
            n.post([&] { return fi_injectdata(n.ep, &byte, 1, 0, n.peer); });
            n.post([&] { return fi_inject(n.ep, &byte, 1, n.peer); });
            n.post([&] { return fi_tsenddata(n.ep, &byte, 1, nullptr, data, n.peer, 5, &context); });
            static_cast<void>(n.next(n.tx));
            n.post([&] { return fi_tinjectdata(n.ep, &byte, 1, data, n.peer, 5); });
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            const std::uint64_t data = n.info->domain_attr->cq_data_size >= 8 ? 0x0123456789abcdefull : 0x89abcdefull;
            char in = 0;
            int context = 0;
            const bool sent[] = {true, true, false, true, true};
            const std::uint64_t value[] = {data, 0, 0, data, data};
            for (int i = 0; i < 5; ++i) {
                n.post([&] {
                    return i < 3 ? fi_recv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, &context)
                                 : fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 5, 0, &context);
                });
                const fi_cq_tagged_entry e = n.next(n.rx);
                EXPECT_EQ((e.flags & FI_REMOTE_CQ_DATA) != 0, sent[i]) << i;
                if (sent[i]) {
                    EXPECT_EQ(e.data, value[i]) << i;
                }
            }
            other.meet();
        });
}

TEST(Messages, EachCompletionLevelIsReached)
{
    const std::uint64_t levels[] = {0, FI_INJECT_COMPLETE, FI_TRANSMIT_COMPLETE, FI_DELIVERY_COMPLETE};
    two_processes(
        [&](Friend& other) {
            Node n;
            n.connect(other);
            for (const std::size_t size : {8u, 3000u, 200000u}) {
                auto out = pattern(size, 4);
                iovec iov{out.data(), size};
                for (const std::uint64_t level : levels) {
                    int context = 0;
                    fi_msg m{};
                    m.msg_iov = &iov;
                    m.iov_count = 1;
                    m.addr = n.peer;
                    m.context = &context;
                    n.post([&] { return fi_sendmsg(n.ep, &m, FI_COMPLETION | level); });
                    EXPECT_EQ(n.next(n.tx).op_context, &context);
                }
            }
            other.meet();
        },
        [&](Friend& other) {
            Node n;
            n.connect(other);
            for (const std::size_t size : {8u, 3000u, 200000u}) {
                for (std::size_t i = 0; i < std::size(levels); ++i) {
                    std::vector<char> in(size);
                    int context = 0;
                    n.post([&] { return fi_recv(n.ep, in.data(), size, nullptr, FI_ADDR_UNSPEC, &context); });
                    EXPECT_EQ(n.next(n.rx).len, size);
                    EXPECT_EQ(in, pattern(size, 4));
                }
            }
            other.meet();
        });
}

TEST(Messages, InjectedBufferMayBeChangedAtOnce)
{
    constexpr int kCount = 2000;
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            char buffer[64];
            for (int i = 0; i < kCount; ++i) {
                std::memset(buffer, i & 0x7f, sizeof buffer);
                n.post([&] { return fi_tinject(n.ep, buffer, sizeof buffer, n.peer, static_cast<std::uint64_t>(i)); });
            }
            other.meet();
            EXPECT_TRUE(n.quiet_for(20ms));
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            for (int i = 0; i < kCount; ++i) {
                char in[64];
                int context = 0;
                n.post([&] { return fi_trecv(n.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, static_cast<std::uint64_t>(i), 0, &context); });
                EXPECT_EQ(n.next(n.rx).len, sizeof in);
                EXPECT_TRUE(std::all_of(in, in + sizeof in, [&](char c) { return c == (i & 0x7f); })) << i;
            }
            other.meet();
        });
}

TEST(Messages, StayInOrderWhateverTheirSizes)
{
    constexpr int kCount = 300;
    const auto size_of = [](int i) { return static_cast<std::size_t>(i % 7 == 0 ? 100000 : i % 3 == 0 ? 5000 : 16); };
    two_processes(
        [&](Friend& other) {
            Node n;
            n.connect(other);
            std::vector<std::vector<char>> out;
            for (int i = 0; i < kCount; ++i) {
                out.emplace_back(size_of(i), static_cast<char>(i));
                std::memcpy(out.back().data(), &i, sizeof i);
                n.post([&] { return fi_tsend(n.ep, out.back().data(), out.back().size(), nullptr, n.peer, 1, nullptr); });
            }
            for (int i = 0; i < kCount; ++i) {
                static_cast<void>(n.next(n.tx));
            }
            other.meet();
        },
        [&](Friend& other) {
            Node n;
            n.connect(other);
            std::vector<char> in(100000);
            for (int i = 0; i < kCount; ++i) {
                int context = 0;
                n.post([&] { return fi_trecv(n.ep, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, 1, 0, &context); });
                EXPECT_EQ(n.next(n.rx).len, size_of(i)) << i;
                int number = -1;
                std::memcpy(&number, in.data(), sizeof number);
                EXPECT_EQ(number, i);
            }
            other.meet();
        });
}

TEST(Receives, TooShortABufferIsAnErrorThatTellsWhatIsMissing)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            const auto out = pattern(100, 1);
            n.post([&] { return fi_tinject(n.ep, out.data(), 64, n.peer, 77); });
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            char in[40];
            int context = 0;
            n.post([&] { return fi_trecv(n.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 77, 0, &context); });
            const fi_cq_err_entry e = n.next_error(n.rx);
            EXPECT_EQ(e.err, FI_ETRUNC);
            EXPECT_EQ(e.op_context, &context);
            EXPECT_EQ(e.olen, 24u);
            if (is_linnet()) {
                EXPECT_EQ(e.len, 40u);
                EXPECT_EQ(e.tag, 77u);
                char text[100];
                EXPECT_STREQ(fi_cq_strerror(n.rx, e.prov_errno, nullptr, text, sizeof text), text);
                EXPECT_NE(std::string{text}, "");
            }
            other.meet();
        });
}

TEST(Receives, CanceledOnesSaySoAndAreGone)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            other.meet();
            const char byte = 'y';
            n.post([&] { return fi_tinject(n.ep, &byte, 1, n.peer, 1); });
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            char in[2] = {};
            fi_context2 contexts[2];
            n.post([&] { return fi_trecv(n.ep, &in[0], 1, nullptr, FI_ADDR_UNSPEC, 1, 0, &contexts[0]); });
            n.post([&] { return fi_trecv(n.ep, &in[1], 1, nullptr, FI_ADDR_UNSPEC, 1, 0, &contexts[1]); });
            EXPECT_EQ(fi_cancel(&n.ep->fid, &contexts[0]), 0);
            const fi_cq_err_entry e = n.next_error(n.rx);
            EXPECT_EQ(e.err, FI_ECANCELED);
            EXPECT_EQ(e.op_context, &contexts[0]);
            other.meet();
            EXPECT_EQ(n.next(n.rx).op_context, &contexts[1]);
            EXPECT_EQ(in[0], 0);
            EXPECT_EQ(in[1], 'y');
            if (is_linnet()) {
                EXPECT_EQ(fi_cancel(&n.ep->fid, &contexts[1]), -FI_ENOENT);
            }
            other.meet();
        });
}

TEST(Receives, DirectedOnesTakeFromTheirSourceAlone)
{
    two_processes(
        [](Friend& other) {
            Node n{{.caps = FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE}};
            n.connect(other);
            const char byte = 'p';
            n.post([&] { return fi_tinject(n.ep, &byte, 1, n.peer, 1); });
            other.meet();
            other.meet();
        },
        [](Friend& other) {
            Node n{{.caps = FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE}};
            n.connect(other);
            const fi_addr_t self = n.insert(n.name());
            EXPECT_NE(self, n.peer);
            other.meet();
            std::this_thread::sleep_for(20ms);
            char in[2] = {};
            fi_context2 contexts[2];
            n.post([&] { return fi_trecv(n.ep, &in[0], 1, nullptr, self, 1, 0, &contexts[0]); });
            n.post([&] { return fi_trecv(n.ep, &in[1], 1, nullptr, n.peer, 1, 0, &contexts[1]); });
            fi_cq_tagged_entry e{};
            fi_addr_t from = FI_ADDR_UNSPEC;
            ssize_t got = -FI_EAGAIN;
            while (got == -FI_EAGAIN) {
                got = fi_cq_readfrom(n.rx, &e, 1, &from);
            }
            EXPECT_EQ(got, 1);
            EXPECT_EQ(e.op_context, &contexts[1]);
            EXPECT_EQ(from, n.peer);
            EXPECT_EQ(in[1], 'p');
            const char byte = 's';
            n.post([&] { return fi_tinject(n.ep, &byte, 1, self, 1); });
            got = -FI_EAGAIN;
            while (got == -FI_EAGAIN) {
                got = fi_cq_readfrom(n.rx, &e, 1, &from);
            }
            EXPECT_EQ(e.op_context, &contexts[0]);
            EXPECT_EQ(from, self);
            EXPECT_EQ(in[0], 's');
            other.meet();
        });
}

// ---- FI_PEEK, FI_CLAIM, FI_DISCARD ----

ssize_t peek(const Node& n, std::uint64_t tag, void* context, std::uint64_t flags)
{
    fi_msg_tagged m{};
    m.addr = FI_ADDR_UNSPEC;
    m.tag = tag;
    m.context = context;
    return fi_trecvmsg(n.ep, &m, flags);
}

TEST(Peeks, FindWhatHasComeAndLeaveItThere)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            other.meet();
            const auto out = pattern(100000, 2);
            int context = 0;
            n.post([&] { return fi_tinject(n.ep, out.data(), 50, n.peer, 8); });
            n.post([&] { return fi_tsenddata(n.ep, out.data(), out.size(), nullptr, 4242, n.peer, 9, &context); });
            static_cast<void>(n.next(n.tx));
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            fi_context2 context;
            EXPECT_EQ(peek(n, 9, &context, FI_PEEK), 0);
            const fi_cq_err_entry none = n.next_error(n.rx);
            EXPECT_EQ(none.err, FI_ENOMSG);
            EXPECT_EQ(none.op_context, &context);
            other.meet();
            fi_cq_tagged_entry e{};
            ssize_t got = 0;
            do {
                EXPECT_EQ(peek(n, 9, &context, FI_PEEK), 0);
                while ((got = fi_cq_read(n.rx, &e, 1)) == -FI_EAGAIN) {
                }
                fi_cq_err_entry again{};
                if (got == -FI_EAVAIL) {
                    EXPECT_EQ(fi_cq_readerr(n.rx, &again, 0), 1);
                    EXPECT_EQ(again.err, FI_ENOMSG);
                }
            } while (got != 1);
            EXPECT_EQ(e.len, 100000u);
            EXPECT_EQ(e.tag, 9u);
            EXPECT_EQ(e.data, 4242u);
            EXPECT_TRUE(!is_linnet() || (e.flags & FI_REMOTE_CQ_DATA) != 0);
            std::vector<char> in(100000);
            n.post([&] { return fi_trecv(n.ep, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, 9, 0, &context); });
            EXPECT_EQ(n.next(n.rx).len, 100000u);
            EXPECT_EQ(in, pattern(100000, 2));
            n.post([&] { return fi_trecv(n.ep, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, 8, 0, &context); });
            EXPECT_EQ(n.next(n.rx).len, 50u);
            other.meet();
        });
}

TEST(Peeks, ClaimedMessagesGoToTheirClaimAndDiscardedOnesNowhere)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            std::vector<std::vector<char>> out;
            for (unsigned i = 0; i < 4; ++i) {
                out.push_back(pattern(i == 1 ? 200000 : 60, i));
                n.post([&] { return fi_tsend(n.ep, out[i].data(), out[i].size(), nullptr, n.peer, 1, nullptr); });
            }
            for (unsigned i = 0; i < 4; ++i) {
                static_cast<void>(n.next(n.tx));
            }
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            fi_context2 contexts[3];
            const auto found = [&](void* context, std::uint64_t flags) {
                fi_cq_tagged_entry e{};
                for (;;) {
                    EXPECT_EQ(peek(n, 1, context, flags), 0);
                    ssize_t got = -FI_EAGAIN;
                    while (got == -FI_EAGAIN) {
                        got = fi_cq_read(n.rx, &e, 1);
                    }
                    if (got == 1) {
                        return e.len;
                    }
                    fi_cq_err_entry none{};
                    fi_cq_readerr(n.rx, &none, 0);
                }
            };
            EXPECT_EQ(found(&contexts[0], FI_PEEK | FI_CLAIM), 60u);
            EXPECT_EQ(found(&contexts[1], FI_PEEK | FI_CLAIM), 200000u);   // not the first again
            static_cast<void>(found(&contexts[2], FI_PEEK | FI_DISCARD));
            std::vector<char> in(200000);
            n.post([&] { return fi_trecv(n.ep, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, 1, 0, &contexts[2]); });
            EXPECT_EQ(n.next(n.rx).len, 60u);
            EXPECT_TRUE(std::equal(in.begin(), in.begin() + 60, pattern(60, 3).begin()));   // the fourth
            iovec iov{in.data(), in.size()};
            fi_msg_tagged m{};
            m.msg_iov = &iov;
            m.iov_count = 1;
            m.addr = FI_ADDR_UNSPEC;
            m.tag = 1;
            m.context = &contexts[1];
            n.post([&] { return fi_trecvmsg(n.ep, &m, FI_CLAIM); });
            const fi_cq_tagged_entry e = n.next(n.rx);
            EXPECT_EQ(e.op_context, &contexts[1]);
            EXPECT_EQ(in, pattern(200000, 1));
            m.context = &contexts[0];
            n.post([&] { return fi_trecvmsg(n.ep, &m, FI_CLAIM | FI_DISCARD); });
            EXPECT_EQ(n.next(n.rx).op_context, &contexts[0]);
            other.meet();
        });
}

// ---- FI_MULTI_RECV ----

TEST(MultiRecv, MessagesArePackedUntilTheBufferIsReleased)
{
    constexpr std::size_t kMessages = 40;
    two_processes(
        [](Friend& other) {
            Node n{{.caps = FI_MSG | FI_MULTI_RECV}};
            n.connect(other);
            other.meet();
            for (std::size_t i = 0; i < kMessages; ++i) {
                const auto out = pattern(100, static_cast<unsigned>(i));
                int context = 0;
                n.post([&] { return fi_send(n.ep, out.data(), out.size(), nullptr, n.peer, &context); });
                static_cast<void>(n.next(n.tx));
            }
            other.meet();
        },
        [](Friend& other) {
            Node n{{.caps = FI_MSG | FI_MULTI_RECV}};
            std::size_t least = 100;
            EXPECT_EQ(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least), 0);
            std::size_t bytes = sizeof least;
            EXPECT_EQ(fi_getopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &bytes), 0);
            EXPECT_EQ(least, 100u);
            n.connect(other);
            // Four buffers of ten messages, the last byte of each too few for another.
            std::vector<std::vector<char>> buffers(4, std::vector<char>(1099, 'x'));
            fi_context2 contexts[4];
            for (std::size_t i = 0; i < 4; ++i) {
                iovec iov{buffers[i].data(), buffers[i].size()};
                fi_msg m{};
                m.msg_iov = &iov;
                m.iov_count = 1;
                m.addr = FI_ADDR_UNSPEC;
                m.context = &contexts[i];
                n.post([&] { return fi_recvmsg(n.ep, &m, FI_MULTI_RECV | FI_COMPLETION); });
            }
            other.meet();
            std::size_t messages = 0;
            std::size_t released = 0;
            while (messages < kMessages || released < 4) {
                const fi_cq_tagged_entry e = n.next(n.rx);
                if (::testing::Test::HasFailure()) {
                    return;
                }
                if ((e.flags & FI_MULTI_RECV) != 0) {
                    EXPECT_EQ(e.op_context, &contexts[released]);
                    ++released;
                }
                if ((e.flags & FI_RECV) != 0) {
                    EXPECT_EQ(e.len, 100u);
                    EXPECT_EQ(e.op_context, &contexts[messages / 10]) << messages;
                    EXPECT_GE(e.buf, buffers[messages / 10].data());
                    EXPECT_EQ(std::memcmp(e.buf, pattern(100, static_cast<unsigned>(messages)).data(), 100), 0) << messages;
                    ++messages;
                }
            }
            other.meet();
        });
}

TEST(MultiRecv, WhatIsPostedBehindABufferWaitsForItsRelease)
{
    two_processes(
        [](Friend& other) {
            Node n{{.caps = FI_MSG | FI_MULTI_RECV}};
            n.connect(other);
            other.meet();
            for (int i = 0; i < 4; ++i) {
                const char c = static_cast<char>('a' + i);
                n.post([&] { return fi_inject(n.ep, &c, 1, n.peer); });
            }
            other.meet();
        },
        [](Friend& other) {
            Node n{{.caps = FI_MSG | FI_MULTI_RECV}};
            std::size_t least = 1;
            EXPECT_EQ(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least), 0);
            n.connect(other);
            char many[2] = {};
            char one = 0;
            char other_many[8] = {};
            fi_context2 contexts[3];
            const auto post_multi = [&](char* to, std::size_t bytes, void* context) {
                receive(n, to, bytes, FI_ADDR_UNSPEC, FI_MULTI_RECV | FI_COMPLETION, context);
            };
            post_multi(many, 2, &contexts[0]);
            n.post([&] { return fi_recv(n.ep, &one, 1, nullptr, FI_ADDR_UNSPEC, &contexts[1]); });
            post_multi(other_many, 8, &contexts[2]);
            other.meet();
            int messages = 0;
            while (messages < 4 && !::testing::Test::HasFailure()) {
                messages += (n.next(n.rx).flags & FI_RECV) != 0 ? 1 : 0;
            }
            EXPECT_EQ(std::string(many, 2), "ab");
            EXPECT_EQ(one, 'c');
            EXPECT_EQ(other_many[0], 'd');
            EXPECT_EQ(fi_cancel(&n.ep->fid, &contexts[2]), 0);
            EXPECT_EQ(n.next_error(n.rx).err, FI_ECANCELED);
            other.meet();
        });
}

// fi_cq(3): data "is only valid if" FI_REMOTE_CQ_DATA is set. What a program left in the field of a message without goes nowhere.
TEST(LinnetData, StaysWithItsProgramWithoutTheFlag)
{
    two_processes(
        [](Friend&) {
            Node n;
            n.peer = n.insert(n.name());
            char in = 0;
            const iovec iov{const_cast<char*>("x"), 1};
            fi_msg m{};
            m.msg_iov = &iov;
            m.iov_count = 1;
            m.addr = n.peer;
            m.data = 55;
            for (const std::uint64_t flag : {std::uint64_t{0}, std::uint64_t{FI_REMOTE_CQ_DATA}}) {
                receive(n, &in, 1, FI_ADDR_UNSPEC, 0, nullptr);
                n.post([&] { return fi_sendmsg(n.ep, &m, flag); });
                const fi_cq_tagged_entry e = n.next(n.rx);
                EXPECT_EQ(e.flags & FI_REMOTE_CQ_DATA, flag);
                EXPECT_EQ(e.data, flag != 0 ? 55u : 0u);
            }
        },
        [](Friend&) {});
}

}   // namespace
}   // namespace linnet::ofi_test
