// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// tcp_sent(): a file of its own, since the kernel's structure, which has more than the C library's, has the same name.
#include <linux/tcp.h>
#include <sys/socket.h>

#include <netinet/in.h>

#include <algorithm>

#include "sys/tcp_socket.h"

namespace linnet {

TcpSent tcp_sent(int fd) noexcept
{
    ::tcp_info info{};   // it has grown over the years: what an older kernel does not know stays zero
    socklen_t bytes = sizeof info;
    if (::getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &bytes) != 0) {
        return {};
    }
    const std::uint64_t in_vain = std::min(info.tcpi_dsack_dups, info.tcpi_total_retrans);   // RFC 2883: the receiver had it already
    return {info.tcpi_data_segs_out, info.tcpi_total_retrans - in_vain, info.tcpi_snd_mss};
}

}   // namespace linnet
