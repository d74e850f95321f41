// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// FaultyPort: see faulty_port.h.
#include "support/faulty_port.h"

#include <algorithm>

namespace linnet::testing {

std::size_t FaultyPort::send(unsigned channel, std::span<const flow::TxFrame> frames) noexcept
{
    if (faults_.refuse > 0 && std::uniform_real_distribution<>{}(send_random_) < faults_.refuse) {
        frames = frames.first(send_random_() % frames.size());
    }
    return frames.empty() ? 0 : real_->send(channel, frames);
}

void FaultyPort::arrived(Channel& ch, Frame frame)
{
    if (happens(faults_.lose)) {
        return;
    }
    if (happens(faults_.damage)) {
        const std::size_t bit = random_() % (frame.bytes.size() * 8);
        frame.bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    }
    const unsigned copies = happens(faults_.twice) ? 2 : 1;
    for (unsigned i = 0; i < copies; ++i) {
        if (happens(faults_.late)) {
            frame.wait = 1 + static_cast<unsigned>(random_() % 8);
            ch.held.push_back(frame);
        } else {
            ch.ready.push_back(frame);
        }
    }
    for (std::size_t i = 0; i < ch.held.size();) {
        if (--ch.held[i].wait == 0) {
            ch.ready.push_back(std::move(ch.held[i]));
            ch.held.erase(ch.held.begin() + static_cast<std::ptrdiff_t>(i));
        } else {
            ++i;
        }
    }
}

std::size_t FaultyPort::receive(unsigned channel, std::span<frames::RxFrame> out) noexcept
{
    Channel& ch = channels_[channel];
    ch.shown.clear();
    const std::size_t n = real_->receive(channel, out);
    real_->gather(channel);
    for (const frames::RxFrame& f : out.first(n)) {
        arrived(ch, {{f.bytes.begin(), f.bytes.end()}, real_->source(channel, f), 0});
    }
    if (n == 0 && !ch.held.empty()) {   // nothing follows that they could wait for
        ch.ready.insert(ch.ready.end(), ch.held.begin(), ch.held.end());
        ch.held.clear();
    }
    const std::size_t give = std::min(out.size(), ch.ready.size());
    ch.shown.assign(std::make_move_iterator(ch.ready.begin()), std::make_move_iterator(ch.ready.begin() + static_cast<std::ptrdiff_t>(give)));
    ch.ready.erase(ch.ready.begin(), ch.ready.begin() + static_cast<std::ptrdiff_t>(give));
    for (std::size_t i = 0; i < give; ++i) {
        out[i] = {ch.shown[i].bytes, static_cast<std::uint32_t>(i)};
    }
    return give;
}

bool FaultyPort::prepare_sleep() noexcept
{
    const bool none = std::all_of(channels_.begin(), channels_.end(), [](const Channel& ch) { return ch.ready.empty() && ch.held.empty(); });
    return real_->prepare_sleep() && none;
}

}   // namespace linnet::testing
