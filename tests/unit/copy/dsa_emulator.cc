// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// DsaEmulator bodies. Offsets and numbers are those of the specification's tables.
#include "unit/copy/dsa_emulator.h"

#include <cstring>

namespace linnet::testing {
namespace {

template <class T>
T field(const std::array<std::byte, 64>& raw, std::size_t offset)
{
    T value;
    std::memcpy(&value, raw.data() + offset, sizeof value);
    return value;
}

std::uint32_t flags(const std::array<std::byte, 64>& raw) { return field<std::uint32_t>(raw, 4) & 0xffffff; }
std::uint8_t opcode(const std::array<std::byte, 64>& raw) { return field<std::uint8_t>(raw, 7); }
std::byte* at(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

// A completion record: everything else first, the status last.
void write_record(std::uint64_t address, std::uint8_t status, std::uint8_t result, std::uint32_t bytes, std::uint64_t fault)
{
    std::memcpy(at(address) + 1, &result, 1);
    std::memcpy(at(address) + 4, &bytes, 4);
    std::memcpy(at(address) + 8, &fault, 8);
    __atomic_store_n(reinterpret_cast<std::uint8_t*>(at(address)), status, __ATOMIC_RELEASE);
}

bool every(std::uint64_t count, unsigned n) { return n != 0 && count % n == 0; }

}   // namespace

class DsaEmulator::Door final : public DsaPortal {
public:
    explicit Door(DsaEmulator& device) : device_{device} {}
    const DsaLimits& limits() const noexcept override { return device_.limits_; }
    bool submit(const std::byte* descriptor) noexcept override { return device_.take(descriptor); }

private:
    DsaEmulator& device_;
};

DsaEmulator::DsaEmulator(const DsaLimits& limits, const Faults& faults) : limits_{limits}, faults_{faults}, worker_{[this] { work(); }} {}

DsaEmulator::~DsaEmulator()
{
    {
        const std::lock_guard lock{mutex_};
        ending_ = true;
        paused_ = false;
    }
    wake_.notify_all();
    worker_.join();
}

std::unique_ptr<DsaPortal> DsaEmulator::portal() { return std::make_unique<Door>(*this); }

void DsaEmulator::pause()
{
    const std::lock_guard lock{mutex_};
    paused_ = true;
}

void DsaEmulator::resume()
{
    {
        const std::lock_guard lock{mutex_};
        paused_ = false;
    }
    wake_.notify_all();
}

DsaEmulator::Seen DsaEmulator::seen()
{
    const std::lock_guard lock{mutex_};
    return seen_;
}

void DsaEmulator::violate(const char* what)
{
    const std::lock_guard lock{mutex_};
    if (seen_.violation.empty()) {
        seen_.violation = what;
    }
}

// ENQCMD answers "retry" when the queue is full; MOVDIR64B says nothing, and the descriptor is gone.
bool DsaEmulator::take(const std::byte* descriptor)
{
    if (reinterpret_cast<std::uintptr_t>(descriptor) % 64 != 0) {
        violate("descriptor not aligned to 64 bytes");
    }
    {
        const std::lock_guard lock{mutex_};
        const bool full = queue_.size() >= limits_.size;
        if (limits_.dedicated) {
            if (full) {
                ++seen_.lost;
                return true;
            }
        } else if (full || faults_.full_for > 0) {
            faults_.full_for -= faults_.full_for > 0 ? 1 : 0;
            ++seen_.retries;
            return false;
        }
        std::memcpy(queue_.emplace_back().data(), descriptor, 64);
    }
    wake_.notify_one();
    return true;
}

void DsaEmulator::work()
{
    for (;;) {
        Raw next;
        {
            std::unique_lock lock{mutex_};
            wake_.wait(lock, [this] { return !paused_ && (ending_ || !queue_.empty()); });
            if (queue_.empty()) {
                return;
            }
            next = queue_.front();   // its entry is free as soon as an engine of the device has taken it
            queue_.pop_front();
        }
        run(next);
    }
}

// 0, or the status with which the specification refuses it.
std::uint8_t DsaEmulator::check(const Raw& d, bool in_batch)
{
    const std::uint64_t record = field<std::uint64_t>(d, 8);
    constexpr std::uint32_t kKnown = 0x0004 | 0x0008 | 0x0100;
    if ((field<std::uint32_t>(d, 0) >> 20) != 0 || field<std::uint16_t>(d, 38) != 0) {
        violate("reserved or privileged bits are set");
        return 0x12;
    }
    if ((flags(d) & ~kKnown) != 0 || (opcode(d) == 0x01 && (flags(d) & 0x0100) != 0)) {
        violate("flags that this operation does not have");
        return 0x11;
    }
    if ((flags(d) & 0x000c) != 0x000c || record == 0 || record % 32 != 0) {
        violate("no completion record, or one not aligned to 32 bytes");
        return 0x1b;
    }
    const std::uint32_t size = field<std::uint32_t>(d, 32);
    if (opcode(d) == 0x01 && !in_batch) {
        if (size < 2 || size > limits_.max_batch) {
            violate("batch of fewer than two or too many descriptors");
            return 0x14;
        }
        if (field<std::uint64_t>(d, 16) % 64 != 0) {
            violate("descriptor list not aligned to 64 bytes");
            return 0x18;
        }
        return 0;
    }
    if (opcode(d) != 0x03) {
        violate("operation that is not a move, or a batch in a batch");
        return 0x10;
    }
    if (size == 0 || size > limits_.max_transfer) {
        violate("transfer of nothing, or of too much");
        return 0x13;
    }
    for (std::size_t i = 40; i < 64; ++i) {
        if (d[i] != std::byte{0}) {
            violate("bytes that a move does not have are set");
            return 0x12;
        }
    }
    return 0;
}

void DsaEmulator::run(const Raw& d)
{
    if (const std::uint8_t refusal = check(d, false); refusal != 0) {
        write_record(field<std::uint64_t>(d, 8), refusal, 0, 0, 0);
    } else if (opcode(d) == 0x01) {
        run_batch(d);
    } else {
        run_move(d);
    }
}

void DsaEmulator::run_batch(const Raw& batch)
{
    const std::uint64_t list = field<std::uint64_t>(batch, 16), record = field<std::uint64_t>(batch, 8);
    const std::uint32_t n = field<std::uint32_t>(batch, 32);
    {
        const std::lock_guard lock{mutex_};
        ++seen_.batches;
    }
    if (every(++batches_, faults_.list_fault_every)) {
        write_record(record, 0x06, 0, 0, list);   // page fault while reading the list
        return;
    }
    bool good = true;
    for (std::uint32_t i = 0; i < n; ++i) {
        const std::uint32_t turned = n - 1 - i;   // the order within a batch is the device's own
        Raw move;
        std::memcpy(move.data(), at(list) + 64 * turned, 64);
        if (const std::uint8_t refusal = check(move, true); refusal != 0) {
            write_record(field<std::uint64_t>(move, 8), refusal, 0, 0, 0);
            good = false;
        } else {
            good = run_move(move) && good;
        }
    }
    write_record(record, good ? 0x01 : 0x05, 0, n, 0);
}

bool DsaEmulator::run_move(const Raw& d)
{
    const std::uint64_t from = field<std::uint64_t>(d, 16), to = field<std::uint64_t>(d, 24), record = field<std::uint64_t>(d, 8);
    const std::uint32_t size = field<std::uint32_t>(d, 32);
    ++moves_;
    std::uint32_t moved = size;
    std::uint8_t status = 0x01;
    if (every(moves_, faults_.error_every)) {
        status = 0x1e;   // hardware error: nothing is known about the bytes
        moved = size / 3;
    } else if (every(moves_, faults_.page_fault_every)) {
        status = moves_ % 2 == 0 ? 0x03 : 0x83;   // of the source, or of the destination
        moved = static_cast<std::uint32_t>(size * (moves_ % 5) / 5);
    }
    const std::uint32_t start = status != 0x01 && faults_.backwards ? size - moved : 0;
    std::memcpy(at(to) + start, at(from) + start, moved);
    {
        const std::lock_guard lock{mutex_};
        ++seen_.moves;
        seen_.bytes += moved;
    }
    if (every(moves_, faults_.lie_every)) {
        write_record(record, 0x03, 0, size + 1000, from);
    } else {
        write_record(record, status, start != 0 || (status != 0x01 && faults_.backwards) ? 1 : 0, status == 0x01 ? 0 : moved, from + moved);
    }
    return status == 0x01;
}

}   // namespace linnet::testing
