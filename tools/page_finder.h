// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// PageFinder: the statistics pages of the processes that we may look at.
#pragma once

#include <sys/types.h>

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "stats/stats_page.h"
#include "sys/memfd.h"

namespace linnet::tools {

// What a look at one page gave.
struct Sighting {
    pid_t pid{0};      // as this /proc numbers it; the page's own number may be of another namespace
    ino_t page{0};     // tells the pages of a process apart
    Result<StatsPageView> view{Status::kNotFound};
};

// Owner: main(). Threads: one. Blocking: reads of /proc. Whatever stands in a page or under its name, a look ends with a Status.
class PageFinder {
public:
    // Processes to look at; empty: all of /proc. Those of other users are left out silently where the system hides them.
    explicit PageFinder(std::set<pid_t> only) : only_{std::move(only)} {}

    // Looks at every page now, by ascending process number. Pages that could be opened but not believed are reported with their Status.
    [[nodiscard]] std::vector<Sighting> look();

private:
    // A page stays mapped from one look to the next, so that a page costs no system call but the scan.
    struct Known {
        Mapping mapping;
        bool seen{false};
    };
    using Key = std::pair<dev_t, ino_t>;

    void look_at_process(pid_t pid, std::vector<Sighting>& out);
    void look_at_descriptor(pid_t pid, const std::string& path, std::vector<Sighting>& out);

    std::set<pid_t> only_;
    std::map<Key, Known> known_;
};

}   // namespace linnet::tools
