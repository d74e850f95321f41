// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Replays the corpus of every fuzz target, and blind mutations of it. LINNET_TEST_SOAK_SECONDS mutates for so long; LINNET_TEST_FUZZ_SAVE names a folder
// to which the seeds are written, each target's in a folder of its own.
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "fuzz/fuzz_target.h"
#include "support/seed.h"

namespace linnet::fuzz {
namespace {

namespace fs = std::filesystem;

Input contents(const fs::path& path)
{
    std::ifstream in{path, std::ios::binary};
    return Input{std::istreambuf_iterator<char>{in}, {}};
}

void save(const fs::path& path, const Input& input)
{
    if (path.has_parent_path()) {
        fs::create_directories(path.parent_path());
    }
    std::ofstream{path, std::ios::binary}.write(reinterpret_cast<const char*>(input.data()), static_cast<std::streamsize>(input.size()));
}

std::vector<Input> corpus(const Target& target)
{
    std::vector<Input> all = target.seeds();
    const char* const source = std::getenv("top_srcdir");
    const fs::path folder = fs::path{source == nullptr ? "." : source} / "tests/fuzz/corpus" / target.name;
    if (fs::is_directory(folder)) {
        for (const auto& entry : fs::directory_iterator{folder}) {
            all.push_back(contents(entry.path()));
        }
    }
    return all;
}

// One to eight small wounds; sometimes a piece of another input.
Input mutated(Input input, const Input& other, std::mt19937_64& random)
{
    for (std::uint64_t n = 1 + random() % 8; n != 0 && !input.empty(); --n) {
        const std::size_t at = random() % input.size();
        switch (random() % 6) {
            case 0: input[at] = static_cast<std::uint8_t>(random()); break;
            case 1: input[at] = static_cast<std::uint8_t>(input[at] ^ (1u << random() % 8)); break;
            case 2: input[at] = random() % 2 == 0 ? 0 : 0xff; break;
            case 3: input.erase(input.begin() + static_cast<std::ptrdiff_t>(at)); break;
            case 4: input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), static_cast<std::uint8_t>(random())); break;
            default:
                if (!other.empty()) {
                    const std::size_t from = random() % other.size();
                    const std::size_t bytes = 1 + random() % (other.size() - from);
                    input.insert(input.begin() + static_cast<std::ptrdiff_t>(at), other.begin() + static_cast<std::ptrdiff_t>(from),
                                 other.begin() + static_cast<std::ptrdiff_t>(from + bytes));
                }
        }
    }
    return input;
}

class FuzzCorpus : public ::testing::TestWithParam<const char*> {
protected:
    void TearDown() override
    {
        if (target.end != nullptr) {
            target.end();
        }
    }
    const Target& target = *find_target(GetParam());
};

TEST_P(FuzzCorpus, IsHandledWithoutHarm)
{
    const std::vector<Input> all = corpus(target);
    ASSERT_FALSE(all.empty());
    if (const char* const folder = std::getenv("LINNET_TEST_FUZZ_SAVE")) {
        const std::vector<Input> seeds = target.seeds();
        for (std::size_t i = 0; i < seeds.size(); ++i) {
            save(fs::path{folder} / target.name / ("seed" + std::to_string(i)), seeds[i]);
        }
    }
    target.run({});
    for (const Input& input : all) {
        target.run(input);
    }
}

TEST_P(FuzzCorpus, MutatedIsHandledWithoutHarm)
{
    const std::vector<Input> all = corpus(target);
    std::mt19937_64 random{testing::test_seed(1)};
    const char* const soak = std::getenv("LINNET_TEST_SOAK_SECONDS");
    const auto limit = soak == nullptr ? std::chrono::milliseconds{700} : std::chrono::milliseconds{std::min(50l, std::strtol(soak, nullptr, 10)) * 1000};
    const auto end = std::chrono::steady_clock::now() + limit;
    for (unsigned runs = 0; std::chrono::steady_clock::now() < end && (soak != nullptr || runs < 3000); ++runs) {
        const Input input = mutated(all[random() % all.size()], all[random() % all.size()], random);
        save("fuzz-last-" + std::string{target.name}, input);   // what a crash leaves behind
        target.run(input);
    }
    fs::remove("fuzz-last-" + std::string{target.name});
}
INSTANTIATE_TEST_SUITE_P(Targets, FuzzCorpus, ::testing::Values("flow", "frames", "hello", "session", "tcp", "settings"),
                         [](const auto& target) { return std::string{target.param}; });

}   // namespace
}   // namespace linnet::fuzz
