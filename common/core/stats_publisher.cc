// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// StatsPublisher bodies.
#include "core/stats_publisher.h"

#include <array>
#include <new>

#include "core/context.h"
#include "sys/process.h"
#include "sys/system_clock.h"

namespace linnet::core {

void StatsPublisher::open(const Settings& settings, const Log& log) noexcept
{
    if (!settings.boolean(SettingId::kStatsPage)) {
        return;
    }
    const Log quiet{LogLevel::kNone, nullptr, nullptr};   // it is for people who look on: that there is none is no error
    Result<Fd> fd = create_memfd(kStatsPageName, kStatsPageBytes, quiet);
    if (!fd) {
        LINNET_LOG(log, kDebug, "no statistics page: %s", status_text(fd.status()));
        return;
    }
    memfd_ = std::move(*fd);
    Result<Mapping> mapping = Mapping::map(memfd_.get(), kStatsPageBytes, MapAccess::kReadWrite, quiet);
    if (!mapping) {
        LINNET_LOG(log, kDebug, "no statistics page: %s", status_text(mapping.status()));
        memfd_.reset();
        return;
    }
    mapping_ = std::move(*mapping);
    mapping_.exclude_from_fork();
    writer_.attach(mapping_.bytes(), {process_id(), settings.text(SettingId::kLabel), wall_clock_now()});
    due_ = clock_.now();
}

// The clock costs more than the rest of an empty pass, so it is read only now and then: a page that is some microseconds late hurts nobody.
unsigned StatsPublisher::poll(unsigned) noexcept
{
    if (!writer_.attached() || polls_-- != 0) {
        return 0;
    }
    polls_ = kPollsPerClock;
    const TimePoint now = clock_.now();
    if (now >= due_) {
        try {
            publish(now);
        } catch (const std::bad_alloc&) {
            due_ = now + kStatsPagePeriod;   // there may be memory for the names then
        }
    }
    return 0;
}

void StatsPublisher::publish(TimePoint now)
{
    due_ = now + kStatsPagePeriod;
    const session::SessionLayer& sessions = context_.sessions();
    std::array<PagePeerUpdate, std::tuple_size_v<decltype(StatsPage::peers)>> rows;
    std::array<std::string, std::tuple_size_v<decltype(StatsPage::peers)>> names;
    std::size_t n = 0;
    for (std::uint32_t i = 0; i < sessions.peers() && n < rows.size(); ++i) {
        auto* const s = static_cast<proto::Peer*>(sessions.find(PeerId{i}));
        const session::SessionView v = s->view();
        Heard& heard = heard_[n];
        if (heard.packets != s->heard() || heard.at == TimePoint{}) {
            heard = {s->heard(), now};
        }
        names[n] = v.name;
        rows[n].peer = s->id;
        rows[n].name = names[n];
        rows[n].state = v.state;
        rows[n].via = v.via;
        rows[n].tx_messages = s->sent.messages();
        rows[n].tx_bytes = s->sent.bytes.load(std::memory_order_relaxed);
        rows[n].rx_messages = s->rx_messages.load(std::memory_order_relaxed);
        rows[n].rx_bytes = s->rx_bytes.load(std::memory_order_relaxed);
        rows[n].silent = now - heard.at;
        ++n;
    }
    PageUpdate update;
    for (const CounterInfo& row : kCounterTable) {
        update.counters[row.id] = context_.counter(row.id);
    }
    update.event_thread_state = static_cast<std::uint32_t>(context_.engine().event_thread_state());
    update.peers_total = sessions.peers();
    update.peers = {rows.data(), n};
    update.wall_now = wall_clock_now();
    writer_.publish(update, now);
}

}   // namespace linnet::core
