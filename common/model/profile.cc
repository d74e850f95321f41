// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Profile: reading and writing. Numbers are read and written by <charconv>, which no locale changes.
#include "model/profile.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <optional>
#include <utility>

namespace linnet::model {
namespace {

constexpr std::string_view kHead = "linnet-profile 1";

struct Term {
    std::string_view name;
    Line PathCost::*line;
};
constexpr std::array<Term, 5> kTerms{{
    {"O_s", &PathCost::send},
    {"g", &PathCost::gap},
    {"L", &PathCost::latency},
    {"O_r", &PathCost::receive},
    {"U_r", &PathCost::pick_up},
}};
constexpr std::string_view kCapacity = "B_L";
constexpr std::string_view kBlanks = " \t\r";

std::string_view next_word(std::string_view& rest)
{
    rest.remove_prefix(std::min(rest.find_first_not_of(kBlanks), rest.size()));
    const std::string_view word = rest.substr(0, rest.find_first_of(kBlanks));
    rest.remove_prefix(word.size());
    return word;
}

bool is_word(std::string_view text)
{
    return !text.empty() && text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) { return c > 0x20 && c < 0x7f; });
}

bool possible(double value) { return std::isfinite(value) && value >= 0; }
bool possible(const Line& line) { return possible(line.fixed_ns) && possible(line.per_byte_ns); }

std::optional<double> number(std::string_view word)
{
    double value = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
    return !word.empty() && error == std::errc{} && end == word.data() + word.size() && possible(value) ? std::optional{value} : std::nullopt;
}

std::string number_text(double value)
{
    std::array<char, 32> text{};
    const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
    return {text.data(), error == std::errc{} ? end : text.data()};
}

// One path while it is read: all terms must come, each once.
struct Reading {
    PathKey key;
    PathCost cost;
    unsigned seen{0};   // bits of kTerms, and one more for the capacity
    static constexpr unsigned kAll = (2u << kTerms.size()) - 1;
};

// Empty, or what is wrong with the rest of a "path" line.
std::string read_key(std::string_view rest, PathKey& key)
{
    const std::string_view transport = next_word(rest);
    const std::string_view kernel = next_word(rest);
    const std::string_view driver = next_word(rest);
    const auto mtu = number(next_word(rest));
    if (!is_word(transport) || !is_word(kernel) || !is_word(driver) || !mtu || *mtu > 1e6 || *mtu != std::floor(*mtu) || !next_word(rest).empty()) {
        return "a path is: path TRANSPORT KERNEL DRIVER MTU";
    }
    key = {std::string{transport}, std::string{kernel}, std::string{driver}, static_cast<unsigned>(*mtu)};
    return {};
}

std::string read_term(std::string_view name, std::string_view rest, Reading& path)
{
    const bool capacity = name == kCapacity;
    const auto term = std::find_if(kTerms.begin(), kTerms.end(), [name](const Term& t) { return t.name == name; });
    if (!capacity && term == kTerms.end()) {
        return "there is no '" + std::string{name.substr(0, 32)} + "' in a profile";
    }
    const unsigned bit = 1u << (term - kTerms.begin());
    if ((path.seen & bit) != 0) {
        return "'" + std::string{name} + "' stands here twice for one path";
    }
    const auto first = number(next_word(rest));
    const auto second = capacity ? std::optional{0.0} : number(next_word(rest));
    if (!first || !second || !next_word(rest).empty()) {
        return "behind '" + std::string{name} + "' must stand " + (capacity ? "one number" : "two numbers") + " of at least 0";
    }
    path.seen |= bit;
    if (capacity) {
        path.cost.capacity = *first;
    } else {
        path.cost.*(term->line) = {*first, *second};
    }
    return {};
}

}   // namespace

const PathCost* Profile::find(const PathKey& key) const noexcept
{
    const auto it = std::find_if(entries_.begin(), entries_.end(), [&key](const Entry& e) { return e.key == key; });
    return it == entries_.end() ? nullptr : &it->cost;
}

Status Profile::set(const PathKey& key, const PathCost& cost)
{
    const bool words = is_word(key.transport) && is_word(key.kernel) && is_word(key.driver);
    const bool lines = std::all_of(kTerms.begin(), kTerms.end(), [&cost](const Term& t) { return possible(cost.*(t.line)); });
    if (!words || !lines || !possible(cost.capacity)) {
        return Status::kInvalid;
    }
    const auto it = std::find_if(entries_.begin(), entries_.end(), [&key](const Entry& e) { return e.key == key; });
    if (it != entries_.end()) {
        it->cost = cost;
        return Status::kOk;
    }
    if (entries_.size() == kMaxPaths) {
        return Status::kNoMemory;
    }
    entries_.push_back({key, cost});
    return Status::kOk;
}

std::string Profile::text() const
{
    std::string out{kHead};
    out += '\n';
    for (const Entry& e : entries_) {
        out += "path " + e.key.transport + " " + e.key.kernel + " " + e.key.driver + " " + std::to_string(e.key.mtu) + "\n";
        for (const Term& t : kTerms) {
            const Line& line = e.cost.*(t.line);
            out += std::string{t.name} + " " + number_text(line.fixed_ns) + " " + number_text(line.per_byte_ns) + "\n";
        }
        out += std::string{kCapacity} + " " + number_text(e.cost.capacity) + "\n";
    }
    return out;
}

Status Profile::parse(std::string_view text, std::string& error)
{
    Profile fresh;
    std::optional<Reading> path;
    bool head = false;
    std::string wrong = text.size() > kMaxBytes ? "a profile has at most " + std::to_string(kMaxBytes) + " bytes" : "";
    unsigned number_of_line = 0;
    const auto finish_path = [&] {
        if (path && path->seen != Reading::kAll) {
            wrong = "the path before this line lacks some of O_s, g, L, O_r, U_r, B_L";
        } else if (path && fresh.set(path->key, path->cost) != Status::kOk) {
            wrong = "there are more than " + std::to_string(kMaxPaths) + " paths";
        }
        path.reset();
    };
    while (wrong.empty() && !text.empty()) {
        ++number_of_line;
        std::string_view line = text.substr(0, text.find('\n'));
        text.remove_prefix(std::min(line.size() + 1, text.size()));
        if (!head) {
            wrong = line == kHead ? "" : "a profile begins with '" + std::string{kHead} + "'";
            head = true;
            continue;
        }
        const std::string_view word = next_word(line);
        if (word.empty() || word.front() == '#') {
            continue;
        }
        if (word == "path") {
            finish_path();
            path.emplace();
            wrong = wrong.empty() ? read_key(line, path->key) : wrong;
        } else {
            wrong = path ? read_term(word, line, *path) : "a path must come first";
        }
    }
    if (wrong.empty()) {
        ++number_of_line;
        finish_path();
        wrong = head ? wrong : "it is empty";
    }
    if (!wrong.empty()) {
        error = "line " + std::to_string(number_of_line) + ": " + wrong;
        return Status::kInvalid;
    }
    *this = std::move(fresh);
    return Status::kOk;
}

Status Profile::load(const std::string& path, std::string& error)
{
    errno = 0;
    std::ifstream file{path, std::ios::binary};
    if (!file) {
        const int why = errno;
        error = path + ": cannot be opened";
        return why == ENOENT ? Status::kNotFound : why == EACCES ? Status::kPermission : Status::kIo;
    }
    std::string text(kMaxBytes + 1, '\0');
    file.read(text.data(), static_cast<std::streamsize>(text.size()));
    if (file.bad()) {
        error = path + ": cannot be read";
        return Status::kIo;
    }
    text.resize(static_cast<std::size_t>(file.gcount()));
    const Status s = parse(text, error);
    if (s != Status::kOk) {
        error = path + ": " + error;
    }
    return s;
}

Status Profile::save(const std::string& path, std::string& error) const
{
    const std::string fresh = path + ".new";
    errno = 0;
    std::ofstream file{fresh, std::ios::binary | std::ios::trunc};
    file << text();
    file.close();
    if (!file || std::rename(fresh.c_str(), path.c_str()) != 0) {
        const int why = errno;
        std::remove(fresh.c_str());
        error = path + ": cannot be written";
        return why == EACCES ? Status::kPermission : Status::kIo;
    }
    return Status::kOk;
}

}   // namespace linnet::model
