// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The floor below every stack on TCP: one socket, both ends spinning, no MPI. See raw_socket.h.
#include "raw_socket.h"

int main(int argc, char** argv)
{
    return raw::run("raw_tcp", argc, argv, [](const raw::Options& options, bool leads) -> std::unique_ptr<raw::Connection> {
        return std::make_unique<raw::Socket>(options, leads);
    });
}
