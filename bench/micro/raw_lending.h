// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Sends that lend their memory to the kernel (MSG_ZEROCOPY, Documentation/networking/msg_zerocopy.rst), and how many of them it copied all the same.
#pragma once

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <ctime>
#include <string>

#include "raw.h"

namespace raw {

// Of one socket. The memory of a send is the kernel's until its notice came; in these programs the reply to a window comes later than all of its notices.
class Lending {
public:
    static constexpr std::size_t kLeast = 10 * 1024;   // below, pinning pages costs more than a copy, says the manual

    void begin(int fd)
    {
        const int on = 1;
        if (setsockopt(fd, SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) != 0)
            fail_errno("SO_ZEROCOPY");
        fd_ = fd;
    }
    // For a send of so many bytes.
    [[nodiscard]] int flags(std::size_t bytes) const { return fd_ >= 0 && bytes >= kLeast ? MSG_ZEROCOPY : 0; }
    // After a send with these flags, whatever it returned. Notices are memory of the socket's: no send is taken any more when there are too many.
    void sent(int flags, ssize_t bytes)
    {
        if ((flags & MSG_ZEROCOPY) == 0)
            return;
        sends_ += bytes >= 0 ? 1 : 0;
        if (bytes < 0 || ++since_ == 16)
            collect();
    }
    [[nodiscard]] std::string note() const
    {
        if (fd_ < 0)
            return {};
        return std::to_string(sends_) + " sends lent their memory; of " + std::to_string(notices_) + " notices " + std::to_string(copied_) +
               " said that it was copied";
    }

private:
    void collect()
    {
        since_ = 0;
        for (;;) {
            alignas(cmsghdr) std::array<char, 256> control{};
            msghdr message{};
            message.msg_control = control.data();
            message.msg_controllen = control.size();
            if (recvmsg(fd_, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
                return;
            for (cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr; c = CMSG_NXTHDR(&message, c)) {
                if (c->cmsg_level != IPPROTO_IP || c->cmsg_type != IP_RECVERR)
                    continue;
                const auto& e = *reinterpret_cast<const sock_extended_err*>(CMSG_DATA(c));
                const std::uint64_t n = e.ee_data - e.ee_info + 1;
                notices_ += n;
                copied_ += (e.ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0 ? n : 0;
            }
        }
    }

    int fd_ = -1;
    unsigned since_ = 0;
    std::uint64_t sends_ = 0, notices_ = 0, copied_ = 0;
};

}   // namespace raw
