// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// OwnPeer: a Proto whose one peer is its own endpoint, since a session needs a transport, and to which a test hands any packet as a session does.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

#include "progress/progress_engine.h"
#include "proto/proto.h"
#include "sys/system_clock.h"
#include "transport/loopback/loopback_transport.h"

namespace linnet::proto {

// One thread. What the peer is sent goes nowhere until the test polls.
class OwnPeer : public ::testing::Test {
protected:
    explicit OwnPeer(const Proto::Config& config, const ProgressEngine::Config& engine = engine_config())
        : engine_{engine, clock_, stats_, log_}, proto_{config, engine_, log_, stats_.block(StatsRole::kPoller), stats_.block(StatsRole::kAnyThread)} {}
    void TearDown() override   // while the test's own transport and requests are there
    {
        {
            TokenGuard token{engine_};
            layer_.shutdown();
        }
        while (Completion* const c = proto_.next_completion()) {
            if (c->completion_kind == Completion::Kind::kActive) {
                proto_.release_active(static_cast<ActiveEvent&>(*c));
            }
        }
        proto_.clear();
    }
    // Once, in the test's constructor.
    void meet(Transport& transport)
    {
        proto_.attach(layer_);
        wire::EndpointName name;
        name.endpoint_id.set(1);
        session::Port& port = layer_.add_port(transport);
        EXPECT_EQ(transport.open(port, name), Status::kOk);
        layer_.set_self(name);
        peer_ = static_cast<Peer*>(layer_.add(name).value());
    }

    template <class Header>
    void arrives(wire::PacketKind kind, const Header& header, std::size_t payload, std::uint16_t flags = 0)
    {
        wire::PacketHead head;
        head.kind = kind;
        head.flags.set(flags);
        head.body_bytes.set(static_cast<std::uint32_t>(sizeof header + payload));
        std::vector<std::byte> packet(sizeof head + sizeof header + payload);
        std::memcpy(packet.data(), &head, sizeof head);
        std::memcpy(packet.data() + sizeof head, &header, sizeof header);
        TokenGuard token{engine_};
        proto_.on_message(*peer_, packet);
    }

    SystemClock clock_;
    Log log_{LogLevel::kError, [](void*, LogLevel, const char*) noexcept {}, nullptr};
    Stats stats_;
    ProgressEngine engine_;
    LoopbackTransport loopback_{log_, stats_};
    Proto proto_;
    session::SessionLayer layer_{{}, proto_, clock_, log_, stats_.block(StatsRole::kPoller), stats_.block(StatsRole::kAnyThread)};
    Peer* peer_{nullptr};

private:
    static ProgressEngine::Config engine_config()
    {
        ProgressEngine::Config c;
        c.event_thread = false;
        return c;
    }
};

}   // namespace linnet::proto
