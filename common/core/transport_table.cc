// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The table of transports.
#include "core/transport_table.h"

#include <algorithm>
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

// The first word of a comma list, without the blanks around it; it is taken off the list.
std::string_view take_word(std::string_view& list) noexcept
{
    const std::size_t comma = list.find(',');
    std::string_view word = list.substr(0, comma);
    while (!word.empty() && word.front() == ' ') {
        word.remove_prefix(1);
    }
    while (!word.empty() && word.back() == ' ') {
        word.remove_suffix(1);
    }
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    return word;
}
}   // namespace

std::span<const TransportRow> transport_table() noexcept
{
    using Automatic = TransportRow::Automatic;
    static constexpr std::array<TransportRow, 5> kTable{{
        {"loopback", Automatic::kYes, [](const TransportEnv& e) -> std::unique_ptr<Transport> { return std::make_unique<LoopbackTransport>(e.log, e.stats); }},
        {"shm", Automatic::kIfItOpens,
         [](const TransportEnv& e) -> std::unique_ptr<Transport> { return std::make_unique<shm::ShmTransport>(e.settings, e.clock, e.log, e.stats, e.copy); }},
        {"eth", Automatic::kBehind, make<eth::EthTransport>},
        {"udp", Automatic::kBehindAtTheirPort, make<udp::UdpTransport>},
        {"tcp", Automatic::kYes, make<tcp::TcpTransport>},
    }};
    return kTable;
}

bool transport_chosen(std::string_view setting, const TransportRow& row) noexcept
{
    const std::string_view name = row.name;
    bool chosen = Settings::is_automatic(setting) || name == "loopback";
    while (!chosen && !setting.empty()) {
        chosen = take_word(setting) == name;
    }
    return chosen;
}

std::string wrong_transport(std::string_view setting)
{
    if (Settings::is_automatic(setting)) {
        return {};
    }
    const auto table = transport_table();
    const std::string_view whole = setting;
    while (!setting.empty()) {
        const std::string_view word = take_word(setting);
        if (!word.empty() && std::none_of(table.begin(), table.end(), [word](const TransportRow& row) { return word == row.name; })) {
            std::string all;
            for (const TransportRow& row : table) {
                all += std::string{all.empty() ? "" : ", "} + row.name;
            }
            const std::string what = word == "auto" ? "and auto stands alone" : "not \"" + std::string{word} + '"';
            return "setting transports=" + std::string{whole} + " is wrong: it must be auto, or a comma list of " + all + "; " + what;
        }
    }
    return {};
}

}   // namespace linnet::core
