// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The table of transports.
#include "core/transport_table.h"

#include <array>

#include "transport/eth/eth_port.h"
#include "transport/loopback/loopback_transport.h"
#include "transport/shm/shm_transport.h"
#include "transport/tcp/tcp_transport.h"
#include "transport/udp/udp_port.h"

namespace linnet::core {

namespace {
template <class T>
std::unique_ptr<Transport> make(const TransportEnv& e)
{
    return std::make_unique<T>(e.settings, e.clock, e.log, e.stats);
}
}   // namespace

std::span<const TransportRow> transport_table() noexcept
{
    using Automatic = TransportRow::Automatic;
    static constexpr std::array<TransportRow, 5> kTable{{
        {"loopback", Automatic::kYes, [](const TransportEnv& e) -> std::unique_ptr<Transport> { return std::make_unique<LoopbackTransport>(e.log, e.stats); }},
        {"shm", Automatic::kIfItOpens, make<shm::ShmTransport>},
        {"eth", Automatic::kBehind, make<eth::EthTransport>},
        {"udp", Automatic::kNo, make<udp::UdpTransport>},
        {"tcp", Automatic::kYes, make<tcp::TcpTransport>},
    }};
    return kTable;
}

bool transport_chosen(std::string_view setting, const TransportRow& row) noexcept
{
    const std::string_view name = row.name;
    if (setting == "auto" || setting.empty()) {
        return row.automatic != TransportRow::Automatic::kNo;
    }
    if (name == "loopback") {
        return true;
    }
    while (!setting.empty()) {
        const std::size_t comma = setting.find(',');
        std::string_view word = setting.substr(0, comma);
        while (!word.empty() && word.front() == ' ') {
            word.remove_prefix(1);
        }
        while (!word.empty() && word.back() == ' ') {
            word.remove_suffix(1);
        }
        if (word == name) {
            return true;
        }
        setting = comma == std::string_view::npos ? std::string_view{} : setting.substr(comma + 1);
    }
    return false;
}

}   // namespace linnet::core
