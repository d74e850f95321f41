// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Wrong arguments of the C interface: an error that says so, and nothing written.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>
#include <memory>
#include <string>
#include <thread>

#include "capi/linnet_rma.h"
#include "capi/linnet_watch.h"
#include "unit/capi/quiet_context.h"

namespace linnet::capi {
namespace {

class Arguments : public ::testing::Test {
protected:
    QuietContext context_;
    linnet_context_t* const c_{context_.get()};
    const linnet_peer_t self_{context_.add_self()};
    linnet_request_t request_{};
    linnet_peer_t peer_{77};
    linnet_result_t result_{};
};

// ---- no context ----

TEST(NoContext, IsAnErrorOfEveryCall)
{
    linnet_request_t r{};
    linnet_name_t name{};
    linnet_peer_t peer = 0;
    linnet_caps_t caps{};
    caps.size = sizeof caps;
    linnet_match_t match{};
    linnet_result_t result{};
    linnet_message_t* message = nullptr;
    const linnet_send_t send{};
    const linnet_recv_t recv{};
    const linnet_am_t am{};
    const linnet_rma_t rma{};
    const linnet_atomic_t atomic{};
    linnet_region_options_t region{};
    region.size = sizeof region;
    linnet_region_t* opened = nullptr;
    int fd = 0;
    std::uint64_t value = 0;
    const std::array answers{
        linnet_context_flush(nullptr, 0), linnet_context_caps(nullptr, &caps), linnet_context_name(nullptr, &name), linnet_peer_add(nullptr, &name, &peer),
        linnet_peer_add_address(nullptr, "127.0.0.1", "1", &peer), linnet_peer_label(nullptr, 0, "x"), linnet_peer_remove(nullptr, 0),
        linnet_peer_status(nullptr, 0), linnet_peer_declare_dead(nullptr, 0), linnet_tag_send(nullptr, &send, &r), linnet_tag_recv(nullptr, &recv, &r),
        linnet_tag_send(nullptr, &send, nullptr),
        linnet_cancel(nullptr, &r), linnet_probe(nullptr, &match, &result), linnet_probe_claim(nullptr, &match, &message, &result),
        linnet_message_recv(nullptr, nullptr, &recv, &r), linnet_space_close(nullptr, 0), linnet_message_peer(nullptr, message, &peer),
        linnet_space_watch(nullptr, 0, nullptr, nullptr), linnet_am_register(nullptr, 0, nullptr, nullptr),
        linnet_am_send(nullptr, &am, &r), linnet_wait(nullptr, 0), linnet_wait_fd(nullptr, &fd), linnet_wait_fd_arm(nullptr),
        linnet_counter_read(nullptr, 0, &value), linnet_region_open(nullptr, &region, &opened), linnet_region_close(nullptr, opened),
        linnet_remote_register(nullptr, nullptr, nullptr), linnet_rma_write(nullptr, &rma, &r), linnet_rma_read(nullptr, &rma, &r),
        linnet_rma_atomic(nullptr, &atomic, &r)};
    for (std::size_t i = 0; i < answers.size(); ++i) {
        EXPECT_EQ(answers[i], LINNET_ERR_INVALID) << "call " << i;
    }
    EXPECT_EQ(linnet_progress(nullptr, 0, 0), 0u);
    linnet_context_close(nullptr);   // as free() does
}

// ---- opening ----

TEST(Open, NeedsOptionsOfThisSizeAndAPlaceForTheContext)
{
    linnet_open_options_t o = quiet_options();
    linnet_context_t* c = nullptr;
    EXPECT_EQ(linnet_context_open(nullptr, &c), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_context_open(&o, nullptr), LINNET_ERR_INVALID);
    o.size = sizeof o - 1;
    EXPECT_EQ(linnet_context_open(&o, &c), LINNET_ERR_INVALID);
    EXPECT_EQ(c, nullptr);
}

TEST(Open, SettingsMustBeThereByNameAndValue)
{
    linnet_open_options_t o = quiet_options();
    linnet_context_t* c = nullptr;
    std::array<linnet_setting_t, 2> settings{{{"net_include", "127.0.0.1"}, {nullptr, "1"}}};
    o.settings = settings.data();
    o.setting_count = 2;
    EXPECT_EQ(linnet_context_open(&o, &c), LINNET_ERR_INVALID);
    settings[1] = {"eager_limit", nullptr};
    EXPECT_EQ(linnet_context_open(&o, &c), LINNET_ERR_INVALID);
    o.settings = nullptr;
    EXPECT_EQ(linnet_context_open(&o, &c), LINNET_ERR_INVALID);
    EXPECT_EQ(c, nullptr);
}

TEST(Open, UnknownSettingIsNamedWithItsNeighbour)
{
    testing::expect_complaint("event_thraed");
    linnet_open_options_t o = quiet_options();
    const linnet_setting_t wrong{"event_thraed", "on"};
    o.settings = &wrong;
    o.setting_count = 1;
    linnet_context_t* c = nullptr;
    EXPECT_LT(linnet_context_open(&o, &c), 0);
    EXPECT_EQ(c, nullptr);
    const auto lines = testing::logged_lines();
    EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& l) { return l.find("event_thread") != std::string::npos; }));
}

TEST(Open, MisspeltTransportIsNamedThoughTheOthersWouldDo)
{
    testing::expect_complaint("shn");
    linnet_open_options_t o = quiet_options();
    const linnet_setting_t wrong{"transports", "tcp,shn"};
    o.settings = &wrong;
    o.setting_count = 1;
    linnet_context_t* c = nullptr;
    EXPECT_EQ(linnet_context_open(&o, &c), LINNET_ERR_INVALID);
    EXPECT_EQ(c, nullptr);
}

// ---- tables ----

TEST(Tables, EndWhereTheySayAndNeedAPlace)
{
    linnet_setting_info_t setting{};
    std::size_t settings = 0;
    while (linnet_setting_describe(settings, &setting) == LINNET_OK) {
        EXPECT_NE(setting.name, nullptr);
        EXPECT_EQ(setting.choices != nullptr, setting.kind == LINNET_SETTING_CHOICE) << setting.name;
        ++settings;
    }
    EXPECT_GT(settings, 10u);
    EXPECT_EQ(linnet_setting_describe(SIZE_MAX, &setting), LINNET_ERR_NOT_FOUND);
    EXPECT_EQ(linnet_setting_describe(0, nullptr), LINNET_ERR_INVALID);
    linnet_counter_info_t counter{};
    std::size_t counters = 0;
    while (linnet_counter_describe(counters, &counter) == LINNET_OK) {
        ++counters;
    }
    EXPECT_GT(counters, 10u);
    EXPECT_EQ(linnet_counter_describe(0, nullptr), LINNET_ERR_INVALID);
}

TEST_F(Arguments, CounterMustExistAndHaveAPlace)
{
    std::uint64_t value = 5;
    EXPECT_EQ(linnet_counter_read(c_, SIZE_MAX, &value), LINNET_ERR_NOT_FOUND);
    EXPECT_EQ(value, 5u);
    EXPECT_EQ(linnet_counter_read(c_, 0, nullptr), LINNET_ERR_INVALID);
}

TEST_F(Arguments, CapsNeedTheirSize)
{
    linnet_caps_t caps{};
    EXPECT_EQ(linnet_context_caps(c_, &caps), LINNET_ERR_INVALID);
    EXPECT_EQ(caps.eager_max, 0u);
    EXPECT_EQ(linnet_context_caps(c_, nullptr), LINNET_ERR_INVALID);
    caps.size = sizeof caps;
    EXPECT_EQ(linnet_context_caps(c_, &caps), LINNET_OK);
    EXPECT_GT(caps.eager_max, 0u);
}

TEST(StatusText, IsThereForAnyNumber)
{
    EXPECT_STREQ(linnet_status_text(LINNET_ERR_CLOSED), "closed");
    EXPECT_STREQ(linnet_status_text(static_cast<linnet_status_t>(-30)), "input/output error");
    EXPECT_NE(linnet_status_text(static_cast<linnet_status_t>(-29)), nullptr);
}

// ---- names and peers ----

TEST_F(Arguments, NameNeedsAPlaceAndAText)
{
    EXPECT_EQ(linnet_context_name(c_, nullptr), LINNET_ERR_INVALID);
    linnet_name_t name{};
    std::array<char, 8> text;
    text.fill('x');
    EXPECT_EQ(linnet_name_text(&name, text.data(), text.size()), LINNET_ERR_INVALID) << "zeros are no name";
    EXPECT_EQ(text[0], 'x');
    ASSERT_EQ(linnet_context_name(c_, &name), LINNET_OK);
    EXPECT_EQ(linnet_name_text(nullptr, text.data(), text.size()), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_name_text(&name, nullptr, 8), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_name_text(&name, text.data(), 0), LINNET_ERR_INVALID);
    EXPECT_EQ(text[0], 'x');
    EXPECT_EQ(linnet_name_text(&name, text.data(), text.size()), LINNET_OK);
    EXPECT_STREQ(text.data(), "127.0.0") << "cut, and ended";
}

TEST_F(Arguments, PeerNeedsANameOfThisVersion)
{
    linnet_name_t name{};
    EXPECT_EQ(linnet_peer_add(c_, nullptr, &peer_), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_peer_add(c_, &name, &peer_), LINNET_ERR_INVALID);
    ASSERT_EQ(linnet_context_name(c_, &name), LINNET_OK);
    EXPECT_EQ(linnet_peer_add(c_, &name, nullptr), LINNET_ERR_INVALID);
    name.bytes[0] = 2;   // the version
    EXPECT_EQ(linnet_peer_add(c_, &name, &peer_), LINNET_ERR_INVALID);
    EXPECT_EQ(peer_, 77u);
}

TEST_F(Arguments, AddressMustBeNumericAndIsNamedInTheLog)
{
    struct Wrong {
        const char* node;
        const char* service;
        const char* said;
    };
    constexpr std::array<Wrong, 13> kWrong{{{"10.1.0.300", "4000", "\"10.1.0.300\" is not an IPv4 or IPv6 address"},
                                           {"localhost", "4001", "\"localhost\" is not"},
                                           {"", "4002", "\"\" is not an IPv4"},
                                           {"0.0.0.0", "4003", "\"0.0.0.0\" is not"},
                                           {"fe80::1%4000000000", "4004", "\"fe80::1%4000000000\" is not a link-local IPv6 address and an interface of"},
                                           {"fe80::1%2147483647", "4005", "\"fe80::1%2147483647\" is not a link-local IPv6 address and"},
                                           {"fe80::1%18446744073709551617", "4006", "is not a link-local IPv6 address and an interface"},
                                           {"fe80::1%nosuch", "4007", "\"fe80::1%nosuch\" is not a link-local IPv6 address and an interface"},
                                           {"fd00::1%1", "4008", "\"fd00::1%1\" is not a link-local IPv6 address and an interface"},
                                           {"127.0.0.1", "0", "\"0\" is not a port number"},
                                           {"127.0.0.1", "65536", "\"65536\" is not a port number"},
                                           {"127.0.0.1", "80x", "\"80x\" is not a port number"},
                                           {"127.0.0.1", "", "\"\" is not a port number"}}};
    for (const Wrong& w : kWrong) {
        testing::expect_complaint(w.said);
        EXPECT_EQ(linnet_peer_add_address(c_, w.node, w.service, &peer_), LINNET_ERR_INVALID) << w.said;
    }
    EXPECT_EQ(linnet_peer_add_address(c_, nullptr, "1", &peer_), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_peer_add_address(c_, "127.0.0.1", nullptr, &peer_), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_peer_add_address(c_, "127.0.0.1", "1", nullptr), LINNET_ERR_INVALID);
    EXPECT_EQ(peer_, 77u);
}

TEST_F(Arguments, PeerMustExist)
{
    for (const linnet_peer_t nobody : {self_ + 1, LINNET_PEER_ANY, LINNET_PEER_UNKNOWN}) {
        EXPECT_EQ(linnet_peer_label(c_, nobody, "x"), LINNET_ERR_INVALID);
        EXPECT_EQ(linnet_peer_remove(c_, nobody), LINNET_ERR_INVALID);
        EXPECT_EQ(linnet_peer_status(c_, nobody), LINNET_ERR_INVALID);
        EXPECT_EQ(linnet_peer_declare_dead(c_, nobody), LINNET_ERR_INVALID);
        linnet_send_t send{};
        send.peer = nobody;
        EXPECT_EQ(linnet_tag_send(c_, &send, &request_), LINNET_ERR_INVALID);
        linnet_am_t am{};
        am.peer = nobody;
        EXPECT_EQ(linnet_am_send(c_, &am, &request_), LINNET_ERR_INVALID);
        linnet_rma_t rma{};
        rma.peer = nobody;
        EXPECT_EQ(linnet_rma_write(c_, &rma, &request_), LINNET_ERR_INVALID);
        EXPECT_EQ(linnet_rma_read(c_, &rma, &request_), LINNET_ERR_INVALID);
        linnet_atomic_t atomic{};
        atomic.peer = nobody;
        EXPECT_EQ(linnet_rma_atomic(c_, &atomic, &request_), LINNET_ERR_INVALID);
    }
    EXPECT_EQ(linnet_peer_label(c_, self_, nullptr), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_peer_status(c_, self_), LINNET_OK);
}

// ---- operations ----

TEST_F(Arguments, RequestMustBeThereAndAligned)
{
    linnet_send_t send{};
    send.peer = self_;
    linnet_recv_t recv{};
    recv.peer = LINNET_PEER_ANY;
    linnet_am_t am{};
    am.peer = self_;
    linnet_rma_t rma{};
    rma.peer = self_;
    linnet_atomic_t atomic{};
    atomic.peer = self_;
    alignas(LINNET_REQUEST_ALIGN) unsigned char room[2 * sizeof(linnet_request_t)];
    std::memset(room, 0xee, sizeof room);
    for (linnet_request_t* const bad : {static_cast<linnet_request_t*>(nullptr), reinterpret_cast<linnet_request_t*>(room + LINNET_REQUEST_ALIGN / 2)}) {
        EXPECT_EQ(linnet_tag_send(c_, &send, bad), bad == nullptr ? LINNET_ERR_AGAIN : LINNET_ERR_INVALID) << "without one it is complete, or nothing happened";
        EXPECT_EQ(linnet_tag_recv(c_, &recv, bad), LINNET_ERR_INVALID);
        EXPECT_EQ(linnet_message_recv(c_, nullptr, &recv, bad), LINNET_ERR_INVALID);
        EXPECT_EQ(linnet_am_send(c_, &am, bad), LINNET_ERR_INVALID);
        EXPECT_EQ(linnet_rma_write(c_, &rma, bad), LINNET_ERR_INVALID);
        EXPECT_EQ(linnet_rma_read(c_, &rma, bad), LINNET_ERR_INVALID);
        EXPECT_EQ(linnet_rma_atomic(c_, &atomic, bad), LINNET_ERR_INVALID);
        EXPECT_EQ(linnet_cancel(c_, bad), LINNET_ERR_INVALID);
    }
    for (const unsigned char b : room) {
        ASSERT_EQ(b, 0xee);
    }
    EXPECT_EQ(linnet_message_recv(c_, nullptr, &recv, &request_), LINNET_ERR_INVALID) << "no message";
}

TEST_F(Arguments, ReceiveAndProbeNeedASourceThatExists)
{
    linnet_recv_t recv{};
    recv.peer = self_ + 1;
    EXPECT_EQ(linnet_tag_recv(c_, &recv, &request_), LINNET_ERR_INVALID);
    linnet_match_t match{};
    linnet_message_t* message = nullptr;
    match.peer = self_ + 1;
    EXPECT_EQ(linnet_probe(c_, &match, &result_), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_probe_claim(c_, &match, &message, &result_), LINNET_ERR_INVALID);
    match.peer = self_;
    EXPECT_EQ(linnet_probe(c_, nullptr, &result_), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_probe(c_, &match, nullptr), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_probe_claim(c_, &match, nullptr, &result_), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_probe_claim(c_, &match, &message, nullptr), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_probe(c_, &match, &result_), LINNET_ERR_NOT_FOUND);
    EXPECT_EQ(linnet_probe_claim(c_, &match, &message, &result_), LINNET_ERR_NOT_FOUND);
    EXPECT_EQ(message, nullptr);
}

TEST_F(Arguments, SpaceIsWatchedOnce)
{
    const auto ignore = [](void*, std::uint32_t, std::uint32_t) noexcept {};
    EXPECT_EQ(linnet_space_watch(c_, 7, nullptr, nullptr), LINNET_OK);   // nobody watches it: nothing to end
    EXPECT_EQ(linnet_space_watch(c_, 7, ignore, nullptr), LINNET_OK);
    EXPECT_EQ(linnet_space_watch(c_, 7, ignore, nullptr), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_space_watch(c_, 7, nullptr, nullptr), LINNET_OK);
    EXPECT_EQ(linnet_space_watch(c_, 7, nullptr, nullptr), LINNET_OK);
    EXPECT_EQ(linnet_space_watch(c_, 7, ignore, nullptr), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_message_peer(c_, nullptr, &peer_), LINNET_ERR_INVALID);
    EXPECT_EQ(peer_, 77u);
}

TEST_F(Arguments, ActiveMessageKeepsToItsLimits)
{
    linnet_caps_t caps{};
    caps.size = sizeof caps;
    ASSERT_EQ(linnet_context_caps(c_, &caps), LINNET_OK);
    EXPECT_EQ(linnet_am_register(c_, LINNET_AM_IDS, nullptr, nullptr), LINNET_ERR_INVALID);
    std::array<char, 4096> header{};
    ASSERT_LT(caps.am_header_max, header.size());
    linnet_am_t am{};
    am.peer = self_;
    am.header = header.data();
    am.id = LINNET_AM_IDS;
    EXPECT_EQ(linnet_am_send(c_, &am, &request_), LINNET_ERR_INVALID);
    am.id = 0;
    am.header_bytes = caps.am_header_max + 1;
    EXPECT_EQ(linnet_am_send(c_, &am, &request_), LINNET_ERR_INVALID);
    am.header = nullptr;
    am.header_bytes = 1;
    EXPECT_EQ(linnet_am_send(c_, &am, &request_), LINNET_ERR_INVALID);
    am.header_bytes = 0;
    am.data.base = header.data();
    am.data.length = caps.am_payload_max + 1;
    EXPECT_EQ(linnet_am_send(c_, &am, &request_), LINNET_ERR_INVALID);
    std::uint64_t sent = 0;
    ASSERT_EQ(linnet_counter_read(c_, 0, &sent), LINNET_OK);
    EXPECT_EQ(sent, 0u) << "tx_messages";
}

TEST_F(Arguments, RegionNeedsBytesThatExistAndAKeyOfItsOwn)
{
    std::array<char, 16> memory{};
    linnet_region_options_t o{};
    linnet_region_t* region = nullptr;
    o.base = memory.data();
    o.length = memory.size();
    EXPECT_EQ(linnet_region_open(c_, &o, &region), LINNET_ERR_INVALID) << "no size";
    o.size = sizeof o;
    EXPECT_EQ(linnet_region_open(c_, nullptr, &region), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_region_open(c_, &o, nullptr), LINNET_ERR_INVALID);
    o.length = 0;
    EXPECT_EQ(linnet_region_open(c_, &o, &region), LINNET_ERR_INVALID);
    o.length = UINT64_MAX;
    EXPECT_EQ(linnet_region_open(c_, &o, &region), LINNET_ERR_INVALID) << "beyond the end of memory";
    o.length = memory.size();
    o.origin = UINT64_MAX - 14;
    EXPECT_EQ(linnet_region_open(c_, &o, &region), LINNET_ERR_INVALID) << "beyond the last address";
    EXPECT_EQ(region, nullptr);
    o.origin = UINT64_MAX - 15;
    ASSERT_EQ(linnet_region_open(c_, &o, &region), LINNET_OK);
    linnet_region_t* second = nullptr;
    EXPECT_EQ(linnet_region_open(c_, &o, &second), LINNET_ERR_KEY);
    EXPECT_EQ(second, nullptr);
    EXPECT_EQ(linnet_region_close(c_, region), LINNET_OK);
    EXPECT_EQ(linnet_region_close(c_, nullptr), LINNET_ERR_INVALID);
}

TEST_F(Arguments, AtomicOperationMustExistAndItsDataFit)
{
    std::size_t count = 1;
    std::size_t bytes = 1;
    EXPECT_EQ(linnet_atomic_valid(LINNET_ATOMIC_APPLY, LINNET_ATOMIC_READ, LINNET_INT32, &count, &bytes), LINNET_ERR_UNSUPPORTED);
    EXPECT_EQ(linnet_atomic_valid(LINNET_ATOMIC_APPLY, static_cast<linnet_atomic_op_t>(25), LINNET_INT32, &count, &bytes), LINNET_ERR_UNSUPPORTED);
    EXPECT_EQ(linnet_atomic_valid(static_cast<linnet_atomic_form_t>(3), LINNET_ATOMIC_SUM, LINNET_INT32, &count, &bytes), LINNET_ERR_UNSUPPORTED);
    EXPECT_EQ(count + bytes, 2u);
    EXPECT_EQ(linnet_atomic_valid(LINNET_ATOMIC_APPLY, LINNET_ATOMIC_SUM, LINNET_INT32, nullptr, &bytes), LINNET_ERR_INVALID);
    ASSERT_EQ(linnet_atomic_valid(LINNET_ATOMIC_FETCH, LINNET_ATOMIC_SUM, LINNET_INT32, &count, &bytes), LINNET_OK);
    ASSERT_EQ(bytes, 4u);
    std::array<std::int32_t, 2> numbers{};
    linnet_atomic_t a{};
    a.peer = self_;
    a.form = LINNET_ATOMIC_FETCH;
    a.op = LINNET_ATOMIC_SUM;
    a.type = LINNET_INT32;
    a.operand.base = a.result.base = numbers.data();
    a.operand.length = a.result.length = 8;
    for (const std::size_t wrong : {std::size_t{0}, std::size_t{1}, std::size_t{3}, count + 1, SIZE_MAX / 2}) {
        a.count = wrong;
        EXPECT_EQ(linnet_rma_atomic(c_, &a, &request_), LINNET_ERR_INVALID) << wrong;
    }
    a.count = 2;
    a.result.length = 4;
    EXPECT_EQ(linnet_rma_atomic(c_, &a, &request_), LINNET_ERR_INVALID);
    a.op = LINNET_ATOMIC_CSWAP;
    EXPECT_EQ(linnet_rma_atomic(c_, &a, &request_), LINNET_ERR_UNSUPPORTED);
}

// ---- waiting ----

TEST_F(Arguments, DescriptorNeedsAPlace) { EXPECT_EQ(linnet_wait_fd(c_, nullptr), LINNET_ERR_INVALID); }

// What a host means by for ever is no time that is over already.
TEST_F(Arguments, TimeoutBeyondTheClockIsForEver)
{
    auto other = std::make_unique<QuietContext>();
    linnet_name_t name{};
    ASSERT_EQ(linnet_context_name(other->get(), &name), LINNET_OK);
    for (const std::uint64_t for_ever : {std::uint64_t{UINT64_MAX}, std::uint64_t{INT64_MAX}, std::uint64_t{INT64_MAX} + 1}) {
        ASSERT_EQ(linnet_peer_add(c_, &name, &peer_), LINNET_OK);
        linnet_send_t send{};
        send.peer = peer_;
        send.done = [](linnet_request_t*, void*) noexcept {};
        ASSERT_GE(linnet_tag_send(c_, &send, &request_), 0);
        std::atomic<bool> over{false};
        std::thread computing{[&] {
            while (!over) {
                linnet_progress(other->get(), 0, 0);
            }
        }};
        EXPECT_EQ(linnet_context_flush(c_, for_ever), LINNET_OK) << for_ever;
        over = true;
        computing.join();
    }
    std::atomic<bool> closed{false};   // by its goodbye, and our acknowledgement of that
    std::thread leaving{[&] {
        other.reset();
        closed = true;
    }};
    while (!closed) {
        linnet_progress(c_, 0, 0);
    }
    leaving.join();
}

}   // namespace
}   // namespace linnet::capi
