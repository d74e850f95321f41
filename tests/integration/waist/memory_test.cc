// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Memory that is not there: whichever allocation of an exchange fails, its operations end, and what is told to have arrived has.
#include <algorithm>
#include <array>
#include <ostream>
#include <string>
#include <vector>

#include "integration/waist/waist.h"
#include "support/heap.h"

namespace linnet::testing {
namespace {

struct Exchange {
    const char* transports;
    std::size_t bytes;
    bool posted_first;
    std::uint32_t flags;
    bool strided{false};   // where it is sent from
};

void PrintTo(const Exchange& e, std::ostream* to) { *to << e.transports << ' ' << e.bytes; }

std::string name_of(const ::testing::TestParamInfo<Exchange>& p)
{
    return std::string{p.param.transports} + '_' + std::to_string(p.param.bytes) + (p.param.posted_first ? "_expected" : "_unexpected") +
           ((p.param.flags & LINNET_SEND_SYNC) != 0 ? "_synchronous" : "") + (p.param.strided ? "_strided" : "");
}

// Without an event thread: what fails, fails in the thread of the test.
class OneSide {
public:
    OneSide()
    {
        const std::vector<linnet_setting_t> settings{{"transports", transports}, {"net_include", "lo"}, {"event_thread", "off"},
                                                    {"log_level", "info"}, {"finalize_timeout", "1ms"}};   // the other side is not polled meanwhile
        linnet_open_options_t o{};
        o.size = sizeof o;
        o.settings = settings.data();
        o.setting_count = settings.size();
        o.wild_mask = 0x7fffffff;
        o.log = [](void*, linnet_log_level_t, const char*) noexcept {};
        EXPECT_EQ(linnet_context_open(&o, &context), LINNET_OK);
    }
    ~OneSide() { linnet_context_close(context); }
    OneSide(const OneSide&) = delete;
    OneSide& operator=(const OneSide&) = delete;

    void knows(const OneSide& other)
    {
        linnet_name_t name{};
        EXPECT_EQ(linnet_context_name(other.context, &name), LINNET_OK);
        EXPECT_EQ(linnet_peer_add(context, &name, &peer), LINNET_OK);
    }
    linnet_status_t send(Op& op, const linnet_data_t& data, std::uint32_t flags)
    {
        linnet_send_t s{};
        s.peer = peer;
        s.space = 1;
        s.match_bits = 7;
        s.flags = flags;
        s.data = data;
        s.done = Op::on_done;
        s.done_arg = &op;
        return op.started = linnet_tag_send(context, &s, &op.request);
    }
    linnet_status_t recv(Op& op, const linnet_data_t& data)
    {
        linnet_recv_t r{};
        r.peer = peer;
        r.space = 1;
        r.match_bits = 7;
        r.data = data;
        r.done = Op::on_done;
        r.done_arg = &op;
        return op.started = linnet_tag_recv(context, &r, &op.request);
    }

    static inline const char* transports = nullptr;
    linnet_context_t* context{nullptr};
    linnet_peer_t peer{LINNET_PEER_UNKNOWN};
};

class Memory : public ::testing::TestWithParam<Exchange> {
protected:
    // One exchange, the first of two processes or the second, in which the allocation with this number fails. False: it has fewer.
    bool without(std::size_t number, bool connected)
    {
        OneSide a;
        OneSide b;
        a.knows(b);
        b.knows(a);
        if (connected) {
            EXPECT_EQ(exchange(a, b, kNever), LINNET_OK);
        }
        left_ = number;
        const linnet_status_t s = exchange(a, b, number);
        constexpr std::array kEnds{LINNET_OK, LINNET_ERR_NO_MEMORY, LINNET_ERR_PEER_DOWN, LINNET_ERR_UNREACHABLE, LINNET_ERR_REFUSED};
        EXPECT_NE(std::find(kEnds.begin(), kEnds.end(), s), kEnds.end()) << linnet_status_text(s);
        return left_ == kNever;
    }

private:
    // A call of ours with what memory there is.
    template <class Call>
    auto starved(const Call& call)
    {
        t_allocations_left = left_;
        const auto result = call();
        left_ = t_allocations_left;
        t_allocations_left = kNever;
        return result;
    }
    linnet_status_t exchange(OneSide& from, OneSide& at, std::size_t number);

    std::size_t left_{kNever};
};

linnet_status_t Memory::exchange(OneSide& from, OneSide& at, std::size_t number)
{
    const Exchange& e = GetParam();
    const std::vector<unsigned char> out = pattern(e.bytes, 3);
    std::vector<unsigned char> in(e.bytes);
    const std::array<iovec, 2> halves{{{const_cast<unsigned char*>(out.data()), e.bytes / 2},
                                       {const_cast<unsigned char*>(out.data()) + e.bytes / 2, e.bytes - e.bytes / 2}}};
    linnet_data_t data = contiguous(out.data(), out.size());
    if (e.strided) {
        data.base = nullptr;
        data.iov = halves.data();
        data.iov_count = halves.size();
    }
    Op send;
    Op recv;
    const auto posts = [&] { return starved([&] { return at.recv(recv, contiguous(in.data(), in.size())); }); };
    const auto polls = [&] {
        for (OneSide* side : {&from, &at}) {
            starved([side] { return linnet_progress(side->context, 0, 0); });
        }
    };
    if (e.posted_first && posts() == LINNET_ERR_NO_MEMORY) {   // nothing was posted
        posts();
    }
    if (starved([&] { return from.send(send, data, e.flags); }) < 0) {
        return e.posted_first ? linnet_cancel(at.context, &recv.request) : LINNET_OK;
    }
    if (!e.posted_first) {
        for (unsigned i = 0; i < 1000; ++i) {
            polls();
        }
        posts();   // without memory the message is gone, and its sender learns that it was received
    }
    const auto end = std::chrono::steady_clock::now() + 5s;
    while (!(send.complete() && recv.complete()) && std::chrono::steady_clock::now() < end) {
        polls();
    }
    EXPECT_TRUE(send.complete()) << number;
    EXPECT_TRUE(recv.complete()) << number;
    const linnet_status_t s = recv.started == LINNET_IN_PROGRESS ? recv.status() : recv.started;
    if (s == LINNET_OK && recv.started >= 0) {
        EXPECT_EQ(in, out);
    }
    return s;
}

TEST_P(Memory, AnyAllocationOfAnExchangeMayFail)
{
    OneSide::transports = GetParam().transports;
    constexpr std::size_t kMany = 300;
    std::size_t failed = 0;
    for (const bool connected : {false, true}) {
        std::size_t number = 0;
        while (number < kMany && without(number, connected) && !HasFailure()) {
            ++number;
        }
        EXPECT_LT(number, kMany) << "more could fail";
        failed += number;
    }
    EXPECT_GT(failed, 0u) << "none failed";
}

INSTANTIATE_TEST_SUITE_P(Waist, Memory,
                         ::testing::Values(Exchange{"tcp", 100 << 10, true, 0}, Exchange{"tcp", 1 << 20, true, 0},
                                           Exchange{"tcp", 1 << 20, false, 0}, Exchange{"tcp", 8, false, LINNET_SEND_SYNC},
                                           Exchange{"tcp", 8, true, LINNET_SEND_SYNC}, Exchange{"udp", 128 << 10, true, 0},
                                           Exchange{"shm", 1 << 20, true, 0}, Exchange{"shm", 1 << 20, false, 0},
                                           Exchange{"tcp", 1 << 20, true, 0, true}, Exchange{"shm", 1 << 20, true, 0, true}),
                         name_of);

}   // namespace
}   // namespace linnet::testing
