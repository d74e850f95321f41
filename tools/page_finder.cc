// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// PageFinder: scanning /proc for memory files called linnet-stats.
#include "page_finder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <system_error>

#include "base/log.h"
#include "sys/fd.h"

namespace linnet::tools {
namespace {

namespace fs = std::filesystem;

// "1234" as a number; 0 for what is none.
pid_t as_pid(const std::string& text)
{
    pid_t pid = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), pid);
    return error == std::errc{} && end == text.data() + text.size() && pid > 0 ? pid : 0;
}

std::vector<pid_t> all_processes()
{
    std::vector<pid_t> pids;
    std::error_code error;
    for (fs::directory_iterator entry{"/proc", error}, end; !error && entry != end; entry.increment(error)) {
        if (const pid_t pid = as_pid(entry->path().filename().string()); pid != 0) {
            pids.push_back(pid);
        }
    }
    std::sort(pids.begin(), pids.end());
    return pids;
}

}   // namespace

std::vector<Sighting> PageFinder::look()
{
    for (auto& [key, known] : known_) {
        known.seen = false;
    }
    std::vector<Sighting> out;
    for (const pid_t pid : only_.empty() ? all_processes() : std::vector<pid_t>(only_.begin(), only_.end())) {
        look_at_process(pid, out);
    }
    std::erase_if(known_, [](const auto& entry) { return !entry.second.seen; });
    return out;
}

void PageFinder::look_at_process(pid_t pid, std::vector<Sighting>& out)
{
    const std::string wanted = std::string{"/memfd:"} + kStatsPageName + " (deleted)";
    std::error_code error;
    for (fs::directory_iterator entry{"/proc/" + std::to_string(pid) + "/fd", error}, end; !error && entry != end; entry.increment(error)) {
        std::error_code gone;   // a descriptor may close, or a process end, between any two of our steps
        if (fs::read_symlink(entry->path(), gone) == wanted) {
            look_at_descriptor(pid, entry->path().string(), out);
        }
    }
}

void PageFinder::look_at_descriptor(pid_t pid, const std::string& path, std::vector<Sighting>& out)
{
    struct stat st;
    if (::stat(path.c_str(), &st) != 0) {
        return;
    }
    Known& known = known_[{st.st_dev, st.st_ino}];
    if (known.seen) {
        return;   // a child that was forked holds its parent's page too; the parent came first
    }
    known.seen = true;
    if (!known.mapping.valid()) {
        // O_NONBLOCK: should somebody put something else under this name, opening it must not wait.
        const Fd fd{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
        const auto info = fd ? inspect_memfd(fd.get()) : Result<MemfdInfo>{Status::kPermission};
        if (!info.ok() || !info.value().fixed_size || info.value().bytes < kStatsPageBytes) {
            // Not sealed: its owner could shrink it under our eyes, which ends in SIGBUS.
            out.push_back({pid, st.st_ino, info.ok() ? Status::kInvalid : info.status()});
            return;
        }
        const Log quiet{LogLevel::kNone, nullptr, nullptr};
        auto mapping = Mapping::map(fd.get(), kStatsPageBytes, MapAccess::kReadOnly, quiet);
        if (!mapping.ok()) {
            out.push_back({pid, st.st_ino, mapping.status()});
            return;
        }
        known.mapping = std::move(mapping.value());
    }
    out.push_back({pid, st.st_ino, read_stats_page(known.mapping.bytes())});
}

}   // namespace linnet::tools
