// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_domain(3), FI_PROGRESS_AUTO: what goes on while the application makes no call, though it begins only when something else is complete.
#include <chrono>
#include <thread>

#include "integration/ofi/node.h"
#include "integration/ofi/region.h"

namespace linnet::ofi_test {
namespace {

using namespace std::chrono_literals;

// A write and a fenced one behind it; then the user waits for a word of the owner's, who has seen the second one.
void fenced_write_is_seen(std::size_t bytes)
{
    Options o;
    o.caps = FI_MSG | FI_RMA | FI_FENCE;
    two_processes(
        [&](Friend& other) {
            Node n{o};
            Region r{n, 8 + bytes, FI_REMOTE_WRITE};
            n.connect(other);
            other.tell(r.where());
            const auto first = std::span{r.memory}.first(1);
            for (const auto end = std::chrono::steady_clock::now() + 10s;
                 as_left_by_the_other_side(first)[0] == 0 && std::chrono::steady_clock::now() < end;) {
                std::this_thread::sleep_for(1ms);
            }
            EXPECT_NE(as_left_by_the_other_side(first)[0], 0) << "the fenced write has not begun";
            other.tell("seen");
            other.meet();
            EXPECT_EQ(r.content(), std::vector<char>(8 + bytes, 1));
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            const Where there{other.hear()};
            const std::vector<char> out(bytes, 1);
            n.post([&] { return fi_write(n.ep, out.data(), bytes, nullptr, n.peer, there.at(8), there.key, nullptr); });
            iovec iov{const_cast<char*>(out.data()), 8};
            fi_rma_iov remote{there.at(0), 8, there.key};
            const fi_msg_rma m{&iov, nullptr, 1, n.peer, &remote, 1, nullptr, 0};
            n.post([&] { return fi_writemsg(n.ep, &m, FI_FENCE | FI_COMPLETION); });
            EXPECT_EQ(other.hear(), "seen");   // blocked in recv(2)
            static_cast<void>(n.next(n.tx));
            static_cast<void>(n.next(n.tx));
            other.meet();
        });
}

TEST(LinnetProgress, FencedWriteBeginsWithoutACall) { fenced_write_is_seen(100); }

TEST(LinnetProgress, FencedWriteBehindALongOneBeginsWithoutACall) { fenced_write_is_seen(1u << 20); }

// The sender waits for its completions, the receiver for a word of the sender's.
TEST(LinnetProgress, BufferForSeveralMessagesTakesThemWithoutACall)
{
    constexpr std::size_t kBytes = 1u << 20;
    constexpr unsigned kMessages = 4;
    Options o;
    o.caps = FI_MSG | FI_MULTI_RECV;
    two_processes(
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            std::vector<char> in(kMessages * kBytes);
            const iovec iov{in.data(), in.size()};
            const fi_msg m{&iov, nullptr, 1, FI_ADDR_UNSPEC, nullptr, 0};
            n.post([&] { return fi_recvmsg(n.ep, &m, FI_MULTI_RECV); });
            other.meet();
            EXPECT_EQ(other.hear(), "sent");   // blocked in recv(2)
            for (unsigned i = 0; i < kMessages; ++i) {
                const fi_cq_tagged_entry e = n.next(n.rx);
                EXPECT_EQ(e.len, kBytes);
                EXPECT_EQ(e.buf, in.data() + i * kBytes);
                EXPECT_EQ((e.flags & FI_MULTI_RECV) != 0, i == kMessages - 1);
            }
            for (unsigned i = 0; i < kMessages; ++i) {
                EXPECT_EQ(as_left_by_the_other_side(std::span{in}.subspan(i * kBytes, kBytes)), pattern(kBytes, i));
            }
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            other.meet();
            for (unsigned i = 0; i < kMessages; ++i) {
                const auto out = pattern(kBytes, i);
                n.post([&] { return fi_send(n.ep, out.data(), kBytes, nullptr, n.peer, nullptr); });
                static_cast<void>(n.next(n.tx));   // without the next buffer it never comes
            }
            other.tell("sent");
        });
}

}   // namespace
}   // namespace linnet::ofi_test
