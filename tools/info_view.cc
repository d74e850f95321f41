// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The report of linnet-info.
#include "info_view.h"

#include <algorithm>
#include <array>
#include <cstdio>

#include <nlohmann/json.hpp>

#include "config.h"

namespace linnet::tools {
namespace {

using nlohmann::json;

constexpr std::uint64_t kCopied = 2048;   // what is copied behind its head: docs/architecture.md, "How a message travels"
constexpr std::size_t kColumns = 110;

double microseconds(Nanos d) { return static_cast<double>(d.count()) * 1e-3; }

// What comes from the system (names of interfaces, drivers, hosts) is shown, never obeyed by a terminal.
std::string printable_lines(std::string text)
{
    std::replace_if(text.begin(), text.end(), [](char c) { return c != '\n' && (static_cast<unsigned char>(c) < 0x20 || c == 0x7f); }, '?');
    return text;
}

std::string padded(const std::string& text, std::size_t width)
{
    return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

// `text` in lines of kColumns, each begun by `indent` spaces; the first line's indentation is there already.
std::string wrapped(const std::string& text, std::size_t indent)
{
    std::string out;
    std::size_t column = indent;
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t space = std::min(text.find(' ', at), text.size());
        const std::size_t length = space - at;
        if (column > indent && column + 1 + length > kColumns) {
            out += "\n" + std::string(indent, ' ');
            column = indent;
        } else if (column > indent) {
            out += ' ';
            ++column;
        }
        out.append(text, at, length);
        column += length;
        at = space + 1;
    }
    return out;
}

std::string transport_lines(const TransportFinding& t)
{
    std::array<char, 96> prior{};
    std::snprintf(prior.data(), prior.size(), "%-5s %-8s %-10s", t.name.c_str(), t.usable ? "usable" : "refused", t.chosen ? "chosen" : "not chosen");
    std::string text = "  " + std::string{prior.data()} + " ";
    const std::size_t indent = text.size();
    std::snprintf(prior.data(), prior.size(), "expected: %.2g us and %.2g GB/s before it is measured", microseconds(t.prior_latency), t.prior_bytes_per_ns);
    text += std::string{prior.data()} + "\n";
    for (const auto* const lines : {&t.lacks, &t.notes}) {
        for (const std::string& line : *lines) {
            text += std::string(indent, ' ') + wrapped(line, indent) + "\n";
        }
    }
    return text;
}

std::string nic_text(const Nic& nic)
{
    const NetInterface& i = nic.interface;
    std::string text;
    const auto add = [&text](const std::string& part) { text += (text.empty() ? "" : ", ") + part; };
    if (!nic.driver.empty()) {
        add(nic.driver);
    }
    if (i.mbit_per_s != 0) {
        add(std::to_string(i.mbit_per_s) + " Mbit/s");
    }
    if (i.mtu != 0) {
        add("MTU " + std::to_string(i.mtu));
    }
    if (nic.rx_ring) {
        add("ring " + std::to_string(*nic.rx_ring));
    }
    return text;
}

std::string interface_lines(const InfoReport& r)
{
    std::string text;
    std::string last;
    for (const AddressVerdict& v : r.addresses) {
        text += "  " + padded(v.interface, 12) + " " + padded(v.address.family() != AF_UNSPEC ? v.address.host_text() : "-", 15) + " " +
                (v.used ? "used     " : "refused  ") + wrapped(v.why, 39) + "\n";
        const auto nic = std::find_if(r.facts.nics.begin(), r.facts.nics.end(), [&v](const Nic& n) { return n.interface.name == v.interface; });
        if (v.used && v.interface != last && nic != r.facts.nics.end()) {
            text += std::string(39, ' ') + wrapped(nic_text(*nic), 39) + "\n";
        }
        last = v.interface;
    }
    return text.empty() ? "  none\n" : text;
}

std::string peer_lines(const PeerFinding& p)
{
    std::string text = "\ntowards " + p.address.host_text() + "\n";
    if (p.source.empty()) {
        text += "  no route\n";
    } else {
        text += "  from " + p.source + ", interface " + p.interface + (p.path_mtu != 0 ? ", path MTU " + std::to_string(p.path_mtu) : "") + "\n";
    }
    if (!p.port_answer.empty()) {
        text += "  TCP port " + std::to_string(p.address.port()) + ": " + p.port_answer + "\n";
    }
    for (const WayToPeer& w : p.ways) {
        text += "  " + padded(w.transport, 5) + " " + (w.usable ? "possible " : "refused  ") + wrapped(w.why, 17) + "\n";
    }
    return text;
}

// What stands for a size: what was measured, else what is predicted.
double time_of(const CostPoint& p) { return p.measured_ns != 0 ? p.measured_ns : p.predicted_ns; }

// The least of many times, and still more than that of a longer message: the two processes had the cores too seldom to meet.
bool disturbed(const PathFinding& c)
{
    constexpr double kTooMuch = 1.5;
    const auto less = [](const CostPoint& a, const CostPoint& b) { return b.measured_ns != 0 && b.measured_ns * kTooMuch < a.measured_ns; };
    return c.error.empty() && std::adjacent_find(c.points.begin(), c.points.end(), less) != c.points.end();
}

std::string time_text(double ns)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), ns < 99'950 ? "%.2f us" : "%.0f us", ns * 1e-3);
    return text.data();
}

std::string line_text(const model::Line& line)
{
    std::array<char, 64> text{};
    std::snprintf(text.data(), text.size(), "%.2f + %.3f/KiB", line.fixed_ns * 1e-3, line.per_byte_ns * 1.024);
    return text.data();
}

std::string cost_lines(const InfoReport& r)
{
    std::string text = "\ncosts, " + r.costs_from + "\n";
    for (const PathFinding& c : r.costs) {
        text += "  " + padded(c.transport, 6);
        if (!c.error.empty()) {
            text += wrapped("could not be measured: " + c.error, 8) + "\n";
            continue;
        }
        text += "us: O_s " + line_text(c.cost.send) + "  g " + line_text(c.cost.gap) + "  L " + line_text(c.cost.latency) + "  O_r " +
                line_text(c.cost.receive) + "\n";
        for (const CostPoint& p : c.points) {
            text += "        " + padded(size_text(p.bytes), 9) + (p.measured_ns != 0 ? padded(time_text(p.measured_ns), 12) + "predicted " : "predicted ") +
                    time_text(p.predicted_ns) + "\n";
        }
    }
    if (std::any_of(r.costs.begin(), r.costs.end(), disturbed)) {
        text += "  " + wrapped("other programs took the cores: a longer message took less time than a shorter one; measure again when they rest", 2) + "\n";
    }
    for (const std::string& line : cheapest_paths(r.costs)) {
        text += "  " + line + "\n";
    }
    return text;
}

json line_json(const model::Line& line) { return {{"fixed_ns", line.fixed_ns}, {"per_byte_ns", line.per_byte_ns}}; }

json cost_json(const PathFinding& c)
{
    json points = json::array();
    for (const CostPoint& p : c.points) {
        points.push_back({{"bytes", p.bytes}, {"measured_ns", p.measured_ns != 0 ? json(p.measured_ns) : json{}}, {"predicted_ns", p.predicted_ns}});
    }
    return {{"transport", c.transport},
            {"error", c.error},
            {"disturbed", disturbed(c)},
            {"O_s", line_json(c.cost.send)},
            {"g", line_json(c.cost.gap)},
            {"L", line_json(c.cost.latency)},
            {"O_r", line_json(c.cost.receive)},
            {"U_r", line_json(c.cost.pick_up)},
            {"one_way", points}};
}

json costs_json(const InfoReport& r)
{
    json list = json::array();
    for (const PathFinding& c : r.costs) {
        list.push_back(cost_json(c));
    }
    return {{"from", r.costs_from}, {"paths", list}, {"cheapest", cheapest_paths(r.costs)}};
}

json sizes_json(const std::vector<SizeRange>& sizes)
{
    json list = json::array();
    for (const SizeRange& s : sizes) {
        list.push_back({{"from", s.from}, {"to", s.to == UINT64_MAX ? json{} : json(s.to)}, {"way", s.way}});
    }
    return list;
}

json interface_json(const InfoReport& r, const AddressVerdict& v)
{
    json j{{"interface", v.interface}, {"address", v.address.family() != AF_UNSPEC ? json(v.address.host_text()) : json{}}, {"prefix", v.prefix},
           {"used", v.used},           {"why", v.why}};
    const auto nic = std::find_if(r.facts.nics.begin(), r.facts.nics.end(), [&v](const Nic& n) { return n.interface.name == v.interface; });
    if (nic != r.facts.nics.end()) {
        const auto told = [](const std::optional<unsigned>& value) { return value ? json(*value) : json{}; };
        j["driver"] = nic->driver;
        j["mtu"] = nic->interface.mtu;
        j["mbit_per_s"] = nic->interface.mbit_per_s;
        j["rx_usecs"] = told(nic->rx_usecs);
        j["rx_ring"] = told(nic->rx_ring);
        j["rx_ring_max"] = told(nic->rx_ring_max);
    }
    return j;
}

json peer_json(const PeerFinding& p)
{
    json ways = json::array();
    for (const WayToPeer& w : p.ways) {
        ways.push_back({{"transport", w.transport}, {"usable", w.usable}, {"why", w.why}});
    }
    return {{"address", p.address.host_text()}, {"port", p.address.port()},         {"source", p.source}, {"interface", p.interface},
            {"path_mtu", p.path_mtu},           {"port_answer", p.port_answer}, {"ways", ways}};
}

}   // namespace

std::string size_text(std::uint64_t bytes)
{
    static constexpr std::array<const char*, 4> kUnits{"B", "KiB", "MiB", "GiB"};
    std::size_t unit = 0;
    while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
        bytes /= 1024;
        ++unit;
    }
    return std::to_string(bytes) + " " + kUnits[unit];
}

std::vector<SizeRange> size_ranges(const Settings& settings)
{
    const std::uint64_t eager = settings.size(SettingId::kEagerLimit);
    const std::uint64_t retain = std::min<std::uint64_t>(settings.size(SettingId::kRetainLimit), eager);
    const std::uint64_t copied = std::min(kCopied, eager);
    std::vector<SizeRange> ranges{{0, copied, "copied behind its head, one packet; the send completes at once"}};
    if (retain > copied) {
        ranges.push_back({copied + 1, retain, "sent out of the user's buffer and copied meanwhile; the send completes at once"});
    }
    if (eager > std::max(copied, retain)) {
        ranges.push_back({std::max(copied, retain) + 1, eager, "sent out of the user's buffer; the send completes when the peer acknowledges"});
    }
    ranges.push_back({eager + 1, UINT64_MAX,
                      "rendezvous: announced with its first " + size_text(settings.size(SettingId::kRndvFirst)) +
                          ", the receiver asks for the rest over the bulk link; shm: read out of the sender's memory"});
    return ranges;
}

std::vector<std::string> cheapest_paths(const std::vector<PathFinding>& costs)
{
    std::vector<std::string> lines;
    std::string last;
    std::uint64_t from = 0;
    const auto end_range = [&](std::uint64_t to) {
        const std::string open = from == 0 ? "all sizes" : "from " + size_text(from);
        const std::string sizes = to == UINT64_MAX ? open : (from == 0 ? "up to " : size_text(from) + " to ") + size_text(to);
        lines.push_back("least time, " + sizes + ": " + last);
    };
    std::uint64_t before = 0;
    for (const std::uint64_t bytes : kCostSizes) {
        const PathFinding* best = nullptr;
        double least = 0;
        for (const PathFinding& c : costs) {
            const auto at = std::find_if(c.points.begin(), c.points.end(), [bytes](const CostPoint& p) { return p.bytes == bytes; });
            if (c.error.empty() && at != c.points.end() && (best == nullptr || time_of(*at) < least)) {
                best = &c;
                least = time_of(*at);
            }
        }
        if (best == nullptr) {
            return {};
        }
        if (!last.empty() && best->transport != last) {
            end_range(before);
            from = bytes;
        }
        last = best->transport;
        before = bytes;
    }
    end_range(UINT64_MAX);
    return lines;
}

std::string info_text(const InfoReport& r)
{
    std::string text = std::string{"Linnet " PACKAGE_VERSION " on "} + r.facts.host + ", Linux " + r.facts.kernel + ", " + std::to_string(r.facts.cores) +
                       (r.facts.cores == 1 ? " core" : " cores") + ", user " + std::to_string(r.facts.user) + "\n";
    text += "\ntransports (setting transports: " + r.transports_setting + ")\n";
    for (const TransportFinding& t : r.transports) {
        text += transport_lines(t);
    }
    for (const TransportFinding& t : r.transports) {
        if (t.stops_job) {
            text += "  a job does not start with these settings: it needs " + t.name + "\n";
        }
    }
    text += "\ninterfaces\n" + interface_lines(r);
    text += "\nmessages\n";
    for (const SizeRange& s : r.sizes) {
        text += "  " + padded(s.to == UINT64_MAX ? "longer" : "up to " + size_text(s.to), 15) + " " + wrapped(s.way, 18) + "\n";
    }
    if (!r.costs_from.empty()) {
        text += cost_lines(r);
    }
    if (r.peer) {
        text += peer_lines(*r.peer);
    }
    text += "\nadvice\n";
    for (const Advice& a : r.advice) {
        text += "  " + a.about + " (" + a.now + ")\n      " + wrapped(a.change, 6) + "\n      " + wrapped(a.why, 6) + "\n";
    }
    return printable_lines(text + (r.advice.empty() ? "  none\n" : ""));
}

std::string info_json(const InfoReport& r)
{
    json transports = json::array();
    for (const TransportFinding& t : r.transports) {
        transports.push_back({{"name", t.name},
                              {"usable", t.usable},
                              {"chosen", t.chosen},
                              {"stops_job", t.stops_job},
                              {"lacks", t.lacks},
                              {"notes", t.notes},
                              {"prior", {{"latency_us", microseconds(t.prior_latency)}, {"gbyte_per_s", t.prior_bytes_per_ns}}}});
    }
    json interfaces = json::array();
    for (const AddressVerdict& v : r.addresses) {
        interfaces.push_back(interface_json(r, v));
    }
    json advice = json::array();
    for (const Advice& a : r.advice) {
        advice.push_back({{"about", a.about}, {"now", a.now}, {"change", a.change}, {"why", a.why}});
    }
    json document{{"version", PACKAGE_VERSION},
                  {"host",
                   {{"name", r.facts.host},
                    {"kernel", r.facts.kernel},
                    {"cores", r.facts.cores},
                    {"user", r.facts.user},
                    {"raw_sockets", r.facts.raw_sockets},
                    {"descriptors", {{"soft", r.facts.descriptors_soft}, {"hard", r.facts.descriptors_hard}}},
                    {"sysctls", r.facts.sysctls}}},
                  {"transports_setting", r.transports_setting},
                  {"transports", transports},
                  {"interfaces", interfaces},
                  {"messages", sizes_json(r.sizes)},
                  {"advice", advice}};
    if (!r.costs_from.empty()) {
        document["costs"] = costs_json(r);
    }
    if (r.peer) {
        document["peer"] = peer_json(*r.peer);
    }
    return document.dump(2, ' ', false, json::error_handler_t::replace);
}

}   // namespace linnet::tools
