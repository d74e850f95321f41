// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The table of transports: its rows, and which of them a setting means.
#include "core/transport_table.h"

#include <gtest/gtest.h>

#include <string>

#include "copy/cpu_copy_engine.h"
#include "support/test_log.h"
#include "sys/system_clock.h"

namespace linnet::core {
namespace {

std::string chosen(std::string_view setting)
{
    std::string names;
    for (const TransportRow& row : transport_table()) {
        if (transport_chosen(setting, row)) {
            names += (names.empty() ? "" : " ") + std::string{row.name};
        }
    }
    return names;
}

TEST(TransportTable, EachRowMakesTheTransportThatItNames)
{
    const Settings settings;
    const SystemClock clock;
    Stats stats;
    CpuCopyEngine copy{SIZE_MAX};
    const TransportEnv env{settings, clock, testing::test_log(), stats, copy};
    for (const TransportRow& row : transport_table()) {
        const auto transport = row.make(env);
        ASSERT_NE(transport, nullptr) << row.name;
        EXPECT_STREQ(transport->caps().name, row.name);
    }
}

TEST(TransportTable, StandsInTheOrderOfPreference)
{
    std::string names;
    for (const TransportRow& row : transport_table()) {
        names += row.name + std::string{" "};
    }
    EXPECT_EQ(names, "loopback shm eth udp tcp ");
}

// What always works must open; what needs a right or a kernel need not; what only may reach a peer is tried last.
TEST(TransportTable, AutomaticSaysWhatMustOpen)
{
    using Automatic = TransportRow::Automatic;
    for (const TransportRow& row : transport_table()) {
        const std::string name = row.name;
        const Automatic expected = name == "udp"   ? Automatic::kBehindAtTheirPort
                                   : name == "eth" ? Automatic::kBehind
                                   : name == "shm" ? Automatic::kIfItOpens
                                                   : Automatic::kYes;
        EXPECT_EQ(row.automatic, expected) << name;
    }
}

TEST(TransportChosen, AutoAndNothingMeanAll)
{
    EXPECT_EQ(chosen("auto"), "loopback shm eth udp tcp");
    EXPECT_EQ(chosen(""), "loopback shm eth udp tcp");
}

TEST(TransportChosen, ListMeansWhatItNamesAndLoopbackInAnyCase)
{
    EXPECT_EQ(chosen("tcp"), "loopback tcp");
    EXPECT_EQ(chosen("loopback"), "loopback");
    EXPECT_EQ(chosen("tcp,shm"), "loopback shm tcp") << "preferred in the order of the table";
    EXPECT_EQ(chosen("loopback,eth,udp"), "loopback eth udp");
}

TEST(TransportChosen, BlanksAndEmptyWordsDoNoHarm)
{
    EXPECT_EQ(chosen("  udp ,  tcp"), "loopback udp tcp");
    EXPECT_EQ(chosen(",tcp,,"), "loopback tcp");
    EXPECT_EQ(chosen(" "), "loopback");
}

TEST(TransportChosen, OnlyWholeNamesCount)
{
    EXPECT_EQ(chosen("tc"), "loopback");
    EXPECT_EQ(chosen("tcpx,xudp"), "loopback");
    EXPECT_EQ(chosen("TCP"), "loopback");
    EXPECT_EQ(chosen("t cp"), "loopback");
    EXPECT_EQ(chosen("tcp shm"), "loopback");
}

TEST(WrongTransport, IsTheFirstWordThatNamesNone)
{
    for (const char* right : {"auto", "", " ", "tcp", ",tcp,,", " udp , tcp", "loopback,shm,eth,udp,tcp"}) {
        EXPECT_EQ(wrong_transport(right), "") << right;
    }
    const std::string must = " is wrong: it must be auto, or a comma list of loopback, shm, eth, udp, tcp; ";
    EXPECT_EQ(wrong_transport("tcp,shn,ethh"), "setting transports=tcp,shn,ethh" + must + "not \"shn\"");
    EXPECT_EQ(wrong_transport("auto,tcp"), "setting transports=auto,tcp" + must + "and auto stands alone");
    for (const char* wrong : {"TCP", "tcp shm", "auto,tcp", "tcpx", "t"}) {
        EXPECT_NE(wrong_transport(wrong), "") << wrong;
    }
}

}   // namespace
}   // namespace linnet::core
