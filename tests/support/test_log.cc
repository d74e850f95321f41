// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TestLog: see test_log.h.
#include "support/test_log.h"

#include <cstdlib>
#include <mutex>

namespace linnet::testing {
namespace {

struct Expectation {
    std::string fragment;
    bool seen{false};   // or not needed
};

struct Record {
    std::mutex mutex;
    std::vector<std::string> lines;
    std::vector<std::string> unexpected;
    std::vector<Expectation> expected;

    void add(LogLevel level, const char* line)
    {
        const std::lock_guard lock{mutex};
        lines.emplace_back(line);
        if (level > LogLevel::kWarn) {
            return;
        }
        bool known = false;
        for (Expectation& expectation : expected) {
            if (lines.back().find(expectation.fragment) != std::string::npos) {
                expectation.seen = true;
                known = true;
            }
        }
        if (!known) {
            unexpected.push_back(lines.back());
        }
    }
};

Record& record()
{
    static Record the_record;
    return the_record;
}

void sink(void* arg, LogLevel level, const char* line) noexcept
{
    static_cast<Record*>(arg)->add(level, line);
}

}   // namespace

Log& test_log()
{
    static Log log{LogLevel::kDebug, sink, &record()};
    return log;
}

void expect_complaint(const std::string& fragment)
{
    const std::lock_guard lock{record().mutex};
    record().expected.push_back({fragment});
}

void allow_complaint(const std::string& fragment)
{
    const std::lock_guard lock{record().mutex};
    record().expected.push_back({fragment, true});
}

std::vector<std::string> logged_lines()
{
    const std::lock_guard lock{record().mutex};
    return record().lines;
}

void begin_log_case()
{
    const std::lock_guard lock{record().mutex};
    record().lines.clear();
    record().unexpected.clear();
    record().expected.clear();
}

std::vector<std::string> end_log_case()
{
    const std::lock_guard lock{record().mutex};
    std::vector<std::string> wrong;
    for (const std::string& line : record().unexpected) {
        wrong.push_back("unexpected complaint in the log: " + line);
    }
    for (const Expectation& expectation : record().expected) {
        if (!expectation.seen) {
            wrong.push_back("expected complaint never logged: " + expectation.fragment);
        }
    }
    return wrong;
}

}   // namespace linnet::testing
