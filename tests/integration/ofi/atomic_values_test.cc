// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_atomic(3): what each operation on each datatype makes of the numbers, in each of the three forms, wherever the provider says that it is valid.
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <array>
#include <complex>
#include <cstring>

#include "integration/ofi/node.h"
#include "integration/ofi/region.h"

namespace linnet::ofi_test {
namespace {

constexpr std::size_t kCount = 5;
template <class T>
using Numbers = std::array<T, kCount>;

template <class T>
constexpr bool kComplex = false;
template <class F>
constexpr bool kComplex<std::complex<F>> = true;
template <class T>
constexpr bool kPoint = std::is_floating_point_v<T>;

// From fi_atomic(3), with names from there. Operations that the type does not have are never asked for.
template <class T>
T after(fi_op op, T addr, T buf, T compare)
{
    const auto truth = [](const T& v) { return v != T(0); };
    const auto wrapped = [](auto f) { return static_cast<T>(f()); };
    if constexpr (!kComplex<T>) {
        switch (op) {
            case FI_MIN: return buf < addr ? buf : addr;
            case FI_MAX: return buf > addr ? buf : addr;
            case FI_CSWAP_LE: return compare <= addr ? buf : addr;
            case FI_CSWAP_LT: return compare < addr ? buf : addr;
            case FI_CSWAP_GE: return compare >= addr ? buf : addr;
            case FI_CSWAP_GT: return compare > addr ? buf : addr;
            default: break;
        }
    }
    if constexpr (!kComplex<T> && !kPoint<T>) {
        switch (op) {
            case FI_BOR: return wrapped([&] { return addr | buf; });
            case FI_BAND: return wrapped([&] { return addr & buf; });
            case FI_BXOR: return wrapped([&] { return addr ^ buf; });
            case FI_MSWAP: return wrapped([&] { return (buf & compare) | (addr & ~compare); });
            default: break;
        }
    }
    switch (op) {
        case FI_SUM: return wrapped([&] { return addr + buf; });
        case FI_PROD: return wrapped([&] { return addr * buf; });
        case FI_LOR: return T(truth(addr) || truth(buf) ? 1 : 0);
        case FI_LAND: return T(truth(addr) && truth(buf) ? 1 : 0);
        case FI_LXOR: return T(truth(addr) != truth(buf) ? 1 : 0);
        case FI_ATOMIC_WRITE: return buf;
        case FI_ATOMIC_READ: return addr;
        case FI_CSWAP: return compare == addr ? buf : addr;
        case FI_CSWAP_NE: return compare != addr ? buf : addr;
        default: ADD_FAILURE() << "operation " << op << " was not expected"; return addr;
    }
}

// Zero, one, equal and unequal ones, the sign where there is one; nothing overflows.
template <class T>
Numbers<T> numbers(const std::array<signed char, kCount>& of)
{
    Numbers<T> all;
    std::transform(of.begin(), of.end(), all.begin(), [](signed char n) { return T(n); });
    return all;
}

template <class T>
class Target {
public:
    Target(Node& n, const Where& there, fi_datatype type) : n_{n}, there_{there}, type_{type} {}

    void check()
    {
        for (int i = FI_MIN; i < FI_ATOMIC_OP_LAST; ++i) {
            const auto op = static_cast<fi_op>(i);
            std::size_t most = 0;
            if (fi_atomicvalid(n_.ep, type_, op, &most) == 0) {
                apply(op);
            }
            if (fi_fetch_atomicvalid(n_.ep, type_, op, &most) == 0) {
                fetch(op);
            }
            if (fi_compare_atomicvalid(n_.ep, type_, op, &most) == 0) {
                compare(op);
            }
        }
    }

private:
    void prepare()
    {
        n_.post([&] { return fi_write(n_.ep, before_.data(), sizeof before_, nullptr, n_.peer, there_.at(0), there_.key, nullptr); });
        static_cast<void>(n_.next(n_.tx));
    }
    void judge(fi_op op, const char* form)
    {
        Numbers<T> now{};
        n_.post([&] { return fi_read(n_.ep, now.data(), sizeof now, nullptr, n_.peer, there_.at(0), there_.key, nullptr); });
        static_cast<void>(n_.next(n_.tx));
        for (std::size_t i = 0; i < kCount; ++i) {
            EXPECT_TRUE(now[i] == after(op, before_[i], operand_[i], compare_[i])) << form << " operation " << op << ", type " << type_ << ", element " << i;
        }
    }
    void apply(fi_op op)
    {
        prepare();
        n_.post([&] { return fi_atomic(n_.ep, operand_.data(), kCount, nullptr, n_.peer, there_.at(0), there_.key, type_, op, nullptr); });
        static_cast<void>(n_.next(n_.tx));
        judge(op, "base");
    }
    void fetch(fi_op op)
    {
        prepare();
        Numbers<T> was{};
        n_.post([&] {
            return fi_fetch_atomic(n_.ep, operand_.data(), kCount, nullptr, was.data(), nullptr, n_.peer, there_.at(0), there_.key, type_, op, nullptr);
        });
        static_cast<void>(n_.next(n_.tx));
        EXPECT_TRUE(was == before_) << "fetch operation " << op << ", type " << type_;
        judge(op, "fetch");
    }
    void compare(fi_op op)
    {
        prepare();
        Numbers<T> was{};
        n_.post([&] {
            return fi_compare_atomic(n_.ep, operand_.data(), kCount, nullptr, compare_.data(), nullptr, was.data(), nullptr, n_.peer, there_.at(0),
                                     there_.key, type_, op, nullptr);
        });
        static_cast<void>(n_.next(n_.tx));
        EXPECT_TRUE(was == before_) << "compare operation " << op << ", type " << type_;
        judge(op, "compare");
    }

    Node& n_;
    const Where& there_;
    const fi_datatype type_;
    const Numbers<T> before_ = numbers<T>({0, 3, 5, 5, -4});
    const Numbers<T> operand_ = numbers<T>({2, 0, 6, 5, 7});
    const Numbers<T> compare_ = numbers<T>({0, 4, 1, 5, -9});
};

TEST(Atomics, EveryValidOperationMakesOfEveryTypeWhatItSays)
{
    Options o;
    o.caps = FI_MSG | FI_RMA | FI_ATOMIC;
    o.tx_flags = FI_DELIVERY_COMPLETE;
    two_processes(
        [&](Friend& other) {
            Node n{o};
            Region r{n, 512, FI_REMOTE_READ | FI_REMOTE_WRITE};
            n.connect(other);
            other.tell(r.where());
            other.meet();
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            const Where there{other.hear()};
            Target<std::int8_t>{n, there, FI_INT8}.check();
            Target<std::uint8_t>{n, there, FI_UINT8}.check();
            Target<std::int16_t>{n, there, FI_INT16}.check();
            Target<std::uint16_t>{n, there, FI_UINT16}.check();
            Target<std::int32_t>{n, there, FI_INT32}.check();
            Target<std::uint32_t>{n, there, FI_UINT32}.check();
            Target<std::int64_t>{n, there, FI_INT64}.check();
            Target<std::uint64_t>{n, there, FI_UINT64}.check();
            Target<__int128>{n, there, FI_INT128}.check();
            Target<unsigned __int128>{n, there, FI_UINT128}.check();
            Target<float>{n, there, FI_FLOAT}.check();
            Target<double>{n, there, FI_DOUBLE}.check();
            Target<long double>{n, there, FI_LONG_DOUBLE}.check();
            Target<std::complex<float>>{n, there, FI_FLOAT_COMPLEX}.check();
            Target<std::complex<double>>{n, there, FI_DOUBLE_COMPLEX}.check();
            Target<std::complex<long double>>{n, there, FI_LONG_DOUBLE_COMPLEX}.check();
            other.meet();
        });
}

}   // namespace
}   // namespace linnet::ofi_test
