// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Which addresses an endpoint reaches that is bound to one of its host's, and what its vector holds for it: on a host with an interface of its own.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "integration/ofi/node.h"
#include "support/net_namespace.h"

namespace linnet::ofi_test {
namespace {

// Its address is 10.99.0.1, that of its neighbour 10.99.0.2.
void on_a_host(const std::function<void()>& body)
{
    std::string why;
    const auto hosts = testing::NamespacePair::make(why);
    if (hosts == nullptr) {
        GTEST_SKIP() << why;
    }
    two_processes(
        [&](Friend&) {
            const testing::NamespacePair::Scope there{*hosts, 0};
            body();
        },
        [](Friend&) {});
}

std::string at(const char* host, unsigned port)
{
    sockaddr_in in{};
    in.sin_family = AF_INET;
    in.sin_port = htons(static_cast<std::uint16_t>(port));
    EXPECT_EQ(::inet_pton(AF_INET, host, &in.sin_addr), 1);
    return {reinterpret_cast<const char*>(&in), sizeof in};
}

// fi_cm(3): what fi_getname() tells can be given to others. Who was opened towards "localhost" listens at the loopback address alone, and calls this host
// whatever address of it is named.
TEST(LinnetReach, EndpointOfTheLoopbackAddressReachesItsHostByEachName)
{
    on_a_host([] {
        for (const char* const transports : {"shm,tcp", "tcp", "udp,tcp", "udp"}) {
            ::setenv("FI_LINNET_TRANSPORTS", transports, 1);
            const std::string port = std::to_string(20000 + test_process() % 10000);
            Node server{{.addr_format = FI_SOCKADDR_IN, .service = port.c_str(), .info_flags = FI_SOURCE}};
            Node client{{.addr_format = FI_SOCKADDR_IN, .node = "127.0.0.1", .service = port.c_str()}};
            ASSERT_EQ(server.name(), at("10.99.0.1", static_cast<unsigned>(std::stoul(port))));
            client.peer = client.insert(server.name());
            char in[4] = {};
            server.post([&] { return fi_trecv(server.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr); });
            client.post([&] { return fi_tinject(client.ep, "ping", 4, client.peer, 1); });
            EXPECT_EQ(server.next(server.rx).len, 4u) << transports;
            server.peer = server.insert(client.name());
            client.post([&] { return fi_trecv(client.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 2, 0, nullptr); });
            server.post([&] { return fi_tinject(server.ep, "pong", 4, server.peer, 2); });
            EXPECT_EQ(client.next(client.rx).len, 4u) << transports;
            EXPECT_EQ(std::string(in, 4), "pong");
        }
    });
}

// Whichever was enabled first: an address is in the vector if one of its endpoints has a way to it, and another that has none says so when it is used.
TEST(LinnetReach, AddressThatOneEndpointHasNoWayToIsInTheVectorForTheOthers)
{
    on_a_host([] {
        ::setenv("FI_LINNET_FINALIZE_TIMEOUT", "200ms", 1);   // nobody is there to acknowledge
        Node any{{.caps = FI_TAGGED | FI_MSG | FI_RMA | FI_ATOMIC | FI_DIRECTED_RECV, .addr_format = FI_SOCKADDR_IN}};
        fi_info* const hints = make_hints({.caps = any.info->caps, .addr_format = FI_SOCKADDR_IN});
        fi_info* local = nullptr;
        ASSERT_EQ(fi_getinfo(FI_VERSION(1, 17), "127.0.0.1", "0", FI_SOURCE, hints, &local), 0);
        fi_freeinfo(hints);
        fid_ep* near = nullptr;
        ASSERT_EQ(fi_endpoint(any.domain, local, &near, nullptr), 0);
        fi_freeinfo(local);
        EXPECT_EQ(fi_ep_bind(near, &any.av->fid, 0), 0);
        EXPECT_EQ(fi_ep_bind(near, &any.rx->fid, FI_TRANSMIT | FI_RECV), 0);
        const fi_addr_t before = any.insert(at("10.99.0.2", 7471));
        ASSERT_EQ(fi_enable(near), 0);
        fi_addr_t after = FI_ADDR_UNSPEC;
        EXPECT_EQ(fi_av_insert(any.av, at("10.99.0.2", 7472).data(), 1, &after, 0, nullptr), 1);
        std::uint64_t word = 0;
        for (const fi_addr_t there : {before, after}) {
            EXPECT_EQ(fi_inject(any.ep, "x", 1, there), 0);
            EXPECT_EQ(fi_inject(near, "x", 1, there), -FI_EHOSTUNREACH);
            EXPECT_EQ(fi_tsend(near, "x", 1, nullptr, there, 0, nullptr), -FI_EHOSTUNREACH);
            EXPECT_EQ(fi_recv(near, &word, 1, nullptr, there, nullptr), -FI_EHOSTUNREACH);
            EXPECT_EQ(fi_write(near, &word, 8, nullptr, there, 0, 1, nullptr), -FI_EHOSTUNREACH);
            EXPECT_EQ(fi_read(near, &word, 8, nullptr, there, 0, 1, nullptr), -FI_EHOSTUNREACH);
            EXPECT_EQ(fi_atomic(near, &word, 1, nullptr, there, 0, 1, FI_UINT64, FI_SUM, nullptr), -FI_EHOSTUNREACH);
        }
        EXPECT_EQ(fi_inject(near, "x", 1, after + 1), -FI_EINVAL) << "nothing was inserted there";
        EXPECT_EQ(fi_close(&near->fid), 0);
        Node alone{{.addr_format = FI_SOCKADDR_IN, .node = "127.0.0.1", .service = "0", .info_flags = FI_SOURCE}};
        fi_addr_t none = 0;
        EXPECT_EQ(fi_av_insert(alone.av, at("10.99.0.2", 7471).data(), 1, &none, 0, nullptr), 0) << "nobody would have a way to it";
        EXPECT_EQ(none, FI_ADDR_NOTAVAIL);
    });
}

}   // namespace
}   // namespace linnet::ofi_test
