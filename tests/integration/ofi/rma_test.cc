// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_rma(3), fi_mr(3): writes and reads, what they tell on either side, what is refused.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "integration/ofi/node.h"
#include "integration/ofi/region.h"
#include "support/pace.h"

namespace linnet::ofi_test {
namespace {

using namespace std::chrono_literals;

Options rma(std::uint64_t more = 0)
{
    Options o;
    o.caps = FI_MSG | FI_RMA | more;
    return o;
}

// The first side owns memory and only waits for the other to be done.
void with_memory(const Options& o, std::size_t bytes, const std::function<void(Node&, const Where&)>& user,
                 const std::function<void(Node&, Region&)>& owner_afterwards = {}, std::uint64_t access = FI_REMOTE_READ | FI_REMOTE_WRITE)
{
    two_processes(
        [&](Friend& other) {
            Node n{o};
            Region r{n, bytes, access};
            n.connect(other);
            other.tell(r.where());
            other.meet();
            if (owner_afterwards) {
                owner_afterwards(n, r);
            }
            other.meet();
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            const Where where{other.hear()};
            user(n, where);
            other.meet();
            other.meet();
        });
}

TEST(Rma, WritesAndReadsOfEverySize)
{
    with_memory(rma(), 3u << 20, [](Node& n, const Where& there) {
        for (const std::size_t size : {1u, 8u, 1000u, 16384u, 70000u, 200000u, 2u << 20}) {
            const auto out = pattern(size, static_cast<unsigned>(size));
            std::vector<char> in(size);
            int context = 0;
            n.post([&] { return fi_write(n.ep, out.data(), size, nullptr, n.peer, there.at(77), there.key, &context); });
            const fi_cq_tagged_entry w = n.next(n.tx);
            EXPECT_EQ(w.op_context, &context);
            EXPECT_EQ(w.flags & (FI_RMA | FI_WRITE | FI_READ), FI_RMA | FI_WRITE);
            n.post([&] { return fi_read(n.ep, in.data(), size, nullptr, n.peer, there.at(77), there.key, &context); });
            const fi_cq_tagged_entry r = n.next(n.tx);
            EXPECT_EQ(r.op_context, &context);
            EXPECT_EQ(r.flags & (FI_RMA | FI_WRITE | FI_READ), FI_RMA | FI_READ);
            EXPECT_EQ(in, out) << size;
        }
    });
}

TEST(Rma, TheOwnerFindsWhatWasDelivered)
{
    Options o = rma();
    o.tx_flags = FI_DELIVERY_COMPLETE;
    with_memory(
        o, 4096,
        [](Node& n, const Where& there) {
            const auto out = pattern(4096, 9);
            n.post([&] { return fi_write(n.ep, out.data(), 4096, nullptr, n.peer, there.at(0), there.key, nullptr); });
            static_cast<void>(n.next(n.tx));
        },
        [](Node& n, Region& r) {
            EXPECT_EQ(r.content(), pattern(4096, 9));
            EXPECT_TRUE(n.quiet_for(20ms)) << "a plain write is not told";
        });
}

TEST(Rma, VectorsAndMessagesWithFlags)
{
    with_memory(rma(), 65536, [](Node& n, const Where& there) {
        auto out = pattern(60000, 3);
        std::vector<char> in(60000);
        iovec from[3] = {{out.data(), 100}, {out.data() + 100, 40000}, {out.data() + 40100, 19900}};
        iovec to[2] = {{in.data(), 30000}, {in.data() + 30000, 30000}};
        n.post([&] { return fi_writev(n.ep, from, nullptr, 3, n.peer, there.at(8), there.key, nullptr); });
        static_cast<void>(n.next(n.tx));
        n.post([&] { return fi_readv(n.ep, to, nullptr, 2, n.peer, there.at(8), there.key, nullptr); });
        static_cast<void>(n.next(n.tx));
        EXPECT_EQ(in, out);
        for (const std::uint64_t level : {std::uint64_t{0}, std::uint64_t{FI_INJECT_COMPLETE}, std::uint64_t{FI_TRANSMIT_COMPLETE},
                                          std::uint64_t{FI_DELIVERY_COMPLETE}}) {
            fi_rma_iov remote{there.at(16), 100, there.key};
            fi_msg_rma m{};
            m.msg_iov = from;
            m.iov_count = 1;
            m.addr = n.peer;
            m.rma_iov = &remote;
            m.rma_iov_count = 1;
            int context = 0;
            m.context = &context;
            n.post([&] { return fi_writemsg(n.ep, &m, FI_COMPLETION | level); });
            EXPECT_EQ(n.next(n.tx).op_context, &context);
            iovec back{in.data(), 100};
            m.msg_iov = &back;
            n.post([&] { return fi_readmsg(n.ep, &m, FI_COMPLETION); });
            EXPECT_EQ(n.next(n.tx).op_context, &context);
            EXPECT_TRUE(std::equal(out.begin(), out.begin() + 100, in.begin()));
        }
    });
}

TEST(Rma, InjectedWritesTellNothingAndArrive)
{
    with_memory(rma(), 4096, [](Node& n, const Where& there) {
        char out[64];
        for (int i = 0; i < 500; ++i) {
            std::memset(out, i, sizeof out);
            n.post([&] { return fi_inject_write(n.ep, out, sizeof out, n.peer, there.at(static_cast<std::uint64_t>(i % 64) * 64), there.key); });
        }
        EXPECT_TRUE(n.quiet_for(20ms));
        std::vector<char> in(4096);
        n.post([&] { return fi_read(n.ep, in.data(), in.size(), nullptr, n.peer, there.at(0), there.key, nullptr); });
        static_cast<void>(n.next(n.tx));
        for (int i = 436; i < 500; ++i) {
            EXPECT_EQ(in[static_cast<std::size_t>(i % 64) * 64 + 63], static_cast<char>(i));
        }
    });
}

TEST(Rma, RemoteDataComesWithItsBytes)
{
    constexpr std::uint64_t kData = 0x0123456789abcdefull;
    with_memory(
        rma(), 1u << 20,
        [](Node& n, const Where& there) {
            const std::uint64_t data = n.info->domain_attr->cq_data_size >= 8 ? kData : static_cast<std::uint32_t>(kData);
            const auto out = pattern(300000, 1);
            n.post([&] { return fi_writedata(n.ep, out.data(), 100, nullptr, data, n.peer, there.at(0), there.key, nullptr); });
            static_cast<void>(n.next(n.tx));
            n.post([&] { return fi_inject_writedata(n.ep, out.data(), 10, data, n.peer, there.at(0), there.key); });
            n.post([&] { return fi_writedata(n.ep, out.data(), 300000, nullptr, data, n.peer, there.at(1000), there.key, nullptr); });
            static_cast<void>(n.next(n.tx));
        },
        [](Node& n, Region& r) {
            const std::uint64_t data = n.info->domain_attr->cq_data_size >= 8 ? kData : static_cast<std::uint32_t>(kData);
            for (int i = 0; i < 3; ++i) {
                const fi_cq_tagged_entry e = n.next(n.rx);
                EXPECT_EQ(e.flags & (FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA), FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
                EXPECT_TRUE((e.flags & FI_RMA) != 0 || !is_linnet());
                EXPECT_EQ(e.data, data);
            }
            const auto out = pattern(300000, 1);
            EXPECT_TRUE(std::equal(out.begin(), out.end(), r.memory.begin() + 1000));
        });
}

// fi_cq(3), target completion semantics, with FI_ORDER_WAW: the entry of the second write says that the first one is there, too, however long it is and
// whatever its sender has waited for.
TEST(Rma, RemoteDataComesAfterTheBytesOfTheWritesBeforeIt)
{
    constexpr std::size_t kLongest = 8u << 20;
    constexpr unsigned kRounds = testing::kSanitized ? 8 : 40;
    const auto length = [](unsigned round) { return round % 2 == 0 ? kLongest : std::size_t{300'000}; };
    two_processes(
        [&](Friend& other) {
            Node n{rma()};
            Region r{n, kLongest + 8, FI_REMOTE_WRITE};
            n.connect(other);
            other.tell(r.where());
            for (unsigned round = 1; round <= kRounds; ++round) {
                for (unsigned i = 0; i < 3; ++i) {
                    EXPECT_EQ(n.next(n.rx).data, 10 * round + i);
                    const auto all = std::span{r.memory}.first(length(round));
                    EXPECT_EQ(std::ranges::count(all, static_cast<char>(round)), static_cast<std::ptrdiff_t>(all.size())) << "in round " << round;
                }
                other.meet();
            }
        },
        [&](Friend& other) {
            Node n{rma()};
            n.connect(other);
            const Where there{other.hear()};
            for (unsigned round = 1; round <= kRounds; ++round) {
                const std::vector<char> out(length(round), static_cast<char>(round));
                n.post([&] { return fi_write(n.ep, out.data(), out.size(), nullptr, n.peer, there.at(0), there.key, nullptr); });
                for (unsigned i = 0; i < 3; ++i) {
                    n.post([&] { return fi_writedata(n.ep, out.data(), 4 * i, nullptr, 10 * round + i, n.peer, there.at(kLongest), there.key, nullptr); });
                }
                for (unsigned i = 0; i < 4; ++i) {
                    static_cast<void>(n.next(n.tx));
                }
                other.meet();
            }
        });
}

TEST(Rma, SelectiveCompletionTellsWhatWasAskedFor)
{
    Options o = rma();
    o.bind_flags = FI_SELECTIVE_COMPLETION;
    with_memory(o, 4096, [](Node& n, const Where& there) {
        char out[8] = "abcdefg";
        n.post([&] { return fi_write(n.ep, out, 8, nullptr, n.peer, there.at(0), there.key, nullptr); });
        EXPECT_TRUE(n.quiet_for(20ms));
        fi_rma_iov remote{there.at(8), 8, there.key};
        iovec iov{out, 8};
        int context = 0;
        fi_msg_rma m{&iov, nullptr, 1, n.peer, &remote, 1, &context, 0};
        n.post([&] { return fi_writemsg(n.ep, &m, FI_COMPLETION | FI_DELIVERY_COMPLETE); });
        EXPECT_EQ(n.next(n.tx).op_context, &context);
    });
}

TEST(Rma, CountersCountWritesAndReads)
{
    Options o = rma();
    o.rma_counters = true;
    with_memory(o, 4096, [](Node& n, const Where& there) {
        char bytes[100] = {};
        for (int i = 0; i < 3; ++i) {
            n.post([&] { return fi_write(n.ep, bytes, sizeof bytes, nullptr, n.peer, there.at(0), there.key, nullptr); });
        }
        EXPECT_EQ(fi_cntr_wait(n.written, 3, 10000), 0);
        n.post([&] { return fi_read(n.ep, bytes, sizeof bytes, nullptr, n.peer, there.at(0), there.key, nullptr); });
        EXPECT_EQ(fi_cntr_wait(n.was_read, 1, 10000), 0);
        EXPECT_EQ(fi_cntr_read(n.written), 3u);
        EXPECT_EQ(fi_cntr_read(n.was_read), 1u);
    });
}

TEST(LinnetRma, FailuresAreErrorEntriesAndLeaveThePeerUsable)
{
    with_memory(rma(), 4096, [](Node& n, const Where& there) {
        std::vector<char> bytes(300000);
        const auto fails = [&](ssize_t posted, int error, const char* text) {
            EXPECT_EQ(posted, 0);
            const fi_cq_err_entry e = n.next_error(n.tx);
            EXPECT_EQ(e.err, error);
            EXPECT_EQ(e.flags & FI_RMA, FI_RMA);
            EXPECT_EQ(e.op_context, &bytes);
            char told[100];
            EXPECT_STREQ(fi_cq_strerror(n.tx, e.prov_errno, e.err_data, told, sizeof told), text);
        };
        for (const std::size_t size : {8u, 300000u}) {
            fails(fi_write(n.ep, bytes.data(), size, nullptr, n.peer, there.at(0), there.key + 1, &bytes), FI_ENOKEY, "no such memory region");
            fails(fi_read(n.ep, bytes.data(), size, nullptr, n.peer, there.at(0), there.key + 1, &bytes), FI_ENOKEY, "no such memory region");
            fails(fi_write(n.ep, bytes.data(), size, nullptr, n.peer, there.at(4089), there.key, &bytes), FI_EINVAL, "outside of the memory region");
            fails(fi_read(n.ep, bytes.data(), size, nullptr, n.peer, there.at(UINT64_MAX), there.key, &bytes), FI_EINVAL, "outside of the memory region");
        }
        // An injected write tells its failure, too.
        EXPECT_EQ(fi_inject_write(n.ep, bytes.data(), 8, n.peer, there.at(4090), there.key), 0);
        EXPECT_EQ(n.next_error(n.tx).err, FI_EINVAL);
        EXPECT_EQ(fi_write(n.ep, bytes.data(), 8, nullptr, n.peer, there.at(0), there.key, nullptr), 0);
        EXPECT_EQ(n.next(n.tx).flags & FI_WRITE, FI_WRITE);
        EXPECT_EQ(fi_inject_write(n.ep, bytes.data(), 1025, n.peer, there.at(0), there.key), -FI_EMSGSIZE);
        EXPECT_EQ(fi_write(n.ep, bytes.data(), 8, nullptr, 4711, there.at(0), there.key, nullptr), -FI_EINVAL);
    });
    with_memory(
        rma(), 4096,
        [](Node& n, const Where& there) {
            char bytes[8] = {};
            EXPECT_EQ(fi_write(n.ep, bytes, 8, nullptr, n.peer, there.at(0), there.key, nullptr), 0);
            EXPECT_EQ(n.next_error(n.tx).err, FI_EACCES);
            EXPECT_EQ(fi_read(n.ep, bytes, 8, nullptr, n.peer, there.at(0), there.key, nullptr), 0);
            static_cast<void>(n.next(n.tx));
        },
        {}, FI_REMOTE_READ);
}

TEST(LinnetRma, FencedOperationSeesAllThatWentBefore)
{
    with_memory(rma(FI_FENCE), 4u << 20, [](Node& n, const Where& there) {
        for (int round = 0; round < 20; ++round) {
            const auto out = pattern(4u << 20, static_cast<unsigned>(round));
            char last = 0;
            n.post([&] { return fi_write(n.ep, out.data(), out.size(), nullptr, n.peer, there.at(0), there.key, nullptr); });
            iovec iov{&last, 1};
            fi_rma_iov remote{there.at(out.size() - 1), 1, there.key};
            fi_msg_rma m{&iov, nullptr, 1, n.peer, &remote, 1, &last, 0};
            n.post([&] { return fi_readmsg(n.ep, &m, FI_COMPLETION | FI_FENCE); });
            EXPECT_EQ(n.next(n.tx).flags & FI_WRITE, FI_WRITE);
            EXPECT_EQ(n.next(n.tx).op_context, &last);
            EXPECT_EQ(last, out.back());
        }
    });
}

// fi_endpoint(3) wants FI_RMA_EVENT for these flags; an endpoint that is never a target has nothing to count, and may bind one counter for all.
TEST(LinnetRma, CountersOfRemoteAccessesNeedTheirCapabilityWhereThereAreAny)
{
    constexpr std::uint64_t kAll = FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE;
    const auto bound = [](std::uint64_t caps) {
        Node n{{.caps = caps}, false};
        EXPECT_EQ(fi_cntr_open(n.domain, nullptr, &n.received, nullptr), 0);
        return fi_ep_bind(n.ep, &n.received->fid, kAll);
    };
    two_processes(
        [&](Friend&) {
            EXPECT_EQ(bound(FI_MSG), 0);
            EXPECT_EQ(bound(FI_MSG | FI_RMA | FI_READ | FI_WRITE), 0);
            EXPECT_EQ(bound(FI_MSG | FI_RMA), -FI_EINVAL);
            EXPECT_EQ(bound(FI_MSG | FI_RMA | FI_RMA_EVENT), 0);
        },
        [](Friend&) {});
}

// A counter that a thread can wait for, bound to the region, which is enabled then; null: it failed.
fid_cntr* counter_of_writes(Node& n, Region& r)
{
    fi_cntr_attr attr{};
    attr.wait_obj = FI_WAIT_UNSPEC;
    fid_cntr* counter = nullptr;
    EXPECT_EQ(fi_cntr_open(n.domain, &attr, &counter, nullptr), 0);
    if (counter != nullptr) {
        EXPECT_EQ(fi_mr_bind(r.mr, &counter->fid, FI_REMOTE_WRITE), 0);
        EXPECT_EQ(fi_mr_enable(r.mr), 0);
    }
    return counter;
}

TEST(LinnetRma, RemoteEventsCountForEndpointAndRegion)
{
    Options o = rma(FI_RMA_EVENT);
    o.remote_counters = true;
    two_processes(
        [&](Friend& other) {
            Node n{o};
            Region r{n, 4096, FI_REMOTE_READ | FI_REMOTE_WRITE};
            fid_cntr* const of_region = counter_of_writes(n, r);
            ASSERT_NE(of_region, nullptr);
            n.connect(other);
            other.tell(r.where());
            EXPECT_EQ(fi_cntr_wait(n.remote_written, 6, 10000), 0);
            EXPECT_EQ(fi_cntr_wait(n.remote_read, 3, 10000), 0);
            other.meet();
            EXPECT_EQ(fi_cntr_read(n.remote_written), 6u);
            EXPECT_EQ(fi_cntr_read(n.remote_read), 3u);
            EXPECT_EQ(fi_cntr_read(of_region), 4u);   // two had no bytes
            EXPECT_EQ(fi_close(&of_region->fid), -FI_EBUSY);
            r.close();
            EXPECT_EQ(fi_close(&of_region->fid), 0);
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            const Where there{other.hear()};
            char bytes[8] = {};
            for (int i = 0; i < 3; ++i) {
                n.post([&] { return fi_write(n.ep, bytes, 8, nullptr, n.peer, there.at(0), there.key, nullptr); });
            }
            n.post([&] { return fi_writedata(n.ep, bytes, 8, nullptr, 1, n.peer, there.at(0), there.key, nullptr); });
            n.post([&] { return fi_writedata(n.ep, bytes, 0, nullptr, 1, n.peer, 0, 0, nullptr); });
            n.post([&] { return fi_read(n.ep, bytes, 8, nullptr, n.peer, there.at(0), there.key, nullptr); });
            n.post([&] { return fi_read(n.ep, bytes, 8, nullptr, n.peer, there.at(8), there.key, nullptr); });
            n.post([&] { return fi_write(n.ep, bytes, 0, nullptr, n.peer, 0, 0, nullptr); });
            n.post([&] { return fi_read(n.ep, bytes, 0, nullptr, n.peer, 0, 0, nullptr); });
            for (int i = 0; i < 9; ++i) {
                static_cast<void>(n.next(n.tx));
            }
            other.meet();
        });
}

// fi_cntr(3): counters count what was successful.
TEST(LinnetRma, RefusedAccessesCountNowhere)
{
    Options o = rma(FI_RMA_EVENT);
    o.remote_counters = true;
    with_memory(
        o, 100000,
        [](Node& n, const Where& there) {
            std::vector<char> bytes(50000);
            for (const std::size_t size : {8u, 50000u}) {
                EXPECT_EQ(fi_read(n.ep, bytes.data(), size, nullptr, n.peer, there.at(0), there.key + 1, nullptr), 0);
                EXPECT_EQ(n.next_error(n.tx).err, FI_ENOKEY);
                EXPECT_EQ(fi_write(n.ep, bytes.data(), size, nullptr, n.peer, there.at(0), there.key + 1, nullptr), 0);
                EXPECT_EQ(n.next_error(n.tx).err, FI_ENOKEY);
                EXPECT_EQ(fi_read(n.ep, bytes.data(), size, nullptr, n.peer, there.at(99999), there.key, nullptr), 0);
                EXPECT_EQ(n.next_error(n.tx).err, FI_EINVAL);
                EXPECT_EQ(fi_read(n.ep, bytes.data(), size, nullptr, n.peer, there.at(0), there.key, nullptr), 0);
                static_cast<void>(n.next(n.tx));
            }
        },
        [](Node& n, Region&) {
            EXPECT_EQ(fi_cntr_wait(n.remote_read, 2, 20000), 0);
            EXPECT_EQ(fi_cntr_read(n.remote_read), 2u);
            EXPECT_EQ(fi_cntr_read(n.remote_written), 0u);
        });
}

// The initiator knows that it is done; the owner has looked at nothing before it closes the region.
TEST(LinnetRma, WhatWasDoneToARegionBeforeItClosedCounts)
{
    Options o = rma(FI_RMA_EVENT);
    o.remote_counters = true;
    two_processes(
        [&](Friend& other) {
            Node n{o};
            Region r{n, 100000, FI_REMOTE_READ | FI_REMOTE_WRITE};
            fid_cntr* const of_region = counter_of_writes(n, r);
            ASSERT_NE(of_region, nullptr);
            n.connect(other);
            other.tell(r.where());
            other.meet();
            r.close();
            EXPECT_EQ(fi_cntr_read(of_region), 4u);
            EXPECT_EQ(fi_close(&of_region->fid), 0);
            EXPECT_EQ(fi_cntr_wait(n.remote_written, 4, 20000), 0);
            EXPECT_EQ(fi_cntr_wait(n.remote_read, 5, 20000), 0);
            Region again{n, 100000, FI_REMOTE_READ | FI_REMOTE_WRITE};   // without a counter of its own
            other.tell(again.where());
            other.meet();
            again.close();
            EXPECT_EQ(fi_cntr_wait(n.remote_written, 8, 20000), 0);
            EXPECT_EQ(fi_cntr_wait(n.remote_read, 10, 20000), 0);
            other.meet();
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            std::vector<char> bytes(50000);
            for (int round = 0; round < 2; ++round) {
                const Where there{other.hear()};
                for (int i = 0; i < 4; ++i) {
                    n.post([&] { return fi_write(n.ep, bytes.data(), i % 2 == 0 ? 8 : 50000, nullptr, n.peer, there.at(0), there.key, nullptr); });
                }
                for (int i = 0; i < 5; ++i) {
                    n.post([&] { return fi_read(n.ep, bytes.data(), i % 2 == 0 ? 50000 : 8, nullptr, n.peer, there.at(0), there.key, nullptr); });
                }
                for (int i = 0; i < 9; ++i) {
                    static_cast<void>(n.next(n.tx));
                }
                other.meet();
            }
            other.meet();
        });
}

// Who waits for the counter may use the memory for something else.
TEST(LinnetRma, LongReadCountsWhenItIsOver)
{
    constexpr std::size_t kBytes = 1 << 20;
    constexpr unsigned kRounds = 8;
    Options o = rma(FI_RMA_EVENT);
    o.remote_counters = true;
    for (const char* const transports : {"shm,tcp", "tcp"}) {
        two_processes(
            [&](Friend& other) {
                ::setenv("FI_LINNET_TRANSPORTS", transports, 1);
                Node n{o};
                Region r{n, kBytes, FI_REMOTE_READ};
                n.connect(other);
                other.tell(r.where());
                for (unsigned i = 0; i < kRounds; ++i) {
                    leave_to_the_other_side(r.memory, pattern(kBytes, i));
                    other.meet();
                    EXPECT_EQ(fi_cntr_wait(n.remote_read, i + 1, 20000), 0);
                    std::fill(r.memory.begin(), r.memory.end(), '\0');
                    other.meet();
                }
            },
            [&](Friend& other) {
                ::setenv("FI_LINNET_TRANSPORTS", transports, 1);
                Node n{o};
                n.connect(other);
                const Where there{other.hear()};
                std::vector<char> bytes(kBytes);
                for (unsigned i = 0; i < kRounds; ++i) {
                    other.meet();
                    n.post([&] { return fi_read(n.ep, bytes.data(), kBytes, nullptr, n.peer, there.at(0), there.key, nullptr); });
                    static_cast<void>(n.next(n.tx));
                    EXPECT_EQ(bytes == pattern(kBytes, i), true) << i;
                    other.meet();
                }
            });
    }
}

// Nobody calls for the endpoint's own queues: who waits for the counter of a region, or reads it, makes the endpoints of its domain progress; one that was
// enabled after the binding, too.
TEST(LinnetRma, CounterOfARegionIsDrivenByItselfAlone)
{
    constexpr std::uint64_t kWrites = 20;
    const Options o = rma(FI_RMA_EVENT);
    for (const bool late : {false, true}) {
        two_processes(
            [&](Friend& other) {
                Node n{o, !late};
                Region r{n, 4096, FI_REMOTE_READ | FI_REMOTE_WRITE};
                fid_cntr* const of_region = counter_of_writes(n, r);
                ASSERT_NE(of_region, nullptr);
                if (late) {
                    n.enable();
                }
                n.connect(other);
                other.tell(r.where());
                EXPECT_EQ(fi_cntr_wait(of_region, kWrites, 20000), 0);
                other.tell("more");
                for (const auto end = std::chrono::steady_clock::now() + 20s; fi_cntr_read(of_region) < 2 * kWrites;) {
                    ASSERT_LT(std::chrono::steady_clock::now(), end);
                }
                other.meet();
                r.close();
                EXPECT_EQ(fi_close(&of_region->fid), 0);
            },
            [&](Friend& other) {
                Node n{o};
                n.connect(other);
                const Where there{other.hear()};
                const char bytes[8] = {};
                const auto write = [&] {
                    for (std::uint64_t i = 0; i < kWrites; ++i) {
                        n.post([&] { return fi_inject_write(n.ep, bytes, 8, n.peer, there.at(0), there.key); });
                    }
                };
                write();
                EXPECT_EQ(other.hear(), "more");
                write();
                other.meet();
            });
    }
}

TEST(LinnetRma, KeysAreUniqueAndRegionsComeAndGo)
{
    two_processes(
        [&](Friend& other) {
            Node n{rma()};
            std::vector<char> memory(64, 'x');
            fid_mr* first = nullptr;
            fid_mr* second = nullptr;
            ASSERT_EQ(fi_mr_reg(n.domain, memory.data(), 64, FI_REMOTE_READ, 0, 42, 0, &first, nullptr), 0);
            EXPECT_EQ(fi_mr_key(first), 42u);
            EXPECT_EQ(fi_mr_reg(n.domain, memory.data(), 64, FI_REMOTE_READ, 0, 42, 0, &second, nullptr), -FI_ENOKEY);
            EXPECT_EQ(fi_close(&first->fid), 0);
            n.connect(other);
            other.meet();
            ASSERT_EQ(fi_mr_reg(n.domain, memory.data(), 64, FI_REMOTE_READ, 0, 42, 0, &first, nullptr), 0);
            std::uint64_t base = 1;
            std::uint8_t raw[8];
            std::size_t raw_bytes = 4;
            EXPECT_EQ(fi_control(&first->fid, FI_GET_RAW_MR, nullptr), -FI_EINVAL);
            EXPECT_EQ(fi_control(&n.domain->fid, FI_MAP_RAW_MR, nullptr), -FI_EINVAL);
            EXPECT_EQ(fi_mr_raw_attr(first, &base, raw, &raw_bytes, 0), -FI_ETOOSMALL);
            EXPECT_EQ(raw_bytes, 8u);
            EXPECT_EQ(fi_mr_raw_attr(first, &base, raw, &raw_bytes, 0), 0);
            std::uint64_t key = 0;
            EXPECT_EQ(fi_mr_map_raw(n.domain, base, raw, raw_bytes, &key, 0), 0);
            EXPECT_EQ(key, 42u);
            EXPECT_EQ(base, 0u);
            other.meet();
            other.meet();
            EXPECT_EQ(fi_close(&first->fid), 0);
        },
        [&](Friend& other) {
            Node n{rma()};
            n.connect(other);
            char in[64] = {};
            EXPECT_EQ(fi_read(n.ep, in, 64, nullptr, n.peer, 0, 42, nullptr), 0);
            EXPECT_EQ(n.next_error(n.tx).err, FI_ENOKEY);
            other.meet();
            other.meet();
            EXPECT_EQ(fi_read(n.ep, in, 64, nullptr, n.peer, 0, 42, nullptr), 0);
            static_cast<void>(n.next(n.tx));
            EXPECT_EQ(in[63], 'x');
            other.meet();
        });
}

TEST(LinnetRma, BasicRegistrationNamesVirtualAddressesAndGivesKeys)
{
    Options o = rma();
    o.mr_mode = FI_MR_BASIC;
    with_memory(o, 4096, [](Node& n, const Where& there) {
        EXPECT_EQ(n.info->domain_attr->mr_mode, FI_MR_BASIC);
        EXPECT_NE(there.base, 0u);
        char out[8] = "abcdefg";
        char in[8] = {};
        n.post([&] { return fi_write(n.ep, out, 8, nullptr, n.peer, there.at(4088), there.key, nullptr); });
        static_cast<void>(n.next(n.tx));
        n.post([&] { return fi_read(n.ep, in, 8, nullptr, n.peer, there.at(4088), there.key, nullptr); });
        static_cast<void>(n.next(n.tx));
        EXPECT_STREQ(in, out);
    });
}

TEST(LinnetRma, DirectionsThatWereNotAskedForAreNotThere)
{
    Options o;
    o.caps = FI_RMA | FI_WRITE | FI_REMOTE_READ;
    with_memory(o, 64, [](Node& n, const Where& there) {
        char bytes[8] = {};
        EXPECT_EQ(fi_read(n.ep, bytes, 8, nullptr, n.peer, there.at(0), there.key, nullptr), -FI_EOPNOTSUPP);
        EXPECT_EQ(fi_write(n.ep, bytes, 8, nullptr, n.peer, there.at(0), there.key, nullptr), 0);
        EXPECT_EQ(n.next_error(n.tx).err, FI_EACCES) << "the other side is not to be written to";
    });
}

// The owner sleeps: nothing of it calls libfabric.
TEST(LinnetRma, TheOwnerNeedNotCall)
{
    two_processes(
        [&](Friend& other) {
            Node n{rma()};
            Region r{n, 1u << 20, FI_REMOTE_READ | FI_REMOTE_WRITE};
            n.connect(other);
            other.tell(r.where());
            EXPECT_EQ(other.hear(), "done");   // blocked in recv(2)
            EXPECT_EQ(r.content(), pattern(1u << 20, 7));
        },
        [&](Friend& other) {
            Node n{rma()};
            n.connect(other);
            const Where there{other.hear()};
            const auto out = pattern(1u << 20, 7);
            std::vector<char> in(out.size());
            for (int i = 0; i < (testing::kSanitized ? 5 : 50); ++i) {
                n.post([&] { return fi_write(n.ep, out.data(), out.size(), nullptr, n.peer, there.at(0), there.key, nullptr); });
                static_cast<void>(n.next(n.tx));
                n.post([&] { return fi_read(n.ep, in.data(), in.size(), nullptr, n.peer, there.at(0), there.key, nullptr); });
                static_cast<void>(n.next(n.tx));
                EXPECT_EQ(in, out);
            }
            other.tell("done");
        });
}

// Rows of every operation at once, more than may be open: -FI_EAGAIN passes, and all end.
// What a process that contributes no memory registers.
TEST(Rma, RegionOfNoBytesTakesNoBytes)
{
    with_memory(rma(), 0, [](Node& n, const Where& there) {
        int context = 0;
        n.post([&] { return fi_write(n.ep, nullptr, 0, nullptr, n.peer, there.at(0), there.key, &context); });
        EXPECT_EQ(n.next(n.tx).op_context, &context);
    });
}

TEST(Rma, ManyAtOnceAllEnd)
{
    with_memory(rma(), 1u << 20, [](Node& n, const Where& there) {
        constexpr int kMany = 3000;
        std::vector<std::vector<char>> in(kMany);
        const auto out = pattern(40000, 4);
        int open = 0;
        int ended = 0;
        const auto post = [&](const std::function<ssize_t()>& operation) {
            ssize_t s = -FI_EAGAIN;
            while ((s = operation()) == -FI_EAGAIN) {
                fi_cq_tagged_entry e{};
                ended += fi_cq_read(n.tx, &e, 1) == 1 ? 1 : 0;
            }
            EXPECT_EQ(s, 0);
            ++open;
        };
        for (int i = 0; i < kMany; ++i) {
            const std::size_t size = i % 10 == 0 ? 40000 : 100;
            if (i % 3 == 0) {
                auto& to = in[static_cast<std::size_t>(i)];
                to.resize(size);
                post([&] { return fi_read(n.ep, to.data(), size, nullptr, n.peer, there.at(0), there.key, nullptr); });
            } else {
                post([&] { return fi_write(n.ep, out.data(), size, nullptr, n.peer, there.at(0), there.key, nullptr); });
            }
        }
        while (ended < open) {
            static_cast<void>(n.next(n.tx));
            ++ended;
        }
        std::vector<char> last(40000);
        n.post([&] { return fi_read(n.ep, last.data(), last.size(), nullptr, n.peer, there.at(0), there.key, nullptr); });
        static_cast<void>(n.next(n.tx));
        EXPECT_EQ(last, out);
    });
}

}   // namespace
}   // namespace linnet::ofi_test
