// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// linnet-top: what the Linnet processes of this host do, from their statistics pages.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <CLI/CLI.hpp>

#include "conf/setting_parse.h"
#include "page_finder.h"
#include "sys/system_clock.h"
#include "top_view.h"

namespace linnet::tools {
namespace {

struct Options {
    bool once{false};
    bool json{false};
    TableOptions table;
    std::vector<pid_t> pids;
    std::string interval{"1s"};
    Nanos period{};
};

constexpr Nanos kShortestPeriod{10'000'000};   // people read this; ten times faster than pages change

std::size_t terminal_lines()
{
    winsize size{};
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_row : 0;
}

struct Doubts {
    std::set<ino_t> seen;
    std::set<ino_t> told;
};

// Looks once. What could not be believed is told once per page, on standard error; that it is no valid one at the second look, if another comes: its process
// may just be making it.
std::vector<Sample> take_samples(PageFinder& finder, bool another_comes, Doubts& doubts)
{
    std::vector<Sample> samples;
    for (Sighting& s : finder.look()) {
        if (s.view.ok()) {
            samples.push_back({s.pid, s.page, wall_clock_now(), std::move(s.view.value())});
            continue;
        }
        const bool may_be_begun = another_comes && s.view.status() == Status::kInvalid && doubts.seen.insert(s.page).second;
        if (!may_be_begun && doubts.told.insert(s.page).second) {
            const char* const why = s.view.status() == Status::kUnsupported  ? "written by another version of Linnet"
                                    : s.view.status() == Status::kPermission ? "may not be read"
                                                                             : "not a valid statistics page";
            std::fprintf(stderr, "linnet-top: process %d: %s\n", s.pid, why);
        }
    }
    return samples;
}

void show(const Options& options, const std::vector<Sample>& now, const History& history)
{
    if (options.json) {
        std::printf("%s\n", json(now, history, wall_clock_now()).c_str());
    } else {
        TableOptions table_options = options.table;
        const bool screen = !options.once && ::isatty(STDOUT_FILENO) != 0;
        if (screen) {
            table_options.lines = terminal_lines();
            std::fputs("\033[H\033[J", stdout);   // home, clear to the end
        }
        std::fputs(table(now, history, table_options).c_str(), stdout);
        if (now.empty()) {
            std::fputs("no process shows a statistics page (yet)\n", screen ? stdout : stderr);
        }
    }
    std::fflush(stdout);
}

int run(const Options& options)
{
    PageFinder finder{std::set<pid_t>(options.pids.begin(), options.pids.end())};
    Doubts doubts;
    History history;
    for (;;) {
        const std::vector<Sample> now = take_samples(finder, !options.once, doubts);
        history.add(now);
        show(options, now, history);
        if (options.once) {
            return now.empty() ? 1 : 0;
        }
        if (std::ferror(stdout) != 0) {
            return 1;
        }
        std::this_thread::sleep_for(options.period);
    }
}

}   // namespace
}   // namespace linnet::tools

int main(int argc, char** argv)
{
    using namespace linnet;
    tools::Options options;
    CLI::App app{"Shows what the Linnet processes of this host do: messages and bytes per second, event thread, peers."};
    app.name("linnet-top");
    app.add_flag("-1,--once", options.once, "Print one table of totals and exit; status 1 when there is no process to show");
    app.add_flag("-j,--json", options.json, "Print one JSON document per line instead of a table");
    app.add_flag("-c,--counters", options.table.counters, "Show every counter that is not zero");
    app.add_flag("-P,--peers", options.table.peers, "Show the peers of each process");
    app.add_option("-p,--pid", options.pids, "Show only this process; may be given several times")->check(CLI::Range(1, std::numeric_limits<pid_t>::max()));
    app.add_option("-i,--interval", options.interval, "Time between two looks, with its unit: 500ms, 2s")->capture_default_str();
    CLI11_PARSE(app, argc, argv);

    std::int64_t ns = 0;
    if (!parse_setting(SettingKind::kDuration, options.interval, tools::kShortestPeriod.count(), INT64_MAX / 4, nullptr, ns)) {
        std::fprintf(stderr, "linnet-top: --interval %s: must be a duration of at least 10ms (with ns, us, ms, s or min)\n",
                     options.interval.c_str());
        return 2;
    }
    options.period = Nanos{ns};
    return tools::run(options);
}
