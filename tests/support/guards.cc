// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Guards: see guards.h.
#include "support/guards.h"

#include <dirent.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

#include "support/seed.h"
#include "support/test_log.h"

namespace linnet::testing {
namespace {

std::map<int, std::string> open_descriptors()
{
    std::map<int, std::string> found;
    DIR* dir = opendir("/proc/self/fd");
    if (dir == nullptr) {
        return found;
    }
    while (const dirent* entry = readdir(dir)) {
        const int fd = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));
        if (entry->d_name[0] == '.' || fd == dirfd(dir)) {
            continue;
        }
        std::array<char, 256> target{};
        const std::string link = std::string{"/proc/self/fd/"} + entry->d_name;
        const ssize_t size = readlink(link.c_str(), target.data(), target.size() - 1);
        found[fd] = size > 0 ? std::string{target.data(), static_cast<std::size_t>(size)} : "?";
    }
    closedir(dir);
    return found;
}

// Fails the case itself: a failure added in OnTestEnd still counts for the case that ends.
class CaseGuard final : public ::testing::EmptyTestEventListener {
public:
    explicit CaseGuard(Watchdog& watchdog) : watchdog_{watchdog} {}

    void OnTestStart(const ::testing::TestInfo&) override
    {
        watchdog_.pet();
        forget_seed();
        begin_log_case();
        before_ = open_descriptors();
    }

    void OnTestEnd(const ::testing::TestInfo& info) override
    {
        for (const auto& [fd, target] : open_descriptors()) {
            if (!before_.contains(fd)) {
                ADD_FAILURE() << "leaked descriptor " << fd << " -> " << target;
            }
        }
        for (const std::string& wrong : end_log_case()) {
            ADD_FAILURE() << wrong;
        }
        if (info.result()->Failed()) {
            print_seed();
        }
    }

    // Descriptors of a suite's shared fixture are closed between the last case and here.
    void OnTestSuiteStart(const ::testing::TestSuite&) override { suite_before_ = open_descriptors(); }
    void OnTestSuiteEnd(const ::testing::TestSuite& suite) override
    {
        for (const auto& [fd, target] : open_descriptors()) {
            if (!suite_before_.contains(fd)) {
                ADD_FAILURE() << "suite " << suite.name() << " leaked descriptor " << fd << " -> " << target;
            }
        }
    }

private:
    Watchdog& watchdog_;
    std::map<int, std::string> before_;
    std::map<int, std::string> suite_before_;
};

// Writes `verdict TAB program TAB case TAB reason` per case to $LINNET_TEST_RESULTS/<program>.tsv, and a `run` line before each
// case, so that a program that dies leaves the name of the case that killed it.
class ResultWriter final : public ::testing::EmptyTestEventListener {
public:
    ResultWriter(std::FILE* file, std::string program) : file_{file}, program_{std::move(program)} {}
    ~ResultWriter() override { std::fclose(file_); }
    ResultWriter(const ResultWriter&) = delete;
    ResultWriter& operator=(const ResultWriter&) = delete;

    void OnTestStart(const ::testing::TestInfo& info) override { write("run", info, ""); }

    void OnTestEnd(const ::testing::TestInfo& info) override
    {
        const ::testing::TestResult& result = *info.result();
        if (result.Failed()) {
            write("fail", info, failure(result));
        } else if (result.Skipped()) {
            write("skip", info, skip_reason(result));
        } else {
            write("pass", info, "");
        }
    }

private:
    static std::string skip_reason(const ::testing::TestResult& result)
    {
        std::string reason = "no reason given";
        for (int i = 0; i < result.total_part_count(); ++i) {
            const ::testing::TestPartResult& part = result.GetTestPartResult(i);
            if (part.skipped() && *part.message() != '\0') {
                reason = part.message();
            }
        }
        return in_one_line(reason);
    }

    // Where it failed first and what was seen there.
    static std::string failure(const ::testing::TestResult& result)
    {
        for (int i = 0; i < result.total_part_count(); ++i) {
            const ::testing::TestPartResult& part = result.GetTestPartResult(i);
            if (part.failed()) {
                const std::string file = part.file_name() != nullptr ? part.file_name() : "?";
                return in_one_line(file.substr(file.rfind('/') + 1) + ':' + std::to_string(part.line_number()) + ": " + part.message()).substr(0, 400);
            }
        }
        return "";
    }

    static std::string in_one_line(std::string text)
    {
        std::replace_if(text.begin(), text.end(), [](char c) { return c == '\n' || c == '\t'; }, ' ');
        return text;
    }

    void write(const char* verdict, const ::testing::TestInfo& info, const std::string& reason)
    {
        std::fprintf(file_, "%s\t%s\t%s.%s\t%s\n", verdict, program_.c_str(), info.test_suite_name(), info.name(),
                     reason.c_str());
        std::fflush(file_);
    }

    std::FILE* file_;
    std::string program_;
};

}   // namespace

void install_guards(::testing::UnitTest& unit_test, const char* program, Watchdog& watchdog)
{
    ::testing::TestEventListeners& listeners = unit_test.listeners();
    // At the end of a case listeners run last to first: the guard must speak before the result is written.
    const char* folder = std::getenv("LINNET_TEST_RESULTS");
    if (folder != nullptr && *folder != '\0') {
        const std::string path{program};
        const std::string name = path.substr(path.rfind('/') + 1);
        if (std::FILE* file = std::fopen((std::string{folder} + "/" + name + ".tsv").c_str(), "ae")) {
            listeners.Append(new ResultWriter{file, name});
        }
    }
    listeners.Append(new CaseGuard{watchdog});
}

}   // namespace linnet::testing
