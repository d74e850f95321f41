// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// linnet_attend(): the event thread hands out what is complete while the host stays away, and no longer than it is asked to.
#include <atomic>
#include <thread>

#include "capi/linnet_watch.h"
#include "integration/waist/waist.h"

namespace linnet::testing {
namespace {

constexpr std::size_t kBytes = 300'000;   // its sender waits for the receive

// Takes messages one after the other, each when the one before it is complete.
class Taker {
public:
    Taker(Endpoint& at, linnet_peer_t from) : at_{at}, from_{from} {}
    ~Taker() { at_.close(); }   // one receive is posted, into our buffer
    Taker(const Taker&) = delete;
    Taker& operator=(const Taker&) = delete;
    void post() noexcept
    {
        linnet_recv_t r{};
        r.peer = from_;
        r.space = 1;
        r.match_bits = 7;
        r.data = contiguous(in_.data(), in_.size());
        r.done = on_done;
        r.done_arg = this;
        EXPECT_EQ(linnet_tag_recv(at_.context(), &r, &request_), LINNET_IN_PROGRESS);
    }
    static void on_attend(void* arg) noexcept
    {
        auto& self = *static_cast<Taker*>(arg);
        self.calls.fetch_add(1);
        linnet_hand_out(self.at_.context());
    }
    std::atomic<unsigned> taken{0};
    std::atomic<unsigned> calls{0};

private:
    static void on_done(linnet_request_t* request, void* arg) noexcept
    {
        EXPECT_EQ(request->result.status, LINNET_OK);
        EXPECT_EQ(request->result.length, kBytes);
        auto& self = *static_cast<Taker*>(arg);
        self.post();
        self.taken.fetch_add(1);
    }
    Endpoint& at_;
    linnet_peer_t from_;
    linnet_request_t request_{};
    std::vector<char> in_ = std::vector<char>(kBytes);
};

bool sent(Endpoint& from, linnet_peer_t to, std::chrono::milliseconds limit)
{
    static const std::vector<char> out(kBytes);
    static Op op;
    op.done = 0;
    EXPECT_GE(from.send(op, to, 7, contiguous(out.data(), out.size())), 0);
    for (const auto end = std::chrono::steady_clock::now() + limit; !op.complete() && std::chrono::steady_clock::now() < end;) {
        from.progress();
        std::this_thread::sleep_for(100us);
    }
    return op.complete();
}

TEST(Attend, HandsOutWhatIsCompleteWhileTheHostIsAway)
{
    Endpoint sender;
    Endpoint receiver;
    Taker taker{receiver, receiver.add(sender)};
    const linnet_peer_t to = sender.add(receiver);
    EXPECT_EQ(linnet_attend(receiver.context(), Taker::on_attend, &taker), LINNET_OK);
    taker.post();
    for (unsigned i = 1; i <= 5; ++i) {
        ASSERT_TRUE(sent(sender, to, 10s)) << "message " << i << ", for which the receiver posts nothing by itself";
    }
    for (const auto end = std::chrono::steady_clock::now() + 10s; taker.taken.load() < 5 && std::chrono::steady_clock::now() < end;) {
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(taker.taken.load(), 5u);
    EXPECT_GE(taker.calls.load(), 1u);

    EXPECT_EQ(linnet_attend(receiver.context(), nullptr, nullptr), LINNET_OK);
    const unsigned calls = taker.calls.load();
    ASSERT_TRUE(sent(sender, to, 10s)) << "for which there is a receive still";
    EXPECT_FALSE(sent(sender, to, 300ms));
    EXPECT_EQ(taker.taken.load(), 5u);
    EXPECT_EQ(taker.calls.load(), calls);
    for (const auto end = std::chrono::steady_clock::now() + 10s; taker.taken.load() < 7 && std::chrono::steady_clock::now() < end;) {
        receiver.progress();
        sender.progress();
    }
    EXPECT_EQ(taker.taken.load(), 7u);
}

TEST(Attend, NeedsAContext)
{
    EXPECT_EQ(linnet_attend(nullptr, Taker::on_attend, nullptr), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_hand_out(nullptr), 0u);
}

}   // namespace
}   // namespace linnet::testing
