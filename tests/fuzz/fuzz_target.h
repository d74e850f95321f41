// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Fuzz targets: functions that take any bytes at all and must neither crash, nor leak, nor take memory without bound.
//
// The same targets run in three ways: under libFuzzer (fuzz_driver, in a tree configured with --enable-fuzzer), over the stored corpus, and over blind
// mutations of it (fuzz_corpus_test, with any compiler).
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

namespace linnet::fuzz {

using Input = std::vector<std::uint8_t>;

struct Target {
    const char* name;                          // also the folder of its corpus
    void (*run)(std::span<const std::uint8_t> input);
    std::vector<Input> (*seeds)();             // inputs made of real encodings
    void (*end)();                             // after the last run, or null: closes what the target keeps between runs
};
[[nodiscard]] std::span<const Target> targets() noexcept;
// Null: there is none of this name.
[[nodiscard]] const Target* find_target(const char* name) noexcept;

// Ends the process: the target saw a promise broken.
#define LINNET_FUZZ_CHECK(cond) ((cond) ? static_cast<void>(0) : ::linnet::fuzz::broken(#cond, __FILE__, __LINE__))
[[noreturn]] void broken(const char* what, const char* file, int line) noexcept;

// Takes values off the front of an input; zeros when it is used up.
class Reader {
public:
    explicit Reader(std::span<const std::uint8_t> bytes) noexcept : rest_{bytes} {}
    [[nodiscard]] bool empty() const noexcept { return rest_.empty(); }
    template <class T>
    [[nodiscard]] T take() noexcept
    {
        T t{};
        const std::size_t n = std::min(sizeof t, rest_.size());
        if (n != 0) {
            std::memcpy(static_cast<void*>(&t), rest_.data(), n);
        }
        rest_ = rest_.subspan(n);
        return t;
    }
    [[nodiscard]] std::uint8_t byte() noexcept { return take<std::uint8_t>(); }
    [[nodiscard]] std::span<const std::uint8_t> bytes(std::size_t n) noexcept
    {
        const auto front = rest_.first(std::min(n, rest_.size()));
        rest_ = rest_.subspan(front.size());
        return front;
    }

private:
    std::span<const std::uint8_t> rest_;
};

// The targets, one per file.
void run_flow(std::span<const std::uint8_t> input);
void run_frames(std::span<const std::uint8_t> input);
void run_hello(std::span<const std::uint8_t> input);
void run_session(std::span<const std::uint8_t> input);
void run_tcp(std::span<const std::uint8_t> input);
void end_tcp();
void run_settings(std::span<const std::uint8_t> input);
std::vector<Input> flow_seeds();
std::vector<Input> frames_seeds();
std::vector<Input> hello_seeds();
std::vector<Input> session_seeds();
std::vector<Input> tcp_seeds();
std::vector<Input> settings_seeds();

}   // namespace linnet::fuzz
