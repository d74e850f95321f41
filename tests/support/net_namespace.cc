// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// NamespacePair: see net_namespace.h.
#include "support/net_namespace.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace linnet::testing {

namespace {

Fd this_namespace() { return Fd{::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC)}; }

// What follows would happen to another network: better not at all.
void enter(const Fd& fd)
{
    if (::setns(fd.get(), CLONE_NEWNET) != 0) {
        std::perror("cannot enter a network namespace");
        std::abort();
    }
}


// The kernel tells of a cable's carrier a little later than it carries.
bool wait_for_carrier()
{
    for (unsigned tries = 0; tries < 500; ++tries) {
        ifreq request{};
        std::strcpy(request.ifr_name, "eth0");
        const Fd any{::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0)};
        if (::ioctl(any.get(), SIOCGIFFLAGS, &request) == 0 && (request.ifr_flags & IFF_RUNNING) != 0) {
            return true;
        }
        ::usleep(10'000);
    }
    return false;
}

bool run_ip(const std::string& arguments)
{
    const std::string command = "PATH=$PATH:/sbin:/usr/sbin ip " + arguments + " 2>/dev/null";
    return std::system(command.c_str()) == 0;   // NOLINT(concurrency-mt-unsafe): a child of this thread, and so in its namespace
}

}   // namespace

NamespacePair::Scope::Scope(const NamespacePair& pair, unsigned host) : pair_{pair} { enter(pair.host_[host]); }
NamespacePair::Scope::~Scope() { enter(pair_.outside_); }

bool NamespacePair::ip(unsigned host, const std::string& arguments) const
{
    const Scope there{*this, host};
    return run_ip(arguments);
}

std::unique_ptr<NamespacePair> NamespacePair::make(std::string& why, unsigned mtu)
{
    std::unique_ptr<NamespacePair> pair{new NamespacePair};
    pair->outside_ = this_namespace();
    for (Fd& host : pair->host_) {
        if (::unshare(CLONE_NEWNET) != 0) {
            why = std::string{"no network namespace can be made here: "} + std::strerror(errno);
            return nullptr;
        }
        host = this_namespace();
        enter(pair->outside_);
    }
    const std::string other = "/proc/" + std::to_string(::getpid()) + "/fd/" + std::to_string(pair->host_[1].get());
    const std::string size = " mtu " + std::to_string(mtu);
    // Ends with different numbers: for those the kernel tells of the carrier at once and not up to a second later.
    bool done = pair->ip(0, "link add name eth0 index 7" + size + " type veth peer name eth0" + size + " netns " + other);
    for (const unsigned host : {0u, 1u}) {
        done = done && pair->ip(host, "addr add 10.99.0." + std::to_string(host + 1) + "/24 dev eth0") && pair->ip(host, "link set lo up") &&
               pair->ip(host, "link set eth0 up");
    }
    for (const unsigned host : {0u, 1u}) {
        const Scope there{*pair, host};
        done = done && wait_for_carrier();
    }
    if (!done) {
        why = "ip(8) cannot join two network namespaces by a veth pair here";
        return nullptr;
    }
    return pair;
}

}   // namespace linnet::testing
