// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_getinfo(3), fi_av(3), fi_eq(3), fi_endpoint(3): what can be had, who is who.
#include <netinet/in.h>

#include <cstring>

#include "integration/ofi/node.h"

namespace linnet::ofi_test {
namespace {

void alone(const std::function<void()>& body)
{
    two_processes([&](Friend&) { body(); }, [](Friend&) {});
}

// What fi_getinfo says to our hints after `change`.
int answer(const std::function<void(fi_info&)>& change, const std::function<void(const fi_info&)>& look = nullptr)
{
    fi_info* const hints = make_hints({});
    change(*hints);
    fi_info* info = nullptr;
    const int r = fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info);
    if (r == 0 && look) {
        look(*info);
    }
    if (r == 0) {
        fi_freeinfo(info);
    }
    fi_freeinfo(hints);
    return r;
}

TEST(LinnetInfo, HintsThatCannotBeMetAreRefused)
{
    alone([] {
        EXPECT_EQ(answer([](fi_info&) {}), 0);
        EXPECT_EQ(answer([](fi_info& h) { h.caps |= FI_RMA_EVENT; }), -FI_ENODATA);   // without FI_RMA
        EXPECT_EQ(answer([](fi_info& h) { h.caps |= FI_RMA_EVENT | FI_RMA | FI_READ | FI_WRITE; }), -FI_ENODATA);   // nobody's target
        EXPECT_EQ(answer([](fi_info& h) { h.caps |= FI_RMA_EVENT | FI_RMA | FI_READ | FI_REMOTE_WRITE; }), 0);
        EXPECT_EQ(answer([](fi_info& h) { h.caps |= FI_RMA_EVENT | FI_ATOMIC; }), 0);
        EXPECT_EQ(answer([](fi_info& h) { h.caps |= FI_READ; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.caps |= FI_COLLECTIVE; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.caps |= FI_HMEM; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.ep_attr->type = FI_EP_MSG; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.ep_attr->type = FI_EP_DGRAM; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.ep_attr->protocol = FI_PROTO_RXM; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.tx_attr->inject_size = 1u << 20; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.tx_attr->iov_limit = 1000; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.tx_attr->msg_order = FI_ORDER_SAW; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.tx_attr->comp_order = FI_ORDER_STRICT; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.domain_attr->cq_data_size = 9; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.domain_attr->name = ::strdup("eth7"); }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.fabric_attr->name = ::strdup("other"); }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.addr_format = FI_ADDR_EFA; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.tx_attr->msg_order = h.rx_attr->msg_order = FI_ORDER_SAS; }), 0);
    });
}

TEST(LinnetInfo, AnswerIsWhatWasAskedForAndNoModeIsRequired)
{
    alone([] {
        for (const fi_threading t : {FI_THREAD_SAFE, FI_THREAD_FID, FI_THREAD_DOMAIN, FI_THREAD_COMPLETION, FI_THREAD_ENDPOINT}) {
            EXPECT_EQ(answer([&](fi_info& h) { h.domain_attr->threading = t; }, [&](const fi_info& i) { EXPECT_EQ(i.domain_attr->threading, t); }), 0);
        }
        EXPECT_EQ(answer([](fi_info& h) { h.domain_attr->data_progress = FI_PROGRESS_MANUAL; },
                         [](const fi_info& i) {
                             EXPECT_EQ(i.domain_attr->data_progress, FI_PROGRESS_MANUAL);
                             EXPECT_EQ(i.domain_attr->control_progress, FI_PROGRESS_AUTO);
                             EXPECT_EQ(i.mode, 0u);
                             EXPECT_EQ(i.domain_attr->mr_mode, 0);
                             EXPECT_EQ(i.caps & (FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV), 0u);   // never asked for
                             EXPECT_EQ(i.caps & (FI_TAGGED | FI_MSG | FI_SEND | FI_RECV), FI_TAGGED | FI_MSG | FI_SEND | FI_RECV);
                         }),
                  0);
        EXPECT_EQ(answer([](fi_info& h) { h.rx_attr->total_buffered_recv = 1u << 30; },
                         [](const fi_info& i) { EXPECT_GE(i.rx_attr->total_buffered_recv, 1u << 30); }),
                  0);
        EXPECT_EQ(answer([](fi_info& h) { h.domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR; },
                         [](const fi_info& i) { EXPECT_EQ(i.domain_attr->mr_mode, 0); }),
                  0);
    });
}

// fi_domain(3): with a shared receive context it is the application's calls that make data move to the end.
TEST(LinnetInfo, SharedContextsAreOfferedAndReceivingThereNeedsTheApplicationsCalls)
{
    alone([] {
        const auto progress = [](fi_progress p) { return [p](const fi_info& i) { EXPECT_EQ(i.domain_attr->data_progress, p); }; };
        EXPECT_EQ(answer([](fi_info& h) { h.ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT; },
                         [&](const fi_info& i) {
                             EXPECT_EQ(i.ep_attr->tx_ctx_cnt, FI_SHARED_CONTEXT);
                             EXPECT_EQ(i.ep_attr->rx_ctx_cnt, 1u);
                             EXPECT_GE(i.domain_attr->max_ep_stx_ctx, 2u);
                             EXPECT_GE(i.domain_attr->max_ep_srx_ctx, 2u);
                             progress(FI_PROGRESS_AUTO)(i);
                         }),
                  0);
        const auto shared = [](fi_info& h) { h.ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT; };
        EXPECT_EQ(answer(shared, [](const fi_info& i) { EXPECT_EQ(i.ep_attr->rx_ctx_cnt, FI_SHARED_CONTEXT); }), 0);
        EXPECT_EQ(answer(shared, progress(FI_PROGRESS_MANUAL)), 0);
        EXPECT_EQ(answer([&](fi_info& h) { shared(h); h.domain_attr->data_progress = FI_PROGRESS_MANUAL; }, progress(FI_PROGRESS_MANUAL)), 0);
        EXPECT_EQ(answer([&](fi_info& h) { shared(h); h.domain_attr->data_progress = FI_PROGRESS_AUTO; }), -FI_ENODATA);
        EXPECT_EQ(answer([](fi_info& h) { h.domain_attr->max_ep_srx_ctx = SIZE_MAX; }), -FI_ENODATA);
    });
}

TEST(LinnetInfo, DirectedReceptionAloneIsTheReceiversCapability)
{
    alone([] {
        EXPECT_EQ(answer([](fi_info& h) { h.caps = FI_DIRECTED_RECV; },
                         [](const fi_info& i) { EXPECT_EQ(i.rx_attr->caps & FI_DIRECTED_RECV, FI_DIRECTED_RECV); }),
                  0);
        EXPECT_EQ(answer([](fi_info& h) { h.caps = FI_MSG | FI_SEND; },
                         [](const fi_info& i) {
                             EXPECT_EQ(i.tx_attr->caps, FI_MSG | FI_SEND);
                             EXPECT_EQ(i.rx_attr->caps, 0u);
                         }),
                  0);
    });
}

// fi_domain(3), av_type: FI_AV_UNSPEC says that both are supported; an application that finds FI_AV_TABLE must take that.
TEST(LinnetInfo, BothTypesOfAddressVectorsAreOfferedUntilOneIsChosen)
{
    alone([] {
        for (const fi_av_type type : {FI_AV_UNSPEC, FI_AV_MAP, FI_AV_TABLE}) {
            EXPECT_EQ(answer([&](fi_info& h) { h.domain_attr->av_type = type; }, [&](const fi_info& i) { EXPECT_EQ(i.domain_attr->av_type, type); }), 0);
        }
        Node n{{.av_type = FI_AV_UNSPEC}};
        for (const fi_av_type type : {FI_AV_MAP, FI_AV_TABLE}) {
            fi_av_attr attr{};
            attr.type = type;
            fid_av* av = nullptr;
            ASSERT_EQ(fi_av_open(n.domain, &attr, &av, nullptr), 0);
            EXPECT_EQ(attr.type, type);
            EXPECT_EQ(fi_close(&av->fid), 0);
        }
    });
}

// What was chosen is "the type of address vectors that are usable with this domain".
TEST(LinnetAddressVector, TypeIsThatOfTheDomain)
{
    alone([] {
        for (const fi_av_type type : {FI_AV_MAP, FI_AV_TABLE}) {
            Node n{{.av_type = type}};
            fi_av_attr attr{};
            fid_av* av = nullptr;
            attr.type = type == FI_AV_MAP ? FI_AV_TABLE : FI_AV_MAP;
            EXPECT_EQ(fi_av_open(n.domain, &attr, &av, nullptr), -FI_EINVAL);
            attr.type = FI_AV_UNSPEC;
            ASSERT_EQ(fi_av_open(n.domain, &attr, &av, nullptr), 0);
            EXPECT_EQ(attr.type, type);
            EXPECT_EQ(fi_close(&av->fid), 0);
        }
    });
}

// Where fi_mr(3) knows two modes alone, FI_MR_UNSPEC leaves the choice to the provider.
TEST(LinnetInfo, InterfaceBeforeOneFiveGetsOneOfItsTwoMemoryModes)
{
    alone([] {
        fi_info* const hints = make_hints({.caps = FI_RMA});
        for (fi_info* h : {hints, static_cast<fi_info*>(nullptr)}) {
            fi_info* info = nullptr;
            ASSERT_EQ(fi_getinfo(FI_VERSION(1, 0), nullptr, nullptr, 0, h, &info), 0);
            EXPECT_EQ(info->domain_attr->mr_mode, FI_MR_SCALABLE);
            fi_freeinfo(info);
        }
        hints->domain_attr->mr_mode = FI_MR_PROV_KEY;   // a bit of 1.5
        fi_info* none = nullptr;
        EXPECT_EQ(fi_getinfo(FI_VERSION(1, 4), nullptr, nullptr, 0, hints, &none), -FI_ENODATA);
        fi_freeinfo(hints);
    });
}

// fi_getinfo(3): "On output a provider shall return an address that corresponds to the indicated fabric, domain, node, and/or service".
TEST(Info, AnswerHasASourceAddressWhateverWasNamed)
{
    struct Named {
        const char* node;
        const char* service;
        std::uint64_t flags;
    };
    alone([] {
        for (const std::uint32_t format : {std::uint32_t{FI_FORMAT_UNSPEC}, std::uint32_t{FI_SOCKADDR_IN}}) {
            for (const Named& n : {Named{nullptr, nullptr, 0}, Named{"127.0.0.1", "9228", 0}, Named{"127.0.0.1", nullptr, FI_SOURCE},
                                   Named{"127.0.0.1", "9228", FI_SOURCE}}) {
                fi_info* const hints = make_hints({.addr_format = format});
                fi_info* info = nullptr;
                ASSERT_EQ(fi_getinfo(FI_VERSION(1, 17), n.node, n.service, n.flags, hints, &info), 0);
                fi_freeinfo(hints);
                for (const fi_info* i = info; i != nullptr; i = i->next) {
                    EXPECT_NE(i->src_addr, nullptr);
                    EXPECT_NE(i->src_addrlen, 0u);
                    EXPECT_EQ(i->dest_addr != nullptr, n.node != nullptr && n.flags == 0);
                }
                if (format == FI_SOCKADDR_IN && n.flags == 0) {   // nobody named a port of ours
                    sockaddr_in from{};
                    ASSERT_EQ(info->src_addrlen, sizeof from);
                    std::memcpy(&from, info->src_addr, sizeof from);
                    EXPECT_EQ(from.sin_family, AF_INET);
                    EXPECT_EQ(from.sin_port, 0);
                }
                fi_freeinfo(info);
            }
        }
    });
}

// The source address of an answer ties nothing down that was not asked for: two endpoints of one answer have addresses of their own.
TEST(Endpoint, TwoOfOneAnswerHaveAddressesOfTheirOwn)
{
    alone([] {
        Node n;
        fid_ep* second = nullptr;
        ASSERT_EQ(fi_endpoint(n.domain, n.info, &second, nullptr), 0);
        ASSERT_EQ(fi_ep_bind(second, &n.av->fid, 0), 0);
        ASSERT_EQ(fi_ep_bind(second, &n.tx->fid, FI_TRANSMIT), 0);
        ASSERT_EQ(fi_ep_bind(second, &n.rx->fid, FI_RECV), 0);
        ASSERT_EQ(fi_enable(second), 0);
        char name[256];
        std::size_t bytes = sizeof name;
        ASSERT_EQ(fi_getname(&second->fid, name, &bytes), 0);
        EXPECT_NE(std::string(name, bytes), n.name());
        EXPECT_EQ(fi_close(&second->fid), 0);
    });
}

TEST(Endpoint, CannotBeEnabledWithoutWhatItNeeds)
{
    alone([] {
        Node n{{}, false};
        fid_ep* bare = nullptr;
        ASSERT_EQ(fi_endpoint(n.domain, n.info, &bare, nullptr), 0);
        if (is_linnet()) {
            EXPECT_EQ(fi_enable(bare), -FI_ENOAV);
            EXPECT_EQ(fi_ep_bind(bare, &n.av->fid, 0), 0);
            EXPECT_EQ(fi_enable(bare), -FI_ENOCQ);
            EXPECT_EQ(fi_send(bare, nullptr, 0, nullptr, 0, nullptr), -FI_EOPBADSTATE);
        } else {
            EXPECT_NE(fi_enable(bare), 0);
        }
        EXPECT_EQ(fi_close(&bare->fid), 0);
        n.enable();
    });
}

TEST(Endpoint, NameHasAFixedLengthThatIsToldWhenThereIsNoRoom)
{
    alone([] {
        Node n;
        std::size_t bytes = 0;
        EXPECT_EQ(fi_getname(&n.ep->fid, nullptr, &bytes), -FI_ETOOSMALL);
        EXPECT_EQ(bytes, n.name().size());
        if (is_linnet()) {
            EXPECT_LE(bytes, 64u);
        }
    });
}

TEST(LinnetEndpoint, NameIsTruncatedWhenThereIsNoRoom)
{
    alone([] {
        Node n;
        char room[8] = {};
        std::size_t bytes = 5;
        EXPECT_EQ(fi_getname(&n.ep->fid, room, &bytes), -FI_ETOOSMALL);
        const std::string name = n.name();
        EXPECT_EQ(bytes, name.size());
        EXPECT_EQ(std::string(room, 5), name.substr(0, 5));
        EXPECT_EQ(std::string(room + 5, 3), std::string(3, '\0'));
        bytes = 0;
        EXPECT_EQ(fi_getname(&n.ep->fid, nullptr, &bytes), -FI_ETOOSMALL);
        EXPECT_EQ(bytes, name.size());
    });
}

TEST(LinnetEndpoint, AliasHasFlagsOfItsOwn)
{
    two_processes(
        [](Friend& other) {
            Node n{{.bind_flags = FI_SELECTIVE_COMPLETION}};
            n.connect(other);
            fid_ep* alias = nullptr;
            ASSERT_EQ(fi_ep_alias(n.ep, &alias, FI_TRANSMIT | FI_COMPLETION), 0);
            int contexts[2];
            n.post([&] { return fi_tsend(n.ep, "a", 1, nullptr, n.peer, 1, &contexts[0]); });
            n.post([&] { return fi_tsend(alias, "b", 1, nullptr, n.peer, 1, &contexts[1]); });
            EXPECT_EQ(n.next(n.tx).op_context, &contexts[1]);
            std::uint64_t flags = FI_TRANSMIT;
            EXPECT_EQ(fi_control(&alias->fid, FI_GETOPSFLAG, &flags), 0);
            EXPECT_EQ(flags, FI_COMPLETION);
            EXPECT_EQ(fi_close(&alias->fid), 0);
            other.meet();
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            char in = 0;
            for (int i = 0; i < 2; ++i) {
                n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr); });
                static_cast<void>(n.next(n.rx));
            }
            other.meet();
        });
}

TEST(AddressVector, TableNumbersAddressesInTheOrderOfInsertion)
{
    const auto side = [](Friend& other, bool) {
        Node n;
        other.tell(n.name());
        const std::string theirs = other.hear();
        const std::string all = n.name() + theirs;
        EXPECT_EQ(fi_av_insert(n.av, all.data(), 2, nullptr, 0, nullptr), 2);   // no array: indices are known
        n.peer = 1;
        int context = 0;
        char in = 0;
        n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, &context); });
        n.post([&] { return fi_tinject(n.ep, "x", 1, 1, 1); });
        static_cast<void>(n.next(n.rx));
        char back[256];
        std::size_t bytes = sizeof back;
        EXPECT_EQ(fi_av_lookup(n.av, 1, back, &bytes), 0);
        EXPECT_EQ(std::string(back, bytes), theirs);
        char text[100];
        bytes = sizeof text;
        EXPECT_EQ(fi_av_straddr(n.av, theirs.data(), text, &bytes), text);
        EXPECT_EQ(std::strlen(text) + 1, bytes);
        other.meet();
    };
    two_processes([&](Friend& f) { side(f, true); }, [&](Friend& f) { side(f, false); });
}

TEST(AddressVector, RemovedAddressCanBeInsertedAgainAndUsed)
{
    const auto side = [](Friend& other, bool sends) {
        Node n{{.caps = FI_TAGGED | FI_SOURCE}};
        n.connect(other);
        char in = 0;
        for (int i = 0; i < 5; ++i) {
            if (sends) {
                n.post([&] { return fi_tinject(n.ep, "x", 1, n.peer, 1); });
                other.meet();
            } else {
                int context = 0;
                n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, &context); });
                static_cast<void>(n.next(n.rx));
                other.meet();
            }
            char name[256];
            std::size_t bytes = sizeof name;
            EXPECT_EQ(fi_av_lookup(n.av, n.peer, name, &bytes), 0);
            EXPECT_EQ(fi_av_remove(n.av, &n.peer, 1, 0), 0);
            if (is_linnet()) {
                EXPECT_EQ(fi_tinject(n.ep, "x", 1, n.peer, 1), -FI_EINVAL);
            }
            n.peer = n.insert({name, bytes});
            other.meet();
        }
    };
    two_processes([&](Friend& f) { side(f, true); }, [&](Friend& f) { side(f, false); });
}

TEST(AddressVector, MessagesOfUnknownPeersComeWithoutASource)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.peer = n.insert(other.hear());
            n.post([&] { return fi_tinject(n.ep, "x", 1, n.peer, 1); });
            other.tell(n.name());
            other.meet();
        },
        [](Friend& other) {
            Node n{{.caps = FI_TAGGED | FI_SOURCE}};
            other.tell(n.name());
            char in = 0;
            int context = 0;
            n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, &context); });
            fi_cq_tagged_entry e{};
            fi_addr_t from = 0;
            while (fi_cq_readfrom(n.rx, &e, 1, &from) != 1) {
            }
            EXPECT_EQ(from, FI_ADDR_NOTAVAIL);
            static_cast<void>(other.hear());
            other.meet();
        });
}

TEST(LinnetAddressVector, DuplicatesAreTwoAddressesOfOnePeer)
{
    const auto side = [](Friend& other, bool sends) {
        Node n{{.caps = FI_TAGGED | FI_SOURCE | FI_DIRECTED_RECV}};
        n.connect(other);
        char name[256];
        std::size_t bytes = sizeof name;
        EXPECT_EQ(fi_av_lookup(n.av, n.peer, name, &bytes), 0);
        fi_addr_t again = n.insert({name, bytes});
        EXPECT_NE(again, n.peer);
        char in = 0;
        int contexts[2] = {};
        if (!sends && is_linnet()) {   // posted before, and not a matter of the other address
            n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, again, 1, 0, &contexts[0]); });
        }
        EXPECT_EQ(fi_av_remove(n.av, &n.peer, 1, 0), 0);
        other.meet();
        if (sends) {
            n.post([&] { return fi_tinject(n.ep, "x", 1, again, 1); });
            n.post([&] { return fi_tinject(n.ep, "y", 1, again, 2); });
        } else {
            if (is_linnet()) {
                EXPECT_EQ(n.next(n.rx).op_context, &contexts[0]);
            }
            n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 2, 0, &contexts[1]); });
            fi_cq_tagged_entry e{};
            fi_addr_t from = FI_ADDR_NOTAVAIL;
            while (fi_cq_readfrom(n.rx, &e, 1, &from) != 1) {
            }
            EXPECT_EQ(e.op_context, &contexts[1]);
            EXPECT_EQ(in, 'y');
            if (is_linnet()) {
                EXPECT_EQ(from, again);
            }
        }
        other.meet();
    };
    two_processes([&](Friend& f) { side(f, true); }, [&](Friend& f) { side(f, false); });
}

// What is at these places, as text; "" where nothing is.
std::vector<std::string> texts(fid_av* av, const std::vector<fi_addr_t>& places)
{
    std::vector<std::string> all;
    for (const fi_addr_t at : places) {
        sockaddr_in6 raw{};
        char text[128] = "";
        std::size_t bytes = sizeof raw;
        if (fi_av_lookup(av, at, &raw, &bytes) == 0) {
            bytes = sizeof text;
            EXPECT_EQ(fi_av_straddr(av, &raw, text, &bytes), text);
        }
        all.emplace_back(text);
    }
    return all;
}

// Nodes are counted as addresses, whatever their text looks like; all services of one come before the next node.
TEST(LinnetAddressVector, SymmetricInsertionCountsNodesAndServices)
{
    using Texts = std::vector<std::string>;
    alone([] {
        for (const bool six : {false, true}) {
            Options o;
            o.addr_format = six ? FI_SOCKADDR_IN6 : FI_SOCKADDR_IN;
            Node n{o};
            fi_av_attr attr{};
            fid_av* av = nullptr;
            ASSERT_EQ(fi_av_open(n.domain, &attr, &av, nullptr), 0);
            const auto inserted = [av](const char* node, std::size_t nodes, const char* service, std::size_t services, int good) {
                std::vector<fi_addr_t> places(nodes * services);
                EXPECT_EQ(fi_av_insertsym(av, node, nodes, service, services, places.data(), 0, nullptr), good) << node;
                return texts(av, places);
            };
            if (six) {
                EXPECT_EQ(inserted("fd00::9", 2, "5009", 2, 4), (Texts{"fi_sockaddr_in6://[fd00::9]:5009", "fi_sockaddr_in6://[fd00::9]:5010",
                                                                       "fi_sockaddr_in6://[fd00::a]:5009", "fi_sockaddr_in6://[fd00::a]:5010"}));
                EXPECT_EQ(inserted("fe80::1%lo", 2, "5009", 1, 2), (Texts{"fi_sockaddr_in6://[fe80::1%lo]:5009", "fi_sockaddr_in6://[fe80::2%lo]:5009"}))
                    << "of the same interface";
            } else {
                EXPECT_EQ(inserted("10.1.0.255", 2, "5009", 2, 4), (Texts{"fi_sockaddr_in://10.1.0.255:5009", "fi_sockaddr_in://10.1.0.255:5010",
                                                                          "fi_sockaddr_in://10.1.1.0:5009", "fi_sockaddr_in://10.1.1.0:5010"}));
                EXPECT_EQ(inserted("255.255.255.255", 2, "5009", 1, 1), (Texts{"fi_sockaddr_in://255.255.255.255:5009", ""}))
                    << "there is none behind the last";
                EXPECT_EQ(inserted("10.1.0.9", 1, "65535", 3, 1), (Texts{"fi_sockaddr_in://10.1.0.9:65535", "", ""})) << "nor behind the last port";
                EXPECT_EQ(inserted("10.1.0.9", 1, "70000", 1, 0), Texts{""});
                const char* const uri = "fi_sockaddr_in://10.1.0.255:5009";
                EXPECT_EQ(inserted(uri, 1, nullptr, 1, 1), Texts{uri});
                fi_addr_t unused[2] = {};
                EXPECT_EQ(fi_av_insertsym(av, uri, 2, nullptr, 1, unused, 0, nullptr), -FI_EINVAL) << "its end is a port";
            }
            EXPECT_EQ(fi_close(&av->fid), 0);
        }
    });
}

TEST(LinnetAddressVector, AsynchronousInsertionsReportToTheirEventQueue)
{
    alone([] {
        Node n;
        fi_eq_attr eq_attr{};
        eq_attr.wait_obj = FI_WAIT_UNSPEC;
        fid_eq* eq = nullptr;
        ASSERT_EQ(fi_eq_open(n.fabric, &eq_attr, &eq, nullptr), 0);
        fi_av_attr attr{};
        attr.flags = FI_EVENT;
        fid_av* av = nullptr;
        ASSERT_EQ(fi_av_open(n.domain, &attr, &av, nullptr), 0);
        const std::string good = n.name();
        const std::string both = good + std::string(good.size(), '\0');
        fi_addr_t addresses[2] = {};
        int context = 0;
        EXPECT_EQ(fi_av_insert(av, both.data(), 2, addresses, 0, &context), -FI_ENOEQ);
        EXPECT_EQ(fi_av_bind(av, &eq->fid, 0), 0);
        EXPECT_EQ(fi_av_insert(av, both.data(), 2, addresses, 0, &context), 0);
        std::uint32_t event = 0;
        fi_eq_entry e{};
        EXPECT_EQ(fi_eq_sread(eq, &event, &e, sizeof e, 1000, 0), -FI_EAVAIL);
        fi_eq_err_entry bad{};
        EXPECT_EQ(fi_eq_readerr(eq, &bad, 0), static_cast<ssize_t>(sizeof bad));
        EXPECT_EQ(bad.data, 1u);
        EXPECT_EQ(bad.context, &context);
        EXPECT_EQ(fi_eq_sread(eq, &event, &e, sizeof e, 1000, 0), static_cast<ssize_t>(sizeof e));
        EXPECT_EQ(event, static_cast<std::uint32_t>(FI_AV_COMPLETE));
        EXPECT_EQ(e.data, 1u);
        EXPECT_EQ(e.fid, &av->fid);
        EXPECT_EQ(addresses[0], 0u);
        EXPECT_EQ(addresses[1], FI_ADDR_NOTAVAIL);
        EXPECT_EQ(fi_eq_read(eq, &event, &e, sizeof e, 0), -FI_EAGAIN);
        EXPECT_EQ(fi_close(&eq->fid), -FI_EBUSY);
        EXPECT_EQ(fi_close(&av->fid), 0);
        EXPECT_EQ(fi_close(&eq->fid), 0);
        int errors[2] = {7, 7};
        EXPECT_EQ(fi_av_insert(n.av, both.data(), 2, addresses, FI_SYNC_ERR, errors), 1);
        EXPECT_EQ(errors[0], 0);
        EXPECT_EQ(errors[1], FI_EINVAL);
    });
}

TEST(LinnetAddressVector, ErrorsOfInsertionsFillTheDataOfWhoAskedForOneFiveOrLater)
{
    alone([] {
        for (const unsigned minor : {4u, 17u}) {
            Node n{{.version = FI_VERSION(1, minor)}};
            fid_eq* eq = nullptr;
            ASSERT_EQ(fi_eq_open(n.fabric, nullptr, &eq, nullptr), 0);
            fi_av_attr attr{};
            attr.flags = FI_EVENT;
            fid_av* av = nullptr;
            ASSERT_EQ(fi_av_open(n.domain, &attr, &av, nullptr), 0);
            EXPECT_EQ(fi_av_bind(av, &eq->fid, 0), 0);
            const std::string none(n.name().size(), '\0');
            EXPECT_EQ(fi_av_insert(av, none.data(), 1, nullptr, 0, nullptr), 0);
            char data[8];
            fi_eq_err_entry bad{};
            bad.err_data = data;
            bad.err_data_size = sizeof data;
            const std::size_t known = minor < 5 ? offsetof(fi_eq_err_entry, err_data_size) : sizeof bad;
            EXPECT_EQ(fi_eq_readerr(eq, &bad, 0), static_cast<ssize_t>(known));
            EXPECT_EQ(bad.err, FI_EINVAL);
            EXPECT_EQ(bad.err_data, minor < 5 ? nullptr : data);
            EXPECT_EQ(bad.err_data_size, minor < 5 ? sizeof data : 0u);
            EXPECT_EQ(fi_close(&av->fid), 0);
            EXPECT_EQ(fi_close(&eq->fid), 0);
        }
    });
}

TEST(LinnetDomain, EventQueueThatIsBoundToItCannotBeClosedBeforeIt)
{
    alone([] {
        fi_info* const hints = make_hints({});
        fi_info* info = nullptr;
        ASSERT_EQ(fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), 0);
        fid_fabric* fabric = nullptr;
        fid_domain* domain = nullptr;
        fid_eq* eq = nullptr;
        ASSERT_EQ(fi_fabric(info->fabric_attr, &fabric, nullptr), 0);
        ASSERT_EQ(fi_eq_open(fabric, nullptr, &eq, nullptr), 0);
        ASSERT_EQ(fi_domain(fabric, info, &domain, nullptr), 0);
        EXPECT_EQ(fi_domain_bind(domain, &eq->fid, FI_EVENT), -FI_EBADFLAGS);
        EXPECT_EQ(fi_domain_bind(domain, &eq->fid, 0), 0);
        EXPECT_EQ(fi_domain_bind(domain, &eq->fid, 0), -FI_EINVAL) << "there is one";
        EXPECT_EQ(fi_close(&eq->fid), -FI_EBUSY);
        EXPECT_EQ(fi_close(&domain->fid), 0);
        EXPECT_EQ(fi_close(&eq->fid), 0);
        EXPECT_EQ(fi_close(&fabric->fid), 0);
        fi_freeinfo(info);
        fi_freeinfo(hints);
    });
}

// The source address of fi_getinfo, given as where to send to: fi_av_insert knows nothing of who it is.
TEST(LinnetAddresses, EndpointReachesItselfAtTheAddressThatItListensAt)
{
    alone([] {
        const std::string service = std::to_string(20000 + test_process() % 10000);
        Options o;
        o.addr_format = FI_SOCKADDR_IN;
        o.node = "127.0.0.1";
        o.service = service.c_str();
        o.info_flags = FI_SOURCE;
        Node n{o};
        n.peer = n.insert({static_cast<const char*>(n.info->src_addr), n.info->src_addrlen});
        char in[4] = {};
        int context = 0;
        n.post([&] { return fi_trecv(n.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &context); });
        n.post([&] { return fi_tinject(n.ep, "ping", 4, n.peer, 1); });
        EXPECT_EQ(n.next(n.rx).len, 4u);
        EXPECT_EQ(std::string(in, 4), "ping");
    });
}

// "localhost" is a name of whatever host one is on: a server that has been told a service alone answers there.
TEST(LinnetAddresses, ServiceAloneIsReachedByTheNameOfTheLocalHost)
{
    const std::string service = std::to_string(30000 + test_process() % 2000);
    for (const char* const transports : {"shm,tcp", "tcp"}) {
        two_processes(
            [&](Friend& other) {
                ::setenv("FI_LINNET_TRANSPORTS", transports, 1);
                Options o;
                o.service = service.c_str();
                o.info_flags = FI_SOURCE;
                Node n{o};
                other.meet();
                char in[4] = {};
                n.post([&] { return fi_trecv(n.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr); });
                EXPECT_EQ(n.next(n.rx).len, 4u);
                n.peer = n.insert(other.hear());
                n.post([&] { return fi_tinject(n.ep, "pong", 4, n.peer, 2); });
                other.meet();
            },
            [&](Friend& other) {
                ::setenv("FI_LINNET_TRANSPORTS", transports, 1);
                Options o;
                o.node = "127.0.0.1";
                o.service = service.c_str();
                Node n{o};
                other.meet();
                n.peer = n.insert({static_cast<const char*>(n.info->dest_addr), n.info->dest_addrlen});
                char in[4] = {};
                n.post([&] { return fi_trecv(n.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 2, 0, nullptr); });
                n.post([&] { return fi_tinject(n.ep, "ping", 4, n.peer, 1); });
                other.tell(n.name());
                EXPECT_EQ(n.next(n.rx).len, 4u);
                EXPECT_EQ(std::string(in, 4), "pong");
                other.meet();
            });
    }
}

// The server listens at a service; the client knows the node and the service, and nothing else.
TEST(LinnetAddresses, NodeAndServiceReachAnEndpointThatListensThere)
{
    for (const std::uint32_t format : {std::uint32_t{FI_FORMAT_UNSPEC}, std::uint32_t{FI_SOCKADDR_IN}}) {
        const std::string service = std::to_string(20000 + test_process() % 10000 + (format == FI_SOCKADDR_IN ? 1 : 0));
        two_processes(
            [&](Friend& other) {
                Options o;
                o.addr_format = format;
                o.node = "127.0.0.1";
                o.service = service.c_str();
                o.info_flags = FI_SOURCE;
                Node n{o};
                other.meet();
                char in[4] = {};
                int context = 0;
                n.post([&] { return fi_trecv(n.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, &context); });
                EXPECT_EQ(n.next(n.rx).len, 4u);
                EXPECT_EQ(std::string(in, 4), "ping");
                n.peer = n.insert(other.hear());
                n.post([&] { return fi_tinject(n.ep, "pong", 4, n.peer, 2); });
                other.meet();
            },
            [&](Friend& other) {
                ::setenv("FI_LINNET_NET_INCLUDE", "lo", 1);
                Options o;
                o.addr_format = format;
                o.node = "127.0.0.1";
                o.service = service.c_str();
                Node n{o};
                other.meet();
                ASSERT_NE(n.info->dest_addr, nullptr);
                n.peer = n.insert({static_cast<const char*>(n.info->dest_addr), n.info->dest_addrlen});
                fi_addr_t by_service = FI_ADDR_UNSPEC;
                EXPECT_EQ(fi_av_insertsvc(n.av, "127.0.0.1", service.c_str(), &by_service, 0, nullptr), 1);
                char in[4] = {};
                int context = 0;
                n.post([&] { return fi_trecv(n.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 2, 0, &context); });
                n.post([&] { return fi_tinject(n.ep, "ping", 4, by_service, 1); });
                other.tell(n.name());
                EXPECT_EQ(n.next(n.rx).len, 4u);
                EXPECT_EQ(std::string(in, 4), "pong");
                other.meet();
            });
    }
}

}   // namespace
}   // namespace linnet::ofi_test
