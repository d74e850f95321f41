// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What the programs without MPI share (floors below the stacks, and libfabric): ping-pong, stream and remote writes between two spinning processes over
// any byte stream.
//
// mpirun starts two processes, so that they are placed and pinned like the ranks of the MPI programs; the rank comes from the environment. Options,
// definitions (half round trip; windows ended by a 4-byte reply) and the result line are those of bench/mpi; the payload of the last message of
// every batch is checked. Exit status 1 with a sentence on any error, 124 after --limit seconds.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace raw {

using Seconds = std::chrono::duration<double>;

struct Options {
    std::string address;   // of rank 0's host
    std::string mode = "pingpong";
    std::string provider;  // of libfabric
    std::vector<std::size_t> sizes{1, 8, 64, 256, 1024, 4096, 8192, 16384, 65536, 262144, 1048576, 4194304};
    Seconds seconds{2};
    unsigned limit = 120;
    std::size_t window = 64;
    bool zero_copy = false;   // long sends lend their memory to the kernel, or are made in memory that both share
};

// Say it and end the process.
[[noreturn]] void fail(const std::string& what);
[[noreturn]] void fail_errno(const std::string& what);

// A byte stream between the two processes; both calls spin until all bytes are moved, as a polling library does.
class Connection {
public:
    virtual ~Connection() = default;
    virtual void send_all(std::span<const std::byte> bytes) = 0;
    virtual void recv_all(std::span<std::byte> bytes) = 0;
    // A sentence for the result, or nothing.
    [[nodiscard]] virtual std::string note() const { return {}; }

    // Remote memory, where there is some. The buffer that the other process writes to, and from which the writes to it come; called once, by both.
    virtual void expose(std::span<std::byte> buffer);
    // `count` writes of `bytes`, of the exposed buffer, side by side into the other process's; returns when all of it is there.
    virtual void write_all(std::span<const std::byte> bytes, std::size_t count);

    template <class T>
    void send_value(const T& value) { send_all(std::as_bytes(std::span(&value, 1))); }
    template <class T>
    T recv_value()
    {
        T value{};
        recv_all(std::as_writable_bytes(std::span(&value, 1)));
        return value;
    }
};

// The whole program. `connect` joins the processes; rank 0 leads.
int run(const char* name, int argc, char** argv, std::unique_ptr<Connection> (*connect)(const Options&, bool leads));

}   // namespace raw
