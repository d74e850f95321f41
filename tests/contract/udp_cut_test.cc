// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// UDP where the kernel stops to cut runs of datagrams apart (UDP_SEGMENT) in the midst of a job: one line says so, they go one by one, nothing is lost.
//
// The program is linked with --wrap for udp_send() (files.mk), so that its callers come by here: a run that is to be cut fails where a case wants it, as
// it does in the kernel: runs before it have been sent, it and those behind it have not.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "contract/endpoint.h"
#include "support/test_log.h"
#include "sys/udp_socket.h"

namespace linnet {
UdpSent real_udp_send(int fd, std::span<const UdpRunOut> runs) noexcept asm("__real__ZN6linnet8udp_sendEiSt4spanIKNS_9UdpRunOutELm18446744073709551615EE");
UdpSent wrapped_udp_send(int fd, std::span<const UdpRunOut> runs) noexcept asm("__wrap__ZN6linnet8udp_sendEiSt4spanIKNS_9UdpRunOutELm18446744073709551615EE");

namespace {
// Senders of other cases come by here from several threads.
struct Kernel {
    std::atomic<unsigned> cut{0};           // runs that were
    std::atomic<unsigned> refused{0};       // that were not
    std::atomic<int> error{0};              // why; 0: they are
    std::atomic<unsigned> refusals{~0u};    // so often

    void reset()
    {
        cut = refused = 0;
        error = 0;
        refusals = ~0u;
    }
};
Kernel kernel;
}   // namespace

UdpSent wrapped_udp_send(int fd, std::span<const UdpRunOut> runs) noexcept
{
    const auto to_cut = [](const UdpRunOut& run) { return run.segment != 0; };
    const auto first = std::find_if(runs.begin(), runs.end(), to_cut);
    if (first == runs.end() || kernel.error == 0 || kernel.refusals == 0) {
        const UdpSent sent = real_udp_send(fd, runs);
        kernel.cut += static_cast<unsigned>(std::count_if(runs.begin(), runs.begin() + sent.runs, to_cut));
        return sent;
    }
    const auto before = static_cast<std::size_t>(first - runs.begin());
    const UdpSent sent = before == 0 ? UdpSent{} : real_udp_send(fd, runs.first(before));
    if (sent.runs < before) {
        return sent;
    }
    ++kernel.refused;
    --kernel.refusals;
    return {sent.runs, kernel.error};
}

namespace contract {
namespace {

struct Trouble {
    const char* name;
    const char* kind;
    int error;
    unsigned times;
};
void PrintTo(const Trouble& t, std::ostream* out) { *out << t.name; }   // NOLINT: GoogleTest's name

class UdpCut : public ::testing::TestWithParam<Trouble> {
protected:
    void SetUp() override
    {
        kernel.reset();
        const auto kind = std::find_if(plain_kinds().begin(), plain_kinds().end(), [](const Kind& k) { return std::string{k.name} == GetParam().kind; });
        ASSERT_NE(kind, plain_kinds().end());
        pair_ = std::make_unique<Pair>(*kind);
        if (!pair_->ready()) {
            GTEST_SKIP() << pair_->why_not();
        }
        lane_ = pair_->open(LinkRole::kLane);
        bulk_ = pair_->open(LinkRole::kBulk);
    }
    void TearDown() override { kernel.reset(); }

    // Long lane packets, rows of short ones, and bulk packets, both ways. All of it arrives as it was.
    void exchange()
    {
        constexpr unsigned kRows = 6;
        const std::array<Endpoint*, 2> ends{&pair_->a(), &pair_->b()};
        const std::array<LinkId, 2> lanes{lane_.at_a, lane_.at_b};
        const std::array<LinkId, 2> bulks{bulk_.at_a, bulk_.at_b};
        const std::uint32_t from = next_;
        std::vector<Packet> packets;
        std::vector<Bytes> payloads;
        for (unsigned row = 0; row < kRows; ++row) {
            for (const std::size_t bytes : {std::size_t{20'000}, std::size_t{900}, std::size_t{100}, std::size_t{1400}}) {
                packets.push_back(eager(next_++, bytes));
            }
            payloads.push_back(pattern(from + row, 1'000'000 + row));
        }
        std::array<std::size_t, 2> given{};
        std::array<std::size_t, 2> arrived{};
        std::array<std::size_t, 2> landed{};
        for (unsigned e = 0; e < 2; ++e) {
            arrived[e] = ends[e]->sink.packets.size() + packets.size();
            landed[e] = ends[e]->sink.bulk.size() + payloads.size();
            for (unsigned row = 0; row < kRows; ++row) {
                const Status status = ends[e]->transport->send_bulk(bulks[e], bulk_head(from + row, payloads[row].size()), payloads[row], &payloads[row]);
                ASSERT_EQ(status, Status::kInProgress);
            }
        }
        ASSERT_TRUE(pair_->run_until([&] {
            for (unsigned e = 0; e < 2; ++e) {
                if (given[e] < packets.size()) {
                    const LanePacket one = packets[given[e]].lane();
                    given[e] += ends[e]->transport->send_lane(lanes[e], {&one, 1}).taken;
                }
            }
            return std::equal(arrived.begin(), arrived.end(), ends.begin(), [](std::size_t n, const Endpoint* e) { return e->sink.packets.size() == n; }) &&
                   std::equal(landed.begin(), landed.end(), ends.begin(), [](std::size_t n, const Endpoint* e) { return e->sink.bulk.size() == n; });
        }));
        for (const Endpoint* e : ends) {
            for (std::size_t i = 0; i < packets.size(); ++i) {
                ASSERT_EQ(e->sink.packets[e->sink.packets.size() - packets.size() + i].bytes, packets[i].bytes);
            }
            std::vector<bool> seen(kRows);
            for (std::size_t i = e->sink.bulk.size() - kRows; i < e->sink.bulk.size(); ++i) {   // in any order
                wire::BulkHead head;
                std::memcpy(&head, e->sink.bulk[i].bytes.data(), sizeof head);
                const std::uint32_t row = head.recv_slot.get() - from;
                ASSERT_LT(row, kRows);
                ASSERT_TRUE(std::equal(payloads[row].begin(), payloads[row].end(), e->sink.bulk[i].bytes.begin() + sizeof head, e->sink.bulk[i].bytes.end()));
                seen[row] = true;
            }
            ASSERT_EQ(std::count(seen.begin(), seen.end(), true), kRows);
            ASSERT_TRUE(e->sink.downs.empty());
        }
        ASSERT_TRUE(pair_->run_until([&] { return ends[0]->sink.sent.size() == ends[1]->sink.sent.size() && ends[0]->sink.sent.size() % kRows == 0; }));
    }

    std::unique_ptr<Pair> pair_;
    Pair::Ends lane_{};
    Pair::Ends bulk_{};
    std::uint32_t next_{1};
};

TEST_P(UdpCut, RefusedInMidRunIsSaidOnceAndDatagramsGoOneByOne)
{
    exchange();
    ASSERT_FALSE(HasFatalFailure());
    ASSERT_GT(kernel.cut, 10u) << "this kernel cuts: there is something to refuse";
    kernel.error = GetParam().error;
    kernel.refusals = GetParam().times;
    const unsigned before = kernel.cut;
    exchange();
    ASSERT_FALSE(HasFatalFailure());
    const unsigned sockets = 2 * 2;   // lane and bulk of either end
    EXPECT_GT(kernel.refused, 0u);
    EXPECT_LE(kernel.refused, 2 * sockets) << "a lane has two";
    if (GetParam().times != 1) {
        EXPECT_EQ(kernel.cut, before);
    }
    const auto lines = testing::logged_lines();
    const auto said = [](const std::string& line) { return line.find("refused to cut datagrams apart") != std::string::npos; };
    EXPECT_EQ(std::count_if(lines.begin(), lines.end(), said), GetParam().times == 1 ? 1 : 2) << "one of either end";
    const auto line = std::find_if(lines.begin(), lines.end(), said);
    ASSERT_NE(line, lines.end());
    EXPECT_NE(line->find("errno " + std::to_string(GetParam().error)), std::string::npos) << *line;
    kernel.error = 0;
    exchange();   // and so it stays
}
INSTANTIATE_TEST_SUITE_P(Errors, UdpCut,
                         ::testing::Values(Trouble{"Eio", "UdpV4", EIO, ~0u}, Trouble{"Einval", "UdpV4", EINVAL, ~0u},
                                           Trouble{"Emsgsize", "UdpV4", EMSGSIZE, ~0u}, Trouble{"OnceEio", "UdpV4", EIO, 1},
                                           Trouble{"EioV6", "UdpV6", EIO, ~0u}),
                         [](const auto& trouble) { return std::string{trouble.param.name}; });

}   // namespace
}   // namespace contract
}   // namespace linnet
