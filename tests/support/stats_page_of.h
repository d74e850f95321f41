// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// StatsPages: the statistics pages of this process, found and mapped as linnet-top does.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "stats/stats_page.h"
#include "support/test_log.h"
#include "sys/memfd.h"

namespace linnet::testing {

class StatsPages {
public:
    // Those that are there now; the mappings live on when their owner is gone.
    StatsPages()
    {
        std::string wanted{"/memfd:"};   // in one expression GCC 12 sees overflows in it, with -O1
        wanted.append(kStatsPageName).append(" (deleted)");
        for (const auto& entry : std::filesystem::directory_iterator{"/proc/self/fd"}) {
            std::error_code gone;   // the descriptor of this very directory
            if (std::filesystem::read_symlink(entry.path(), gone) != wanted) {
                continue;
            }
            Result<Mapping> page = Mapping::map(std::stoi(entry.path().filename()), kStatsPageBytes, MapAccess::kReadOnly, test_log());
            EXPECT_TRUE(page.ok());
            if (page.ok()) {
                pages_.push_back(std::move(*page));
            }
        }
    }
    [[nodiscard]] std::size_t size() const { return pages_.size(); }
    [[nodiscard]] StatsPageView read(std::size_t page = 0) const
    {
        const Result<StatsPageView> view = read_stats_page(pages_.at(page).bytes());
        EXPECT_TRUE(view.ok());
        return view.ok() ? *view : StatsPageView{};
    }
    // Grows with each update.
    [[nodiscard]] std::uint64_t turn(std::size_t page = 0) const
    {
        return reinterpret_cast<const StatsPage*>(pages_.at(page).bytes().data())->turn.load(std::memory_order_acquire);
    }

private:
    std::vector<Mapping> pages_;
};

}   // namespace linnet::testing
