// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FI_THREAD_SAFE of fi_domain(3): threads that share an endpoint and its queues, and take each other's completions.
#include <atomic>
#include <thread>

#include "integration/ofi/node.h"
#include "integration/ofi/region.h"
#include "support/pace.h"

namespace linnet::ofi_test {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr unsigned kThreads = 4;
constexpr int kTurns = testing::kSanitized ? 60 : 300;
constexpr std::size_t kSlice = 80000;   // of the region, for each thread
constexpr std::size_t kSizes[] = {1, 300, 5000, 20000, 80000};

// What one operation is waited for by; its context.
struct Operation {
    std::atomic<bool> done{false};
    std::atomic<int> error{0};
};

class Shared {
public:
    Shared(Friend& other, bool blocks) : blocks_{blocks}
    {
        n.connect(other);
        other.tell(region.where());
        there = Where{other.hear()};
        other.meet();
    }
    void post(const std::function<ssize_t()>& operation)
    {
        const auto end = Clock::now() + 20s;
        ssize_t r = operation();
        while (r == -FI_EAGAIN && Clock::now() < end) {
            take(n.tx, false);
            r = operation();
        }
        EXPECT_EQ(r, 0);
    }
    // Whatever completes meanwhile, it is told to whose it is.
    void wait(Operation& o, fid_cq* cq, int error = 0)
    {
        for (const auto end = Clock::now() + 20s; !o.done.load() && Clock::now() < end;) {
            take(cq, blocks_);
        }
        EXPECT_TRUE(o.done.load());
        EXPECT_EQ(o.error.load(), error);
        o.done.store(false);
        o.error.store(0);
    }

    Node n{{.caps = FI_MSG | FI_TAGGED | FI_RMA, .wait = FI_WAIT_UNSPEC}};
    Region region{n, kSlice * kThreads, FI_REMOTE_READ | FI_REMOTE_WRITE};
    Where there{std::string(16, '\0')};

private:
    static void take(fid_cq* cq, bool blocks)
    {
        fi_cq_tagged_entry e[2];
        const ssize_t got = blocks ? fi_cq_sread(cq, e, 2, nullptr, 1) : fi_cq_read(cq, e, 2);
        for (ssize_t i = 0; i < got; ++i) {
            static_cast<Operation*>(e[i].op_context)->done.store(true);
        }
        if (got == -FI_EAVAIL) {
            fi_cq_err_entry failed{};
            if (fi_cq_readerr(cq, &failed, 0) == 1) {
                auto& o = *static_cast<Operation*>(failed.op_context);
                o.error.store(failed.err);
                o.done.store(true);
            }
        }
    }
    const bool blocks_;
};

// Messages to the same thread of the other side and back, and a slice of its memory written and read.
void run(Shared& s, unsigned thread, unsigned side)
{
    Operation sent;
    Operation received;
    Operation accessed;
    Operation canceled;
    std::vector<char> in(kSlice);
    char never = 0;
    for (int i = 0; i < kTurns && !::testing::Test::HasFailure(); ++i) {
        const std::size_t size = kSizes[static_cast<unsigned>(i) % std::size(kSizes)];
        const auto out = pattern(size, thread * 1000 + side);
        std::fill(in.begin(), in.end(), '\0');
        s.post([&] { return fi_trecv(s.n.ep, in.data(), size, nullptr, FI_ADDR_UNSPEC, thread, 0, &received); });
        s.post([&] { return fi_tsend(s.n.ep, out.data(), size, nullptr, s.n.peer, thread, &sent); });
        if (i % 4 == 0) {
            s.post([&] { return fi_trecv(s.n.ep, &never, 1, nullptr, FI_ADDR_UNSPEC, 1000 + thread, 0, &canceled); });
            EXPECT_EQ(fi_cancel(&s.n.ep->fid, &canceled), 0);
            s.wait(canceled, s.n.rx, FI_ECANCELED);
        }
        s.wait(received, s.n.rx);
        const auto wanted = pattern(size, thread * 1000 + 1 - side);
        EXPECT_TRUE(std::equal(wanted.begin(), wanted.end(), in.begin())) << thread << ' ' << i;
        s.wait(sent, s.n.tx);
        if (i % 4 == 1) {
            s.post([&] { return fi_write(s.n.ep, out.data(), size, nullptr, s.n.peer, s.there.at(kSlice * thread), s.there.key, &accessed); });
            s.wait(accessed, s.n.tx);
            s.post([&] { return fi_read(s.n.ep, in.data(), size, nullptr, s.n.peer, s.there.at(kSlice * thread), s.there.key, &accessed); });
            s.wait(accessed, s.n.tx);
            EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin())) << thread << ' ' << i;
        }
    }
}

class LinnetThreads : public ::testing::TestWithParam<bool> {};

TEST_P(LinnetThreads, ShareAnEndpointAndTakeEachOthersCompletions)
{
    const auto side = [](Friend& other, unsigned number) {
        Shared s{other, GetParam()};
        std::vector<std::thread> threads;
        for (unsigned i = 0; i < kThreads; ++i) {
            threads.emplace_back([&s, i, number] { run(s, i, number); });
        }
        for (std::thread& t : threads) {
            t.join();
        }
        other.meet();
    };
    two_processes([&](Friend& f) { side(f, 0); }, [&](Friend& f) { side(f, 1); });
}
INSTANTIATE_TEST_SUITE_P(PollingAndBlocking, LinnetThreads, ::testing::Bool());

}   // namespace
}   // namespace linnet::ofi_test
