// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// For tests of shared contexts: a process whose two endpoints share theirs, and one with two plain endpoints that talk to these.
#pragma once

#include <array>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>

#include "integration/ofi/node.h"

namespace linnet::ofi_test {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

inline constexpr std::size_t kEnds = 2;

struct Wanted {
    std::uint64_t caps{FI_TAGGED | FI_MSG};
    fi_wait_obj wait{FI_WAIT_NONE};
    bool counters{false};
    bool one_queue{false};   // of both endpoints, for what is received: rx[1] is rx[0]
    std::uint64_t bind_flags{0};
    const char* transports{nullptr};   // of both sides; null: what the environment says
};

inline fi_info* shared_info(const Wanted& w)
{
    fi_info* const hints = make_hints({.caps = w.caps});
    hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
    hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
    fi_info* info = nullptr;
    EXPECT_EQ(fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), 0);
    fi_freeinfo(hints);
    return info;
}

// Two endpoints with one transmit and one receive context, each with completion queues of its own.
class Hub {
public:
    explicit Hub(const Wanted& w = {}) : info{shared_info(w)}
    {
        EXPECT_EQ(fi_fabric(info->fabric_attr, &fabric, nullptr), 0);
        EXPECT_EQ(fi_domain(fabric, info, &domain, nullptr), 0);
        fi_av_attr av_attr{};
        av_attr.type = FI_AV_TABLE;
        EXPECT_EQ(fi_av_open(domain, &av_attr, &av, nullptr), 0);
        EXPECT_EQ(fi_stx_context(domain, info->tx_attr, &stx, nullptr), 0);
        EXPECT_EQ(fi_srx_context(domain, info->rx_attr, &srx, nullptr), 0);
        fi_cq_attr cq_attr{};
        cq_attr.format = FI_CQ_FORMAT_TAGGED;
        cq_attr.wait_obj = w.wait;
        fi_cntr_attr cntr_attr{};
        for (std::size_t i = 0; i < kEnds; ++i) {
            EXPECT_EQ(fi_cq_open(domain, &cq_attr, &tx[i], nullptr), 0);
            EXPECT_EQ(w.one_queue && i != 0 ? 0 : fi_cq_open(domain, &cq_attr, &rx[i], nullptr), 0);
            rx[i] = w.one_queue ? rx[0] : rx[i];
            EXPECT_EQ(fi_endpoint(domain, info, &ep[i], nullptr), 0);
            EXPECT_EQ(fi_ep_bind(ep[i], &av->fid, 0), 0);
            EXPECT_EQ(fi_ep_bind(ep[i], &tx[i]->fid, FI_TRANSMIT), 0);
            EXPECT_EQ(fi_ep_bind(ep[i], &rx[i]->fid, FI_RECV | w.bind_flags), 0);
            EXPECT_EQ(fi_ep_bind(ep[i], &stx->fid, 0), 0);
            EXPECT_EQ(fi_ep_bind(ep[i], &srx->fid, 0), 0);
            if (w.counters) {
                EXPECT_EQ(fi_cntr_open(domain, &cntr_attr, &received[i], nullptr), 0);
                EXPECT_EQ(fi_ep_bind(ep[i], &received[i]->fid, FI_RECV), 0);
            }
            EXPECT_EQ(fi_enable(ep[i]), 0);
        }
    }
    ~Hub()
    {
        if (other_ != nullptr) {
            other_->idle = nullptr;
        }
        for (std::size_t i = 0; i < kEnds; ++i) {
            close(i);
        }
        if (rx[1] == rx[0]) {
            rx[1] = nullptr;
        }
        const auto of = [](auto* object) { return object != nullptr ? &object->fid : nullptr; };
        for (struct fid* f : {of(srx), of(stx), of(rx[0]), of(rx[1]), of(tx[0]), of(tx[1]),
                             of(received[0]), of(received[1]), of(av), of(domain), of(fabric)}) {
            if (f != nullptr) {
                EXPECT_EQ(fi_close(f), 0) << f->fclass;
            }
        }
        fi_freeinfo(info);
    }
    Hub(const Hub&) = delete;
    Hub& operator=(const Hub&) = delete;

    void close(std::size_t i)
    {
        if (ep[i] != nullptr) {
            EXPECT_EQ(fi_close(&ep[i]->fid), 0);
        }
        ep[i] = nullptr;
    }
    // Tells its two names, and inserts the peers' two.
    void connect(Friend& other)
    {
        if (!is_linnet()) {
            other_ = &other;
            other.idle = [this] { progress(); };
        }
        for (fid_ep* e : ep) {
            char bytes[256];
            std::size_t n = sizeof bytes;
            EXPECT_EQ(fi_getname(&e->fid, bytes, &n), 0);
            other.tell({bytes, n});
        }
        for (fi_addr_t& p : peer) {
            EXPECT_EQ(fi_av_insert(av, other.hear().data(), 1, &p, 0, nullptr), 1);
        }
        other.meet();
    }
    void progress() const
    {
        for (fid_cq* cq : {tx[0], tx[1], rx[0], rx[1]}) {
            fi_cq_read(cq, nullptr, 0);
        }
    }
    void post(const std::function<ssize_t()>& operation) const
    {
        ssize_t r = operation();
        for (const auto end = Clock::now() + 20s; r == -FI_EAGAIN && Clock::now() < end; r = operation()) {
            progress();
        }
        EXPECT_EQ(r, 0) << fi_strerror(static_cast<int>(-r));
    }
    // The next completion of endpoint `i`; an error entry's are its flags, context, length and error.
    struct Entry {
        fi_cq_tagged_entry told{};
        int error{0};
        std::size_t overflow{0};
    };
    Entry next(std::size_t i) const
    {
        Entry e;
        ssize_t n = -FI_EAGAIN;
        for (const auto end = Clock::now() + 20s; n == -FI_EAGAIN && Clock::now() < end;) {
            n = fi_cq_read(rx[i], &e.told, 1);
            if (n == -FI_EAGAIN) {
                progress();
            }
        }
        if (n == -FI_EAVAIL) {
            fi_cq_err_entry bad{};
            EXPECT_EQ(fi_cq_readerr(rx[i], &bad, 0), 1);
            e.told.op_context = bad.op_context;
            e.told.flags = bad.flags;
            e.told.len = bad.len;
            e.error = bad.err;
            e.overflow = bad.olen;
            return e;
        }
        EXPECT_EQ(n, 1) << "no completion of endpoint " << i;
        return e;
    }
    // As far as can be told in that time nothing completes.
    bool quiet_for(std::chrono::milliseconds time) const
    {
        fi_cq_tagged_entry e{};
        for (const auto end = Clock::now() + time; Clock::now() < end;) {
            if (fi_cq_read(rx[0], &e, 1) != -FI_EAGAIN || fi_cq_read(rx[1], &e, 1) != -FI_EAGAIN) {
                return false;
            }
        }
        return true;
    }

    fi_info* info{nullptr};
    fid_fabric* fabric{nullptr};
    fid_domain* domain{nullptr};
    fid_av* av{nullptr};
    fid_stx* stx{nullptr};
    fid_ep* srx{nullptr};
    std::array<fid_cq*, kEnds> tx{};
    std::array<fid_cq*, kEnds> rx{};
    std::array<fid_cntr*, kEnds> received{};
    std::array<fid_ep*, kEnds> ep{};
    std::array<fi_addr_t, kEnds> peer{};

private:
    Friend* other_{nullptr};
};

// Two endpoints of their own, in one process; each knows the two of the hub.
struct Peers {
    explicit Peers(Friend& other) : friend_{other}
    {
        if (!is_linnet()) {
            other.idle = [this] { progress(); };
        }
        const std::string names[] = {other.hear(), other.hear()};
        for (Node& p : node) {
            other.tell(p.name());
            for (std::size_t k = 0; k < kEnds; ++k) {
                hub[k] = p.insert(names[k]);
            }
        }
        other.meet();
    }
    ~Peers() { friend_.idle = nullptr; }
    void progress()
    {
        for (Node& p : node) {
            fi_cq_read(p.tx, nullptr, 0);
            fi_cq_read(p.rx, nullptr, 0);
        }
    }
    // `from` of these to `to` of the hub.
    void send(std::size_t from, std::size_t to, const void* bytes, std::size_t n, std::uint64_t tag = 0, bool tagged = true)
    {
        Node& p = node[from];
        p.post([&] { return tagged ? fi_tsend(p.ep, bytes, n, nullptr, hub[to], tag, nullptr) : fi_send(p.ep, bytes, n, nullptr, hub[to], nullptr); });
        ++open[from];
    }
    void sent()
    {
        for (std::size_t i = 0; i < kEnds; ++i) {
            for (; open[i] != 0; --open[i]) {
                node[i].next(node[i].tx);
            }
        }
    }
    Friend& friend_;
    std::array<Node, kEnds> node;
    std::array<fi_addr_t, kEnds> hub{};
    std::array<unsigned, kEnds> open{};
};

inline void hub_and_peers(const std::function<void(Hub&, Friend&)>& first, const std::function<void(Peers&, Friend&)>& second, const Wanted& w = {})
{
    const auto choose = [&w] {
        if (w.transports != nullptr) {
            ::setenv("FI_LINNET_TRANSPORTS", w.transports, 1);
        }
    };
    two_processes(
        [&](Friend& f) {
            choose();
            Hub h{w};
            h.connect(f);
            first(h, f);
            f.meet();
        },
        [&](Friend& f) {
            choose();
            Peers p{f};
            second(p, f);
            f.meet();
        });
}

}   // namespace linnet::ofi_test
