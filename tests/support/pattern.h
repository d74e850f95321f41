// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Payloads whose bytes tell message and place: written and compared in runs, so that they cost little without optimisation too.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace linnet::testing {

// The bytes of message `id`; repeats after 65521 bytes.
void fill_pattern(std::span<std::byte> out, std::uint64_t id);

// Where `data` first differs from the bytes of message `id`; data.size() if nowhere.
[[nodiscard]] std::size_t pattern_mismatch(std::span<const std::byte> data, std::uint64_t id);

}   // namespace linnet::testing
