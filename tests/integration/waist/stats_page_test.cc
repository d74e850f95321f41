// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The statistics page of a process that computes: who looks on sees that it lives.
#include "support/stats_page_of.h"

#include <array>
#include <memory>
#include <thread>

#include "integration/waist/waist.h"

namespace linnet::testing {
namespace {

struct Page {
    const StatsPages& all;
    std::size_t at{0};
    Page(const StatsPages& pages, const std::string& label) : all{pages}
    {
        while (at + 1 < all.size() && all.read(at).label != label) {
            ++at;
        }
        EXPECT_EQ(all.read(at).label, label);
    }
    [[nodiscard]] StatsPageView read() const { return all.read(at); }
    [[nodiscard]] std::uint64_t turn() const { return all.turn(at); }
};

// For a second it makes no call at all. Without an event thread nobody else writes the page: the test can fail.
TEST(ComputingProcess, ItsPageGoesOnIfThereIsAnEventThread)
{
    Endpoint peer{{{"stats_page", "off"}}};   // goes last: its event thread answers those that have none
    struct Process {
        bool event_thread;
        bool connected;
        const char* label;
        std::unique_ptr<Endpoint> endpoint{};
        std::uint64_t turn{0};
        Nanos written{};
    };
    std::array<Process, 4> processes{
        {{true, true, "on, connected"}, {true, false, "on, alone"}, {false, true, "off, connected"}, {false, false, "off, alone"}}};
    for (Process& p : processes) {
        p.endpoint = std::make_unique<Endpoint>(std::vector<linnet_setting_t>{{"event_thread", p.event_thread ? "on" : "off"}, {"label", p.label}});
        if (p.connected) {
            const auto out = pattern(100);
            std::array<unsigned char, 100> in{};
            Op send;
            Op recv;
            ASSERT_GE(peer.recv(recv, LINNET_PEER_ANY, 1, contiguous(in.data(), in.size())), 0);
            ASSERT_GE(p.endpoint->send(send, p.endpoint->add(peer), 1, contiguous(out.data(), out.size()), LINNET_SEND_SYNC), 0);
            ASSERT_TRUE(drive({p.endpoint.get(), &peer}, [&] { return send.complete() && recv.complete(); }));
        }
    }
    const StatsPages pages;
    ASSERT_EQ(pages.size(), processes.size());
    for (Process& p : processes) {
        const Page page{pages, p.label};
        p.turn = page.turn();
        p.written = page.read().updated;
    }
    std::this_thread::sleep_for(1s);
    for (const Process& p : processes) {
        const Page page{pages, p.label};
        if (p.event_thread) {
            EXPECT_GE(page.turn(), p.turn + 4) << p.label << ": two updates, of ten that are due";
            EXPECT_GE(page.read().updated - p.written, 500ms) << p.label;
            EXPECT_STRNE(event_thread_state_text(page.read().event_thread_state), "none") << p.label;
        } else {
            EXPECT_EQ(page.turn(), p.turn) << p.label;
            EXPECT_EQ(page.read().updated, p.written) << p.label;
            EXPECT_STREQ(event_thread_state_text(page.read().event_thread_state), "none") << p.label;
        }
    }
}

}   // namespace
}   // namespace linnet::testing
