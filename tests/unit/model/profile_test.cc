// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Profiles: what is written is read, and what is wrong is named and ignored.
#include "model/profile.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <limits>
#include <random>

#include "support/seed.h"

namespace linnet::model {
namespace {

const PathKey kTcp{"tcp", "6.1.0-18-amd64", "e1000e", 1500};
const PathCost kCost{{1800, 0.06}, {2100, 0.11}, {9400, 0.8}, {2300, 0.09}, {0, 0}, 256};

const std::string kText =
    "linnet-profile 1\n"
    "path tcp 6.1.0-18-amd64 e1000e 1500\n"
    "O_s 1800 0.06\n"
    "g 2100 0.11\n"
    "L 9400 0.8\n"
    "O_r 2300 0.09\n"
    "U_r 0 0\n"
    "B_L 256\n";

std::string fault_of(const std::string& text)
{
    Profile p;
    EXPECT_EQ(p.set(kTcp, kCost), Status::kOk);
    std::string error;
    EXPECT_EQ(p.parse(text, error), Status::kInvalid) << text;
    EXPECT_NE(p.find(kTcp), nullptr) << "what was there must stay";
    return error;
}

std::string replaced(std::string text, const std::string& from, const std::string& to)
{
    return text.replace(text.find(from), from.size(), to);
}

TEST(Profile, IsReadAsItWasWritten)
{
    Profile p;
    ASSERT_EQ(p.set(kTcp, kCost), Status::kOk);
    EXPECT_EQ(p.text(), kText);
    PathKey other = kTcp;
    other.mtu = 9000;
    ASSERT_EQ(p.set(other, {}), Status::kOk);
    Profile again;
    std::string error;
    ASSERT_EQ(again.parse(p.text(), error), Status::kOk) << error;
    EXPECT_EQ(again.size(), 2u);
    ASSERT_NE(again.find(kTcp), nullptr);
    EXPECT_EQ(*again.find(kTcp), kCost);
    EXPECT_EQ(*again.find(other), PathCost{});
}

TEST(Profile, AppliesOnlyWhereEverythingAgrees)
{
    Profile p;
    ASSERT_EQ(p.set(kTcp, kCost), Status::kOk);
    for (const PathKey& key : {PathKey{"udp", kTcp.kernel, kTcp.driver, kTcp.mtu}, PathKey{"tcp", "6.1.1", kTcp.driver, kTcp.mtu},
                               PathKey{"tcp", kTcp.kernel, "ixgbe", kTcp.mtu}, PathKey{"tcp", kTcp.kernel, kTcp.driver, 9000}}) {
        EXPECT_EQ(p.find(key), nullptr);
    }
}

TEST(Profile, SetReplacesAndRefusesWhatCannotBe)
{
    Profile p;
    ASSERT_EQ(p.set(kTcp, kCost), Status::kOk);
    PathCost faster = kCost;
    faster.latency.fixed_ns = 1;
    ASSERT_EQ(p.set(kTcp, faster), Status::kOk);
    EXPECT_EQ(p.size(), 1u);
    EXPECT_EQ(p.find(kTcp)->latency.fixed_ns, 1);
    for (const double nonsense : {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
        PathCost bad = kCost;
        bad.gap.per_byte_ns = nonsense;
        EXPECT_EQ(p.set(kTcp, bad), Status::kInvalid);
    }
    PathKey two_words = kTcp;
    two_words.driver = "a b";
    EXPECT_EQ(p.set(two_words, kCost), Status::kInvalid);
}

TEST(Profile, CommentsBlanksAndForeignLineEndsDoNoHarm)
{
    Profile p;
    std::string error;
    EXPECT_EQ(p.parse(replaced(kText, "path", "# measured at noon\n\n  \npath"), error), Status::kOk) << error;
    EXPECT_EQ(p.parse(replaced(kText, "g 2100 0.11\n", "  g\t2100  0.11 \r\n"), error), Status::kOk) << error;
    EXPECT_EQ(*p.find(kTcp), kCost);
}

TEST(Profile, FaultsAreNamedWithTheirLine)
{
    EXPECT_EQ(fault_of(""), "line 1: it is empty");
    EXPECT_EQ(fault_of("linnet-profile 2\n"), "line 1: a profile begins with 'linnet-profile 1'");
    EXPECT_EQ(fault_of("linnet-profile 1\nO_s 1 1\n"), "line 2: a path must come first");
    EXPECT_EQ(fault_of(replaced(kText, "g 2100 0.11\n", "")), "line 8: the path before this line lacks some of O_s, g, L, O_r, U_r, B_L");
    EXPECT_EQ(fault_of(replaced(kText, "g 2100", "h 2100")), "line 4: there is no 'h' in a profile");
    EXPECT_EQ(fault_of(replaced(kText, "g 2100 0.11", "O_s 2100 0.11")), "line 4: 'O_s' stands here twice for one path");
    for (const char* const bad : {"g 2100", "g 2100 0.11 7", "g -1 0", "g 1 nan", "g inf 0", "g 1e999 0", "g 0x10 0", "g 2100,5 1"}) {
        EXPECT_EQ(fault_of(replaced(kText, "g 2100 0.11", bad)), "line 4: behind 'g' must stand two numbers of at least 0");
    }
    EXPECT_EQ(fault_of(replaced(kText, "B_L 256", "B_L 256 1")), "line 8: behind 'B_L' must stand one number of at least 0");
    for (const char* const bad : {"e1000e -5", "e1000e 1.5", "e1000e", "e1000e 1500 x"}) {
        EXPECT_EQ(fault_of(replaced(kText, "e1000e 1500", bad)), "line 2: a path is: path TRANSPORT KERNEL DRIVER MTU");
    }
}

TEST(Profile, SizeIsBounded)
{
    EXPECT_NE(fault_of(kText + std::string(Profile::kMaxBytes, '#')), "");
    std::string many = "linnet-profile 1\n";
    const std::string body = kText.substr(kText.find("O_s"));
    for (std::size_t i = 0; i <= Profile::kMaxPaths; ++i) {
        many += "path t" + std::to_string(i) + " k d 1\n" + body;
    }
    EXPECT_NE(fault_of(many).find("more than 256 paths"), std::string::npos);
}

// Whatever one byte of a good profile becomes, it is read or refused, never believed to be something that no path costs.
TEST(Profile, DamagedTextIsReadOrRefused)
{
    std::mt19937_64 random{testing::test_seed(0xdada)};
    for (unsigned run = 0; run < 20'000; ++run) {
        std::string text = kText;
        text[random() % text.size()] = static_cast<char>(random());
        Profile p;
        std::string error;
        if (p.parse(text, error) == Status::kOk) {
            Profile again;
            ASSERT_EQ(again.parse(p.text(), error), Status::kOk) << error;
        } else {
            ASSERT_EQ(error.rfind("line ", 0), 0u);
        }
    }
}

class ProfileFile : public ::testing::Test {
protected:
    void SetUp() override
    {
        char name[] = "/tmp/linnet-profile-XXXXXX";
        ASSERT_NE(::mkdtemp(name), nullptr);
        folder_ = name;
    }
    void TearDown() override
    {
        std::remove((folder_ + "/profile").c_str());
        ::rmdir(folder_.c_str());
    }
    [[nodiscard]] std::string file() const { return folder_ + "/profile"; }
    std::string folder_;
};

TEST_F(ProfileFile, IsLoadedAsItWasSaved)
{
    Profile p;
    std::string error;
    ASSERT_EQ(p.set(kTcp, kCost), Status::kOk);
    ASSERT_EQ(p.save(file(), error), Status::kOk) << error;
    ASSERT_EQ(p.save(file(), error), Status::kOk) << "again, over the old one";
    Profile q;
    ASSERT_EQ(q.load(file(), error), Status::kOk) << error;
    EXPECT_EQ(*q.find(kTcp), kCost);
}

TEST_F(ProfileFile, FailuresNameTheFile)
{
    Profile p;
    std::string error;
    EXPECT_EQ(p.load(file(), error), Status::kNotFound);
    EXPECT_EQ(error, file() + ": cannot be opened");
    std::ofstream{file()} << "linnet-profile 1\nnonsense\n";
    EXPECT_EQ(p.load(file(), error), Status::kInvalid);
    EXPECT_EQ(error, file() + ": line 2: a path must come first");
    EXPECT_NE(p.load(folder_, error), Status::kOk) << "a folder";
    EXPECT_NE(p.save(folder_ + "/no/profile", error), Status::kOk);
    EXPECT_EQ(error, folder_ + "/no/profile: cannot be written");
}

}   // namespace
}   // namespace linnet::model
