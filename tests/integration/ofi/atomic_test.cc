// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_atomic(3): base, fetch and compare operations on the memory of the other side.
#include <rdma/fi_atomic.h>

#include <cstring>

#include "integration/ofi/node.h"
#include "integration/ofi/region.h"

namespace linnet::ofi_test {
namespace {

Options atomics(std::uint64_t more = 0)
{
    Options o;
    o.caps = FI_MSG | FI_ATOMIC | more;
    return o;
}

using User = std::function<void(Node&, const Where&)>;

// The owner's memory holds 64 numbers of 8 bytes, each 5; it does nothing until the other side is done.
void with_numbers(const Options& o, const User& user, const std::function<void(Node&, const std::vector<std::uint64_t>&)>& owner_afterwards = {})
{
    two_processes(
        [&](Friend& other) {
            Node n{o};
            Region r{n, 512, FI_REMOTE_READ | FI_REMOTE_WRITE};
            std::vector<std::uint64_t> numbers(64, 5);
            std::memcpy(r.memory.data(), numbers.data(), 512);
            n.connect(other);
            other.tell(r.where());
            other.meet();
            std::memcpy(numbers.data(), r.content().data(), 512);
            if (owner_afterwards) {
                owner_afterwards(n, numbers);
            }
            other.meet();
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            user(n, Where{other.hear()});
            other.meet();
            other.meet();
        });
}

TEST(Atomics, BaseFetchAndCompare)
{
    Options o = atomics();
    o.tx_flags = FI_DELIVERY_COMPLETE;
    with_numbers(
        o,
        [](Node& n, const Where& there) {
            const std::vector<std::uint64_t> operand(8, 7);
            const std::vector<std::uint64_t> compare(8, 12);
            std::vector<std::uint64_t> result(8);
            int context = 0;
            n.post([&] { return fi_atomic(n.ep, operand.data(), 8, nullptr, n.peer, there.at(64), there.key, FI_UINT64, FI_SUM, &context); });
            fi_cq_tagged_entry e = n.next(n.tx);
            EXPECT_EQ(e.op_context, &context);
            EXPECT_EQ(e.flags & (FI_ATOMIC | FI_WRITE | FI_READ), FI_ATOMIC | FI_WRITE);
            n.post([&] {
                return fi_fetch_atomic(n.ep, operand.data(), 8, nullptr, result.data(), nullptr, n.peer, there.at(64), there.key, FI_UINT64, FI_MAX, &context);
            });
            e = n.next(n.tx);
            EXPECT_EQ(e.flags & (FI_ATOMIC | FI_WRITE | FI_READ), FI_ATOMIC | FI_READ);
            EXPECT_EQ(result, std::vector<std::uint64_t>(8, 12));
            n.post([&] {
                return fi_compare_atomic(n.ep, operand.data(), 8, nullptr, compare.data(), nullptr, result.data(), nullptr, n.peer, there.at(64), there.key,
                                         FI_UINT64, FI_CSWAP, &context);
            });
            static_cast<void>(n.next(n.tx));
            EXPECT_EQ(result, std::vector<std::uint64_t>(8, 12));
            n.post([&] {
                return fi_fetch_atomic(n.ep, nullptr, 8, nullptr, result.data(), nullptr, n.peer, there.at(64), there.key, FI_UINT64, FI_ATOMIC_READ, &context);
            });
            static_cast<void>(n.next(n.tx));
            EXPECT_EQ(result, operand);
        },
        [](Node&, const std::vector<std::uint64_t>& numbers) {
            for (std::size_t i = 0; i < numbers.size(); ++i) {
                EXPECT_EQ(numbers[i], i >= 8 && i < 16 ? 7u : 5u) << i;
            }
        });
}

// fi_endpoint(3): what fetches or compares is a read for the endpoint. fi_mr(3): what modifies it is an event of the region, whatever it brings back.
TEST(LinnetAtomics, WhatFetchesIsAReadForTheEndpointAndAChangeOfTheRegion)
{
    Options o = atomics();
    o.caps |= FI_RMA_EVENT;
    o.remote_counters = true;
    two_processes(
        [&](Friend& other) {
            Node n{o};
            Region r{n, 64, FI_REMOTE_READ | FI_REMOTE_WRITE};
            fid_cntr* of_region = nullptr;
            ASSERT_EQ(fi_cntr_open(n.domain, nullptr, &of_region, nullptr), 0);
            EXPECT_EQ(fi_mr_bind(r.mr, &of_region->fid, FI_REMOTE_WRITE), 0);
            n.connect(other);
            other.tell(r.where());
            other.meet();
            EXPECT_EQ(fi_cntr_wait(n.remote_read, 4, 10000), 0);
            EXPECT_EQ(fi_cntr_wait(n.remote_written, 1, 10000), 0);
            EXPECT_EQ(fi_cntr_read(n.remote_read), 4u);
            EXPECT_EQ(fi_cntr_read(n.remote_written), 1u);
            EXPECT_EQ(fi_cntr_read(of_region), 4u) << "one reads only";
            r.close();
            EXPECT_EQ(fi_close(&of_region->fid), 0);
            other.meet();
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            const Where there{other.hear()};
            std::uint64_t one = 1;
            std::uint64_t was = 0;
            const auto fetch = [&](fi_op op) {
                n.post([&] { return fi_fetch_atomic(n.ep, &one, 1, nullptr, &was, nullptr, n.peer, there.at(0), there.key, FI_UINT64, op, nullptr); });
            };
            n.post([&] { return fi_atomic(n.ep, &one, 1, nullptr, n.peer, there.at(0), there.key, FI_UINT64, FI_SUM, nullptr); });
            fetch(FI_SUM);
            fetch(FI_ATOMIC_WRITE);
            fetch(FI_ATOMIC_READ);
            n.post([&] {
                return fi_compare_atomic(n.ep, &one, 1, nullptr, &one, nullptr, &was, nullptr, n.peer, there.at(0), there.key, FI_UINT64, FI_CSWAP, nullptr);
            });
            for (int i = 0; i < 5; ++i) {
                static_cast<void>(n.next(n.tx));
            }
            other.meet();
            other.meet();
        });
}

TEST(Atomics, VectorsAndMessages)
{
    with_numbers(atomics(), [](Node& n, const Where& there) {
        std::uint64_t operand[4] = {1, 2, 3, 4};
        std::uint64_t compare[4] = {6, 7, 0, 9};
        std::uint64_t result[4] = {};
        fi_ioc two[2] = {{operand, 1}, {operand + 1, 3}};
        fi_ioc compared[2] = {{compare, 3}, {compare + 3, 1}};
        fi_ioc before[2] = {{result, 2}, {result + 2, 2}};
        n.post([&] { return fi_atomicv(n.ep, two, nullptr, 2, n.peer, there.at(0), there.key, FI_UINT64, FI_SUM, nullptr); });   // 6 7 8 9
        static_cast<void>(n.next(n.tx));
        n.post([&] {
            return fi_compare_atomicv(n.ep, two, nullptr, 2, compared, nullptr, 2, before, nullptr, 2, n.peer, there.at(0), there.key, FI_UINT64, FI_CSWAP,
                                      nullptr);
        });
        static_cast<void>(n.next(n.tx));
        EXPECT_EQ(result[0], 6u);
        EXPECT_EQ(result[2], 8u);
        fi_rma_ioc remote{there.at(0), 4, there.key};
        int context = 0;
        fi_msg_atomic m{two, nullptr, 2, n.peer, &remote, 1, FI_UINT64, FI_SUM, &context, 0};
        n.post([&] { return fi_fetch_atomicmsg(n.ep, &m, before, nullptr, 2, FI_COMPLETION); });   // 1 2 8 4 before
        EXPECT_EQ(n.next(n.tx).op_context, &context);
        EXPECT_EQ(result[0], 1u);
        EXPECT_EQ(result[1], 2u);
        EXPECT_EQ(result[2], 8u);
        EXPECT_EQ(result[3], 4u);
    });
}

TEST(Atomics, InjectedOnesTellNothingAndAllCount)
{
    with_numbers(
        atomics(),
        [](Node& n, const Where& there) {
            const std::uint64_t one = 1;
            std::uint64_t result = 0;
            for (int i = 0; i < 1000; ++i) {
                n.post([&] { return fi_inject_atomic(n.ep, &one, 1, n.peer, there.at(0), there.key, FI_UINT64, FI_SUM); });
            }
            EXPECT_TRUE(n.quiet_for(std::chrono::milliseconds{20}));
            n.post([&] {
                return fi_fetch_atomic(n.ep, nullptr, 1, nullptr, &result, nullptr, n.peer, there.at(0), there.key, FI_UINT64, FI_ATOMIC_READ, nullptr);
            });
            static_cast<void>(n.next(n.tx));
            EXPECT_EQ(result, 1005u);
        });
}

// All that libfabric's software providers offer, and what they leave out of long and complex numbers.
TEST(LinnetAtomics, EveryOperationThatMakesSenseIsValid)
{
    with_numbers(atomics(), [](Node& n, const Where&) {
        const auto integer = [](int type) { return type <= FI_UINT64; };
        const auto complex = [](int type) { return type == FI_FLOAT_COMPLEX || type == FI_DOUBLE_COMPLEX || type == FI_LONG_DOUBLE_COMPLEX; };
        const auto exists = [&](int op, int type) {
            const bool needs_order = op == FI_MIN || op == FI_MAX || (op >= FI_CSWAP_LE && op <= FI_CSWAP_GT);
            const bool needs_bits = op == FI_BOR || op == FI_BAND || op == FI_BXOR || op == FI_MSWAP;
            return needs_bits ? integer(type) : !needs_order || !complex(type);
        };
        for (int type = FI_INT8; type < FI_DATATYPE_LAST; ++type) {
            for (int op = FI_MIN; op < FI_ATOMIC_OP_LAST; ++op) {
                const auto t = static_cast<fi_datatype>(type);
                const auto o = static_cast<fi_op>(op);
                std::size_t count = 0;
                const bool compares = op >= FI_CSWAP;
                EXPECT_EQ(fi_atomicvalid(n.ep, t, o, &count) == 0, !compares && op != FI_ATOMIC_READ && exists(op, type)) << type << ' ' << op;
                EXPECT_EQ(fi_fetch_atomicvalid(n.ep, t, o, &count) == 0, !compares && exists(op, type)) << type << ' ' << op;
                EXPECT_EQ(fi_compare_atomicvalid(n.ep, t, o, &count) == 0, compares && exists(op, type)) << type << ' ' << op;
                fi_atomic_attr attr{};
                const int asked = fi_query_atomic(n.domain, t, o, &attr, compares ? FI_COMPARE_ATOMIC : FI_FETCH_ATOMIC);
                EXPECT_EQ(asked == 0, exists(op, type));
                if (asked == 0) {
                    EXPECT_EQ(attr.count * attr.size, 4096u);
                }
            }
        }
        fi_atomic_attr attr{};
        EXPECT_EQ(fi_query_atomic(n.domain, FI_LONG_DOUBLE, FI_SUM, &attr, 0), 0);
        EXPECT_EQ(attr.size, sizeof(long double));
        EXPECT_EQ(fi_query_atomic(n.domain, FI_INT8, FI_SUM, &attr, FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC), -FI_EBADFLAGS);
        EXPECT_EQ(fi_query_atomic(n.domain, FI_INT8, FI_SUM, &attr, FI_TAGGED), -FI_EOPNOTSUPP);
    });
}

TEST(LinnetAtomics, WhatCannotBeDoneIsRefused)
{
    with_numbers(atomics(), [](Node& n, const Where& there) {
        std::vector<std::uint64_t> many(513);
        EXPECT_EQ(fi_atomic(n.ep, many.data(), 513, nullptr, n.peer, there.at(0), there.key, FI_UINT64, FI_SUM, nullptr), -FI_EMSGSIZE);
        EXPECT_EQ(fi_inject_atomic(n.ep, many.data(), 129, n.peer, there.at(0), there.key, FI_UINT64, FI_SUM), -FI_EMSGSIZE);
        EXPECT_EQ(fi_atomic(n.ep, many.data(), 1, nullptr, n.peer, there.at(0), there.key, FI_DOUBLE, FI_BXOR, nullptr), -FI_EOPNOTSUPP);
        EXPECT_EQ(fi_atomic(n.ep, many.data(), 0, nullptr, n.peer, there.at(0), there.key, FI_UINT64, FI_SUM, nullptr), -FI_EINVAL);
        EXPECT_EQ(fi_atomic(n.ep, many.data(), 65, nullptr, n.peer, there.at(0), there.key, FI_UINT64, FI_SUM, nullptr), 0);
        EXPECT_EQ(n.next_error(n.tx).err, FI_EINVAL) << "beyond the region";
        EXPECT_EQ(fi_fetch_atomic(n.ep, many.data(), 1, nullptr, many.data(), nullptr, n.peer, there.at(0), there.key + 1, FI_UINT64, FI_SUM, nullptr), 0);
        const fi_cq_err_entry e = n.next_error(n.tx);
        EXPECT_EQ(e.err, FI_ENOKEY);
        EXPECT_EQ(e.flags & (FI_ATOMIC | FI_READ), FI_ATOMIC | FI_READ);
        EXPECT_EQ(fi_write(n.ep, many.data(), 8, nullptr, n.peer, there.at(0), there.key, nullptr), -FI_ENOSYS) << "FI_RMA was not asked for";
    });
}

TEST(LinnetAtomics, CountersCount)
{
    Options o = atomics(FI_RMA_EVENT);
    o.rma_counters = true;
    o.remote_counters = true;
    with_numbers(
        o,
        [](Node& n, const Where& there) {
            std::uint64_t value = 1;
            for (int i = 0; i < 3; ++i) {
                n.post([&] { return fi_atomic(n.ep, &value, 1, nullptr, n.peer, there.at(0), there.key, FI_UINT64, FI_SUM, nullptr); });
            }
            EXPECT_EQ(fi_cntr_wait(n.written, 3, 10000), 0);
            n.post([&] { return fi_fetch_atomic(n.ep, &value, 1, nullptr, &value, nullptr, n.peer, there.at(0), there.key, FI_UINT64, FI_SUM, nullptr); });
            EXPECT_EQ(fi_cntr_wait(n.was_read, 1, 10000), 0);
            EXPECT_EQ(value, 8u);
        },
        [](Node& n, const std::vector<std::uint64_t>&) {
            EXPECT_EQ(fi_cntr_wait(n.remote_written, 3, 10000), 0);
            EXPECT_EQ(fi_cntr_wait(n.remote_read, 1, 10000), 0);
        });
}

}   // namespace
}   // namespace linnet::ofi_test
