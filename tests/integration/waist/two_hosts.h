// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// TwoHosts: an endpoint on each of two hosts, which are network namespaces joined by a cable. A case that may not make them is skipped and says why.
// Threads: the test's own, which enters a host for as long as it speaks for the endpoint there.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "integration/waist/waist.h"
#include "support/net_namespace.h"
#include "support/patience.h"

namespace linnet::testing {

class TwoHosts : public ::testing::Test {
protected:
    void SetUp() override
    {
        std::string why;
        hosts_ = NamespacePair::make(why);
        if (hosts_ == nullptr) {
            GTEST_SKIP() << why;
        }
    }
    void TearDown() override { close_both(); }
    // An endpoint with these settings on each host, the peer of the other.
    void open(const std::vector<linnet_setting_t>& settings)
    {
        for (const unsigned host : {0u, 1u}) {
            const NamespacePair::Scope there{*hosts_, host};
            ends_[host] = std::make_unique<Endpoint>(settings);
        }
        for (const unsigned host : {0u, 1u}) {
            const linnet_name_t name = ends_[1 - host]->name();
            const NamespacePair::Scope there{*hosts_, host};
            ASSERT_EQ(linnet_peer_add(ends_[host]->context(), &name, &peer_[host]), LINNET_OK);
        }
    }
    void close(unsigned host)
    {
        if (ends_[host] != nullptr) {
            const NamespacePair::Scope there{*hosts_, host};
            ends_[host].reset();
        }
    }
    // At once: each waits for the other's acknowledgement of its goodbye, and without an event thread only those who close make progress.
    void close_both()
    {
        std::thread other{[this] { close(1); }};
        close(0);
        other.join();
    }
    // One pass of either endpoint.
    void pass(Patience& patience)
    {
        for (const unsigned host : {0u, 1u}) {
            const NamespacePair::Scope there{*hosts_, host};
            patience.saw(ends_[host]->progress());
        }
    }

    std::unique_ptr<NamespacePair> hosts_;
    std::unique_ptr<Endpoint> ends_[2];
    linnet_peer_t peer_[2]{};
};

}   // namespace linnet::testing
