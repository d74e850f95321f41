// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Raw Ethernet is named, or would be chosen, and the process may not open packet sockets: one line tells the capability and how it is given, and messages take
// the next transport. The hosts are network namespaces joined by a cable; capabilities are a thread's own, so one that has none opens the endpoints.
#include <linux/capability.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <memory>
#include <string>
#include <thread>

#include "integration/waist/two_hosts.h"

namespace linnet::testing {
namespace {

// Of the calling thread, for good.
bool give_up_raw_sockets()
{
    __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
    std::array<__user_cap_data_struct, 2> data{};
    if (::syscall(SYS_capget, &head, data.data()) != 0) {
        return false;
    }
    for (auto* const set : {&data[0].effective, &data[0].permitted, &data[0].inheritable}) {
        *set &= ~(1u << CAP_NET_RAW);
    }
    return ::syscall(SYS_capset, &head, data.data()) == 0;
}

struct Chosen {
    const char* name;
    const char* transports;
    const char* log_level;
    const char* carries;       // counter of the transport that is left
};
void PrintTo(const Chosen& c, std::ostream* out) { *out << c.name; }   // NOLINT: GoogleTest's name

class WithoutRawSockets : public TwoHosts, public ::testing::WithParamInterface<Chosen> {
protected:
    void open_without()
    {
        for (const unsigned host : {0u, 1u}) {
            const NamespacePair::Scope there{*hosts_, host};
            ends_[host] = std::make_unique<Endpoint>(
                std::vector<linnet_setting_t>{{"net_include", ""}, {"transports", GetParam().transports}, {"log_level", GetParam().log_level}});
            ends_[host]->expect_complaints();
        }
        ASSERT_EQ(::socket(AF_PACKET, SOCK_RAW, 0), -1);
        ASSERT_EQ(errno, EPERM);
    }
    void exchange(std::size_t bytes)
    {
        const auto end = std::chrono::steady_clock::now() + 20s;
        const auto out = pattern(bytes);
        std::vector<unsigned char> in(bytes);
        for (const unsigned host : {0u, 1u}) {
            peer_[host] = ends_[host]->add(*ends_[1 - host]);
        }
        for (const unsigned from : {0u, 1u}) {
            Op send;
            Op recv;
            ASSERT_GE(ends_[1 - from]->recv(recv, peer_[1 - from], 7, contiguous(in.data(), bytes)), 0);
            ASSERT_GE(ends_[from]->send(send, peer_[from], 7, contiguous(out.data(), bytes)), 0);
            Patience patience;
            while (!send.complete() || !recv.complete()) {
                ASSERT_LT(std::chrono::steady_clock::now(), end);
                pass(patience);
            }
            ASSERT_EQ(recv.status(), LINNET_OK);
            ASSERT_EQ(in, out);
            std::fill(in.begin(), in.end(), static_cast<unsigned char>(0));
        }
    }
};

TEST_P(WithoutRawSockets, OneLineTellsWhatIsMissingAndTheNextTransportCarriesTheMessages)
{
    std::thread{[&] {
        ASSERT_TRUE(give_up_raw_sockets());
        open_without();
    }}.join();
    if (HasFatalFailure()) {
        return;
    }
    for (const std::size_t bytes : {std::size_t{8}, std::size_t{1} << 20}) {
        exchange(bytes);
    }
    for (const auto& end : ends_) {
        EXPECT_EQ(end->said("eth: skipped, no interface can be used"), 1u);
        for (const char* const words : {"eth0: ", "Operation not permitted (errno 1)", "CAP_NET_RAW", "setcap cap_net_raw+ep", "--cap-add NET_RAW"}) {
            EXPECT_GE(end->said(words), 1u) << words;
        }
        if (std::string{GetParam().transports} == "auto") {
            EXPECT_EQ(end->complaints(), "") << "nobody asked for it";
        } else {
            EXPECT_EQ(std::count(end->complaints().begin(), end->complaints().end(), '\n'), 1) << end->complaints();
        }
        EXPECT_EQ(end->counter("eth_tx_bytes"), 0u);
        EXPECT_GT(end->counter(GetParam().carries), 1u << 20);
    }
}
INSTANTIATE_TEST_SUITE_P(Chosen, WithoutRawSockets,
                         ::testing::Values(Chosen{"EthUdp", "eth,udp", "warn", "udp_tx_bytes"}, Chosen{"EthTcp", "eth,tcp", "warn", "tcp_tx_bytes"},
                                           Chosen{"Auto", "auto", "info", "tcp_tx_bytes"}),
                         [](const auto& chosen) { return std::string{chosen.param.name}; });

}   // namespace
}   // namespace linnet::testing
