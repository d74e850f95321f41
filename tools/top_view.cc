// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What linnet-top shows: samples, rates, table and JSON.
#include "top_view.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

namespace linnet::tools {
namespace {

double seconds(Nanos d) { return static_cast<double>(d.count()) * 1e-9; }

// Ages from pages may be nonsense: never negative, never an overflow.
double age(Nanos now, Nanos then) { return std::max(0.0, seconds(now) - seconds(then)); }

std::string short_time(double s)
{
    std::array<char, 32> text{};
    if (s < 100) {
        std::snprintf(text.data(), text.size(), "%.1fs", s);
    } else if (s < 6000) {
        std::snprintf(text.data(), text.size(), "%.0fm", s / 60);
    } else if (s < 360000) {
        std::snprintf(text.data(), text.size(), "%.0fh", s / 3600);
    } else {
        std::snprintf(text.data(), text.size(), "%.0fd", std::min(s / 86400, 99999.0));
    }
    return text.data();
}

// A rate, or a total marked as such.
std::string cell(const Sample& now, const Sample* before, const char* counter)
{
    const auto per_second = rate(now, before, counter);
    return per_second ? short_number(*per_second) : "=" + short_number(static_cast<double>(now.view.counter(counter)));
}

std::string process_line(const Sample& s, const Sample* before)
{
    std::array<char, 256> line{};
    const std::string label = s.view.label.empty() ? "-" : s.view.label;
    std::snprintf(line.data(), line.size(), "%7d %-20.20s %-7s %5u %7s %7s %7s %7s %7s %7s %7s%s\n", s.pid, label.c_str(),
                  event_thread_state_text(s.view.event_thread_state), s.view.peers_total, cell(s, before, "tx_messages").c_str(),
                  cell(s, before, "tx_bytes").c_str(), cell(s, before, "rx_messages").c_str(), cell(s, before, "rx_bytes").c_str(),
                  cell(s, before, "unexpected").c_str(), cell(s, before, "event_thread_wakeups").c_str(),
                  short_time(age(s.taken, s.view.updated)).c_str(), s.view.whole ? "" : " torn");
    return line.data();
}

std::string peer_line(const PagePeerView& p, double since_update)
{
    std::array<char, 256> line{};
    std::snprintf(line.data(), line.size(), "        peer %-5llu %-32.32s %-12.12s %-9.9s tx %7s %7sB  rx %7s %7sB  silent %s\n",
                  static_cast<unsigned long long>(p.peer), p.name.c_str(), p.state.c_str(), p.via.c_str(),
                  short_number(static_cast<double>(p.tx_messages)).c_str(), short_number(static_cast<double>(p.tx_bytes)).c_str(),
                  short_number(static_cast<double>(p.rx_messages)).c_str(), short_number(static_cast<double>(p.rx_bytes)).c_str(),
                  short_time(seconds(p.silent) + since_update).c_str());
    return line.data();
}

void append_counters(std::vector<std::string>& lines, const Sample& s, const Sample* before)
{
    for (const PageCounterView& c : s.view.counters) {
        if (c.value != 0) {
            const auto per_second = rate(s, before, c.name.c_str());
            std::array<char, 128> line{};
            std::snprintf(line.data(), line.size(), "        %-23s %20llu %9s\n", c.name.c_str(), static_cast<unsigned long long>(c.value),
                          per_second ? (short_number(*per_second) + "/s").c_str() : "");
            lines.emplace_back(line.data());
        }
    }
}

nlohmann::json peer_json(const PagePeerView& p)
{
    return {{"peer", p.peer},         {"name", p.name},         {"state", p.state},           {"via", p.via},
            {"tx_messages", p.tx_messages}, {"tx_bytes", p.tx_bytes}, {"rx_messages", p.rx_messages}, {"rx_bytes", p.rx_bytes},
            {"silent_s", seconds(p.silent)}};
}

}   // namespace

std::optional<double> rate(const Sample& now, const Sample* before, const char* counter)
{
    if (before == nullptr || now.view.updated <= before->view.updated) {
        return std::nullopt;
    }
    const std::uint64_t a = before->view.counter(counter), b = now.view.counter(counter);
    if (b < a) {
        return std::nullopt;
    }
    if (age(now.taken, now.view.updated) > seconds(kStale)) {
        return 0.0;
    }
    return static_cast<double>(b - a) / (seconds(now.view.updated) - seconds(before->view.updated));
}

void History::add(const std::vector<Sample>& now)
{
    std::vector<Pair> pages;
    for (const Sample& s : now) {
        const auto old = std::find_if(pages_.begin(), pages_.end(), [&s](const Pair& p) { return p.last.pid == s.pid && p.last.page == s.page; });
        if (old == pages_.end()) {
            pages.push_back({s, std::nullopt});
        } else if (old->last.view.updated == s.view.updated) {
            pages.push_back(std::move(*old));
        } else {
            pages.push_back({s, std::move(old->last)});
        }
    }
    pages_ = std::move(pages);
}

const Sample* History::before(const Sample& now) const noexcept
{
    const auto p = std::find_if(pages_.begin(), pages_.end(), [&now](const Pair& x) { return x.last.pid == now.pid && x.last.page == now.page; });
    return p != pages_.end() && p->before ? &*p->before : nullptr;
}

std::string short_number(double value)
{
    static constexpr std::array<const char*, 7> kUnits{"", "k", "M", "G", "T", "P", "E"};
    std::size_t unit = 0;
    for (; value >= 999.5 && unit + 1 < kUnits.size(); ++unit) {
        value /= 1000;
    }
    std::array<char, 32> text{};
    const bool whole = unit == 0 && value == static_cast<double>(static_cast<std::uint64_t>(value));
    std::snprintf(text.data(), text.size(), whole || value >= 99.95 ? "%.0f%s" : value >= 9.995 ? "%.1f%s" : "%.2f%s", value, kUnits[unit]);
    return text.data();
}

std::string table(const std::vector<Sample>& now, const History& history, const TableOptions& options)
{
    std::vector<std::string> lines;
    for (const Sample& s : now) {
        const Sample* const b = history.before(s);
        lines.push_back(process_line(s, b));
        if (options.counters) {
            append_counters(lines, s, b);
        }
        if (options.peers) {
            for (const PagePeerView& p : s.view.peers) {
                lines.push_back(peer_line(p, age(s.taken, s.view.updated)));
            }
            if (s.view.peers_total > s.view.peers.size()) {
                lines.push_back("        and " + std::to_string(s.view.peers_total - s.view.peers.size()) + " peers more\n");
            }
        }
    }
    std::string text = "    PID LABEL                THREAD  PEERS   TXMSG     TXB   RXMSG     RXB  UNEXP    WAKE     AGE\n";
    const std::size_t room = options.lines > 2 ? options.lines - 2 : lines.size();
    const std::size_t shown = lines.size() <= room ? lines.size() : room - 1;
    for (std::size_t i = 0; i < shown; ++i) {
        text += lines[i];
    }
    if (shown < lines.size()) {
        text += "    and " + std::to_string(lines.size() - shown) + " lines more\n";
    }
    return text;
}

std::string json(const std::vector<Sample>& now, const History& history, Nanos wall_now)
{
    nlohmann::json processes = nlohmann::json::array();
    for (const Sample& s : now) {
        const Sample* const b = history.before(s);
        nlohmann::json counters = nlohmann::json::object(), rates = nlohmann::json::object(), peers = nlohmann::json::array();
        for (const PageCounterView& c : s.view.counters) {
            counters[c.name] = c.value;
            if (const auto per_second = rate(s, b, c.name.c_str())) {
                rates[c.name] = *per_second;
            }
        }
        for (const PagePeerView& p : s.view.peers) {
            peers.push_back(peer_json(p));
        }
        processes.push_back({{"pid", s.pid},
                             {"label", s.view.label},
                             {"uptime_s", age(s.taken, s.view.started)},
                             {"age_s", age(s.taken, s.view.updated)},
                             {"whole", s.view.whole},
                             {"event_thread", event_thread_state_text(s.view.event_thread_state)},
                             {"token_owner", s.view.token_owner},
                             {"peers_total", s.view.peers_total},
                             {"counters", std::move(counters)},
                             {"rates", std::move(rates)},
                             {"peers", std::move(peers)}});
    }
    return nlohmann::json{{"time_ns", wall_now.count()}, {"processes", std::move(processes)}}.dump();
}

}   // namespace linnet::tools
