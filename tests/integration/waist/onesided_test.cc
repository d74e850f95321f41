// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// One-sided operations: memory regions, writes, reads, what is refused, what the owner of the memory hears.
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <memory>
#include <random>
#include <string_view>
#include <thread>

#include "capi/linnet_rma.h"
#include "integration/waist/waist.h"
#include "support/seed.h"

namespace linnet::testing {
namespace {

constexpr std::uint64_t kKey = 0xfeed;
using Bytes = std::vector<unsigned char>;

// Memory for a region, mapped twice: what the peers do to it is ordered before the test's own reading by messages, through sockets and through memory that each
// end of a link maps elsewhere, and ThreadSanitizer knows of neither.
template <typename T>
class Memory {
public:
    explicit Memory(std::size_t count, T fill = T{}) : count_{count}
    {
        const int fd = memfd_create("linnet-test-region", MFD_CLOEXEC);
        EXPECT_EQ(ftruncate(fd, static_cast<off_t>(bytes())), 0);
        for (T** view : {&mine_, &theirs_}) {
            *view = static_cast<T*>(mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
            EXPECT_NE(static_cast<void*>(*view), MAP_FAILED);
        }
        ::close(fd);
        std::fill(begin(), end(), fill);
    }
    ~Memory()
    {
        munmap(mine_, bytes());
        munmap(theirs_, bytes());
    }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    [[nodiscard]] T* theirs() const { return theirs_; }   // what the region is opened with
    [[nodiscard]] T* data() const { return mine_; }
    [[nodiscard]] T* begin() const { return mine_; }
    [[nodiscard]] T* end() const { return mine_ + count_; }
    [[nodiscard]] std::size_t size() const { return count_; }
    [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }
    T& operator[](std::size_t i) const { return mine_[i]; }
    [[nodiscard]] std::vector<T> copy() const { return {begin(), end()}; }

private:
    std::size_t count_;
    T* mine_{nullptr};
    T* theirs_{nullptr};
};

// Two endpoints; the memory of one is open to the other.
class OneSided : public ::testing::Test {
protected:
    explicit OneSided(const char* transports = LINNET_WAIST_TRANSPORTS) : a{{{"transports", transports}}}, b{{{"transports", transports}}} { to_b = a.add(b); }

    linnet_region_t* open(void* base, std::uint64_t bytes, std::uint32_t flags = LINNET_REGION_READ | LINNET_REGION_WRITE, std::uint64_t origin = 0,
                          std::uint64_t key = kKey)
    {
        linnet_region_options_t o{};
        o.size = sizeof o;
        o.base = base;
        o.length = bytes;
        o.key = key;
        o.origin = origin;
        o.flags = flags;
        o.arg = base;
        linnet_region_t* region = nullptr;
        EXPECT_EQ(linnet_region_open(b.context(), &o, &region), LINNET_OK);
        return region;
    }
    linnet_status_t start(Op& op, bool write, const linnet_data_t& data, std::uint64_t address, std::uint32_t flags = 0, std::uint64_t immediate = 0)
    {
        linnet_rma_t r{};
        r.peer = to_b;
        r.flags = flags;
        r.key = kKey;
        r.address = address;
        r.immediate = immediate;
        r.data = data;
        r.done = Op::on_done;
        r.done_arg = &op;
        return op.started = write ? linnet_rma_write(a.context(), &r, &op.request) : linnet_rma_read(a.context(), &r, &op.request);
    }
    // How it ended.
    linnet_status_t run(bool write, const linnet_data_t& data, std::uint64_t address, std::uint32_t flags = 0, std::uint64_t immediate = 0)
    {
        Op op;
        while (start(op, write, data, address, flags, immediate) == LINNET_ERR_NO_RESOURCE) {
            a.progress();
        }
        if (op.started != LINNET_IN_PROGRESS) {
            return op.started;
        }
        EXPECT_TRUE(drive({&a}, [&] { return op.complete(); }));   // b's program does nothing
        return op.status();
    }

    Endpoint a;
    Endpoint b;
    linnet_peer_t to_b{};
};

struct News {
    std::vector<linnet_remote_t> heard;
    static void on_remote(void* arg, const linnet_remote_t* what) noexcept { static_cast<News*>(arg)->heard.push_back(*what); }
};

TEST_F(OneSided, BytesOfEverySizeAreWrittenAndReadWithoutACallOfTheirOwner)
{
    Memory<unsigned char> memory(9u << 20, 0xee);
    linnet_region_t* const region = open(memory.theirs(), memory.size());
    for (const std::size_t size : {0u, 1u, 8u, 2048u, 16384u, 16385u, 40000u, 130048u, 130049u, 500000u, 8u << 20}) {
        const Bytes out = pattern(size, static_cast<unsigned>(size) + 1);
        const std::uint64_t at = 4097;
        ASSERT_EQ(run(true, contiguous(out.data(), size), at), LINNET_OK) << size;
        EXPECT_TRUE(std::equal(out.begin(), out.end(), memory.begin() + static_cast<std::ptrdiff_t>(at))) << size;
        EXPECT_EQ(memory[at - 1], 0xee);
        EXPECT_EQ(memory[at + size], 0xee) << size;
        Bytes in(size + 1, 0x11);
        ASSERT_EQ(run(false, contiguous(in.data(), size), at), LINNET_OK) << size;
        EXPECT_TRUE(std::equal(out.begin(), out.end(), in.begin())) << size;
        EXPECT_EQ(in[size], 0x11) << size;
        std::fill(memory.begin(), memory.end(), static_cast<unsigned char>(0xee));
    }
    EXPECT_EQ(linnet_region_close(b.context(), region), LINNET_OK);
    EXPECT_EQ(a.counter("rma_operations"), 22u);
}

TEST_F(OneSided, VectorsAreGatheredAndScattered)
{
    Memory<unsigned char> memory(1u << 20);
    open(memory.theirs(), memory.size());
    for (const std::size_t size : {30u, 20000u, 70000u, 300000u}) {
        Bytes out = pattern(size, 5);
        Bytes in(size);
        const std::size_t cut = size / 3;
        const iovec from[2] = {{out.data(), cut}, {out.data() + cut, size - cut}};
        const iovec to[2] = {{in.data(), size - cut}, {in.data() + size - cut, cut}};
        linnet_data_t d{};
        d.length = size;
        d.iov = from;
        d.iov_count = 2;
        ASSERT_EQ(run(true, d, 100), LINNET_OK) << size;
        d.iov = to;
        ASSERT_EQ(run(false, d, 100), LINNET_OK) << size;
        EXPECT_EQ(in, out) << size;
    }
}

TEST_F(OneSided, WhatDoesNotFitTheRegionIsRefusedAndTouchesNothing)
{
    Memory<unsigned char> memory(4096, 0xee);
    Bytes mine = pattern(300000);
    linnet_region_t* region = open(memory.theirs(), memory.size(), LINNET_REGION_WRITE, 1000);
    const auto whole = contiguous(mine.data(), 4096);
    EXPECT_EQ(run(true, whole, 999), LINNET_ERR_BOUNDS);
    EXPECT_EQ(run(true, whole, 1001), LINNET_ERR_BOUNDS);
    EXPECT_EQ(run(true, whole, UINT64_MAX - 2), LINNET_ERR_BOUNDS);
    EXPECT_EQ(run(true, contiguous(mine.data(), mine.size()), 1000), LINNET_ERR_BOUNDS);
    EXPECT_EQ(run(false, whole, 1000), LINNET_ERR_NOT_ALLOWED);
    EXPECT_EQ(run(true, contiguous(mine.data(), 0), 0), LINNET_OK) << "no bytes, no region";
    EXPECT_EQ(memory.copy(), Bytes(4096, 0xee));
    EXPECT_EQ(run(true, whole, 1000), LINNET_OK);
    EXPECT_EQ(std::memcmp(memory.data(), mine.data(), memory.size()), 0);
    EXPECT_EQ(linnet_region_close(b.context(), region), LINNET_OK);
    EXPECT_EQ(run(true, whole, 1000), LINNET_ERR_KEY);
    EXPECT_EQ(run(false, contiguous(mine.data(), mine.size()), 1000), LINNET_ERR_KEY);
    open(memory.theirs(), memory.size(), LINNET_REGION_READ);
    EXPECT_EQ(run(true, whole, 0), LINNET_ERR_NOT_ALLOWED);
    EXPECT_EQ(run(true, contiguous(mine.data(), mine.size()), 0), LINNET_ERR_NOT_ALLOWED);
    EXPECT_EQ(run(false, whole, 0), LINNET_OK);
    EXPECT_EQ(linnet_peer_status(a.context(), to_b), LINNET_OK);
}

TEST_F(OneSided, KeyBelongsToOneRegionAtATime)
{
    Memory<unsigned char> memory(64);
    linnet_region_t* const region = open(memory.theirs(), memory.size());
    linnet_region_options_t o{};
    o.size = sizeof o;
    o.base = memory.theirs();
    o.length = memory.size();
    o.key = kKey;
    linnet_region_t* second = nullptr;
    EXPECT_EQ(linnet_region_open(b.context(), &o, &second), LINNET_ERR_KEY);
    o.key = kKey + 1;
    o.length = 0;
    EXPECT_EQ(linnet_region_open(b.context(), &o, &second), LINNET_ERR_INVALID);
    EXPECT_EQ(linnet_region_close(b.context(), region), LINNET_OK);
    open(memory.theirs(), memory.size());
}

TEST_F(OneSided, ImmediatesComeWhenTheirBytesAreInPlace)
{
    Memory<unsigned char> memory(1u << 20);
    open(memory.theirs(), memory.size());
    News news;
    ASSERT_EQ(linnet_remote_register(b.context(), News::on_remote, &news), LINNET_OK);
    const Bytes out = pattern(400000);
    Op ops[3];
    ASSERT_EQ(start(ops[0], true, contiguous(out.data(), 100), 0, LINNET_RMA_IMMEDIATE, 7), LINNET_IN_PROGRESS);
    ASSERT_EQ(start(ops[1], true, contiguous(out.data(), out.size()), 1000, LINNET_RMA_IMMEDIATE, UINT64_MAX), LINNET_IN_PROGRESS);
    ASSERT_EQ(start(ops[2], true, contiguous(out.data(), 0), 0, LINNET_RMA_IMMEDIATE, 0), LINNET_IN_PROGRESS);
    ASSERT_TRUE(drive({&a, &b}, [&] { return news.heard.size() == 3 && ops[0].done + ops[1].done + ops[2].done == 3; }));
    for (const linnet_remote_t& n : news.heard) {
        EXPECT_EQ(n.flags, std::uint32_t{LINNET_SEND_IMMEDIATE});
        EXPECT_EQ(n.peer, LINNET_PEER_UNKNOWN);
        EXPECT_EQ(n.length, n.immediate == 7 ? 100u : n.immediate == 0 ? 0u : out.size());
    }
    EXPECT_EQ(std::memcmp(memory.data() + 1000, out.data(), out.size()), 0);
    EXPECT_EQ(run(true, contiguous(out.data(), out.size()), 900000, LINNET_RMA_IMMEDIATE, 9), LINNET_ERR_BOUNDS);
    b.progress();
    EXPECT_EQ(news.heard.size(), 3u);
}

TEST_F(OneSided, ImmediatesThatNobodyTakesEndInBackPressureAndNoneIsLost)
{
    Memory<unsigned char> memory(64);
    open(memory.theirs(), memory.size());
    News news;
    ASSERT_EQ(linnet_remote_register(b.context(), News::on_remote, &news), LINNET_OK);
    constexpr std::size_t kMany = 60000;
    std::vector<Op> ops(kMany);
    std::size_t started = 0;
    bool stalled = false;
    const auto end = std::chrono::steady_clock::now() + 20s;
    auto last = std::chrono::steady_clock::now();
    while (started < kMany && last < end) {
        const linnet_status_t s = start(ops[started], true, contiguous(memory.data(), 0), 0, LINNET_RMA_IMMEDIATE, started);
        if (s == LINNET_IN_PROGRESS) {
            ++started;
            last = std::chrono::steady_clock::now();
            continue;
        }
        ASSERT_EQ(s, LINNET_ERR_NO_RESOURCE);
        a.progress();
        if (std::chrono::steady_clock::now() > last + 300ms) {   // not for the operations still open, then
            stalled = true;
            b.progress();
        }
    }
    ASSERT_EQ(started, kMany);
    EXPECT_TRUE(stalled);
    ASSERT_TRUE(drive({&a, &b}, [&] { return news.heard.size() == kMany; }, 20s));
    for (std::size_t i = 0; i < kMany; ++i) {
        ASSERT_EQ(news.heard[i].immediate, i);
    }
    ASSERT_TRUE(drive({&a, &b}, [&] { return ops[kMany - 1].complete(); }));
}

TEST_F(OneSided, NoticesCountWhatPeersDo)
{
    Memory<unsigned char> memory(1u << 20);
    linnet_region_t* const region = open(memory.theirs(), memory.size(), LINNET_REGION_READ | LINNET_REGION_WRITE | LINNET_REGION_NOTICES);
    News news;
    ASSERT_EQ(linnet_remote_register(b.context(), News::on_remote, &news), LINNET_OK);
    Bytes mine(300000);
    for (int i = 0; i < 5; ++i) {
        ASSERT_EQ(run(true, contiguous(mine.data(), 10), 0), LINNET_OK);
    }
    ASSERT_EQ(run(true, contiguous(mine.data(), mine.size()), 0), LINNET_OK);
    ASSERT_EQ(run(false, contiguous(mine.data(), 10), 0), LINNET_OK);
    ASSERT_EQ(run(false, contiguous(mine.data(), mine.size()), 0), LINNET_OK);
    std::uint32_t reads = 0;
    std::uint32_t writes = 0;
    ASSERT_TRUE(drive({&b}, [&] {
        reads = writes = 0;
        for (const auto& n : news.heard) {
            reads += n.reads;
            writes += n.writes;
            EXPECT_EQ(n.region_arg, memory.theirs());
        }
        return reads + writes >= 8;
    }));
    EXPECT_EQ(writes, 6u);
    EXPECT_EQ(reads, 2u);
    ASSERT_EQ(run(true, contiguous(mine.data(), 10), 0), LINNET_OK);
    news.heard.clear();
    EXPECT_EQ(linnet_region_close(b.context(), region), LINNET_OK) << "with a notice that nobody took";
    ASSERT_TRUE(drive({&b}, [&] { return !news.heard.empty(); }));
    EXPECT_EQ(news.heard.front().region_arg, nullptr);
    EXPECT_EQ(news.heard.front().writes, 1u);
    EXPECT_EQ(news.heard.front().changes, 0u);
    EXPECT_EQ(linnet_remote_register(b.context(), nullptr, nullptr), LINNET_OK);
}

TEST_F(OneSided, ShortOnesTakeEffectInTheOrderOfTheCalls)
{
    Memory<unsigned char> memory(LINNET_RMA_ORDERED);
    open(memory.theirs(), memory.size());
    constexpr int kRounds = 200;
    for (const std::size_t size : {std::size_t{8}, std::size_t{LINNET_RMA_ORDERED}}) {
        std::vector<Bytes> out(kRounds);
        std::vector<Bytes> in(kRounds, Bytes(size));
        std::vector<Op> writes(kRounds);
        std::vector<Op> reads(kRounds);
        for (int i = 0; i < kRounds; ++i) {
            const auto n = static_cast<std::size_t>(i);
            out[n].assign(size, static_cast<unsigned char>(i + 1));
            ASSERT_EQ(start(writes[n], true, contiguous(out[n].data(), size), 0), LINNET_IN_PROGRESS);
            ASSERT_EQ(start(reads[n], false, contiguous(in[n].data(), size), 0), LINNET_IN_PROGRESS);
        }
        ASSERT_TRUE(drive({&a}, [&] {
            return std::all_of(writes.begin(), writes.end(), [](const Op& o) { return o.complete(); }) &&
                   std::all_of(reads.begin(), reads.end(), [](const Op& o) { return o.complete(); });
        }));
        for (int i = 0; i < kRounds; ++i) {
            EXPECT_EQ(in[static_cast<std::size_t>(i)], out[static_cast<std::size_t>(i)]) << size << " round " << i;
        }
    }
}

TEST_F(OneSided, FenceWaitsForWhatWasStartedBefore)
{
    Memory<unsigned char> memory(1u << 20);
    open(memory.theirs(), memory.size());
    const Bytes out = pattern(memory.size());
    Op first;
    Op fenced;
    ASSERT_EQ(start(first, true, contiguous(out.data(), out.size()), 0), LINNET_IN_PROGRESS);
    unsigned char last = 0;
    while (start(fenced, false, contiguous(&last, 1), memory.size() - 1, LINNET_RMA_FENCE) == LINNET_ERR_AGAIN) {
        EXPECT_FALSE(first.complete() && first.status() != LINNET_OK);
        a.progress();
    }
    ASSERT_TRUE(drive({&a}, [&] { return fenced.complete() && first.complete(); }));
    EXPECT_EQ(last, out.back());
}

// What a fence lets go may end at once, so that the host would hear of that first.
TEST_F(OneSided, FenceWaitsUntilTheHostHasBeenToldOfTheEndOfWhatWasBefore)
{
    Memory<unsigned char> memory(64);
    open(memory.theirs(), memory.size());
    const Bytes out = pattern(8);
    ASSERT_EQ(run(true, contiguous(out.data(), 8), 8), LINNET_OK);   // they are connected
    Op first;
    ASSERT_EQ(start(first, true, contiguous(out.data(), out.size()), 0), LINNET_IN_PROGRESS);
    const auto end = std::chrono::steady_clock::now() + 300ms;   // the event threads do all else
    linnet_send_t s{};
    s.peer = to_b;
    s.flags = LINNET_SEND_FENCE;
    linnet_request_t fenced;
    linnet_status_t status = LINNET_ERR_AGAIN;
    while (status == LINNET_ERR_AGAIN && std::chrono::steady_clock::now() < end) {
        status = linnet_tag_send(a.context(), &s, &fenced);
        std::this_thread::sleep_for(1ms);
    }
    EXPECT_EQ(status, LINNET_ERR_AGAIN);
    EXPECT_FALSE(first.complete());
    EXPECT_TRUE(std::equal(out.begin(), out.end(), memory.begin()));
    ASSERT_TRUE(drive({&a}, [&] { return first.complete(); }));
    EXPECT_EQ(linnet_tag_send(a.context(), &s, &fenced), LINNET_OK);
}

TEST_F(OneSided, ReachesTheProcessItself)
{
    Memory<unsigned char> memory(1u << 20);
    open(memory.theirs(), memory.size());
    const linnet_name_t self = b.name();
    linnet_peer_t me{};
    ASSERT_EQ(linnet_peer_add(b.context(), &self, &me), LINNET_OK);
    for (const std::size_t size : {8u, 300000u}) {
        const Bytes out = pattern(size, 3);
        Bytes in(size);
        for (const bool write : {true, false}) {
            Op op;
            linnet_rma_t r{};
            r.peer = me;
            r.key = kKey;
            r.address = 64;
            r.data = write ? contiguous(out.data(), size) : contiguous(in.data(), size);
            r.done = Op::on_done;
            r.done_arg = &op;
            op.started = write ? linnet_rma_write(b.context(), &r, &op.request) : linnet_rma_read(b.context(), &r, &op.request);
            ASSERT_EQ(op.started, LINNET_IN_PROGRESS);
            ASSERT_TRUE(drive({&b}, [&] { return op.complete(); }));
            EXPECT_EQ(op.status(), LINNET_OK);
        }
        EXPECT_EQ(in, out);
    }
}

TEST_F(OneSided, OperationsEndWhenThePeerIsGone)
{
    a.expect_complaints();
    Memory<unsigned char> memory(1u << 20);
    open(memory.theirs(), memory.size());
    Bytes mine(memory.size());
    ASSERT_EQ(run(true, contiguous(mine.data(), 8), 0), LINNET_OK);
    Op ops[3];
    ASSERT_EQ(start(ops[0], true, contiguous(mine.data(), mine.size()), 0), LINNET_IN_PROGRESS);
    ASSERT_EQ(start(ops[1], false, contiguous(mine.data(), 8), 0), LINNET_IN_PROGRESS);
    ASSERT_EQ(start(ops[2], false, contiguous(mine.data(), mine.size()), 0), LINNET_IN_PROGRESS);
    b.close();
    ASSERT_TRUE(drive({&a}, [&] { return ops[0].complete() && ops[1].complete() && ops[2].complete(); }));
    Op later;
    ASSERT_TRUE(drive({&a}, [&] { return linnet_peer_status(a.context(), to_b) != LINNET_OK; }));
    EXPECT_EQ(start(later, true, contiguous(mine.data(), 8), 0), LINNET_ERR_PEER_DOWN);
    EXPECT_EQ(start(later, false, contiguous(mine.data(), 8), 0), LINNET_ERR_PEER_DOWN);
}

// ---- atomic operations ----

struct Atomic {
    linnet_atomic_form_t form{LINNET_ATOMIC_APPLY};
    linnet_atomic_op_t op{LINNET_ATOMIC_SUM};
    linnet_atomic_type_t type{LINNET_UINT64};
};

template <class T>
linnet_atomic_t atomic_call(linnet_peer_t peer, const Atomic& what, std::vector<T>& operand, std::vector<T>& compare, std::vector<T>& result, Op& op)
{
    linnet_atomic_t a{};
    a.peer = peer;
    a.key = kKey;
    a.form = what.form;
    a.op = what.op;
    a.type = what.type;
    a.count = operand.size();
    const auto data = [](std::vector<T>& v) { return contiguous(v.data(), v.size() * sizeof(T)); };
    a.operand = data(operand);
    a.compare = data(compare);
    a.result = data(result);
    a.done = Op::on_done;
    a.done_arg = &op;
    return a;
}

TEST_F(OneSided, AtomicOperationsOfEachForm)
{
    for (const std::size_t count : {1u, 300u, 512u}) {   // the last two in packets that come in pieces, with what they are compared to
        Memory<std::uint64_t> memory(count, 5);
        linnet_region_t* const region = open(memory.theirs(), count * 8);
        std::vector<std::uint64_t> operand(count, 7);
        std::vector<std::uint64_t> compare(count, 12);
        std::vector<std::uint64_t> result(count);
        const auto run_atomic = [&](const Atomic& what) {
            Op op;
            const linnet_atomic_t call = atomic_call(to_b, what, operand, compare, result, op);
            op.started = linnet_rma_atomic(a.context(), &call, &op.request);
            EXPECT_EQ(op.started, LINNET_IN_PROGRESS);
            EXPECT_TRUE(drive({&a}, [&] { return op.complete(); }));
            return op.status();
        };
        EXPECT_EQ(run_atomic({LINNET_ATOMIC_APPLY, LINNET_ATOMIC_SUM}), LINNET_OK);
        EXPECT_EQ(memory.copy(), std::vector<std::uint64_t>(count, 12));
        EXPECT_EQ(run_atomic({LINNET_ATOMIC_COMPARE, LINNET_ATOMIC_CSWAP}), LINNET_OK);
        EXPECT_EQ(result, std::vector<std::uint64_t>(count, 12));
        EXPECT_EQ(run_atomic({LINNET_ATOMIC_FETCH, LINNET_ATOMIC_PROD}), LINNET_OK);
        EXPECT_EQ(result, std::vector<std::uint64_t>(count, 7));
        EXPECT_EQ(memory.copy(), std::vector<std::uint64_t>(count, 49));
        EXPECT_EQ(linnet_region_close(b.context(), region), LINNET_OK);
        EXPECT_EQ(run_atomic({LINNET_ATOMIC_APPLY, LINNET_ATOMIC_SUM}), LINNET_ERR_KEY);
        EXPECT_EQ(run_atomic({LINNET_ATOMIC_FETCH, LINNET_ATOMIC_SUM}), LINNET_ERR_KEY);
        linnet_region_t* const readable = open(memory.theirs(), count * 8, LINNET_REGION_READ);
        EXPECT_EQ(run_atomic({LINNET_ATOMIC_FETCH, LINNET_ATOMIC_READ}), LINNET_OK);
        EXPECT_EQ(result, memory.copy());
        EXPECT_EQ(run_atomic({LINNET_ATOMIC_FETCH, LINNET_ATOMIC_SUM}), LINNET_ERR_NOT_ALLOWED);
        EXPECT_EQ(linnet_region_close(b.context(), readable), LINNET_OK);
    }
    std::vector<double> numbers(1);
    Op op;
    const linnet_atomic_t none = atomic_call(to_b, {LINNET_ATOMIC_FETCH, LINNET_ATOMIC_BOR, LINNET_DOUBLE}, numbers, numbers, numbers, op);
    EXPECT_EQ(linnet_rma_atomic(a.context(), &none, &op.request), LINNET_ERR_UNSUPPORTED);
    std::vector<std::uint64_t> many(513);
    const linnet_atomic_t long_one = atomic_call(to_b, {}, many, many, many, op);
    EXPECT_EQ(linnet_rma_atomic(a.context(), &long_one, &op.request), LINNET_ERR_INVALID);
}

// Several peers add to one number, through two contexts of its owner: nothing is lost.
TEST_F(OneSided, AtomicOperationsOfSeveralPeersAllCount)
{
    Memory<std::uint64_t> memory(1);
    open(memory.theirs(), 8);
    Endpoint c;
    Endpoint second_door;
    linnet_region_options_t o{};
    o.size = sizeof o;
    o.base = memory.theirs();
    o.length = 8;
    o.key = kKey;
    o.flags = LINNET_REGION_READ | LINNET_REGION_WRITE;
    linnet_region_t* region = nullptr;
    ASSERT_EQ(linnet_region_open(second_door.context(), &o, &region), LINNET_OK);
    const linnet_peer_t through_second = c.add(second_door);
    constexpr int kTimes = 500;
    std::vector<std::uint64_t> one{1};
    std::vector<std::uint64_t> none;
    std::vector<Op> ops(2 * kTimes);
    for (int i = 0; i < kTimes; ++i) {
        Op& first = ops[static_cast<std::size_t>(2 * i)];
        Op& second = ops[static_cast<std::size_t>(2 * i + 1)];
        const linnet_atomic_t by_a = atomic_call(to_b, {}, one, none, none, first);
        const linnet_atomic_t by_c = atomic_call(through_second, {}, one, none, none, second);
        ASSERT_EQ(first.started = linnet_rma_atomic(a.context(), &by_a, &first.request), LINNET_IN_PROGRESS);
        ASSERT_EQ(second.started = linnet_rma_atomic(c.context(), &by_c, &second.request), LINNET_IN_PROGRESS);
    }
    ASSERT_TRUE(drive({&a, &c}, [&] { return std::all_of(ops.begin(), ops.end(), [](const Op& op) { return op.complete(); }); }));
    EXPECT_EQ(memory[0], 2u * kTimes);
    EXPECT_EQ(linnet_region_close(second_door.context(), region), LINNET_OK);
}

#ifndef LINNET_WAIST_SHARED
// Over a link that can let their bytes wait. Until it is up, which takes a transfer that wants it, they ask.
TEST_F(OneSided, LongWritesDoNotAskOverTcp)
{
    Memory<unsigned char> memory(1u << 20);
    open(memory.theirs(), memory.size());
    const Bytes out = pattern(memory.size(), 3);
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_EQ(a.counter("rma_unasked"), i == 0 ? 0u : i - 1);
        std::fill(memory.begin(), memory.end(), static_cast<unsigned char>(0xee));
        ASSERT_EQ(run(true, contiguous(out.data(), out.size()), 0), LINNET_OK);
        EXPECT_TRUE(std::equal(out.begin(), out.end(), memory.begin()));
    }
    ASSERT_EQ(run(true, contiguous(out.data(), out.size()), 1), LINNET_ERR_BOUNDS);   // told when its bytes are on their way
    ASSERT_EQ(run(true, contiguous(out.data(), out.size()), 0), LINNET_OK);
    EXPECT_EQ(a.counter("rma_unasked"), 6u);
}

// Connections of this process are cut again and again, and nothing is lost, doubled or out of place.
TEST_F(OneSided, BrokenConnectionsChangeNothing)
{
    Memory<unsigned char> memory(8u << 20);
    open(memory.theirs(), memory.size());
    for (unsigned round = 0; round < 12; ++round) {
        const Bytes out = pattern(6u << 20, round);
        Bytes in(out.size());
        Op write;
        Op read;
        ASSERT_EQ(start(write, true, contiguous(out.data(), out.size()), round), LINNET_IN_PROGRESS);
        const auto until_cut = std::chrono::steady_clock::now() + std::chrono::microseconds{200 * (round % 6)};
        ASSERT_TRUE(drive({&a}, [&] { return std::chrono::steady_clock::now() > until_cut; }));
        shut(tcp_connections());
        ASSERT_TRUE(drive({&a, &b}, [&] { return write.complete(); })) << round;
        ASSERT_EQ(write.status(), LINNET_OK);
        ASSERT_EQ(start(read, false, contiguous(in.data(), in.size()), round), LINNET_IN_PROGRESS);
        const auto again = std::chrono::steady_clock::now() + std::chrono::microseconds{200 * (round % 6)};
        ASSERT_TRUE(drive({&a}, [&] { return std::chrono::steady_clock::now() > again; }));
        shut(tcp_connections());
        ASSERT_TRUE(drive({&a, &b}, [&] { return read.complete(); })) << round;
        ASSERT_EQ(read.status(), LINNET_OK);
        EXPECT_EQ(in, out) << round;
    }
}

// Many under way at a time, of which one connection or the other is cut: bulk packets that come without having been asked for, and before the announcement that
// they belong to, after their write has been granted anew, or over a link that does not let them wait.
class CutConnections : public OneSided, public ::testing::WithParamInterface<const char*> {
protected:
    CutConnections() : OneSided{GetParam()} {}
};

TEST_P(CutConnections, ChangeNothingOfManyWrites)
{
    constexpr std::size_t kWrites = 16;
    constexpr std::size_t kMost = 1u << 20;
    std::mt19937_64 random{test_seed(11)};
    News news;
    ASSERT_EQ(linnet_remote_register(b.context(), News::on_remote, &news), LINNET_OK);
    Memory<unsigned char> memory(kWrites * kMost);
    open(memory.theirs(), memory.size());
    std::size_t told = 0;
    struct Round {
        std::array<Op, kWrites> ops;
        std::array<Bytes, kWrites> out;
    };
    for (unsigned number = 0; number < 25; ++number) {
        auto round = std::make_unique<Round>();
        for (std::size_t i = 0; i < kWrites; ++i) {
            round->out[i] = pattern(1 + random() % kMost, static_cast<unsigned>(random()));
            const bool tells = random() % 3 == 0;
            told += tells ? 1 : 0;
            ASSERT_EQ(start(round->ops[i], true, contiguous(round->out[i].data(), round->out[i].size()), i * kMost,
                            tells ? std::uint32_t{LINNET_SEND_IMMEDIATE} : 0, number),
                      LINNET_IN_PROGRESS);
            if (random() % 4 == 0) {
                const auto until = std::chrono::steady_clock::now() + std::chrono::microseconds{random() % 300};
                ASSERT_TRUE(drive({&a}, [&] { return std::chrono::steady_clock::now() > until; }));
            }
            const std::vector<int> all = tcp_connections();
            if (random() % 8 == 0 && !all.empty()) {
                shut({all[random() % all.size()]});
            }
        }
        const auto& ops = round->ops;
        if (!drive({&a, &b}, [&] { return std::all_of(ops.begin(), ops.end(), [](const Op& o) { return o.complete(); }); })) {
            static_cast<void>(round.release());   // it is the context's until that closes
            FAIL() << "round " << number;
        }
        for (std::size_t i = 0; i < kWrites; ++i) {
            const Bytes& out = round->out[i];
            ASSERT_EQ(ops[i].status(), LINNET_OK) << number << ", " << i;
            ASSERT_TRUE(std::equal(out.begin(), out.end(), memory.begin() + static_cast<std::ptrdiff_t>(i * kMost))) << number << ", " << i;
        }
    }
    EXPECT_TRUE(std::string_view{GetParam()} != "tcp" || a.counter("rma_unasked") >= 20) << a.counter("rma_unasked");
    const auto immediates = [&] {
        return static_cast<std::size_t>(
            std::count_if(news.heard.begin(), news.heard.end(), [](const linnet_remote_t& n) { return (n.flags & LINNET_SEND_IMMEDIATE) != 0; }));
    };
    EXPECT_TRUE(drive({&a, &b}, [&] { return immediates() >= told; }));
    EXPECT_EQ(immediates(), told);
}

INSTANTIATE_TEST_SUITE_P(Over, CutConnections, ::testing::Values("tcp", "tcp,udp", "udp,tcp"), [](const auto& p) {
    std::string name{p.param};
    std::replace(name.begin(), name.end(), ',', '_');
    return name;
});
#endif

}   // namespace
}   // namespace linnet::testing
