// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// fi_getinfo(3): addresses, in the format that was asked for.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sched.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>

#include "integration/ofi/node.h"

namespace linnet::ofi_test {
namespace {

void alone(const std::function<void()>& body)
{
    two_processes([&](Friend&) { body(); }, [](Friend&) {});
}

// "[::1]:80", "127.0.0.1:80" of a sockaddr.
std::string text_of(const void* address, std::size_t bytes)
{
    sockaddr_in in{};
    sockaddr_in6 in6{};
    char text[INET6_ADDRSTRLEN] = "";
    if (bytes == sizeof in) {
        std::memcpy(&in, address, sizeof in);
        ::inet_ntop(in.sin_family, &in.sin_addr, text, sizeof text);
        return std::string{text} + ":" + std::to_string(ntohs(in.sin_port));
    }
    EXPECT_EQ(bytes, sizeof in6);
    std::memcpy(&in6, address, std::min(bytes, sizeof in6));
    ::inet_ntop(in6.sin6_family, &in6.sin6_addr, text, sizeof text);
    const std::string scope = in6.sin6_scope_id != 0 ? "%" + std::to_string(in6.sin6_scope_id) : "";
    return std::string{"["} + text + scope + "]:" + std::to_string(ntohs(in6.sin6_port));
}

// The address that fi_getinfo(3) makes of node and service in this format: the source's with FI_SOURCE, else the destination's. "": -FI_ENODATA.
std::string resolved(std::uint32_t format, const char* node, const char* service, std::uint64_t flags = 0)
{
    fi_info* const hints = make_hints({.addr_format = format});
    fi_info* info = nullptr;
    const int r = fi_getinfo(FI_VERSION(1, 17), node, service, flags, hints, &info);
    fi_freeinfo(hints);
    if (r != 0) {
        EXPECT_EQ(r, -FI_ENODATA);
        return "";
    }
    EXPECT_EQ(info->addr_format, format);
    const bool source = (flags & FI_SOURCE) != 0;
    const std::string text = text_of(source ? info->src_addr : info->dest_addr, source ? info->src_addrlen : info->dest_addrlen);
    fi_freeinfo(info);
    return text;
}

// fi_getinfo(3), FI_ADDR_STR: all behind the format may be missing; service must be null.
TEST(LinnetInfo, NodeMayBeAStringThatNamesItsFormat)
{
    alone([] {
        EXPECT_EQ(resolved(FI_SOCKADDR, "fi_sockaddr://10.31.6.12:7471", nullptr), "10.31.6.12:7471");
        EXPECT_EQ(resolved(FI_SOCKADDR, "fi_sockaddr://10.31.6.12:7471?qos=3", nullptr), "10.31.6.12:7471");
        EXPECT_EQ(resolved(FI_SOCKADDR, "fi_sockaddr://10.31.6.12?qos=3", nullptr), "10.31.6.12:0");
        EXPECT_EQ(resolved(FI_SOCKADDR_IN, "fi_sockaddr_in://:7471", nullptr, FI_SOURCE), "0.0.0.0:7471");
        EXPECT_EQ(resolved(FI_SOCKADDR_IN6, "fi_sockaddr_in6://[fe80::6:12]:7471", nullptr), "[fe80::6:12]:7471");
        EXPECT_EQ(resolved(FI_SOCKADDR_IN6, "fi_sockaddr_in6://[fe80::6:12]", nullptr), "[fe80::6:12]:0");
        EXPECT_EQ(resolved(FI_SOCKADDR_IN6, "fi_sockaddr_in6://[fe80::6:12%lo]:7471", nullptr), "[fe80::6:12%1]:7471");
        EXPECT_EQ(resolved(FI_SOCKADDR_IN6, "fe80::6:12%lo", "7471"), "[fe80::6:12%1]:7471");
        EXPECT_EQ(resolved(FI_SOCKADDR_IN6, "fe80::6:12%nosuch", "7471"), "");
        EXPECT_EQ(resolved(FI_SOCKADDR_IN6, "fi_sockaddr_in6://:7471", nullptr, FI_SOURCE), "[::]:7471");
        EXPECT_EQ(resolved(FI_SOCKADDR, "fi_sockaddr://10.31.6.12", "7471"), "") << "the service belongs into it";
        EXPECT_EQ(resolved(FI_SOCKADDR, "fi_sockaddr_ib://10.31.6.12:7471", nullptr), "");
        EXPECT_EQ(resolved(FI_SOCKADDR_IN, "fi_sockaddr_in6://[fe80::6:12]:7471", nullptr), "");
    });
}

// Of a service alone, and of a host that has addresses of both families, each format has its own.
TEST(LinnetInfo, AddressIsOneOfTheFormatThatWasAskedFor)
{
    alone([] {
        EXPECT_EQ(resolved(FI_SOCKADDR_IN, nullptr, "7471", FI_SOURCE), "0.0.0.0:7471");
        EXPECT_EQ(resolved(FI_SOCKADDR_IN6, nullptr, "7471", FI_SOURCE), "[::]:7471");
        EXPECT_EQ(resolved(FI_SOCKADDR_IN6, nullptr, "7471"), "[::1]:7471");
        EXPECT_EQ(resolved(FI_SOCKADDR_IN6, "127.0.0.1", "7471"), "[::ffff:127.0.0.1]:7471");
        EXPECT_EQ(resolved(FI_SOCKADDR_IN, "::1", "7471"), "");
        char hosts[] = "/tmp/linnet-hosts-XXXXXX";
        const int fd = ::mkstemp(hosts);
        ASSERT_GE(fd, 0);
        std::ofstream{hosts} << "10.99.0.1 linnet-both\nfd00::99 linnet-both\n";
        ::close(fd);
        if (::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0 &&
            ::mount(hosts, "/etc/hosts", nullptr, MS_BIND, nullptr) == 0) {   // of this process alone, where it may
            EXPECT_EQ(resolved(FI_SOCKADDR_IN, "linnet-both", "7471"), "10.99.0.1:7471");
            EXPECT_EQ(resolved(FI_SOCKADDR_IN6, "linnet-both", "7471"), "[fd00::99]:7471");
        }
        ::unlink(hosts);
    });
}

// fi_getinfo(3), addr_format: that of fi_getname(3) and fi_av_lookup(3), too.
TEST(LinnetAddresses, NameOfAnEndpointIsOfTheFormatOfItsDomain)
{
    alone([] {
        Options o;
        o.addr_format = FI_SOCKADDR_IN6;
        Node n{o};
        const std::string name = n.name();
        ASSERT_EQ(name.size(), sizeof(sockaddr_in6));
        sockaddr_in6 in6{};
        std::memcpy(&in6, name.data(), sizeof in6);
        EXPECT_EQ(in6.sin6_family, AF_INET6);
        n.peer = n.insert(name);
        char back[64];
        std::size_t bytes = sizeof back;
        EXPECT_EQ(fi_av_lookup(n.av, n.peer, back, &bytes), 0);
        EXPECT_EQ(text_of(back, bytes), text_of(name.data(), name.size()));
        char in[4] = {};
        n.post([&] { return fi_trecv(n.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr); });
        n.post([&] { return fi_tinject(n.ep, "ping", 4, n.peer, 1); });
        EXPECT_EQ(n.next(n.rx).len, 4u);
    });
}

// sin6_scope_id is any number; an interface has one that fits an int, and is here.
TEST(LinnetAddresses, AddressOnALinkThatIsNotHereIsRefused)
{
    alone([] {
        Options o;
        o.addr_format = FI_SOCKADDR_IN6;
        Node n{o};
        sockaddr_in6 far{};
        far.sin6_family = AF_INET6;
        far.sin6_port = htons(7471);
        ASSERT_EQ(::inet_pton(AF_INET6, "fe80::6:12", &far.sin6_addr), 1);
        for (const std::uint32_t scope : {std::uint32_t{INT32_MAX}, 4'000'000'000u, UINT32_MAX}) {
            far.sin6_scope_id = scope;
            fi_addr_t at = 0;
            int error = 0;
            EXPECT_EQ(fi_av_insert(n.av, &far, 1, &at, FI_SYNC_ERR, &error), 0) << scope;
            EXPECT_EQ(at, FI_ADDR_NOTAVAIL);
            EXPECT_EQ(error, FI_EINVAL);
        }
    });
}

// fi_errno(3): each says what is wrong with the address, and nothing else does.
TEST(LinnetAddresses, EndpointThatCannotHaveItsAddressSaysWhy)
{
    alone([] {
        const std::string port = std::to_string(20000 + test_process() % 10000);
        const auto enabled_at = [](const char* node, const std::string& service) {
            Node n{{.addr_format = FI_SOCKADDR_IN, .node = node, .service = service.empty() ? nullptr : service.c_str(), .info_flags = FI_SOURCE}, false};
            return fi_enable(n.ep);
        };
        EXPECT_EQ(enabled_at("198.51.100.7", port), -FI_EADDRNOTAVAIL) << "no interface has it (RFC 5737)";
        EXPECT_EQ(enabled_at("198.51.100.7", ""), -FI_EADDRNOTAVAIL);
        Node there{{.addr_format = FI_SOCKADDR_IN, .node = "127.0.0.1", .service = port.c_str(), .info_flags = FI_SOURCE}};
        EXPECT_EQ(enabled_at("127.0.0.1", port), -FI_EADDRINUSE);
    });
}

// fi_cm(3): fi_setname(3) assigns the address, or says why it cannot. Until somebody was told it, another one may take its place.
TEST(LinnetAddresses, AddressThatIsSetIsTakenAtOnce)
{
    alone([] {
        Node there{{.addr_format = FI_SOCKADDR_IN, .node = "127.0.0.1", .info_flags = FI_SOURCE}};
        sockaddr_in taken{};
        const std::string its = there.name();
        ASSERT_EQ(its.size(), sizeof taken);
        std::memcpy(&taken, its.data(), sizeof taken);

        Node n{{.addr_format = FI_SOCKADDR_IN}, false};
        sockaddr_in nowhere = taken;
        ASSERT_EQ(::inet_pton(AF_INET, "198.51.100.7", &nowhere.sin_addr), 1);   // RFC 5737
        EXPECT_EQ(fi_setname(&n.ep->fid, &nowhere, sizeof nowhere), -FI_EADDRNOTAVAIL);
        EXPECT_EQ(fi_setname(&n.ep->fid, &taken, sizeof taken), -FI_EADDRINUSE);
        sockaddr_in free = taken;
        free.sin_port = 0;
        EXPECT_EQ(fi_setname(&n.ep->fid, &free, sizeof free), 0);
        free.sin_port = htons(static_cast<std::uint16_t>(20000 + test_process() % 10000));
        EXPECT_EQ(fi_setname(&n.ep->fid, &free, sizeof free), 0);
        EXPECT_EQ(fi_setname(&n.ep->fid, &taken, sizeof taken), -FI_EADDRINUSE);
        const std::string name = n.name();
        EXPECT_EQ(text_of(name.data(), name.size()), text_of(&free, sizeof free)) << "what was refused changes nothing";
        EXPECT_EQ(fi_setname(&n.ep->fid, &free, sizeof free), -FI_EOPBADSTATE);
        EXPECT_EQ(fi_enable(n.ep), 0);
    });
}

// /etc/hosts often gives the name of the host as 127.0.1.1, which no interface has.
TEST(LinnetAddresses, AnyLoopbackAddressIsThisHost)
{
    const std::string port = std::to_string(30000 + test_process() % 2000);
    for (const char* const listens_at : {"127.0.1.1", static_cast<const char*>(nullptr), "127.0.0.1"}) {
        two_processes(
            [&](Friend& other) {
                Node n{{.addr_format = FI_SOCKADDR_IN, .node = listens_at, .service = port.c_str(), .info_flags = FI_SOURCE}};
                other.meet();
                char in[4] = {};
                n.post([&] { return fi_trecv(n.ep, in, sizeof in, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr); });
                EXPECT_EQ(n.next(n.rx).len, 4u);
                EXPECT_EQ(std::string(in, 4), "ping");
                other.meet();
            },
            [&](Friend& other) {
                Node n{{.addr_format = FI_SOCKADDR_IN, .node = "127.0.1.1", .service = port.c_str()}};
                other.meet();
                n.peer = n.insert({static_cast<const char*>(n.info->dest_addr), n.info->dest_addrlen});
                n.post([&] { return fi_tinject(n.ep, "ping", 4, n.peer, 1); });
                other.meet();
            });
    }
}

// What fi_endpoint(3) could not open is no answer; who sends there may be anybody.
TEST(LinnetInfo, NameOfAnEndpointIsNoSourceOfAnotherAndMayBeADestination)
{
    alone([] {
        Node n;
        const std::string name = n.name();
        for (const bool source : {true, false}) {
            fi_info* const hints = make_hints({});
            (source ? hints->src_addrlen : hints->dest_addrlen) = name.size();
            (source ? hints->src_addr : hints->dest_addr) = std::memcpy(std::malloc(name.size()), name.data(), name.size());
            fi_info* info = nullptr;
            EXPECT_EQ(fi_getinfo(FI_VERSION(1, 17), nullptr, nullptr, 0, hints, &info), source ? -FI_ENODATA : 0);
            fi_freeinfo(hints);
            if (info != nullptr) {
                EXPECT_EQ(std::string(static_cast<const char*>(info->dest_addr), info->dest_addrlen), name);
                fi_freeinfo(info);
            }
        }
    });
}

// fi_av(3): "the fi_addr buffer associated with a failed or aborted insertion will be set to FI_ADDR_NOTAVAIL", also where nothing was begun.
TEST(LinnetAddressVector, RefusedInsertionLeavesNoAddress)
{
    alone([] {
        Node n;
        fi_addr_t at[4];
        const auto refused = [&](std::size_t count, int error, const std::function<int()>& insertion) {
            std::fill_n(at, 4, 5u);
            EXPECT_EQ(insertion(), error);
            EXPECT_EQ(std::count(at, at + 4, FI_ADDR_NOTAVAIL), static_cast<std::ptrdiff_t>(count));
        };
        const std::string name = n.name();
        refused(1, -FI_EBADFLAGS, [&] { return fi_av_insert(n.av, name.data(), 1, at, FI_PEEK, nullptr); });
        refused(2, -FI_EINVAL, [&] { return fi_av_insert(n.av, nullptr, 2, at, 0, nullptr); });
        refused(1, -FI_EINVAL, [&] { return fi_av_insertsvc(n.av, nullptr, nullptr, at, 0, nullptr); });
        refused(4, -FI_EINVAL, [&] { return fi_av_insertsym(n.av, nullptr, 2, "5000", 2, at, 0, nullptr); });
        refused(0, 1, [&] { return fi_av_insert(n.av, name.data(), 1, at, 0, nullptr); });
    });
}

// fi_av(3): node and service "are defined the same as fi_getinfo(3)".
TEST(LinnetAddressVector, ServiceWithoutANodeIsThatOfThisHost)
{
    alone([] {
        Node n{{.addr_format = FI_SOCKADDR_IN}};
        fi_addr_t at[2] = {};
        EXPECT_EQ(fi_av_insertsvc(n.av, nullptr, "5000", at, 0, nullptr), 1);
        EXPECT_EQ(fi_av_insertsym(n.av, nullptr, 1, "5000", 2, at, 0, nullptr), 2);
        sockaddr_in told{};
        std::size_t bytes = sizeof told;
        EXPECT_EQ(fi_av_lookup(n.av, at[1], &told, &bytes), 0);
        EXPECT_EQ(text_of(&told, bytes), "127.0.0.1:5001");
        EXPECT_EQ(text_of(&told, bytes), resolved(FI_SOCKADDR_IN, nullptr, "5001"));
    });
}

// fi_eq(3): errors are "out of band", so what has happened before does not hide them.
TEST(LinnetEventQueue, ErrorIsToldBeforeTheEventsThatCameFirst)
{
    alone([] {
        Node n;
        fi_eq_attr eq_attr{};
        eq_attr.wait_obj = FI_WAIT_UNSPEC;
        eq_attr.flags = FI_WRITE;
        fid_eq* eq = nullptr;
        fid_av* av = nullptr;
        fi_av_attr av_attr{};
        av_attr.flags = FI_EVENT;
        ASSERT_EQ(fi_eq_open(n.fabric, &eq_attr, &eq, nullptr), 0);
        ASSERT_EQ(fi_av_open(n.domain, &av_attr, &av, nullptr), 0);
        ASSERT_EQ(fi_av_bind(av, &eq->fid, 0), 0);
        fi_eq_entry e{};
        EXPECT_EQ(fi_eq_write(eq, FI_NOTIFY, &e, sizeof e, 0), static_cast<ssize_t>(sizeof e));
        const std::string nobody(n.name().size(), '\0');
        EXPECT_EQ(fi_av_insert(av, nobody.data(), 1, nullptr, 0, &n), 0);
        std::uint32_t event = 0;
        fi_eq_err_entry bad{};
        EXPECT_EQ(fi_eq_read(eq, &event, &e, sizeof e, 0), -FI_EAVAIL);
        EXPECT_EQ(fi_eq_readerr(eq, &bad, FI_PEEK), static_cast<ssize_t>(sizeof bad));
        EXPECT_EQ(fi_eq_readerr(eq, &bad, 0), static_cast<ssize_t>(sizeof bad));
        EXPECT_EQ(bad.context, &n);
        EXPECT_EQ(fi_eq_readerr(eq, &bad, 0), -FI_EAGAIN);
        EXPECT_EQ(fi_eq_read(eq, &event, &e, sizeof e, 0), static_cast<ssize_t>(sizeof e));
        EXPECT_EQ(event, static_cast<std::uint32_t>(FI_NOTIFY));
        EXPECT_EQ(fi_eq_sread(eq, &event, &e, sizeof e, 0, 0), static_cast<ssize_t>(sizeof e));
        EXPECT_EQ(event, static_cast<std::uint32_t>(FI_AV_COMPLETE));
        EXPECT_EQ(fi_close(&av->fid), 0);
        EXPECT_EQ(fi_close(&eq->fid), 0);
    });
}

}   // namespace
}   // namespace linnet::ofi_test
