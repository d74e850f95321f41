// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What a host needs to use linnet.h in a test: a context that closes itself, requests that count their completions.
#pragma once

#include <dirent.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "capi/linnet.h"

#ifndef LINNET_WAIST_TRANSPORTS
#define LINNET_WAIST_TRANSPORTS "tcp"
#endif

namespace linnet::testing {

using namespace std::chrono_literals;

// An operation under way. Must outlive it.
struct Op {
    linnet_request_t request{};
    int done{0};
    linnet_status_t started{LINNET_ERR_INTERNAL};
    static void on_done(linnet_request_t*, void* arg) noexcept { ++static_cast<Op*>(arg)->done; }
    [[nodiscard]] bool complete() const { return started != LINNET_IN_PROGRESS || done != 0; }
    [[nodiscard]] linnet_status_t status() const { return request.result.status; }
    [[nodiscard]] std::uint64_t length() const { return request.result.length; }
};

inline linnet_data_t contiguous(const void* base, std::size_t bytes)
{
    linnet_data_t d{};
    d.base = const_cast<void*>(base);
    d.length = bytes;
    return d;
}

// A context with the settings given, closed at the end of the test. Errors and warnings that it logs fail the test unless expected.
class Endpoint {
public:
    explicit Endpoint(std::vector<linnet_setting_t> settings = {}, std::uint64_t wild_mask = 0x7fffffff)
    {
        linnet_open_options_t o{};
        o.size = sizeof o;
        // What was given comes later, and overrides.
        settings.insert(settings.begin(), {{"net_include", "lo"}, {"transports", LINNET_WAIST_TRANSPORTS}, {"log_level", "info"}});
        o.settings = settings.data();
        o.setting_count = settings.size();
        o.wild_mask = wild_mask;
        o.log = on_log;
        o.log_arg = this;
        o.label = "test";
        EXPECT_EQ(linnet_context_open(&o, &context_), LINNET_OK);
    }
    ~Endpoint()
    {
        close();
        if (!complaints_expected_) {
            EXPECT_EQ(complaints_, "");
        }
    }
    Endpoint(const Endpoint&) = delete;
    Endpoint& operator=(const Endpoint&) = delete;

    [[nodiscard]] linnet_context_t* context() const { return context_; }
    void close()
    {
        if (context_ != nullptr) {
            linnet_context_close(context_);
        }
        context_ = nullptr;
    }
    void expect_complaints() { complaints_expected_ = true; }
    [[nodiscard]] const std::string& complaints() const { return complaints_; }
    // How many lines that it logged, of any level, say this.
    [[nodiscard]] std::size_t said(const std::string& words)
    {
        const std::lock_guard guard{lines_lock_};
        const auto says = [&words](const std::string& line) { return line.find(words) != std::string::npos; };
        return static_cast<std::size_t>(std::count_if(lines_.begin(), lines_.end(), says));
    }

    [[nodiscard]] linnet_name_t name() const
    {
        linnet_name_t n{};
        EXPECT_EQ(linnet_context_name(context_, &n), LINNET_OK);
        return n;
    }
    linnet_peer_t add(const Endpoint& other)
    {
        const linnet_name_t n = other.name();
        linnet_peer_t p = LINNET_PEER_UNKNOWN;
        EXPECT_EQ(linnet_peer_add(context_, &n, &p), LINNET_OK);
        return p;
    }
    linnet_status_t send(Op& op, linnet_peer_t to, std::uint64_t bits, const linnet_data_t& data, std::uint32_t flags = 0, std::uint32_t space = 1)
    {
        linnet_send_t s{};
        s.peer = to;
        s.space = space;
        s.match_bits = bits;
        s.immediate = 100 + bits;
        s.flags = flags;
        s.data = data;
        s.done = Op::on_done;
        s.done_arg = &op;
        return op.started = linnet_tag_send(context_, &s, &op.request);
    }
    linnet_status_t recv(Op& op, linnet_peer_t from, std::uint64_t bits, const linnet_data_t& data, std::uint64_t ignore = 0, std::uint32_t space = 1)
    {
        linnet_recv_t r{};
        r.peer = from;
        r.space = space;
        r.match_bits = bits;
        r.ignore = ignore;
        r.data = data;
        r.done = Op::on_done;
        r.done_arg = &op;
        return op.started = linnet_tag_recv(context_, &r, &op.request);
    }
    unsigned progress() { return linnet_progress(context_, 0, 0); }
    [[nodiscard]] std::uint64_t counter(const std::string& name) const
    {
        linnet_counter_info_t info{};
        for (std::size_t i = 0; linnet_counter_describe(i, &info) == LINNET_OK; ++i) {
            if (name == info.name) {
                std::uint64_t v = 0;
                EXPECT_EQ(linnet_counter_read(context_, i, &v), LINNET_OK);
                return v;
            }
        }
        ADD_FAILURE() << "no counter " << name;
        return 0;
    }

private:
    static void on_log(void* arg, linnet_log_level_t level, const char* line) noexcept
    {
        auto& self = *static_cast<Endpoint*>(arg);
        {
            const std::lock_guard guard{self.lines_lock_};
            self.lines_.emplace_back(line);
        }
        if (level <= LINNET_LOG_WARN) {
            auto& text = self.complaints_;
            text += line;
            text += '\n';
        }
    }
    linnet_context_t* context_{nullptr};
    std::mutex lines_lock_;
    std::vector<std::string> lines_;
    std::string complaints_;
    bool complaints_expected_{false};
};

// Make progress on all endpoints until `done`, at most `limit`.
template <class Done>
bool drive(std::initializer_list<Endpoint*> endpoints, const Done& done, std::chrono::milliseconds limit = 10s)
{
    const auto end = std::chrono::steady_clock::now() + limit;
    while (!done()) {
        for (Endpoint* e : endpoints) {
            e->progress();
        }
        if (std::chrono::steady_clock::now() > end) {
            return false;
        }
    }
    return true;
}

// The established TCP connections of this process.
inline std::vector<int> tcp_connections()
{
    std::vector<int> found;
    DIR* const dir = opendir("/proc/self/fd");
    while (const dirent* entry = dir == nullptr ? nullptr : readdir(dir)) {
        const int fd = static_cast<int>(std::strtol(entry->d_name, nullptr, 10));
        sockaddr_storage peer{};
        socklen_t bytes = sizeof peer;
        if (entry->d_name[0] != '.' && getpeername(fd, reinterpret_cast<sockaddr*>(&peer), &bytes) == 0 && peer.ss_family == AF_INET) {
            found.push_back(fd);
        }
    }
    if (dir != nullptr) {
        closedir(dir);
    }
    return found;
}

// Shuts all of these sockets, and only those: as soon as one is shut an event thread closes it and opens the next, under the same number. By
// then the others may be closed too.
inline void shut(std::vector<int> sockets)
{
    for (int& fd : sockets) {
        fd = ::fcntl(fd, F_DUPFD_CLOEXEC, 0);   // not dup(): ThreadSanitizer would see a race with the close()
    }
    for (const int fd : sockets) {
        ::shutdown(fd, SHUT_RDWR);
        ::close(fd);
    }
}

inline std::vector<unsigned char> pattern(std::size_t bytes, unsigned seed = 1)
{
    std::vector<unsigned char> v(bytes);
    std::uint32_t x = seed * 2654435761u + 1;
    for (auto& b : v) {
        x = x * 1664525u + 1013904223u;
        b = static_cast<unsigned char>(x >> 24);
    }
    return v;
}

}   // namespace linnet::testing
