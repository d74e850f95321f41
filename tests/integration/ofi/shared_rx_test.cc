// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Shared contexts: what the pages leave open, or other providers do not have.
#include <algorithm>
#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include "integration/ofi/shared_hub.h"
#include "support/pace.h"

namespace linnet::ofi_test {
namespace {

TEST(LinnetShared, ReceiveContextCannotBeClosedWhileEndpointsAreBoundATransmitContextCan)
{
    two_processes(
        [](Friend&) {
            Hub h;
            EXPECT_EQ(fi_close(&h.srx->fid), -FI_EBUSY);
            EXPECT_EQ(fi_close(&h.stx->fid), 0);
            h.stx = nullptr;
            h.close(0);
            EXPECT_EQ(fi_close(&h.srx->fid), -FI_EBUSY);
            EXPECT_EQ(fi_close(&h.domain->fid), -FI_EBUSY);
            h.close(1);
            char in = 0;
            EXPECT_EQ(fi_recv(h.srx, &in, 1, nullptr, FI_ADDR_UNSPEC, nullptr), 0);   // dropped when it is closed
            EXPECT_EQ(fi_close(&h.srx->fid), 0);
            EXPECT_EQ(fi_close(&h.domain->fid), -FI_EBUSY);
            h.srx = nullptr;
        },
        [](Friend&) {});
}

TEST(LinnetShared, EndpointsAreBoundToWhatTheyWereOpenedFor)
{
    two_processes(
        [](Friend&) {
            Hub h;
            char in = 0;
            EXPECT_EQ(fi_recv(h.ep[0], &in, 1, nullptr, FI_ADDR_UNSPEC, nullptr), -FI_EOPNOTSUPP);   // receives are posted to the context
            EXPECT_EQ(fi_trecv(h.ep[0], &in, 1, nullptr, FI_ADDR_UNSPEC, 0, 0, nullptr), -FI_EOPNOTSUPP);
            EXPECT_EQ(fi_send(h.srx, &in, 1, nullptr, 0, nullptr), -FI_ENOSYS);

            fid_ep* plain = nullptr;
            h.info->ep_attr->tx_ctx_cnt = h.info->ep_attr->rx_ctx_cnt = 1;
            ASSERT_EQ(fi_endpoint(h.domain, h.info, &plain, nullptr), 0);
            EXPECT_EQ(fi_ep_bind(plain, &h.srx->fid, 0), -FI_EINVAL);
            EXPECT_EQ(fi_ep_bind(plain, &h.stx->fid, 0), -FI_EINVAL);
            EXPECT_EQ(fi_close(&plain->fid), 0);

            fid_ep* bare = nullptr;
            h.info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
            ASSERT_EQ(fi_endpoint(h.domain, h.info, &bare, nullptr), 0);
            EXPECT_EQ(fi_ep_bind(bare, &h.av->fid, 0), 0);
            EXPECT_EQ(fi_ep_bind(bare, &h.tx[0]->fid, FI_TRANSMIT), 0);
            EXPECT_EQ(fi_ep_bind(bare, &h.rx[0]->fid, FI_RECV), 0);
            EXPECT_EQ(fi_enable(bare), -FI_EOPBADSTATE);
            EXPECT_EQ(fi_ep_bind(bare, &h.srx->fid, FI_RECV), -FI_EINVAL);   // no flags
            EXPECT_EQ(fi_ep_bind(bare, &h.srx->fid, 0), 0);
            EXPECT_EQ(fi_ep_bind(bare, &h.srx->fid, 0), -FI_EINVAL);   // once
            EXPECT_EQ(fi_enable(bare), 0);
            EXPECT_EQ(fi_close(&bare->fid), 0);

            fi_rx_attr untagged{};
            untagged.caps = FI_MSG | FI_RECV;
            fid_ep* other = nullptr;
            ASSERT_EQ(fi_srx_context(h.domain, &untagged, &other, nullptr), 0);
            EXPECT_GT(untagged.size, 0u);
            ASSERT_EQ(fi_endpoint(h.domain, h.info, &bare, nullptr), 0);
            EXPECT_EQ(fi_ep_bind(bare, &other->fid, 0), -FI_EINVAL);   // it has not all of the endpoint's capabilities
            EXPECT_EQ(fi_close(&bare->fid), 0);
            EXPECT_EQ(fi_trecv(other, &in, 1, nullptr, FI_ADDR_UNSPEC, 0, 0, nullptr), -FI_ENOSYS);
            EXPECT_EQ(fi_close(&other->fid), 0);

            fi_rx_attr impossible{};
            impossible.iov_limit = 1000;
            EXPECT_EQ(fi_srx_context(h.domain, &impossible, &other, nullptr), -FI_EINVAL);
            fi_tx_attr impossible_too{};
            impossible_too.inject_size = 1u << 20;
            fid_stx* stx = nullptr;
            EXPECT_EQ(fi_stx_context(h.domain, &impossible_too, &stx, nullptr), -FI_EINVAL);
        },
        [](Friend&) {});
}

// Sandia OpenSHMEM leaves the number of contexts open, and binds when the endpoint works.
TEST(LinnetShared, EndpointThatLeavesItOpenMayBeBoundToATransmitContextLater)
{
    two_processes(
        [](Friend&) {
            Node n{{}, false};
            fi_info* const info = fi_dupinfo(n.info);
            info->ep_attr->tx_ctx_cnt = 0;
            fid_ep* ep = nullptr;
            fid_stx* stx = nullptr;
            ASSERT_EQ(fi_endpoint(n.domain, info, &ep, nullptr), 0);
            ASSERT_EQ(fi_stx_context(n.domain, nullptr, &stx, nullptr), 0);
            EXPECT_EQ(fi_ep_bind(ep, &n.av->fid, 0), 0);
            EXPECT_EQ(fi_ep_bind(ep, &n.tx->fid, FI_TRANSMIT | FI_RECV), 0);
            EXPECT_EQ(fi_enable(ep), 0);
            EXPECT_EQ(fi_ep_bind(ep, &stx->fid, 0), 0);
            EXPECT_EQ(fi_ep_bind(ep, &stx->fid, 0), -FI_EINVAL) << "there is one";
            EXPECT_EQ(fi_close(&stx->fid), 0);
            const fi_addr_t self = n.insert(n.name());
            char byte = 0;
            int context = 0;
            n.enable();   // who is sent to
            EXPECT_EQ(fi_recv(n.ep, &byte, 1, nullptr, FI_ADDR_UNSPEC, nullptr), 0);
            n.post([&] { return fi_send(ep, "b", 1, nullptr, self, &context); });
            EXPECT_EQ(n.next(n.tx).op_context, &context) << "it sends on";
            static_cast<void>(n.next(n.rx));
            EXPECT_EQ(byte, 'b');
            EXPECT_EQ(fi_close(&ep->fid), 0);
            fi_freeinfo(info);
        },
        [](Friend&) {});
}

// fi_getinfo(3): without FI_DIRECTED_RECV the source that a receive names is not looked at; and a capability without a direction is for both.
TEST(LinnetShared, ContextOfDefaultAttributesDoesNotGiveItsEndpointsMore)
{
    two_processes(
        [](Friend& f) {
            Node sender;
            fi_info* const info = shared_info({.caps = FI_TAGGED | FI_MSG});
            fid_fabric* fabric = nullptr;
            fid_domain* domain = nullptr;
            fid_av* av = nullptr;
            fid_cq* cq = nullptr;
            fid_stx* stx = nullptr;
            fid_ep* srx = nullptr;
            fid_ep* ep = nullptr;
            ASSERT_EQ(fi_fabric(info->fabric_attr, &fabric, nullptr), 0);
            ASSERT_EQ(fi_domain(fabric, info, &domain, nullptr), 0);
            fi_av_attr av_attr{};
            av_attr.type = FI_AV_TABLE;
            ASSERT_EQ(fi_av_open(domain, &av_attr, &av, nullptr), 0);
            fi_cq_attr cq_attr{};
            cq_attr.format = FI_CQ_FORMAT_TAGGED;
            ASSERT_EQ(fi_cq_open(domain, &cq_attr, &cq, nullptr), 0);
            for (const std::uint64_t caps : {std::uint64_t{0}, std::uint64_t{FI_MSG | FI_TAGGED}}) {
                fi_tx_attr tx{};
                tx.caps = caps;
                fi_rx_attr rx{};
                rx.caps = caps;
                ASSERT_EQ(fi_stx_context(domain, &tx, &stx, nullptr), 0);
                ASSERT_EQ(fi_srx_context(domain, &rx, &srx, nullptr), 0);
                ASSERT_EQ(fi_endpoint(domain, info, &ep, nullptr), 0);
                EXPECT_EQ(fi_ep_bind(ep, &av->fid, 0), 0);
                EXPECT_EQ(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), 0);
                EXPECT_EQ(fi_ep_bind(ep, &stx->fid, 0), 0) << caps;
                EXPECT_EQ(fi_ep_bind(ep, &srx->fid, 0), 0) << caps;
                ASSERT_EQ(fi_enable(ep), 0);
                char name[256];
                std::size_t bytes = sizeof name;
                ASSERT_EQ(fi_getname(&ep->fid, name, &bytes), 0);
                const fi_addr_t to = sender.insert({name, bytes});
                char in = 0;
                EXPECT_EQ(fi_recv(srx, &in, 1, nullptr, 12345, &in), 0) << "a source that there is not";
                sender.post([&] { return fi_inject(sender.ep, "x", 1, to); });
                fi_cq_tagged_entry e{};
                ssize_t got = -FI_EAGAIN;
                for (const auto end = Clock::now() + 20s; got == -FI_EAGAIN && Clock::now() < end;) {
                    got = fi_cq_read(cq, &e, 1);
                    static_cast<void>(fi_cq_read(sender.tx, nullptr, 0));
                }
                EXPECT_EQ(got, 1);
                EXPECT_EQ(e.op_context, &in);
                EXPECT_EQ(in, 'x');
                EXPECT_EQ(fi_close(&ep->fid), 0);
                EXPECT_EQ(fi_close(&srx->fid), 0);
                EXPECT_EQ(fi_close(&stx->fid), 0);
            }
            for (struct fid* object : {&cq->fid, &av->fid, &domain->fid, &fabric->fid}) {
                EXPECT_EQ(fi_close(object), 0);
            }
            fi_freeinfo(info);
            f.meet();
        },
        [](Friend& f) { f.meet(); });
}

TEST(LinnetShared, EndpointsOfAReceiveContextHaveOneAddressVector)
{
    two_processes(
        [](Friend&) {
            Hub h;
            fi_av_attr attr{};
            fid_av* av = nullptr;
            ASSERT_EQ(fi_av_open(h.domain, &attr, &av, nullptr), 0);
            fid_ep* ep = nullptr;
            h.info->ep_attr->tx_ctx_cnt = 1;
            ASSERT_EQ(fi_endpoint(h.domain, h.info, &ep, nullptr), 0);
            EXPECT_EQ(fi_ep_bind(ep, &av->fid, 0), 0);
            EXPECT_EQ(fi_ep_bind(ep, &h.tx[0]->fid, FI_TRANSMIT), 0);
            EXPECT_EQ(fi_ep_bind(ep, &h.rx[0]->fid, FI_RECV), 0);
            EXPECT_EQ(fi_ep_bind(ep, &h.srx->fid, 0), 0);
            EXPECT_EQ(fi_enable(ep), -FI_EINVAL);
            EXPECT_EQ(fi_close(&ep->fid), 0);
            EXPECT_EQ(fi_close(&av->fid), 0);
        },
        [](Friend&) {});
}

TEST(LinnetShared, DirectedReceiveTakesWhatItsSourceSendsToAnyEndpoint)
{
    hub_and_peers(
        [](Hub& h, Friend& f) {
            char in[5] = {};
            const auto post = [&](int i, fi_addr_t from) { h.post([&] { return fi_trecv(h.srx, &in[i], 1, nullptr, from, 0, ~0ull, &in[i]); }); };
            post(0, h.peer[1]);
            post(1, FI_ADDR_UNSPEC);
            post(2, h.peer[0]);
            f.meet();   // 0: 'a' to 0, then 'b' to 1. Then 1: 'c' to 1
            EXPECT_EQ(h.next(0).told.op_context, &in[1]);
            EXPECT_EQ(in[1], 'a');
            f.meet();
            EXPECT_EQ(h.next(1).told.op_context, &in[2]);
            EXPECT_EQ(in[2], 'b');
            f.meet();
            EXPECT_EQ(h.next(1).told.op_context, &in[0]);
            EXPECT_EQ(in[0], 'c');
            EXPECT_EQ(fi_trecv(h.srx, &in[0], 1, nullptr, 77, 0, ~0ull, nullptr), -FI_EINVAL);   // nobody's address
            f.meet();   // 0: 'd' to 0, 1: 'e' to 0; both wait
            EXPECT_EQ(f.hear(), "sent");
            EXPECT_TRUE(h.quiet_for(20ms));
            post(4, h.peer[1]);
            EXPECT_EQ(h.next(0).told.op_context, &in[4]);
            EXPECT_EQ(in[4], 'e');
            post(3, h.peer[0]);
            EXPECT_EQ(h.next(0).told.op_context, &in[3]);
            EXPECT_EQ(in[3], 'd');
        },
        [](Peers& p, Friend& f) {
            f.meet();
            p.send(0, 0, "a", 1);
            f.meet();
            p.send(0, 1, "b", 1);
            p.sent();
            f.meet();
            p.send(1, 1, "c", 1);
            p.sent();
            f.meet();
            p.send(0, 0, "d", 1);
            p.send(1, 0, "e", 1);
            p.sent();
            f.tell("sent");
        },
        {.caps = FI_TAGGED | FI_MSG | FI_DIRECTED_RECV});
}

TEST(LinnetShared, TooShortABufferIsToldWithTheBytesThatDidNotFit)
{
    hub_and_peers(
        [](Hub& h, Friend& f) {
            std::vector<char> in(100);
            for (int i = 0; i < 2; ++i) {
                h.post([&] { return fi_recv(h.srx, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, &in); });
                f.meet();
                const auto c = h.next(1);
                EXPECT_EQ(c.error, FI_ETRUNC);
                EXPECT_EQ(c.told.op_context, &in);
                EXPECT_EQ(c.told.len, in.size());
                EXPECT_EQ(c.overflow, (i == 0 ? 300u : 300000u) - in.size());
                const auto wanted = pattern(100, 5);
                EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), in.begin()));
            }
        },
        [](Peers& p, Friend& f) {
            const auto out = pattern(300000, 5);
            f.meet();
            p.send(0, 1, out.data(), 300, 0, false);
            f.meet();
            p.send(0, 1, out.data(), 300000, 0, false);
            p.sent();
        });
}

TEST(LinnetShared, CanceledReceiveIsToldAtTheFirstEndpointAndTakesNothing)
{
    hub_and_peers(
        [](Hub& h, Friend& f) {
            char in[2] = {};
            for (char& b : in) {
                h.post([&] { return fi_trecv(h.srx, &b, 1, nullptr, FI_ADDR_UNSPEC, 0, ~0ull, &b); });
            }
            EXPECT_EQ(fi_cancel(&h.srx->fid, &h), -FI_ENOENT);
            EXPECT_EQ(fi_cancel(&h.srx->fid, &in[0]), 0);
            EXPECT_EQ(fi_cancel(&h.srx->fid, &in[0]), -FI_ENOENT);
            const auto c = h.next(0);
            EXPECT_EQ(c.error, FI_ECANCELED);
            EXPECT_EQ(c.told.op_context, &in[0]);
            f.meet();
            EXPECT_EQ(h.next(1).told.op_context, &in[1]);
            EXPECT_EQ(in[0], 0);
            EXPECT_EQ(in[1], 'x');
        },
        [](Peers& p, Friend& f) {
            f.meet();
            p.send(0, 1, "x", 1);
            p.sent();
        });
}

// fi_cancel(3) tells of a canceled receive; before an endpoint is enabled there is none that it could be told at.
TEST(LinnetShared, ReceiveIsNotCanceledUntilThereIsAnEndpoint)
{
    hub_and_peers(
        [](Hub& h, Friend& f) {
            fid_ep* srx = nullptr;
            fi_rx_attr attr = *h.info->rx_attr;
            ASSERT_EQ(fi_srx_context(h.domain, &attr, &srx, nullptr), 0);
            char in = 0;
            ASSERT_EQ(fi_trecv(srx, &in, 1, nullptr, FI_ADDR_UNSPEC, 0, ~0ull, &in), 0);
            EXPECT_EQ(fi_cancel(&srx->fid, &in), -FI_EOPBADSTATE);
            EXPECT_EQ(fi_close(&srx->fid), 0);
            f.meet();
        },
        [](Peers&, Friend& f) { f.meet(); });
}

TEST(LinnetShared, PeekClaimAndDiscardFindWhatWaitsAtAnyEndpoint)
{
    hub_and_peers(
        [](Hub& h, Friend& f) {
            char in[8] = {};
            const iovec iov{in, sizeof in};
            const auto tagged = [&](std::uint64_t tag, std::uint64_t flags, void* context) {
                fi_msg_tagged m{};
                m.msg_iov = &iov;
                m.iov_count = 1;
                m.addr = FI_ADDR_UNSPEC;
                m.tag = tag;
                m.context = context;
                return fi_trecvmsg(h.srx, &m, flags);
            };
            int a = 0;
            int b = 0;
            EXPECT_EQ(tagged(9, FI_PEEK, &a), 0);
            EXPECT_EQ(h.next(0).error, FI_ENOMSG);   // nothing: at the first endpoint
            f.meet();
            EXPECT_EQ(f.hear(), "sent");
            // Until one with this tag waits at this endpoint; between endpoints there is no order.
            const auto wait_for = [&](std::uint64_t tag, std::size_t at) {
                Hub::Entry e;
                for (const auto end = Clock::now() + 20s; Clock::now() < end;) {
                    EXPECT_EQ(tagged(tag, FI_PEEK, &a), 0);
                    if (fi_cq_read(h.rx[at], &e.told, 1) == 1) {
                        break;
                    }
                    const auto none = h.next(0);
                    if (none.error != FI_ENOMSG) {   // it was there, at the first endpoint
                        return none;
                    }
                }
                return e;
            };
            EXPECT_EQ(wait_for(2, 0).told.tag, 2u);
            const Hub::Entry e = wait_for(3, 1);
            EXPECT_EQ(e.told.tag, 3u);
            EXPECT_EQ(e.told.len, 4u);
            EXPECT_EQ(e.told.op_context, &a);
            EXPECT_EQ(tagged(3, FI_PEEK | FI_CLAIM, &a), 0);
            EXPECT_EQ(h.next(1).error, 0);
            EXPECT_EQ(tagged(3, FI_PEEK, &b), 0);
            EXPECT_EQ(h.next(0).error, FI_ENOMSG);   // it is ours now
            EXPECT_EQ(tagged(1, FI_PEEK | FI_DISCARD, &b), 0);
            EXPECT_EQ(h.next(0).told.tag, 1u);
            EXPECT_EQ(tagged(0, FI_CLAIM, &b), -FI_EINVAL);
            EXPECT_EQ(tagged(0, FI_CLAIM, &a), 0);
            const auto c = h.next(1);
            EXPECT_EQ(c.error, 0);
            EXPECT_EQ(c.told.len, 4u);
            EXPECT_STREQ(in, "two");
            EXPECT_EQ(tagged(2, FI_PEEK | FI_CLAIM, &a), 0);   // stays with the endpoint, and goes with it
            EXPECT_EQ(h.next(0).error, 0);
        },
        [](Peers& p, Friend& f) {
            f.meet();
            p.send(0, 0, "one", 4, 1);
            p.send(0, 0, "one", 4, 2);
            p.send(0, 1, "two", 4, 3);
            p.sent();
            f.tell("sent");
        });
}

TEST(LinnetShared, SleeperIsWokenByAMessageThatOnlyTheContextMatches)
{
    hub_and_peers(
        [](Hub& h, Friend& f) {
            char in = 0;
            for (int i = 0; i < 20; ++i) {
                h.post([&] { return fi_trecv(h.srx, &in, 1, nullptr, FI_ADDR_UNSPEC, 0, ~0ull, &in); });
                f.tell("posted");
                fi_cq_tagged_entry e{};
                EXPECT_EQ(fi_cq_sread(h.rx[1], &e, 1, nullptr, 20000), 1) << i;
                EXPECT_EQ(e.op_context, &in);
            }
        },
        [](Peers& p, Friend& f) {
            for (int i = 0; i < 20; ++i) {
                EXPECT_EQ(f.hear(), "posted");
                std::this_thread::sleep_for(2ms);   // it sleeps, as a rule
                p.send(0, 1, "x", 1);
            }
            p.sent();
        },
        {.wait = FI_WAIT_UNSPEC});
}

TEST(LinnetShared, EndpointThatClosesTakesItsMessagesAlongAndLeavesTheReceives)
{
    hub_and_peers(
        [](Hub& h, Friend& f) {
            std::vector<char> in(300000);
            EXPECT_EQ(f.hear(), "sent");   // messages wait at both endpoints
            for (const auto end = Clock::now() + 50ms; Clock::now() < end;) {
                h.progress();
            }
            h.close(0);
            for (std::size_t i = 0; i < 2; ++i) {
                h.post([&] { return fi_trecv(h.srx, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, 0, ~0ull, &in); });
            }
            const auto c = h.next(1);
            EXPECT_EQ(c.told.tag, 1u);
            f.meet();
            EXPECT_EQ(h.next(1).told.tag, 2u);   // the second receive is still there
            fi_cq_tagged_entry e{};
            EXPECT_EQ(fi_cq_read(h.rx[0], &e, 1), -FI_EAGAIN);
            h.post([&] { return fi_trecv(h.srx, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, 0, ~0ull, &in); });   // dropped with the context
            h.close(1);
        },
        [](Peers& p, Friend& f) {
            std::vector<char> out(300000);
            p.node[0].post([&] { return fi_tsend(p.node[0].ep, out.data(), 10, nullptr, p.hub[0], 0, nullptr); });
            p.node[0].post([&] { return fi_tsend(p.node[0].ep, out.data(), out.size(), nullptr, p.hub[0], 0, nullptr); });   // ends with an error, or later
            p.send(1, 1, out.data(), out.size(), 1);
            f.tell("sent");
            p.sent();
            f.meet();
            p.send(1, 1, out.data(), 10, 2);
            p.sent();
        });
}

TEST(LinnetShared, DirectedReceiveEndsWhenItsSourceDies)
{
    two_processes(
        [](Friend& f) {
            Hub h{{.caps = FI_TAGGED | FI_MSG | FI_DIRECTED_RECV}};
            h.connect(f);
            char in[4] = {};
            h.post([&] { return fi_trecv(h.srx, &in[0], 1, nullptr, h.peer[0], 1, 0, &in[0]); });
            h.post([&] { return fi_trecv(h.srx, &in[1], 1, nullptr, h.peer[0], 2, 0, &in[1]); });
            h.post([&] { return fi_trecv(h.srx, &in[2], 1, nullptr, FI_ADDR_UNSPEC, 3, 0, &in[2]); });
            f.meet();
            EXPECT_EQ(h.next(1).told.op_context, &in[0]);   // it is connected with endpoint 1
            f.tell("die");
            const auto c = h.next(1);
            EXPECT_NE(c.error, 0);
            EXPECT_EQ(c.told.op_context, &in[1]);
            h.post([&] { return fi_trecv(h.srx, &in[3], 1, nullptr, h.peer[0], 2, 0, &in[3]); });   // at once
            EXPECT_EQ(h.next(1).told.op_context, &in[3]);
            EXPECT_TRUE(h.quiet_for(20ms));
        },
        [](Friend& f) {
            auto* const p = new Peers{f};
            f.meet();
            p->send(0, 1, "x", 1, 1);
            p->sent();
            EXPECT_EQ(f.hear(), "die");
            ::raise(SIGKILL);
        },
        SIGKILL);
}

// The completions of one sender's messages, which match in order. Completions themselves have none (comp_order), and either of two threads may report one;
// so those before one that are not told yet are in other buffers.
struct Told {
    std::vector<bool> came;
    std::size_t buffers;
    bool fits(unsigned i)
    {
        if (i >= came.size() || came[i]) {
            return false;
        }
        came[i] = true;
        return static_cast<std::size_t>(std::count(came.begin(), came.begin() + i, false)) < buffers;
    }
};

// Two threads read the queues, one each, and post again what they took; two threads send.
TEST(LinnetShared, ThreadsPostAndReadWhileMessagesComeToBothEndpoints)
{
    constexpr unsigned kEach = testing::kSanitized ? 300 : 2000;
    hub_and_peers(
        [&](Hub& h, Friend& f) {
            struct Buffer {
                std::vector<char> bytes = std::vector<char>(70000);
            };
            std::vector<Buffer> buffers(16);
            const auto post = [&](Buffer& b) {
                ssize_t r = -FI_EAGAIN;
                while (r == -FI_EAGAIN) {
                    r = fi_trecv(h.srx, b.bytes.data(), b.bytes.size(), nullptr, FI_ADDR_UNSPEC, 0, ~0ull, &b);
                }
                EXPECT_EQ(r, 0);
            };
            for (Buffer& b : buffers) {
                post(b);
            }
            f.meet();
            std::vector<std::thread> readers;
            for (std::size_t e = 0; e < kEnds; ++e) {
                readers.emplace_back([&, e] {
                    Told told{std::vector<bool>(kEach), buffers.size()};
                    for (unsigned n = 0; n < kEach && !::testing::Test::HasFailure(); ++n) {
                        auto c = h.next(e);
                        while (c.error == FI_ECANCELED) {   // which is told at the first endpoint, whoever canceled
                            c = h.next(e);
                        }
                        ASSERT_EQ(c.error, 0);
                        auto& b = *static_cast<Buffer*>(c.told.op_context);
                        const auto i = static_cast<unsigned>(c.told.tag);
                        ASSERT_TRUE(told.fits(i)) << "endpoint " << e << ", tag " << i;
                        const std::size_t bytes = i % 50 == 0 ? 70000 : 1 + i % 3000;
                        EXPECT_EQ(c.told.len, bytes);
                        EXPECT_EQ(b.bytes[bytes - 1], static_cast<char>(e * 7 + i));
                        if (n % 16 == 0) {   // one that nothing will match, and goes again
                            int never = 0;
                            EXPECT_EQ(fi_recv(h.srx, nullptr, 0, nullptr, FI_ADDR_UNSPEC, &never), 0);
                            EXPECT_EQ(fi_cancel(&h.srx->fid, &never), 0);
                        }
                        post(b);
                    }
                });
            }
            for (std::thread& t : readers) {
                t.join();
            }
        },
        [&](Peers& p, Friend& f) {
            f.meet();
            std::vector<std::thread> senders;
            for (std::size_t e = 0; e < kEnds; ++e) {
                senders.emplace_back([&, e] {
                    std::vector<char> out(70000);
                    for (unsigned i = 0; i < kEach; ++i) {
                        const std::size_t bytes = i % 50 == 0 ? 70000 : 1 + i % 3000;
                        std::fill(out.begin(), out.end(), static_cast<char>(e * 7 + i));
                        p.send(e, e, out.data(), bytes, i);
                        p.node[e].next(p.node[e].tx);
                        --p.open[e];
                    }
                });
            }
            for (std::thread& t : senders) {
                t.join();
            }
        });
}

}   // namespace
}   // namespace linnet::ofi_test
