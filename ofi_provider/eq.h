// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Event queues: fi_eq(3). What reports here are address vectors opened with FI_EVENT, and fi_eq_write().
//
// Owner: the application. Threads: any. Blocking: sread alone. Failure: as fi_eq(3) says.
#pragma once

#include <pthread.h>

#include <atomic>
#include <deque>
#include <mutex>
#include <string>

#include "provider.h"

namespace linnet::ofi {

class Fabric;

class Eq final : public fid_eq {
public:
    static int open(fid_fabric* fabric, fi_eq_attr* attr, fid_eq** out, void* context) noexcept;
    void report(std::uint32_t event, const fi_eq_entry& entry);
    void report_error(const fi_eq_err_entry& entry);
    int try_wait() noexcept;
    std::atomic<unsigned> users{0};

private:
    struct Event {
        std::uint32_t kind;
        std::string bytes;
    };
    Eq(Fabric& fabric, fi_wait_obj kind, bool writable);
    ~Eq();
    static int close_fid(struct fid* f) noexcept;
    static int control(struct fid* f, int command, void* arg) noexcept;
    static ssize_t read(fid_eq* f, std::uint32_t* event, void* to, std::size_t bytes, std::uint64_t flags) noexcept;
    static ssize_t read_error(fid_eq* f, fi_eq_err_entry* to, std::uint64_t flags) noexcept;
    static ssize_t write(fid_eq* f, std::uint32_t event, const void* from, std::size_t bytes, std::uint64_t flags) noexcept;
    static ssize_t sread(fid_eq* f, std::uint32_t* event, void* to, std::size_t bytes, int timeout, std::uint64_t flags) noexcept;
    static const char* error_text(fid_eq* f, int provider_error, const void* data, char* to, std::size_t bytes) noexcept;
    template <class Entry>
    void add(std::deque<Entry>& to, Entry&& entry);
    [[nodiscard]] bool is_empty() const noexcept { return events_.empty() && errors_.empty(); }
    ssize_t take(std::uint32_t* event, void* to, std::size_t bytes, std::uint64_t flags);
    void show() noexcept;

    Fabric& fabric_;
    fi_wait_obj kind_;
    bool writable_;                  // opened for fi_eq_write()
    int fd_{-1};                     // with a wait object: an eventfd that is readable while there is something
    pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;   // these two are the application's (FI_WAIT_MUTEX_COND)
    pthread_cond_t cond_ = PTHREAD_COND_INITIALIZER;
    std::mutex lock_;
    std::deque<Event> events_;       // guarded by lock_, as is the next
    std::deque<fi_eq_err_entry> errors_;   // fi_eq(3): "out of band"; read before any event
};

}   // namespace linnet::ofi
