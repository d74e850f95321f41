// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The provider where memory is short: an error that says so, after which everything is as before.
#include <rdma/fi_rma.h>
#include <signal.h>
#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

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

iovec piece_of(auto& buffer) { return {buffer.data(), buffer.size()}; }

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

// fi_domain(3), resource management: the peer, which is stopped, takes nothing, and an injection has no completion that a program could wait for.
TEST(LinnetMemory, InjectionsThatNobodyTakesAreRefusedInTheEnd)
{
    two_processes(
        [](Friend& other) {
            Node n;
            n.connect(other);
            n.post([&] { return fi_tinject(n.ep, "x", 1, n.peer, 1); });
            const pid_t second = std::stoi(other.hear());
            stop(second);
            const std::string text(n.info->tx_attr->inject_size, 'y');   // so long that the credit of the peer is soon spent
            std::size_t accepted = 0;
            ssize_t r = 0;
            while (accepted <= 2 * n.info->tx_attr->size && r == 0) {
                r = fi_tinject(n.ep, text.data(), text.size(), n.peer, 1);
                accepted += r == 0 ? 1 : 0;
            }
            EXPECT_EQ(r, -FI_EAGAIN);
            EXPECT_GE(accepted, n.info->tx_attr->size / 2);
            EXPECT_LE(accepted, 2 * n.info->tx_attr->size);
            EXPECT_EQ(::kill(second, SIGKILL), 0);
        },
        [](Friend& other) {
            Node n;
            n.connect(other);
            char in = 0;
            n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr); });
            static_cast<void>(n.next(n.rx));
            other.tell(std::to_string(::getpid()));
            other.meet();
        },
        SIGKILL);
}

// What waits behind a buffer of several messages costs nothing: receives, and other such buffers.
TEST(LinnetMemory, ReceivesBehindABufferNeedNone)
{
    alone([] {
        Node n{{.caps = FI_MSG | FI_MULTI_RECV}};
        n.peer = n.insert(n.name());
        std::size_t least = 4;
        ASSERT_EQ(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, sizeof least), 0);
        std::array<std::array<char, 4>, 5> in{};
        const std::array<bool, 5> multi{true, false, true, true, false};
        std::array<fi_context2, 5> contexts{};
        const auto post = [&](std::size_t i) {
            const iovec iov = piece_of(in[i]);
            fi_msg m{};
            m.msg_iov = &iov;
            m.iov_count = 1;
            m.addr = FI_ADDR_UNSPEC;
            m.context = &contexts[i];
            return static_cast<int>(fi_recvmsg(n.ep, &m, FI_COMPLETION | (multi[i] ? FI_MULTI_RECV : 0)));
        };
        ASSERT_EQ(post(0), 0);   // the first one fills the pool
        for (std::size_t i = 1; i < in.size(); ++i) {
            EXPECT_EQ(with_memory_for(0, [&] { return post(i); }), 0) << i;
        }
        ASSERT_EQ(fi_cancel(&n.ep->fid, &contexts[3]), 0);
        EXPECT_EQ(n.next_error(n.rx).op_context, &contexts[3]);
        const std::string words = "one two thr fou ";
        for (std::size_t i = 0; i < 4; ++i) {
            n.post([&] { return fi_inject(n.ep, words.data() + 4 * i, 4, n.peer); });
        }
        for (const std::size_t i : {0u, 1u, 2u, 4u}) {
            const fi_cq_tagged_entry e = n.next(n.rx);
            EXPECT_EQ(e.op_context, &contexts[i]);
            EXPECT_EQ(e.len, 4u);
            EXPECT_EQ((e.flags & FI_MULTI_RECV) != 0, multi[i]);
        }
        EXPECT_EQ(std::string(in[4].data(), 4), "fou ");
    });
}

// A long message that waits, and its receive has no memory to ask for the rest: it ends, and nobody waits for a message that is gone.
void receive_without_memory(std::uint64_t claim)
{
    constexpr std::size_t kBytes = 4'000'000;
    two_processes(
        [&](Friend& other) {
            ::setenv("FI_LINNET_TRANSPORTS", "tcp", 1);
            std::vector<char> in(kBytes);
            char behind = 0;
            const std::array<iovec, 2> pieces{{{in.data(), 100}, {in.data() + 100, kBytes - 100}}};   // which takes a block to put them together in
            fi_context2 context{};
            Node n{{.wait = FI_WAIT_FD}};
            n.connect(other);
            fi_msg_tagged m{};
            m.msg_iov = pieces.data();
            m.iov_count = pieces.size();
            m.addr = FI_ADDR_UNSPEC;
            m.context = &context;
            std::size_t refused = 0;
            bool whole = false;
            for (std::size_t allocations = 0; !whole && allocations < 20; ++allocations) {
                other.tell("next");
                n.post([&] { return fi_trecv(n.ep, &behind, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr); });   // what came before that is here
                EXPECT_EQ(n.next(n.rx).len, 1u);
                if (claim != 0) {
                    n.post([&] { return fi_trecvmsg(n.ep, &m, FI_PEEK | FI_CLAIM); });
                    EXPECT_EQ(n.next(n.rx).len, kBytes);
                }
                ssize_t r = with_memory_for(allocations, [&] { return static_cast<int>(fi_trecvmsg(n.ep, &m, claim | FI_COMPLETION)); });
                if (r == -FI_EAGAIN) {   // then nothing has happened
                    r = fi_trecvmsg(n.ep, &m, claim | FI_COMPLETION);
                }
                ASSERT_EQ(r, 0) << allocations;
                fi_cq_tagged_entry e{};
                const ssize_t ended = fi_cq_sread(n.rx, &e, 1, nullptr, 20000);
                if (ended == -FI_EAVAIL) {
                    const fi_cq_err_entry error = n.next_error(n.rx);
                    EXPECT_EQ(error.err, FI_ENOMEM) << allocations;
                    EXPECT_EQ(error.op_context, &context);
                    EXPECT_EQ(error.flags, FI_TAGGED | FI_RECV);
                    EXPECT_EQ(error.len, 0u);
                    ++refused;
                } else {
                    ASSERT_EQ(ended, 1) << allocations;
                    EXPECT_EQ(e.len, kBytes);
                    EXPECT_EQ(std::string(in.begin(), in.end()), std::string(kBytes, 'y'));
                    whole = true;
                }
                other.tell(whole ? "whole" : "gone");
            }
            EXPECT_TRUE(whole);
            EXPECT_GE(refused, 1u);
            EXPECT_TRUE(n.quiet_for(std::chrono::milliseconds{20}));
        },
        [&](Friend& other) {
            ::setenv("FI_LINNET_TRANSPORTS", "tcp", 1);
            Node n{};
            n.connect(other);
            const std::string out(kBytes, 'y');
            for (std::string end; end != "whole";) {
                ASSERT_EQ(other.hear(), "next");
                n.post([&] { return fi_tsend(n.ep, out.data(), out.size(), nullptr, n.peer, 0, nullptr); });
                n.post([&] { return fi_tinject(n.ep, "x", 1, n.peer, 1); });
                end = other.hear();
                static_cast<void>(n.next(n.tx));
            }
        });
}

TEST(LinnetMemory, ReceiveThatLosesItsMessageForWantOfMemoryEnds) { receive_without_memory(0); }

TEST(LinnetMemory, ReceiveThatLosesAClaimedMessageForWantOfMemoryEnds) { receive_without_memory(FI_CLAIM); }

}   // namespace
}   // namespace linnet::ofi_test
