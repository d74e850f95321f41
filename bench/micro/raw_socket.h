// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// One TCP socket between the two processes, both ends spinning: rank 0 listens at --address, rank 1 connects.
#pragma once

#include "raw.h"
#include "raw_lending.h"

namespace raw {

// A connected socket that never blocks.
class Socket final : public Connection {
public:
    Socket(const Options& options, bool listens);
    ~Socket() override;
    Socket(const Socket&) = delete;
    Socket& operator=(const Socket&) = delete;

    void send_all(std::span<const std::byte> bytes) override;
    void recv_all(std::span<std::byte> bytes) override;
    [[nodiscard]] std::string note() const override { return lending_.note(); }

private:
    int fd_ = -1;
    Lending lending_;
};

}   // namespace raw
