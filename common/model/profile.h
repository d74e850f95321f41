// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Profile: measured costs of paths, as a text that is checked when it is read.
//
// A value. Threads: one at a time. Blocking: load() and save() read and write a file. Failure: a text with a fault changes nothing; `error` names the line
// and what is wrong with it, for the caller to log once. Format: docs/model.md section 5.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/cost.h"

namespace linnet::model {

// What costs depend on. Words without spaces; "-" for what is not known.
struct PathKey {
    std::string transport;
    std::string kernel;
    std::string driver;
    unsigned mtu{0};
    friend bool operator==(const PathKey&, const PathKey&) = default;
};

class Profile {
public:
    static constexpr std::size_t kMaxBytes = 64 * 1024;
    static constexpr std::size_t kMaxPaths = 256;

    // Null: not in it. Until the next set() or parse().
    [[nodiscard]] const PathCost* find(const PathKey& key) const noexcept;
    // Adds or replaces. kInvalid: a number that no path has (negative, not finite), or a key of other than words; kNoMemory: there are kMaxPaths.
    [[nodiscard]] Status set(const PathKey& key, const PathCost& cost);
    [[nodiscard]] std::size_t size() const noexcept { return entries_.size(); }

    [[nodiscard]] std::string text() const;
    // kInvalid.
    [[nodiscard]] Status parse(std::string_view text, std::string& error);

    // kNotFound, kPermission, kIo, kInvalid.
    [[nodiscard]] Status load(const std::string& path, std::string& error);
    // Through a temporary file beside it, so that a reader finds the old one or the new one. kPermission, kIo.
    [[nodiscard]] Status save(const std::string& path, std::string& error) const;

private:
    struct Entry {
        PathKey key;
        PathCost cost;
    };
    std::vector<Entry> entries_;
};

}   // namespace linnet::model
