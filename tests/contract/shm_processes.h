// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoints of shared memory on their own, and a process for one of them.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "contract/endpoint.h"
#include "support/test_log.h"
#include "sys/process.h"
#include "transport/shm/shm_transport.h"

namespace linnet::contract {

using namespace std::chrono_literals;

inline constexpr std::size_t kLongRead = 32 << 20;

inline const Kind& kind_named(std::string_view name)
{
    for (const Kind& k : plain_kinds()) {
        if (k.name == name) {
            return k;
        }
    }
    ADD_FAILURE() << "no kind " << name;
    return plain_kinds().front();
}

// One endpoint on its own, for two processes.
struct Solo {
    Settings settings;
    SystemClock clock;
    Stats stats;
    CpuCopyEngine alone{SIZE_MAX};
    Endpoint end;

    explicit Solo(std::uint64_t id, CopyEngine* copy = nullptr)
    {
        static std::uint32_t incarnation = process_id() << 10;
        std::string error;
        EXPECT_EQ(settings.set(SettingId::kShmPull, "on", error), Status::kOk) << error;
        end.name.endpoint_id = le64{0x50105 + id};
        end.name.incarnation = le32{++incarnation};
        end.transport = std::make_unique<shm::ShmTransport>(settings, clock, testing::test_log(), stats, copy != nullptr ? *copy : alone);
    }
    [[nodiscard]] bool open() { return end.transport->open(end.sink, end.name) == Status::kOk; }
    // As soon as the other one, in a process of its own, is there to be called.
    [[nodiscard]] bool calls(const Solo& other, LinkRole role)
    {
        Result<LinkId> link = Status::kUnreachable;
        for (const TimePoint until = monotonic_now() + 10s; !link.ok() && monotonic_now() < until;) {
            link = end.transport->connect(PeerId{1}, role, other.end.name);
        }
        return link.ok();
    }
    [[nodiscard]] bool run_until(const std::function<bool()>& done, std::chrono::milliseconds limit = 20s)
    {
        for (const TimePoint until = monotonic_now() + limit; !done() && monotonic_now() < until;) {
            end.transport->poll(64);
        }
        return done();
    }
};

// A child process that runs `body` and never comes back; killed at the end.
class Child {
public:
    template <class Body>
    explicit Child(Body&& body) : pid_{::fork()}
    {
        if (pid_ == 0) {
            ::prctl(PR_SET_PDEATHSIG, SIGKILL);
            body();
            ::_exit(0);
        }
    }
    ~Child() { kill(); }
    void kill()
    {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
            pid_ = -1;
        }
    }
    // Its exit status.
    int wait()
    {
        int status = -1;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    }
    [[nodiscard]] ::pid_t pid() const { return pid_; }

private:
    ::pid_t pid_;
};

}   // namespace linnet::contract
