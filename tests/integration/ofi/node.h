// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Two processes that talk through libfabric, for tests of what its manual pages promise; the provider is LINNET_TEST_FI_PROVIDER, or linnet.
// With LINNET_TEST_HOSTS=2 in the environment they are on two hosts.
//
// The process of the test never touches libfabric: two_processes() starts this program twice again, for this test alone. Each of the two runs the body of
// the test up to the same call of two_processes() and from there its side, and ends. What fails in one of them fails the test. What a side captures is
// therefore made by its own process, and must come out the same in all three.
#pragma once

#include <gtest/gtest.h>
#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>
#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

namespace linnet::ofi_test {

// The other side, by a socket that is there before libfabric is: names, and steps that must be in order.
class Friend {
public:
    explicit Friend(int fd) noexcept : fd_{fd} {}
    void tell(const std::string& text) const;
    [[nodiscard]] std::string hear() const;
    void meet() const;   // both sides are here
    std::function<void()> idle;   // run while waiting: makes progress for providers that need it

private:
    int fd_;
};

using Side = std::function<void(Friend&)>;
// `second_dies_of`: the signal that the first kills the second with; 0: it ends by itself.
void two_processes(const Side& first, const Side& second, int second_dies_of = 0);
// Stops a process; returns when none of its threads runs any more, which a busy machine takes its time for.
void stop(pid_t process);
// The process of the test, in whichever of the three this is: a number that all know, and no other test that runs now has.
[[nodiscard]] pid_t test_process();

[[nodiscard]] std::string provider_name();
[[nodiscard]] bool is_linnet();

struct Options {
    std::uint64_t caps{FI_TAGGED | FI_MSG};
    fi_cq_format format{FI_CQ_FORMAT_TAGGED};
    fi_wait_obj wait{FI_WAIT_NONE};
    fi_cq_wait_cond wait_cond{FI_CQ_COND_NONE};
    std::size_t cq_size{0};
    std::uint64_t bind_flags{0};     // FI_SELECTIVE_COMPLETION
    std::uint64_t tx_flags{0};
    std::uint32_t addr_format{FI_FORMAT_UNSPEC};
    fi_av_type av_type{FI_AV_TABLE};
    bool counters{false};
    bool rma_counters{false};        // FI_WRITE, FI_READ
    bool remote_counters{false};     // FI_REMOTE_WRITE, FI_REMOTE_READ
    int mr_mode{0};
    std::size_t pieces{0};           // iov_limit of both directions
    fi_threading threading{FI_THREAD_SAFE};
    const char* node{nullptr};
    const char* service{nullptr};
    std::uint64_t info_flags{0};
    std::uint32_t version{FI_VERSION(1, 17)};
};

fi_info* make_hints(const Options& o);

// Everything of one endpoint, closed in order at the end.
class Node {
public:
    explicit Node(const Options& o = {}, bool enabled = true);
    ~Node();
    Node(const Node&) = delete;
    Node& operator=(const Node&) = delete;

    void enable();
    [[nodiscard]] std::string name() const;
    fi_addr_t insert(const std::string& name) const;
    // Exchange names, insert the other's.
    void connect(Friend& other);
    // Operations are tried again on -FI_EAGAIN, with progress.
    void post(const std::function<ssize_t()>& operation) const;
    // The next completion. Fails the test on an error entry, or after 20 s.
    fi_cq_tagged_entry next(fid_cq* cq) const;
    fi_cq_err_entry next_error(fid_cq* cq) const;
    // Nothing completes on either queue.
    [[nodiscard]] bool quiet_for(std::chrono::milliseconds time) const;

    fi_info* info{nullptr};
    fid_fabric* fabric{nullptr};
    fid_domain* domain{nullptr};
    fid_av* av{nullptr};
    fid_cq* tx{nullptr};
    fid_cq* rx{nullptr};
    fid_cntr* sent{nullptr};
    fid_cntr* received{nullptr};
    fid_cntr* written{nullptr};
    fid_cntr* was_read{nullptr};
    fid_cntr* remote_written{nullptr};
    fid_cntr* remote_read{nullptr};
    fid_ep* ep{nullptr};
    fi_addr_t peer{FI_ADDR_UNSPEC};

private:
    Friend* other_{nullptr};
};

// fi_recvmsg() of one buffer.
void receive(const Node& n, void* buffer, std::size_t bytes, fi_addr_t from, std::uint64_t flags, void* context);

// What a program in C may write into an enumeration, and one in C++ only so.
template <class Enumeration>
void put_number(Enumeration& field, int number) noexcept
{
    static_assert(sizeof number == sizeof field);
    std::memcpy(&field, &number, sizeof number);
}

std::vector<char> pattern(std::size_t bytes, unsigned seed);

}   // namespace linnet::ofi_test
