// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// A process with a statistics page, good or bad, for linnet_top_test.
//
// usage: tools_page_process MODE [LABEL]
//   good      a page; each number read from standard input publishes an update in which every counter is that number
//   torn      a page whose writer died inside an update
//   version   a page of another version
//   garbage   a sealed page whose every byte is hostile, behind a right version and size
//   short     a sealed memory file that is too small
//   unsealed  a page that its owner may shrink at any time
// Prints "ready" and lives until standard input ends.
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <iostream>
#include <string>

#include "stats/stats_page.h"
#include "sys/memfd.h"
#include "sys/process.h"
#include "sys/system_clock.h"

namespace {

using namespace linnet;

struct Page {
    Fd fd;
    Mapping mapping;
    StatsPageWriter writer;
    StatsPage& layout() const { return *reinterpret_cast<StatsPage*>(mapping.bytes().data()); }
};

void publish(Page& page, std::uint64_t n)
{
    PageUpdate update;
    for (const CounterInfo& row : kCounterTable) {
        update.counters[row.id] = n;
    }
    const PagePeerUpdate peers[] = {{PeerId{0}, "10.9.8.7:4000", "connected", "tcp", n, n, n, n, Nanos{0}}};
    update.peers = peers;
    update.peers_total = 70;
    update.event_thread_state = 3;
    update.wall_now = wall_clock_now();
    page.writer.publish(update, monotonic_now());
}

void spoil(Page& page, const std::string& mode)
{
    StatsPage& layout = page.layout();
    if (mode == "torn") {
        layout.turn.fetch_add(1);
    } else if (mode == "version") {
        layout.version.store(kStatsPageVersion + 1);
    } else if (mode == "garbage") {
        std::memset(page.mapping.bytes().data() + 16, 0x9b, page.mapping.bytes().size() - 16);   // 0x9b: a terminal's control sequence
    }
}

}   // namespace

int main(int argc, char** argv)
{
    const std::string mode = argc > 1 ? argv[1] : "";
    const Log log;
    Page page;
    if (mode == "unsealed") {
        page.fd = Fd{::memfd_create(kStatsPageName, MFD_CLOEXEC)};
        if (::ftruncate(page.fd.get(), kStatsPageBytes) != 0) {
            return 1;
        }
    } else {
        auto fd = create_memfd(kStatsPageName, mode == "short" ? 4096 : kStatsPageBytes, log);
        if (!fd.ok()) {
            return 1;
        }
        page.fd = std::move(fd.value());
    }
    if (mode != "short") {
        auto mapping = Mapping::map(page.fd.get(), kStatsPageBytes, MapAccess::kReadWrite, log);
        if (!mapping.ok()) {
            return 1;
        }
        page.mapping = std::move(mapping.value());
        page.writer.attach(page.mapping.bytes(), {process_id(), argc > 2 ? argv[2] : "", wall_clock_now()});
        publish(page, 1000);
        spoil(page, mode);
    }
    std::cout << "ready" << std::endl;
    std::uint64_t n = 0;
    while (std::cin >> n) {
        publish(page, n);
        std::cout << "published" << std::endl;
    }
    return 0;
}
