// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Hosts with several networks, some of which lead nowhere: each endpoint of this process lives in a network namespace of its own.
//
// A socket belongs to the namespace in which its thread was when it made it, and a thread begins in that of its creator. So endpoints, each of whose calls
// is made by one thread that enters the endpoint's namespace first, are on different hosts as far as the network goes. Needs the right to make namespaces.
#include <arpa/inet.h>
#include <fcntl.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <sched.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>

#include "integration/waist/waist.h"
#include "support/patience.h"
#include "wire/name.h"

namespace linnet::testing {
namespace {

class Networks : public ::testing::Test {
protected:
    struct Node {
        unsigned host;
        std::unique_ptr<Endpoint> endpoint;
        linnet_peer_t peer{LINNET_PEER_UNKNOWN};
    };

    void SetUp() override
    {
        home_ = here();
        for (int& host : hosts_) {
            if (::unshare(CLONE_NEWNET) != 0) {
                GTEST_SKIP() << "no right to make a network namespace: " << std::strerror(errno);
            }
            host = here();
            ASSERT_GE(host, 0);
            if (std::system("ip link set lo up 2>/dev/null") != 0) {
                GTEST_SKIP() << "no ip(8) that configures it";
            }
        }
    }
    void TearDown() override
    {
        for (auto& n : nodes_) {
            enter(n->host);
            n->endpoint.reset();
        }
        EXPECT_EQ(::setns(home_, CLONE_NEWNET), 0);
        for (const int fd : {home_, hosts_[0], hosts_[1], hosts_[2]}) {
            ::close(fd);
        }
    }
    static int here() { return ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC); }
    // For ip(8): the namespace of a host.
    [[nodiscard]] std::string place(unsigned host) const { return " netns /proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(hosts_[host]); }
    void enter(unsigned host) { ASSERT_EQ(::setns(hosts_[host], CLONE_NEWNET), 0); }
    void ip(unsigned host, const std::string& arguments)
    {
        enter(host);
        ASSERT_EQ(std::system(("ip " + arguments).c_str()), 0) << arguments;
    }
    // A cable between two hosts, with the same interface name and network at both ends, the host's number + 1 being the last part of the address.
    void cable(unsigned x, unsigned y, const std::string& name, const std::string& network, unsigned prefix = 24)
    {
        ip(x, "link add " + name + " type veth peer name " + name + place(y));
        for (const unsigned host : {x, y}) {
            address(host, name, network + std::to_string(host + 1), prefix);
            ip(host, "link set " + name + " up");
        }
    }
    void address(unsigned host, const std::string& name, const std::string& text, unsigned prefix = 24)
    {
        const bool v6 = text.find(':') != std::string::npos;
        ip(host, "address add " + text + "/" + std::to_string(v6 ? 64 : prefix) + " dev " + name + (v6 ? " nodad" : ""));
    }
    // An interface that is up and swallows what is sent: it asks nobody for a hardware address, and nobody is at the other end of its cable.
    void hole(unsigned host, const std::string& name)
    {
        ip(host, "link add " + name + " arp off type veth peer name " + name + "-end");
        ip(host, "link set " + name + " up");
        ip(host, "link set " + name + "-end up");
    }
    // The kernel takes its time to tell that both ends of a cable are up.
    static void wait_for_carriers()
    {
        const auto end = std::chrono::steady_clock::now() + 5s;
        for (bool all = false; !all && std::chrono::steady_clock::now() < end;) {
            ::ifaddrs* list = nullptr;
            ASSERT_EQ(::getifaddrs(&list), 0);
            all = true;
            for (const ::ifaddrs* a = list; a != nullptr; a = a->ifa_next) {
                all = all && ((a->ifa_flags & IFF_UP) == 0 || (a->ifa_flags & IFF_RUNNING) != 0);
            }
            ::freeifaddrs(list);
        }
    }
    Node& node(unsigned host, std::vector<linnet_setting_t> settings = {})
    {
        enter(host);
        wait_for_carriers();
        settings.insert(settings.begin(), {"net_include", ""});
        nodes_.push_back(std::make_unique<Node>());
        nodes_.back()->host = host;
        nodes_.back()->endpoint = std::make_unique<Endpoint>(settings);
        return *nodes_.back();
    }
    void know(Node& x, Node& y)
    {
        const linnet_name_t name = y.endpoint->name();
        enter(x.host);
        ASSERT_EQ(linnet_peer_add(x.endpoint->context(), &name, &x.peer), LINNET_OK);
    }
    // To the peer that x knows, which may be y or not.
    void one_byte(Node& x, Node& y)
    {
        const char out = 1;
        char in = 0;
        Op send;
        Op recv;
        enter(x.host);
        ASSERT_GE(x.endpoint->send(send, x.peer, 7, contiguous(&out, 1)), 0);
        enter(y.host);
        ASSERT_GE(y.endpoint->recv(recv, LINNET_PEER_ANY, 7, contiguous(&in, 1)), 0);
        EXPECT_TRUE(until([&] { return send.complete() && recv.complete(); }, 5s));
        EXPECT_EQ(in, 1);
    }
    bool until(const std::function<bool()>& done, std::chrono::milliseconds limit = 15s)
    {
        const auto end = std::chrono::steady_clock::now() + limit;
        Patience patience;
        while (!done() && std::chrono::steady_clock::now() < end) {
            for (auto& n : nodes_) {
                enter(n->host);
                patience.saw(n->endpoint->progress());
            }
        }
        return done();
    }
    // A short and a long message, which takes a second connection, and the same back.
    void exchange(Node& x, Node& y)
    {
        for (const std::size_t size : {std::size_t{8}, std::size_t{1} << 20}) {
            const auto out = pattern(size);
            for (auto [from, to] : {std::pair{&x, &y}, std::pair{&y, &x}}) {
                std::vector<unsigned char> in(size);
                Op send;
                Op recv;
                enter(to->host);
                ASSERT_EQ(to->endpoint->recv(recv, LINNET_PEER_ANY, 7, contiguous(in.data(), size)), LINNET_IN_PROGRESS);
                enter(from->host);
                ASSERT_GE(from->endpoint->send(send, from->peer, 7, contiguous(out.data(), size)), 0);
                ASSERT_TRUE(until([&] { return send.complete() && recv.complete(); })) << size << " bytes from host " << from->host;
                EXPECT_EQ(recv.status(), LINNET_OK);
                EXPECT_EQ(in, out);
            }
        }
    }
    static std::vector<std::string> addresses(const Node& n)
    {
        const linnet_name_t raw = n.endpoint->name();
        const auto name = wire::decode_name(std::as_bytes(std::span{&raw, 1}));
        EXPECT_TRUE(name.ok());
        std::vector<std::string> text;
        for (const wire::NameAddress& a : wire::NameAddresses{*name}) {
            std::array<char, INET6_ADDRSTRLEN> one{};
            text.emplace_back(::inet_ntop(a.family == wire::AddressFamily::kIpv4 ? AF_INET : AF_INET6, a.bytes.data(), one.data(), one.size()));
        }
        return text;
    }
    static unsigned port_of(const Node& n)
    {
        const linnet_name_t raw = n.endpoint->name();
        return wire::decode_name(std::as_bytes(std::span{&raw, 1}))->port.get();
    }
    // Host 0 is on networks A (10.71.1.0) and B (10.71.2.0), host 1 on B only.
    void two_networks_and_one()
    {
        cable(0, 2, "eth0", "10.71.1.");
        cable(0, 1, "eth1", "10.71.2.");
    }
    // The same, but for host 1 the address on B is not near, so that nothing speaks against the contact address, which is first in the name.
    void contact_address_is_called_first()
    {
        two_networks_and_one();
        ip(1, "address del 10.71.2.2/24 dev eth1");
        address(1, "eth1", "10.71.2.2", 32);
        ip(1, "route add 10.71.2.1 dev eth1");
    }

private:
    int home_{-1};
    std::array<int, 3> hosts_{-1, -1, -1};
    std::vector<std::unique_ptr<Node>> nodes_;
};

TEST_F(Networks, NameTellsEveryNetworkAndNoBridgeOfThisHost)
{
    two_networks_and_one();
    address(0, "eth0", "fd00:71:1::1");
    address(0, "eth0", "10.71.1.77");
    for (const auto& [bridge, at] : {std::pair{"docker0", "172.17.0.1"}, {"virbr0", "192.168.122.1"}}) {
        hole(0, std::string{"vm-"} + bridge);
        ip(0, std::string{"link add "} + bridge + " type bridge");
        ip(0, std::string{"link set "} + bridge + " up");
        ip(0, std::string{"link set vm-"} + bridge + " master " + bridge);
        address(0, bridge, at);
    }
    address(0, "eth1", "169.254.7.7");
    const Node& n = node(0);
    EXPECT_EQ(addresses(n), (std::vector<std::string>{"10.71.1.1", "10.71.2.1", "fd00:71:1::1", "10.71.1.77"}));
    const Node& chosen = node(0, {{"net_include", "10.71.2.0/24"}});
    EXPECT_EQ(addresses(chosen), (std::vector<std::string>{"10.71.2.1"}));
    const Node& rest = node(0, {{"net_exclude", "10.71.1.0/24,docker*,virbr*"}});
    EXPECT_EQ(addresses(rest), (std::vector<std::string>{"10.71.2.1", "fd00:71:1::1"}));
}

TEST_F(Networks, PeerOnTheSecondNetworkOnlyIsReachedFromBothSides)
{
    two_networks_and_one();
    for (const bool reversed : {false, true}) {
        Node& x = node(0);
        Node& y = node(1);
        know(x, y);
        know(y, x);
        reversed ? exchange(y, x) : exchange(x, y);
    }
}

TEST_F(Networks, AddressThatSwallowsPacketsIsLeftForTheNext)
{
    contact_address_is_called_first();
    hole(1, "hole");
    ip(1, "route add 10.71.1.0/24 dev hole");
    Node& x = node(0);
    Node& y = node(1, {{"connect_timeout", "4s"}});
    know(x, y);
    know(y, x);
    exchange(y, x);
    EXPECT_GE(y.endpoint->counter("tcp_connects"), 3u) << "the first call should have been to the contact address";
    EXPECT_LE(y.endpoint->counter("tcp_connects"), 4u) << "what worked for the lane should have been used for bulk data at once";
}

// The route to the contact address ends at another host, which has the same address on another network, and a process of the same kind at the same port.
TEST_F(Networks, AnotherProcessAtAnAddressIsLeftForTheNext)
{
    contact_address_is_called_first();
    ip(1, "link add eth2 type veth peer name eth2" + place(2));
    ip(1, "link set eth2 up");
    ip(2, "link set eth2 up");
    ip(2, "address flush dev eth0");
    address(2, "eth2", "10.71.1.1");
    ip(1, "route add 10.71.1.1 dev eth2");
    ip(2, "route add 10.71.2.2 dev eth2");
    const std::vector<linnet_setting_t> port{{"tcp_port_min", "27182"}, {"tcp_port_max", "27182"}};
    Node& x = node(0, port);
    Node& y = node(1);
    Node& stranger = node(2, port);
    know(x, y);
    know(y, x);
    exchange(y, x);
    EXPECT_EQ(stranger.endpoint->counter("refused_hellos"), 1u);
    EXPECT_EQ(stranger.endpoint->counter("tcp_accepts"), 1u);
}

TEST_F(Networks, Ipv6Only)
{
    cable(0, 1, "eth0", "fd00:71::");
    Node& x = node(0);
    Node& y = node(1);
    EXPECT_EQ(addresses(x), (std::vector<std::string>{"fd00:71::1"}));
    know(x, y);
    know(y, x);
    exchange(x, y);
}

// A name cannot say by which interface of its reader they are valid: each is tried.
TEST_F(Networks, LinkLocalAddressesAreUsedWhereTheyAreNamed)
{
    cable(0, 2, "eth0", "fe80::71:");
    cable(0, 1, "eth1", "fe80::71:");
    for (const char* const transports : {"tcp", "udp,tcp", "eth"}) {
        const std::vector<linnet_setting_t> named{{"net_include", "fe80::71:0/112"}, {"transports", transports}, {"connect_timeout", "10s"}};
        Node& x = node(0, named);
        Node& y = node(1, named);
        EXPECT_EQ(addresses(y), (std::vector<std::string>{"fe80::71:2"})) << transports;
        know(x, y);
        know(y, x);
        exchange(x, y);
        exchange(y, x);
    }
}

// That every link has them does not make one near: a peer on another network would be looked for on each link of ours before it is called where it is.
TEST_F(Networks, LinkLocalAddressIsCalledAfterTheOthers)
{
    contact_address_is_called_first();
    address(0, "eth0", "fe80::71:1");
    address(1, "eth1", "fe80::71:2");
    const std::vector<linnet_setting_t> named{{"net_include", "10.71.2.0/24,fe80::71:0/112"}, {"transports", "tcp"}};
    Node& x = node(0, named);
    Node& y = node(1, named);
    EXPECT_EQ(addresses(x), (std::vector<std::string>{"10.71.2.1", "fe80::71:1"}));
    know(x, y);
    know(y, x);
    exchange(y, x);
    EXPECT_EQ(y.endpoint->counter("tcp_connects"), 2u) << "one for each link";
}

TEST_F(Networks, HostMayNameALinkLocalAddressAndItsInterface)
{
    two_networks_and_one();
    address(0, "eth1", "fe80::71:1");
    address(1, "eth1", "fe80::71:2");
    const std::vector<linnet_setting_t> given{{"tcp_port_min", "28120"}, {"tcp_port_max", "28120"}, {"transports", "tcp"}};
    Node& x = node(0, given);
    Node& y = node(1, given);
    enter(0);
    linnet_peer_t none = LINNET_PEER_UNKNOWN;
    EXPECT_EQ(linnet_peer_add_address(x.endpoint->context(), "fe80::71:2%eth1", "28120", &x.peer), LINNET_OK);
    x.endpoint->expect_complaints();
    EXPECT_EQ(linnet_peer_add_address(x.endpoint->context(), "fe80::71:2%eth7", "28120", &none), LINNET_ERR_INVALID);
    one_byte(x, y);
}

// "fe80::2%eth0", or any other address that no name tells: who calls from there is the one that the host means.
TEST_F(Networks, PeersThatNameEachOtherByLinkLocalOrLoopbackAddressesAreOneForEachOther)
{
    two_networks_and_one();
    address(0, "eth1", "fe80::71:1");
    address(1, "eth1", "fe80::71:2");
    const auto given = [](const char* port) { return std::vector<linnet_setting_t>{{"tcp_port_min", port}, {"tcp_port_max", port}, {"transports", "tcp"}}; };
    Node& x = node(0, given("28101"));
    Node& y = node(1, given("28102"));
    Node& z = node(0, given("28103"));
    const auto call = [this](Node& from, const char* at, const char* port, linnet_status_t said = LINNET_OK) {
        enter(from.host);
        EXPECT_EQ(linnet_peer_add_address(from.endpoint->context(), at, port, &from.peer), said) << at;
    };
    for (const bool before : {true, false}) {   // the second call comes when the first has been answered, or not
        Node& other = before ? y : z;
        x.peer = other.peer = LINNET_PEER_UNKNOWN;
        call(x, before ? "fe80::71:2%eth1" : "127.0.0.1", before ? "28102" : "28103");
        if (before) {
            call(other, "fe80::71:1%eth1", "28101");
            exchange(x, other);
            exchange(other, x);
        } else {
            char byte = 1;
            char in = 0;
            Op send;
            Op recv;
            enter(other.host);
            ASSERT_EQ(other.endpoint->recv(recv, LINNET_PEER_ANY, 7, contiguous(&in, 1)), LINNET_IN_PROGRESS);
            ASSERT_GE(x.endpoint->send(send, x.peer, 7, contiguous(&byte, 1)), 0);
            ASSERT_TRUE(until([&] { return send.complete() && recv.complete(); }));
            call(other, "127.0.0.1", "28101");
            exchange(other, x);
            exchange(x, other);
        }
    }
}

TEST_F(Networks, OwnLoopbackAndLinkLocalAddressesAreOneself)
{
    two_networks_and_one();
    address(0, "eth1", "fe80::71:1");
    Node& x = node(0, {{"tcp_port_min", "28131"}, {"tcp_port_max", "28131"}, {"transports", "tcp"}});
    know(x, x);
    enter(0);
    for (const char* const at : {"127.0.0.1", "::1", "fe80::71:1%eth1", "10.71.2.1"}) {
        linnet_peer_t peer = LINNET_PEER_UNKNOWN;
        EXPECT_EQ(linnet_peer_add_address(x.endpoint->context(), at, "28131", &peer), LINNET_OK) << at;
        EXPECT_EQ(peer, x.peer) << at;
    }
    exchange(x, x);
}

TEST_F(Networks, NobodyListensAtALinkLocalAddressThatIsExcluded)
{
    two_networks_and_one();
    address(0, "eth1", "fe80::71:1");
    for (const char* const excluded : {"::/0", "lo,fe80::/10", "lo"}) {
        Node& x = node(0, {{"tcp_port_min", "28171"}, {"tcp_port_max", "28179"}, {"transports", "tcp"}, {"net_exclude", excluded}});
        know(x, x);
        enter(0);
        linnet_peer_t peer = LINNET_PEER_UNKNOWN;
        EXPECT_EQ(linnet_peer_add_address(x.endpoint->context(), "fe80::71:1%eth1", std::to_string(port_of(x)).c_str(), &peer), LINNET_OK);
        EXPECT_EQ(peer == x.peer, std::string{excluded} == "lo") << excluded;
    }
}

// Loopback addresses are many, and processes that chose theirs may have equal ports: a name tells what was chosen, so nobody stands for anybody else.
TEST_F(Networks, ProcessesAtDifferentLoopbackAddressesWithOnePortAreDifferentPeers)
{
    two_networks_and_one();
    const auto chosen = [](const char* at) {
        return std::vector<linnet_setting_t>{{"net_include", at}, {"tcp_port_min", "28151"}, {"tcp_port_max", "28151"}, {"transports", "tcp"}};
    };
    ip(0, "address add 127.0.0.2/8 dev lo");
    ip(0, "address add 127.0.0.3/8 dev lo");
    Node& x = node(0, chosen("127.0.0.2"));
    Node& y = node(0, chosen("10.71.2.1"));
    for (const bool early : {true, false}) {   // they have called already when the third is told of them, and of others at that port
        Node& z = node(0, {{"tcp_port_min", "28152"}, {"tcp_port_max", "28159"}, {"transports", "tcp"}});
        const auto call = [&](Node& from) {
            linnet_peer_t to = LINNET_PEER_UNKNOWN;
            const char out = 1;
            char in = 0;
            Op send;
            Op recv;
            enter(0);
            EXPECT_EQ(linnet_peer_add_address(from.endpoint->context(), "127.0.0.1", std::to_string(port_of(z)).c_str(), &to), LINNET_OK);
            EXPECT_EQ(z.endpoint->recv(recv, LINNET_PEER_ANY, 7, contiguous(&in, 1)), LINNET_IN_PROGRESS);
            EXPECT_GE(from.endpoint->send(send, to, 7, contiguous(&out, 1)), 0);
            EXPECT_TRUE(until([&] { return send.complete() && recv.complete(); }));
            return recv.request.result.peer;
        };
        if (early) {
            call(x);
            call(y);
        }
        std::array<linnet_peer_t, 3> told{};
        const std::array<const char*, 3> at{"127.0.0.1", "127.0.0.3", "10.71.2.1"};
        for (std::size_t i = 0; i < at.size(); ++i) {
            enter(0);
            EXPECT_EQ(linnet_peer_add_address(z.endpoint->context(), at[i], "28151", &told[i]), LINNET_OK);
        }
        EXPECT_NE(told[1], told[0]) << early;
        EXPECT_EQ(call(x), LINNET_PEER_UNKNOWN) << early;
        if (!early) {
            EXPECT_EQ(call(y), told[2]);
        }
    }
}

// Of two processes with one port, one at loopback alone and one not there: by choice, or because it came later.
TEST_F(Networks, ProcessThatIsNotAtLoopbackIsNotTheOneThatIsThereWithItsPort)
{
    two_networks_and_one();
    const auto with_port = [](const char* port, const char* include, const char* transports) {
        return std::vector<linnet_setting_t>{{"net_include", include}, {"tcp_port_min", port}, {"tcp_port_max", port}, {"transports", transports}};
    };
    struct Other {
        const char* port;
        const char* include;
        const char* transports;
    };
    // The last one has that port at loopback over UDP, since it listens at two addresses.
    const std::array<Other, 3> others{{{"28171", "10.71.2.1", "tcp"}, {"28172", "", "tcp"}, {"28170", "10.71.1.1,10.71.2.1", "auto"}}};
    for (const auto& [port, include, transports] : others) {
        Node& there = node(0, with_port(port, "127.0.0.1", "tcp"));
        Node& elsewhere = node(0, with_port(port, include, transports));
        ASSERT_EQ(port_of(there), port_of(elsewhere));
        for (const bool early : {true, false}) {   // it has called already when somebody is told of the other
            Node& z = node(0, {{"tcp_port_min", "28173"}, {"tcp_port_max", "28189"}, {"transports", "tcp"}});
            const auto call = [&] {
                const char out = 1;
                char in = 0;
                Op send;
                Op recv;
                enter(0);
                EXPECT_EQ(linnet_peer_add_address(elsewhere.endpoint->context(), "127.0.0.1", std::to_string(port_of(z)).c_str(), &elsewhere.peer), LINNET_OK);
                EXPECT_EQ(z.endpoint->recv(recv, LINNET_PEER_ANY, 7, contiguous(&in, 1)), LINNET_IN_PROGRESS);
                EXPECT_GE(elsewhere.endpoint->send(send, elsewhere.peer, 7, contiguous(&out, 1)), 0);
                EXPECT_TRUE(until([&] { return send.complete() && recv.complete(); }));
            };
            if (early) {
                call();
            }
            enter(0);
            ASSERT_EQ(linnet_peer_add_address(z.endpoint->context(), "127.0.0.1", port, &z.peer), LINNET_OK);
            if (!early) {
                call();
            }
            SCOPED_TRACE(std::string{include} + (early ? ", called before" : ", calls after"));
            one_byte(z, there);
        }
    }
}

// Over shared memory no address says so.
TEST_F(Networks, WhoCallsOverSharedMemoryIsTheOneThatLoopbackMeans)
{
    two_networks_and_one();
    Node& x = node(0, {{"tcp_port_min", "28161"}, {"tcp_port_max", "28169"}, {"transports", "shm,tcp"}});
    Node& z = node(0, {{"transports", "shm,tcp"}});
    know(x, z);
    one_byte(x, z);
    enter(0);
    ASSERT_EQ(linnet_peer_add_address(z.endpoint->context(), "127.0.0.1", std::to_string(port_of(x)).c_str(), &z.peer), LINNET_OK);
    exchange(z, x);
    EXPECT_EQ(z.endpoint->counter("tcp_tx_bytes"), 0u);
}

// A link-local address is one host's on each link: that it is ours on another one does not make it ours.
TEST_F(Networks, OwnLinkLocalAddressOnAnotherLinkIsSomebodyElse)
{
    two_networks_and_one();
    address(0, "eth0", "fe80::71:1");
    address(0, "eth1", "fe80::71:9");
    address(1, "eth1", "fe80::71:1");
    const std::vector<linnet_setting_t> named{
        {"net_include", "fe80::71:0/112"}, {"tcp_port_min", "28161"}, {"tcp_port_max", "28161"}, {"transports", "tcp"}};
    Node& x = node(0, named);
    Node& y = node(1, named);
    know(x, x);
    const linnet_peer_t self = x.peer;
    enter(0);
    ASSERT_EQ(linnet_peer_add_address(x.endpoint->context(), "fe80::71:1%eth1", "28161", &x.peer), LINNET_OK);
    EXPECT_NE(x.peer, self);
    one_byte(x, y);
}

TEST_F(Networks, PeersThatCallEachOtherAtLoopbackAtOnceAreOneForEachOther)
{
    two_networks_and_one();
    const auto given = [](const char* port) { return std::vector<linnet_setting_t>{{"tcp_port_min", port}, {"tcp_port_max", port}, {"transports", "tcp"}}; };
    Node& x = node(0, given("28111"));
    Node& y = node(0, given("28112"));
    enter(0);
    ASSERT_EQ(linnet_peer_add_address(x.endpoint->context(), "127.0.0.1", "28112", &x.peer), LINNET_OK);
    ASSERT_EQ(linnet_peer_add_address(y.endpoint->context(), "127.0.0.1", "28111", &y.peer), LINNET_OK);
    const char out[2] = {1, 2};
    char in[2] = {};
    Op send[2];
    Op recv[2];
    const std::array<Node*, 2> both{&x, &y};
    for (std::size_t i = 0; i < 2; ++i) {   // each receives from the one that it calls
        ASSERT_GE(both[i]->endpoint->recv(recv[i], both[i]->peer, 7, contiguous(&in[i], 1)), 0);
        ASSERT_GE(both[i]->endpoint->send(send[i], both[i]->peer, 7, contiguous(&out[i], 1)), 0);
    }
    EXPECT_TRUE(until([&] { return send[0].complete() && send[1].complete() && recv[0].complete() && recv[1].complete(); }));
    EXPECT_EQ(in[0], 2);
    EXPECT_EQ(in[1], 1);
    exchange(x, y);
}

TEST_F(Networks, Ipv6IsUsedWhereIpv4LeadsNowhere)
{
    cable(0, 1, "eth0", "fd00:71::");
    hole(0, "eth9");
    hole(1, "eth9");
    address(0, "eth9", "10.71.9.1");
    address(1, "eth9", "10.71.9.2");
    Node& x = node(0, {{"connect_timeout", "4s"}});
    Node& y = node(1);
    know(x, y);
    know(y, x);
    exchange(x, y);
}

TEST_F(Networks, UnreachablePeerEndsInTimeWithALineThatNamesEveryAttempt)
{
    contact_address_is_called_first();
    hole(1, "hole");
    ip(1, "route add 10.71.1.0/24 dev hole");
    ip(1, "route change 10.71.2.1 dev hole");
    Node& x = node(0);
    Node& y = node(1, {{"connect_timeout", "1s"}});
    y.endpoint->expect_complaints();
    know(y, x);
    const auto out = pattern(100000);
    Op send;
    enter(1);
    const auto start = std::chrono::steady_clock::now();
    ASSERT_EQ(y.endpoint->send(send, y.peer, 7, contiguous(out.data(), out.size())), LINNET_IN_PROGRESS);
    ASSERT_TRUE(until([&] { return send.complete(); }));
    EXPECT_LT(std::chrono::steady_clock::now() - start, 4s);
    EXPECT_GE(std::chrono::steady_clock::now() - start, 900ms);
    EXPECT_EQ(send.status(), LINNET_ERR_UNREACHABLE);
    for (const char* part : {"none of its 2 addresses", "lane link to 10.71.1.1 port ", "lane link to 10.71.2.1 port ", "interface eth1, local 10.71.2.2 port ",
                             "Connection timed out (errno 110)", "connect_timeout", "net_include"}) {
        EXPECT_NE(y.endpoint->complaints().find(part), std::string::npos) << part << " is not in: " << y.endpoint->complaints();
    }
}

TEST_F(Networks, BlackholeRouteEndsInTimeWithALineThatSaysSo)
{
    two_networks_and_one();
    Node& x = node(0);
    Node& y = node(1, {{"connect_timeout", "1s"}});
    y.endpoint->expect_complaints();
    know(y, x);
    ip(1, "route del 10.71.2.0/24 dev eth1");
    ip(1, "route add blackhole 10.71.0.0/16");
    const auto out = pattern(100000);
    Op send;
    enter(1);
    ASSERT_EQ(y.endpoint->send(send, y.peer, 7, contiguous(out.data(), out.size())), LINNET_IN_PROGRESS);
    ASSERT_TRUE(until([&] { return send.complete(); }, 4s));
    EXPECT_EQ(send.status(), LINNET_ERR_UNREACHABLE);
    for (const char* part : {"is lost", "10.71.1.1 port ", "connect_timeout", "no transport has a way to it", "net_include"}) {
        EXPECT_NE(y.endpoint->complaints().find(part), std::string::npos) << part << " is not in: " << y.endpoint->complaints();
    }
}

}   // namespace
}   // namespace linnet::testing
