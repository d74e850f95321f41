// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The provider where memory is short: an error that says so, after which everything is as before.
#include <rdma/fi_rma.h>

#include <array>
#include <cstdlib>

#include "integration/ofi/node.h"
#include "support/heap.h"

namespace linnet::ofi_test {
namespace {

void alone(const std::function<void()>& body)
{
    ::setenv("MALLOC_PERTURB_", "90", 1);   // of the sides, which start from here: what is freed holds nothing any more
    two_processes([&](Friend&) { body(); }, [](Friend&) {});
}

// After so many allocations the next one of this thread fails.
int with_memory_for(std::size_t allocations, const std::function<int()>& call)
{
    testing::t_allocations_left = allocations;
    const int result = call();
    testing::t_allocations_left = testing::kNever;
    return result;
}

// Queues and counters are told of the endpoint once, however often it was tried: when it is closed they know nothing of it.
void enable_when_there_is_memory_again(const Options& options)
{
    Node n{options, false};
    Node other{options};
    static_cast<void>(n.name());   // the context is there: opening one takes memory of its own
    n.peer = n.insert(other.name());
    other.peer = other.insert(n.name());
    std::array<char, 64> region{};
    fid_mr* mr = nullptr;
    ASSERT_EQ(fi_mr_reg(n.domain, region.data(), region.size(), FI_REMOTE_WRITE, 0, 1, 0, &mr, nullptr), 0);
    std::size_t refused = 0;
    int error = -FI_ENOMEM;
    while (error == -FI_ENOMEM && refused < 1000) {
        error = with_memory_for(refused, [&] { return fi_enable(n.ep); });
        refused += error == -FI_ENOMEM ? 1 : 0;
    }
    ASSERT_EQ(error, 0);
    EXPECT_GE(refused, 5u);
    std::array<char, 4> in{};
    n.post([&] { return fi_trecv(n.ep, in.data(), in.size(), nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr); });
    other.post([&] { return fi_tinject(other.ep, "ping", 4, other.peer, 1); });
    EXPECT_EQ(n.next(n.rx).len, 4u);
    EXPECT_EQ(fi_close(&mr->fid), 0);
    EXPECT_EQ(fi_close(&n.ep->fid), 0);
    n.ep = nullptr;
    for (fid_cq* const cq : {n.tx, n.rx}) {
        fi_cq_tagged_entry e{};
        EXPECT_EQ(fi_cq_read(cq, &e, 1), -FI_EAGAIN);
    }
    for (fid_cntr* const counter : {n.sent, n.received, n.written, n.was_read}) {
        if (counter != nullptr) {
            EXPECT_EQ(fi_cntr_readerr(counter), 0u);
        }
    }
}

TEST(LinnetMemory, EndpointIsEnabledWhenThereIsMemoryAgain)
{
    alone([] { enable_when_there_is_memory_again({.caps = FI_TAGGED | FI_MSG | FI_RMA}); });
}

TEST(LinnetMemory, EndpointWithCountersIsEnabledWhenThereIsMemoryAgain)
{
    alone([] { enable_when_there_is_memory_again({.caps = FI_TAGGED | FI_MSG | FI_RMA, .wait = FI_WAIT_FD, .counters = true, .rma_counters = true}); });
}

}   // namespace
}   // namespace linnet::ofi_test
