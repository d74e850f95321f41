// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Choosing among interfaces: pure functions, see net_interfaces.h.
#include <algorithm>
#include <charconv>

#include "sys/net_interfaces.h"

namespace linnet {

namespace {

bool matches(std::string_view pattern, std::string_view name) noexcept
{
    std::size_t p = 0;
    std::size_t n = 0;
    std::size_t star = std::string_view::npos;   // where to go on when what follows the last * does not match
    std::size_t retry = 0;
    while (n < name.size()) {
        if (p < pattern.size() && pattern[p] == '*') {
            star = p++;
            retry = n;
        } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
            ++p;
            ++n;
        } else if (star != std::string_view::npos) {
            p = star + 1;
            n = ++retry;
        } else {
            return false;
        }
    }
    return pattern.find_first_not_of('*', p) == std::string_view::npos;
}

std::string_view trimmed(std::string_view text) noexcept
{
    const std::size_t first = text.find_first_not_of(" \t");
    return first == std::string_view::npos ? std::string_view{} : text.substr(first, text.find_last_not_of(" \t") - first + 1);
}

struct Candidate {
    const NetInterface* interface;
    AddressVerdict verdict;
};

// Why an address cannot be used at all, whatever the user's lists say; empty when it can.
std::string impossible(const NetInterface& i, const InetAddress& address)
{
    if (!i.up) {
        return "interface is down";
    }
    if (!i.carrier) {
        return "no carrier";
    }
    if (address.family() == AF_UNSPEC) {
        return "no address";
    }
    return {};
}

bool better(const Candidate& a, const Candidate& b) noexcept
{
    const NetInterface& i = *a.interface;
    const NetInterface& j = *b.interface;
    if (i.inner_bridge != j.inner_bridge) {
        return j.inner_bridge;
    }
    if (i.point_to_point != j.point_to_point) {
        return j.point_to_point;
    }
    if (i.mbit_per_s != 0 && j.mbit_per_s != 0 && i.mbit_per_s != j.mbit_per_s) {
        return i.mbit_per_s > j.mbit_per_s;
    }
    if (a.verdict.address.link_local() != b.verdict.address.link_local()) {
        return b.verdict.address.link_local();
    }
    return a.verdict.address.is_v4() && !b.verdict.address.is_v4();
}

// The best first, by repeated selection: "faster when both speeds are known" is no strict weak order, so std::sort must not see it.
void rank(std::vector<Candidate>& used)
{
    for (auto first = used.begin(); first != used.end(); ++first) {
        auto best = first;
        for (auto it = first; it != used.end(); ++it) {
            best = better(*it, *best) ? it : best;
        }
        std::rotate(first, best, best + 1);
    }
}

}   // namespace

bool InterfaceRules::parse(std::string_view list, std::string& error)
{
    std::vector<Rule> rules;
    while (!list.empty()) {
        const std::size_t comma = list.find(',');
        const std::string_view entry = trimmed(list.substr(0, comma));
        list.remove_prefix(comma == std::string_view::npos ? list.size() : comma + 1);
        if (entry.empty()) {
            continue;
        }
        Rule rule;
        rule.text = entry;
        const std::size_t slash = entry.find('/');
        rule.network = InetAddress::parse(entry.substr(0, slash));
        if (slash != std::string_view::npos) {
            if (!rule.network) {
                error = "'" + rule.text + "' is not a network: an address must stand before the slash";
                return false;
            }
            const std::string_view digits = entry.substr(slash + 1);
            const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), rule.prefix);
            if (code != std::errc{} || end != digits.data() + digits.size() || rule.prefix > rule.network->bits()) {
                error = "'" + rule.text + "' is not a network: 0 to " + std::to_string(rule.network->bits()) + " must stand after the slash";
                return false;
            }
        } else if (rule.network) {
            rule.prefix = rule.network->bits();
        } else if (entry.find('%') != std::string_view::npos) {   // as the name of an interface it would silently be that of none
            error = "'" + rule.text + "' is not a link-local IPv6 address and an interface of this host";
            return false;
        }
        rules.push_back(std::move(rule));
    }
    rules_ = std::move(rules);
    return true;
}

const std::string* InterfaceRules::covering(std::string_view name, const InetAddress& address) const noexcept
{
    for (const Rule& rule : rules_) {
        if (rule.network ? address.in_network(*rule.network, rule.prefix) : matches(rule.text, name)) {
            return &rule.text;
        }
    }
    return nullptr;
}

const std::string* InterfaceRules::naming_link_local(const InetAddress& address) const noexcept
{
    const auto it = std::find_if(rules_.begin(), rules_.end(), [&](const Rule& rule) {
        return rule.network && rule.network->link_local() && address.in_network(*rule.network, rule.prefix);
    });
    return it != rules_.end() ? &it->text : nullptr;
}

std::string AddressVerdict::line() const
{
    std::string text = interface;
    if (address.family() != AF_UNSPEC) {
        text += " " + address.host_text();
    }
    return text + (used ? ": used: " : ": refused: ") + why;
}

std::vector<AddressVerdict> choose_addresses(std::span<const NetInterface> interfaces, const InterfaceRules& include, const InterfaceRules& exclude)
{
    std::vector<Candidate> used;
    std::vector<Candidate> last_resort;
    std::vector<Candidate> refused;
    const auto judge = [&](const NetInterface& i, const InetAddress& address, unsigned prefix) {
        Candidate c{&i, {i.name, address, false, impossible(i, address), prefix, i.index}};
        if (!c.verdict.why.empty()) {
            refused.push_back(std::move(c));
        } else if (address.link_local()) {   // by one name of an interface nobody means them
            const std::string* by = include.naming_link_local(address);
            const std::string* barred = include.empty() ? exclude.covering(i.name, address) : nullptr;
            c.verdict.excluded = barred != nullptr;
            c.verdict.why = by != nullptr       ? "net_include " + *by
                            : barred != nullptr ? "net_exclude " + *barred
                                                : "link-local address, which net_include does not name";
            (by != nullptr ? used : refused).push_back(std::move(c));
        } else if (!include.empty()) {
            const std::string* by = include.covering(i.name, address);
            c.verdict.why = by != nullptr ? "net_include " + *by : "not in net_include";
            (by != nullptr ? used : refused).push_back(std::move(c));
        } else if (const std::string* by = exclude.covering(i.name, address); by != nullptr || i.loopback) {
            c.verdict.why = by != nullptr ? "net_exclude " + *by : "loopback, which reaches nobody else";
            (i.loopback ? last_resort : refused).push_back(std::move(c));
        } else {
            c.verdict.why = "usable";
            used.push_back(std::move(c));
        }
    };
    for (const NetInterface& i : interfaces) {
        for (const InterfaceAddress& a : i.addresses) {
            judge(i, a.address, a.prefix);
        }
        if (i.addresses.empty()) {
            judge(i, InetAddress{}, 0);
        }
    }
    if (used.empty()) {
        for (Candidate& c : last_resort) {
            c.verdict.why = "nothing else is usable, so only peers on this host can be reached";
        }
        used.swap(last_resort);
    }
    rank(used);
    refused.insert(refused.begin(), last_resort.begin(), last_resort.end());
    std::vector<AddressVerdict> verdicts;
    for (Candidate& c : used) {
        c.verdict.used = true;
        c.verdict.why += verdicts.empty() ? ", contact address" : "";
        verdicts.push_back(std::move(c.verdict));
    }
    for (Candidate& c : refused) {
        verdicts.push_back(std::move(c.verdict));
    }
    return verdicts;
}

}   // namespace linnet
