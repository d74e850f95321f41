// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// NamespacePair: two network hosts inside the test process, joined by a cable, for what needs a real interface.
//
// Each is a network namespace without a name that vanishes with the pair; the interface is eth0 on both, the addresses are 10.99.0.1 and 10.99.0.2/24. A thread
// sees the machine's own network unless a Scope says otherwise; sockets stay where they were made.
// Threads: the one that made the pair.
#pragma once

#include <memory>
#include <string>

#include "sys/fd.h"

namespace linnet::testing {

class NamespacePair {
public:
    // Null where it is not permitted (no CAP_SYS_ADMIN, no ip(8)): `why` names it, for GTEST_SKIP.
    [[nodiscard]] static std::unique_ptr<NamespacePair> make(std::string& why, unsigned mtu = 1500);

    // The calling thread is on host 0 or 1 while this lives.
    class Scope {
    public:
        Scope(const NamespacePair& pair, unsigned host);
        ~Scope();
        Scope(const Scope&) = delete;
        Scope& operator=(const Scope&) = delete;

    private:
        const NamespacePair& pair_;
    };

    // Runs a command with ip(8)'s arguments on a host; false: it failed.
    [[nodiscard]] bool ip(unsigned host, const std::string& arguments) const;

private:
    NamespacePair() = default;
    Fd outside_;
    Fd host_[2];
};

}   // namespace linnet::testing
