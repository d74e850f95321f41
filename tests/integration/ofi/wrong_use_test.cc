// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// What the manual pages say of arguments and states that are not right, and of what was not asked for: an error that says so, and nothing else.
#include <netinet/in.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_trigger.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "integration/ofi/node.h"
#include "integration/ofi/region.h"

namespace linnet::ofi_test {
namespace {

void alone(const std::function<void()>& body)
{
    two_processes([&](Friend&) { body(); }, [](Friend&) {});
}

TEST(LinnetWrongUse, QueuesOfNoKindAreNotOpened)
{
    alone([] {
        Node n;
        fid_cq* cq = nullptr;
        fi_cq_attr attr{};
        attr.flags = FI_EVENT;
        EXPECT_EQ(fi_cq_open(n.domain, &attr, &cq, nullptr), -FI_EINVAL);
        attr.flags = 0;
        attr.format = static_cast<fi_cq_format>(FI_CQ_FORMAT_TAGGED + 1);
        EXPECT_EQ(fi_cq_open(n.domain, &attr, &cq, nullptr), -FI_EINVAL);
        attr.format = FI_CQ_FORMAT_TAGGED;
        attr.wait_obj = static_cast<fi_wait_obj>(FI_WAIT_POLLFD + 1);
        EXPECT_EQ(fi_cq_open(n.domain, &attr, &cq, nullptr), -FI_EINVAL);
        attr.wait_obj = FI_WAIT_UNSPEC;
        put_number(attr.wait_cond, FI_CQ_COND_THRESHOLD + 1);
        EXPECT_EQ(fi_cq_open(n.domain, &attr, &cq, nullptr), -FI_EINVAL);
        attr.wait_obj = FI_WAIT_NONE;   // with which it is ignored
        ASSERT_EQ(fi_cq_open(n.domain, &attr, &cq, nullptr), 0);
        EXPECT_EQ(fi_close(&cq->fid), 0);
        put_number(attr.format, -1);
        EXPECT_EQ(fi_cq_open(n.domain, &attr, &cq, nullptr), -FI_EINVAL);
        attr.format = FI_CQ_FORMAT_TAGGED;
        put_number(attr.wait_obj, -1);
        EXPECT_EQ(fi_cq_open(n.domain, &attr, &cq, nullptr), -FI_EINVAL);
        fid_cntr* counter = nullptr;
        fi_cntr_attr counter_attr{};
        put_number(counter_attr.wait_obj, -1);
        EXPECT_EQ(fi_cntr_open(n.domain, &counter_attr, &counter, nullptr), -FI_EINVAL);
        counter_attr.wait_obj = FI_WAIT_NONE;
        counter_attr.flags = 1;
        EXPECT_EQ(fi_cntr_open(n.domain, &counter_attr, &counter, nullptr), -FI_EINVAL);
        fid_eq* eq = nullptr;
        fi_eq_attr eq_attr{};
        put_number(eq_attr.wait_obj, -1);
        EXPECT_EQ(fi_eq_open(n.fabric, &eq_attr, &eq, nullptr), -FI_EINVAL);
        eq_attr.wait_obj = FI_WAIT_NONE;
        eq_attr.flags = FI_EVENT;
        EXPECT_EQ(fi_eq_open(n.fabric, &eq_attr, &eq, nullptr), -FI_EINVAL);
        fid_av* av = nullptr;
        fi_av_attr av_attr{};
        put_number(av_attr.type, -1);
        EXPECT_EQ(fi_av_open(n.domain, &av_attr, &av, nullptr), -FI_EINVAL);
        av_attr.type = FI_AV_TABLE;
        av_attr.count = SIZE_MAX / 2;   // what is expected is no demand
        ASSERT_EQ(fi_av_open(n.domain, &av_attr, &av, nullptr), 0);
        EXPECT_EQ(fi_close(&av->fid), 0);
    });
}

TEST(LinnetWrongUse, QueuesReadNothingIntoNowhere)
{
    alone([] {
        Node n{{.wait = FI_WAIT_UNSPEC}};
        EXPECT_EQ(fi_cq_read(n.rx, nullptr, 1), -FI_EINVAL);
        EXPECT_EQ(fi_cq_read(n.rx, nullptr, 0), -FI_EAGAIN);
        EXPECT_EQ(fi_cq_sread(n.rx, nullptr, 1, nullptr, 0), -FI_EINVAL);
        EXPECT_EQ(fi_cq_readerr(n.rx, nullptr, 0), -FI_EINVAL);
        fi_cq_err_entry error{};
        EXPECT_EQ(fi_cq_readerr(n.rx, &error, 0), -FI_EAGAIN);
        EXPECT_EQ(fi_control(&n.rx->fid, FI_GETWAIT, nullptr), -FI_EINVAL);
        EXPECT_EQ(fi_control(&n.rx->fid, FI_GETWAITOBJ, nullptr), -FI_EINVAL);
        int fd = -1;
        EXPECT_EQ(fi_control(&n.rx->fid, FI_GETWAIT, &fd), -FI_ENODATA) << "the kind was left to the provider";
        char room[8];
        std::memset(room, 'x', sizeof room);
        const std::string whole = fi_cq_strerror(n.rx, -1, nullptr, nullptr, 0);
        EXPECT_EQ(fi_cq_strerror(n.rx, -1, nullptr, room, sizeof room), room);
        EXPECT_EQ(room, whole.substr(0, sizeof room - 1));
        EXPECT_NE(fi_cq_strerror(n.rx, 12345, nullptr, nullptr, 0), nullptr);
    });
}

TEST(LinnetWrongUse, EventQueueIsWrittenToOnlyIfItWasOpenedForThat)
{
    alone([] {
        Node n;
        fid_eq* eq = nullptr;
        fi_eq_attr attr{};
        fi_eq_entry entry{};
        std::uint32_t event = 0;
        ASSERT_EQ(fi_eq_open(n.fabric, &attr, &eq, nullptr), 0);
        EXPECT_EQ(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof entry, 0), -FI_ENOSYS);
        EXPECT_EQ(fi_eq_read(eq, &event, &entry, sizeof entry, 0), -FI_EAGAIN);
        EXPECT_EQ(fi_eq_sread(eq, &event, &entry, sizeof entry, 0, 0), -FI_EINVAL) << "without a wait object";
        EXPECT_EQ(fi_close(&eq->fid), 0);
        attr.flags = FI_WRITE;
        attr.wait_obj = FI_WAIT_UNSPEC;
        ASSERT_EQ(fi_eq_open(n.fabric, &attr, &eq, nullptr), 0);
        entry.context = &n;
        EXPECT_EQ(fi_eq_write(eq, FI_NOTIFY, &entry, sizeof entry, 0), static_cast<ssize_t>(sizeof entry));
        fi_eq_entry in{};
        EXPECT_EQ(fi_eq_read(eq, &event, &in, sizeof in - 1, 0), -FI_ETOOSMALL);
        EXPECT_EQ(fi_eq_read(eq, &event, nullptr, sizeof in, 0), -FI_EINVAL);
        EXPECT_EQ(fi_eq_readerr(eq, nullptr, 0), -FI_EINVAL);
        EXPECT_EQ(fi_eq_read(eq, &event, &in, sizeof in, FI_PEEK), static_cast<ssize_t>(sizeof in));
        EXPECT_EQ(fi_eq_sread(eq, &event, &in, sizeof in, -1, 0), static_cast<ssize_t>(sizeof in));
        EXPECT_EQ(event, static_cast<std::uint32_t>(FI_NOTIFY));
        EXPECT_EQ(in.context, &n);
        EXPECT_EQ(fi_eq_sread(eq, &event, &in, sizeof in, 1, 0), -FI_EAGAIN);
        EXPECT_EQ(fi_close(&eq->fid), 0);
    });
}

// fi_eq(3): before 1.5 an error entry ended with err_data, and what lies behind it is the program's.
TEST(LinnetWrongUse, ErrorEntryOfAnOldProgramIsNoLongerThanItKnows)
{
    alone([] {
        Node n{{.addr_format = FI_SOCKADDR_IN, .version = FI_VERSION(1, 4)}, false};
        fid_eq* eq = nullptr;
        fid_av* av = nullptr;
        fi_eq_attr eq_attr{};
        fi_av_attr av_attr{};
        av_attr.flags = FI_EVENT;
        ASSERT_EQ(fi_eq_open(n.fabric, &eq_attr, &eq, nullptr), 0);
        ASSERT_EQ(fi_av_open(n.domain, &av_attr, &av, nullptr), 0);
        ASSERT_EQ(fi_av_bind(av, &eq->fid, 0), 0);
        const sockaddr_in nobody{};
        fi_addr_t at = 0;
        EXPECT_EQ(fi_av_insert(av, &nobody, 1, &at, 0, &n), 0);
        constexpr std::size_t kOld = offsetof(fi_eq_err_entry, err_data_size);
        union {
            fi_eq_err_entry entry;
            unsigned char bytes[sizeof(fi_eq_err_entry)];
        } in{};
        std::memset(in.bytes, 0xa5, sizeof in.bytes);
        EXPECT_EQ(fi_eq_readerr(eq, &in.entry, 0), static_cast<ssize_t>(kOld));
        EXPECT_EQ(in.entry.err, FI_EINVAL);
        EXPECT_TRUE(std::all_of(in.bytes + kOld, in.bytes + sizeof in.bytes, [](unsigned char c) { return c == 0xa5; }));
        EXPECT_EQ(fi_close(&av->fid), 0);
        EXPECT_EQ(fi_close(&eq->fid), 0);
    });
}

// fi_endpoint(3): such an operation cannot be canceled. Several may have none.
TEST(LinnetWrongUse, OperationWithoutAContextIsNotCanceled)
{
    alone([] {
        Node n;
        n.peer = n.insert(n.name());
        char in = 0;
        ASSERT_EQ(fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), 0);
        EXPECT_EQ(fi_cancel(&n.ep->fid, nullptr), -FI_ENOENT);
        n.post([&] { return fi_tinject(n.ep, "x", 1, n.peer, 1); });
        EXPECT_EQ(n.next(n.rx).len, 1u);
    });
}

TEST(LinnetWrongUse, EventQueueWithoutItsDescriptorIsNotOpened)
{
    alone([] {
        Node n{{}, false};
        rlimit before{};
        ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
        const int next = ::dup(STDERR_FILENO);
        ASSERT_GE(next, 0);
        ::close(next);
        const rlimit none{static_cast<rlim_t>(next), before.rlim_max};
        ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
        fi_eq_attr attr{};
        attr.wait_obj = FI_WAIT_FD;
        fid_eq* eq = nullptr;
        EXPECT_EQ(fi_eq_open(n.fabric, &attr, &eq, nullptr), -FI_EMFILE);
        EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
        ASSERT_EQ(fi_eq_open(n.fabric, &attr, &eq, nullptr), 0);
        int fd = -1;
        EXPECT_EQ(fi_control(&eq->fid, FI_GETWAIT, &fd), 0);
        EXPECT_GE(fd, 0);
        EXPECT_EQ(fi_close(&eq->fid), 0);
    });
}

TEST(LinnetWrongUse, EndpointHasOnlyTheCallsOfItsCapabilities)
{
    alone([] {
        char byte = 'x';
        const auto itself = [](Node& n) { return n.insert(n.name()); };
        {
            Node n{{.caps = FI_MSG}};
            EXPECT_EQ(fi_tsend(n.ep, &byte, 1, nullptr, itself(n), 1, nullptr), -FI_ENOSYS);
            EXPECT_EQ(fi_trecv(n.ep, &byte, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), -FI_ENOSYS);
            EXPECT_EQ(fi_write(n.ep, &byte, 1, nullptr, 0, 0, 0, nullptr), -FI_ENOSYS);
            std::size_t count = 0;
            EXPECT_EQ(fi_atomicvalid(n.ep, FI_UINT64, FI_SUM, &count), -FI_ENOSYS);
        }
        {
            Node n{{.caps = FI_TAGGED | FI_SEND}};
            EXPECT_EQ(fi_trecv(n.ep, &byte, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, nullptr), -FI_EOPNOTSUPP);
            EXPECT_EQ(fi_send(n.ep, &byte, 1, nullptr, itself(n), nullptr), -FI_ENOSYS);
        }
        Node n{{.caps = FI_TAGGED | FI_RECV}};
        EXPECT_EQ(fi_tsend(n.ep, &byte, 1, nullptr, itself(n), 1, nullptr), -FI_EOPNOTSUPP);
        EXPECT_EQ(fi_tinject(n.ep, &byte, 1, 0, 1), -FI_EOPNOTSUPP);
    });
}

TEST(LinnetWrongUse, OperationsThatCannotBeAreRefusedAtOnce)
{
    alone([] {
        Node n{{.caps = FI_TAGGED | FI_MSG}, false};
        char byte = 'x';
        EXPECT_EQ(fi_send(n.ep, &byte, 1, nullptr, 0, nullptr), -FI_EOPBADSTATE);
        EXPECT_EQ(fi_recv(n.ep, &byte, 1, nullptr, FI_ADDR_UNSPEC, nullptr), -FI_EOPBADSTATE);
        EXPECT_EQ(fi_ep_bind(n.ep, nullptr, 0), -FI_EINVAL);
        n.enable();
        EXPECT_EQ(fi_ep_bind(n.ep, &n.av->fid, 0), -FI_EOPBADSTATE);
        const fi_addr_t self = n.insert(n.name());
        EXPECT_EQ(fi_send(n.ep, &byte, 1, nullptr, self + 1, nullptr), -FI_EINVAL) << "nobody has this address";
        EXPECT_EQ(fi_send(n.ep, nullptr, 1, nullptr, self, nullptr), -FI_EINVAL);
        EXPECT_EQ(fi_recv(n.ep, nullptr, 1, nullptr, FI_ADDR_UNSPEC, nullptr), -FI_EINVAL);
        std::vector<iovec> many(n.info->tx_attr->iov_limit + 1, iovec{&byte, 1});
        EXPECT_EQ(fi_sendv(n.ep, many.data(), nullptr, many.size(), self, nullptr), -FI_EINVAL);
        EXPECT_EQ(fi_recvv(n.ep, many.data(), nullptr, many.size(), FI_ADDR_UNSPEC, nullptr), -FI_EINVAL);
        std::vector<char> large(n.info->tx_attr->inject_size + 1);
        EXPECT_EQ(fi_inject(n.ep, large.data(), large.size(), self), -FI_EMSGSIZE);
        fi_msg_tagged m{};
        m.addr = FI_ADDR_UNSPEC;
        EXPECT_EQ(fi_trecvmsg(n.ep, &m, FI_DISCARD), -FI_EINVAL) << "of what?";
        EXPECT_EQ(fi_trecvmsg(n.ep, &m, FI_CLAIM), -FI_EINVAL) << "nothing was claimed";
        EXPECT_EQ(fi_tsendmsg(n.ep, &m, FI_MULTICAST), -FI_EBADFLAGS);
        std::size_t bytes = 1;
        std::size_t least = 0;
        EXPECT_EQ(fi_getopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, &least, &bytes), -FI_ETOOSMALL);
        EXPECT_EQ(bytes, sizeof least);
        EXPECT_EQ(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV, nullptr, sizeof least), -FI_EINVAL);
        EXPECT_EQ(fi_av_insert(n.av, nullptr, 1, nullptr, 0, nullptr), -FI_EINVAL);
        EXPECT_EQ(fi_av_insert(n.av, nullptr, 0, nullptr, 0, nullptr), 0);
        n.post([&] { return fi_send(n.ep, nullptr, 0, nullptr, self, nullptr); });
        n.post([&] { return fi_recv(n.ep, nullptr, 0, nullptr, FI_ADDR_UNSPEC, nullptr); });
        EXPECT_EQ(n.next(n.rx).len, 0u);
    });
}

// fi_linnet(7), departures.
TEST(LinnetWrongUse, WhatIsNotThereSaysSo)
{
    alone([] {
        Node n{{.bind_flags = FI_SELECTIVE_COMPLETION}};
        const fi_addr_t self = n.insert(n.name());
        EXPECT_EQ(n.ep->ops->tx_size_left(n.ep), -FI_ENOSYS);
        EXPECT_EQ(n.ep->ops->rx_size_left(n.ep), -FI_ENOSYS);
        char room[256];
        std::size_t bytes = sizeof room;
        EXPECT_EQ(fi_getpeer(n.ep, room, &bytes), -FI_ENOSYS);
        for (const int option : {FI_OPT_CM_DATA_SIZE, FI_OPT_BUFFERED_MIN, FI_OPT_BUFFERED_LIMIT, FI_OPT_TX_SIZE, FI_OPT_RX_SIZE}) {
            bytes = sizeof room;
            EXPECT_EQ(fi_getopt(&n.ep->fid, FI_OPT_ENDPOINT, option, room, &bytes), -FI_ENOPROTOOPT) << option;
            EXPECT_EQ(fi_setopt(&n.ep->fid, FI_OPT_ENDPOINT, option, room, sizeof(std::size_t)), -FI_ENOPROTOOPT) << option;
        }
        EXPECT_EQ(fi_control(&n.ep->fid, FI_GETWAIT, room), -FI_ENOSYS);
        EXPECT_EQ(fi_control(&n.ep->fid, FI_GETOPSFLAG, nullptr), -FI_EINVAL);
        n.post([&] { return fi_tsend(n.ep, room, 1, nullptr, self, 1, room); });
        EXPECT_EQ(fi_cancel(&n.ep->fid, room), -FI_ENOENT) << "a send";
        fi_msg_tagged m{};
        m.addr = FI_ADDR_UNSPEC;
        m.tag = 2;
        m.context = &bytes;
        EXPECT_EQ(fi_trecvmsg(n.ep, &m, FI_PEEK), 0);
        EXPECT_EQ(n.next_error(n.rx).err, FI_ENOMSG);
        m.tag = 1;
        fi_cq_tagged_entry e{};
        fi_cq_err_entry not_yet{};
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds{20};
        ssize_t got = 0;
        do {   // until the message is there
            EXPECT_EQ(fi_trecvmsg(n.ep, &m, FI_PEEK), 0);
            got = fi_cq_read(n.rx, &e, 1);
        } while (got == -FI_EAVAIL && fi_cq_readerr(n.rx, &not_yet, 0) == 1 && not_yet.err == FI_ENOMSG && std::chrono::steady_clock::now() < end);
        EXPECT_EQ(got, 1);
        EXPECT_EQ(e.op_context, &bytes) << "a peek is answered, though nobody asked for entries";
        EXPECT_EQ(fi_barrier(n.ep, self, nullptr), -FI_ENOSYS);
        EXPECT_EQ(fi_allreduce(n.ep, room, 1, nullptr, room, nullptr, self, FI_INT8, FI_SUM, 0, nullptr), -FI_ENOSYS);
        EXPECT_EQ(fi_query_collective(n.domain, FI_BARRIER, nullptr, 0), -FI_EOPNOTSUPP);
        fid_mc* group = nullptr;
        EXPECT_EQ(fi_join(n.ep, room, 0, &group, nullptr), -FI_ENOSYS);
        fi_deferred_work work{};
        EXPECT_EQ(fi_control(&n.domain->fid, FI_QUEUE_WORK, &work), -FI_ENOSYS);
        EXPECT_EQ(fi_tsendmsg(n.ep, &m, FI_TRIGGER), -FI_EBADFLAGS);
        const std::string text = fi_tostr(n.info, FI_TYPE_INFO);
        EXPECT_NE(text.find("prov_name: linnet"), std::string::npos) << text;
    });
}

// fi_endpoint(3): each direction that the endpoint has.
TEST(LinnetWrongUse, EndpointNeedsAQueueForEachDirection)
{
    alone([] {
        Node n{{}, false};
        for (const std::uint64_t side : {FI_TRANSMIT, FI_RECV}) {
            fid_ep* ep = nullptr;
            ASSERT_EQ(fi_endpoint(n.domain, n.info, &ep, nullptr), 0);
            EXPECT_EQ(fi_ep_bind(ep, &n.av->fid, 0), 0);
            EXPECT_EQ(fi_ep_bind(ep, &n.tx->fid, side), 0);
            EXPECT_EQ(fi_enable(ep), -FI_ENOCQ);
            EXPECT_EQ(fi_ep_bind(ep, &n.rx->fid, side == FI_TRANSMIT ? FI_RECV : FI_TRANSMIT), 0);
            EXPECT_EQ(fi_enable(ep), 0);
            EXPECT_EQ(fi_close(&ep->fid), 0);
        }
    });
}

// fi_endpoint(3): -FI_EDOMAIN, "an attempt was made to bind multiple domains".
TEST(LinnetWrongUse, EndpointIsBoundToWhatIsOfItsDomain)
{
    alone([] {
        Node n{{.caps = FI_MSG | FI_RMA}, false};
        fid_domain* domain = nullptr;
        ASSERT_EQ(fi_domain(n.fabric, n.info, &domain, nullptr), 0);
        fi_cq_attr cq_attr{};
        fi_cntr_attr counter_attr{};
        fi_av_attr av_attr{};
        fid_cq* cq = nullptr;
        fid_cntr* counter = nullptr;
        fid_av* av = nullptr;
        fid_mr* region = nullptr;
        char bytes[64] = "";
        ASSERT_EQ(fi_cq_open(domain, &cq_attr, &cq, nullptr), 0);
        ASSERT_EQ(fi_cntr_open(domain, &counter_attr, &counter, nullptr), 0);
        ASSERT_EQ(fi_av_open(domain, &av_attr, &av, nullptr), 0);
        ASSERT_EQ(fi_mr_reg(domain, bytes, sizeof bytes, FI_REMOTE_READ, 0, 7, 0, &region, nullptr), 0);
        fid_stx* stx = nullptr;
        fid_ep* srx = nullptr;
        fid_cntr* near_counter = nullptr;
        fid_ep* ep = nullptr;
        ASSERT_EQ(fi_stx_context(domain, nullptr, &stx, nullptr), 0);
        ASSERT_EQ(fi_srx_context(domain, nullptr, &srx, nullptr), 0);
        ASSERT_EQ(fi_cntr_open(n.domain, &counter_attr, &near_counter, nullptr), 0);
        ASSERT_EQ(fi_endpoint(n.domain, n.info, &ep, nullptr), 0);
        EXPECT_EQ(fi_ep_bind(ep, &stx->fid, 0), -FI_EDOMAIN);
        EXPECT_EQ(fi_ep_bind(ep, &srx->fid, 0), -FI_EDOMAIN);
        EXPECT_EQ(fi_mr_bind(region, &ep->fid, 0), -FI_EDOMAIN) << "nobody would reach it there";
        EXPECT_EQ(fi_mr_bind(region, &near_counter->fid, FI_REMOTE_WRITE), -FI_EDOMAIN);
        EXPECT_EQ(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT), -FI_EDOMAIN);
        EXPECT_EQ(fi_ep_bind(ep, &counter->fid, FI_SEND), -FI_EDOMAIN);
        EXPECT_EQ(fi_ep_bind(ep, &av->fid, 0), -FI_EDOMAIN);
        EXPECT_EQ(fi_ep_bind(ep, &region->fid, 0), -FI_EDOMAIN);
        for (struct fid* f : {&ep->fid, &stx->fid, &srx->fid, &cq->fid, &counter->fid, &near_counter->fid, &av->fid, &region->fid, &domain->fid}) {
            EXPECT_EQ(fi_close(f), 0) << f->fclass;
        }
    });
}

// It also names memory regions among what an endpoint is bound to, though each of its domain is its own already.
TEST(LinnetMemory, EndpointMayBeBoundToARegionOfItsDomain)
{
    alone([] {
        Node n{{.caps = FI_MSG | FI_RMA}, false};
        char bytes[64] = "";
        fid_mr* region = nullptr;
        ASSERT_EQ(fi_mr_reg(n.domain, bytes, sizeof bytes, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 7, 0, &region, nullptr), 0);
        EXPECT_EQ(fi_ep_bind(n.ep, &region->fid, 0), 0);
        n.enable();
        EXPECT_EQ(fi_ep_bind(n.ep, &region->fid, FI_REMOTE_READ | FI_REMOTE_WRITE), 0);
        EXPECT_EQ(fi_ep_bind(n.ep, &region->fid, FI_TRANSMIT), -FI_EBADFLAGS);
        EXPECT_EQ(fi_close(&region->fid), 0);
    });
}

TEST(LinnetMemory, KeysAreUniqueWhateverTheAccessAndNoneIsAskedForThatIsNone)
{
    alone([] {
        Node n{{.caps = FI_MSG | FI_RMA}};
        std::vector<char> memory(64);
        fid_mr* local = nullptr;
        fid_mr* other = nullptr;
        ASSERT_EQ(fi_mr_reg(n.domain, memory.data(), 64, FI_SEND, 0, 7, 0, &local, nullptr), 0);
        EXPECT_EQ(fi_mr_reg(n.domain, memory.data(), 64, FI_SEND, 0, 7, 0, &other, nullptr), -FI_ENOKEY);
        EXPECT_EQ(fi_mr_reg(n.domain, memory.data(), 64, FI_REMOTE_WRITE, 0, 7, 0, &other, nullptr), -FI_ENOKEY);
        EXPECT_EQ(fi_close(&local->fid), 0);
        ASSERT_EQ(fi_mr_reg(n.domain, memory.data(), 64, FI_REMOTE_WRITE, 0, 7, 0, &other, nullptr), 0);
        EXPECT_EQ(fi_mr_bind(other, nullptr, 0), -FI_EINVAL);
        EXPECT_EQ(fi_mr_refresh(other, nullptr, 0, 0), 0);
        EXPECT_EQ(fi_close(&other->fid), 0);
        EXPECT_EQ(fi_mr_reg(n.domain, memory.data(), 64, FI_SEND, 0, FI_KEY_NOTAVAIL, 0, &other, nullptr), -FI_EKEYREJECTED);
        EXPECT_EQ(fi_mr_reg(n.domain, memory.data(), 64, FI_SEND, 8, 7, 0, &other, nullptr), -FI_EINVAL) << "an offset";
        EXPECT_EQ(fi_mr_reg(n.domain, memory.data(), 64, FI_SEND, 0, 7, FI_RMA_PMEM, &other, nullptr), -FI_EBADFLAGS);
    });
}

// A queue with a condition variable has a thread, which may be one too many.
TEST(LinnetWrongUse, QueueWhoseThreadCannotBeMadeLeavesTheSignalsOfItsCaller)
{
    alone([] {
        Node n{{}, false};
        constexpr uid_t kNobody = 65534;   // root may have as many as it likes
        const rlimit none{0, 0};
        ASSERT_TRUE(::geteuid() != 0 || ::setresuid(kNobody, kNobody, kNobody) == 0);
        ASSERT_EQ(::setrlimit(RLIMIT_NPROC, &none), 0);
        fid_cq* cq = nullptr;
        fi_cq_attr attr{};
        attr.wait_obj = FI_WAIT_MUTEX_COND;
        EXPECT_EQ(fi_cq_open(n.domain, &attr, &cq, nullptr), -FI_EAGAIN);
        sigset_t blocked;
        ASSERT_EQ(::pthread_sigmask(SIG_BLOCK, nullptr, &blocked), 0);
        EXPECT_EQ(::sigismember(&blocked, SIGTERM), 0);
        EXPECT_EQ(::sigismember(&blocked, SIGINT), 0);
    });
}

TEST(LinnetMemory, AttributesThatCannotBeHadAreRefused)
{
    alone([] {
        Node n{{.caps = FI_MSG | FI_RMA}};
        std::vector<char> memory(64);
        const iovec pieces[2] = {{memory.data(), 8}, {memory.data() + 32, 8}};
        std::uint8_t secret[4] = {1, 2, 3, 4};
        fid_mr* mr = nullptr;
        fi_mr_attr attr{};
        attr.mr_iov = pieces;
        attr.iov_count = 1;
        attr.access = FI_REMOTE_READ;
        attr.requested_key = 7;
        ASSERT_EQ(fi_mr_regattr(n.domain, &attr, FI_RMA_EVENT, &mr), 0) << "what is wrong below is wrong by itself";
        EXPECT_EQ(fi_close(&mr->fid), 0);
        const auto refused = [&](const std::function<void(fi_mr_attr&)>& change, std::uint64_t flags, int error) {
            fi_mr_attr wrong = attr;
            change(wrong);
            EXPECT_EQ(fi_mr_regattr(n.domain, &wrong, flags, &mr), error);
        };
        EXPECT_EQ(n.info->domain_attr->mr_iov_limit, 1u);
        refused([](fi_mr_attr& a) { a.iov_count = 2; }, 0, -FI_EINVAL);
        refused([](fi_mr_attr& a) { a.iov_count = 0; }, 0, -FI_EINVAL);
        refused([](fi_mr_attr& a) { a.offset = 1; }, 0, -FI_EINVAL);
        refused([](fi_mr_attr& a) { a.access |= FI_COLLECTIVE; }, 0, -FI_EBADFLAGS);
        refused([](fi_mr_attr&) {}, FI_HMEM_DEVICE_ONLY, -FI_EBADFLAGS);
        refused([&](fi_mr_attr& a) { a.auth_key = secret, a.auth_key_size = sizeof secret; }, 0, -FI_EINVAL);   // nobody would ask peers for it
        EXPECT_EQ(fi_mr_regv(n.domain, pieces, 2, FI_REMOTE_READ, 0, 7, 0, &mr, nullptr), -FI_EINVAL);
        const iovec past{memory.data(), SIZE_MAX};
        refused([&](fi_mr_attr& a) { a.mr_iov = &past; }, 0, -FI_EINVAL);
        Node late{{.caps = FI_MSG | FI_RMA}, false};   // that is the registration's fault, not its endpoint's
        EXPECT_EQ(fi_mr_reg(late.domain, past.iov_base, past.iov_len, FI_REMOTE_READ, 0, 7, 0, &mr, nullptr), -FI_EINVAL);
        late.enable();
    });
}

// An address range may be registered before there is memory, which fi_mr(3) calls the default behaviour; raw keys name any region.
TEST(LinnetMemory, RegionMayComeBeforeItsMemory)
{
    constexpr std::size_t kSize = 1u << 16;
    const Options o{.caps = FI_MSG | FI_RMA, .mr_mode = FI_MR_BASIC};
    two_processes(
        [&](Friend& other) {
            Node n{o};
            void* const range = ::mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            ASSERT_NE(range, MAP_FAILED);
            fid_mr* mr = nullptr;
            ASSERT_EQ(fi_mr_reg(n.domain, range, kSize, FI_REMOTE_WRITE | FI_REMOTE_READ, 0, 0, 0, &mr, nullptr), 0);
            ASSERT_EQ(::mprotect(range, kSize, PROT_READ | PROT_WRITE), 0);
            EXPECT_EQ(fi_mr_refresh(mr, nullptr, 0, 0), 0);
            std::uint64_t base = 0;
            std::uint8_t key[8];
            std::size_t bytes = 0;
            EXPECT_EQ(fi_mr_raw_attr(mr, nullptr, nullptr, &bytes, 0), -FI_ETOOSMALL);
            EXPECT_EQ(bytes, n.info->domain_attr->mr_key_size);
            EXPECT_EQ(fi_mr_raw_attr(mr, &base, key, &bytes, 0), 0);
            EXPECT_EQ(base, reinterpret_cast<std::uintptr_t>(range)) << "the domain names virtual addresses";
            n.connect(other);
            other.tell(std::string{reinterpret_cast<const char*>(&base), sizeof base} + std::string{reinterpret_cast<const char*>(key), bytes});
            other.meet();
            EXPECT_EQ(fi_close(&mr->fid), 0);
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            std::string told = other.hear();
            std::uint64_t base = 0;
            std::uint64_t key = 0;
            std::memcpy(&base, told.data(), sizeof base);
            EXPECT_EQ(fi_mr_map_raw(n.domain, base, reinterpret_cast<std::uint8_t*>(told.data() + 8), told.size() - 8, &key, 0), 0);
            const auto out = pattern(kSize, 3);
            std::vector<char> in(kSize);
            n.post([&] { return fi_write(n.ep, out.data(), kSize, nullptr, n.peer, base, key, nullptr); });
            static_cast<void>(n.next(n.tx));
            n.post([&] { return fi_read(n.ep, in.data(), kSize, nullptr, n.peer, base, key, nullptr); });
            static_cast<void>(n.next(n.tx));
            EXPECT_EQ(in, out);
            EXPECT_EQ(fi_mr_unmap_key(n.domain, key), 0);
            other.meet();
        });
}

// What peers may do is what the region's access says, for each form of operation.
TEST(LinnetMemory, AccessIsCheckedForEachOperation)
{
    const Options o{.caps = FI_MSG | FI_RMA | FI_ATOMIC};
    constexpr std::uint64_t kAccess[] = {FI_REMOTE_READ, FI_REMOTE_WRITE, FI_REMOTE_READ | FI_REMOTE_WRITE};
    two_processes(
        [&](Friend& other) {
            Node n{o};
            std::vector<std::uint64_t> memory(8);
            fid_mr* mr[3] = {};
            for (std::uint64_t i = 0; i < 3; ++i) {
                ASSERT_EQ(fi_mr_reg(n.domain, memory.data(), 64, kAccess[i], 0, i + 1, 0, &mr[i], nullptr), 0);
            }
            n.connect(other);
            other.meet();
            for (fid_mr* m : mr) {
                EXPECT_EQ(fi_close(&m->fid), 0);
            }
        },
        [&](Friend& other) {
            Node n{o};
            n.connect(other);
            std::uint64_t v = 1;
            std::uint64_t was = 0;
            const std::pair<std::uint64_t, std::function<ssize_t(std::uint64_t)>> operations[] = {
                {FI_REMOTE_READ, [&](std::uint64_t key) { return fi_read(n.ep, &v, 8, nullptr, n.peer, 0, key, nullptr); }},
                {FI_REMOTE_WRITE, [&](std::uint64_t key) { return fi_write(n.ep, &v, 8, nullptr, n.peer, 0, key, nullptr); }},
                {FI_REMOTE_WRITE, [&](std::uint64_t key) { return fi_writedata(n.ep, &v, 8, nullptr, 1, n.peer, 0, key, nullptr); }},
                {FI_REMOTE_WRITE, [&](std::uint64_t key) { return fi_atomic(n.ep, &v, 1, nullptr, n.peer, 0, key, FI_UINT64, FI_SUM, nullptr); }},
                {FI_REMOTE_READ,
                 [&](std::uint64_t key) {
                     return fi_fetch_atomic(n.ep, nullptr, 1, nullptr, &was, nullptr, n.peer, 0, key, FI_UINT64, FI_ATOMIC_READ, nullptr);
                 }},
                {FI_REMOTE_READ | FI_REMOTE_WRITE,
                 [&](std::uint64_t key) { return fi_fetch_atomic(n.ep, &v, 1, nullptr, &was, nullptr, n.peer, 0, key, FI_UINT64, FI_SUM, nullptr); }},
                {FI_REMOTE_READ | FI_REMOTE_WRITE,
                 [&](std::uint64_t key) {
                     return fi_compare_atomic(n.ep, &v, 1, nullptr, &v, nullptr, &was, nullptr, n.peer, 0, key, FI_UINT64, FI_CSWAP, nullptr);
                 }},
            };
            for (std::size_t i = 0; i < std::size(operations); ++i) {
                for (std::uint64_t region = 0; region < 3; ++region) {
                    const auto& [needed, operation] = operations[i];
                    EXPECT_EQ(operation(region + 1), 0);
                    if ((kAccess[region] & needed) == needed) {
                        static_cast<void>(n.next(n.tx));
                    } else {
                        EXPECT_EQ(n.next_error(n.tx).err, FI_EACCES) << "operation " << i << ", region " << region;
                    }
                }
            }
            other.meet();
        });
}

TEST(LinnetMemory, RegistrationsAreToldToTheQueueThatAsksForThem)
{
    alone([] {
        Node n{{.caps = FI_MSG | FI_RMA}};
        fid_eq* eq = nullptr;
        fi_eq_attr attr{};
        ASSERT_EQ(fi_eq_open(n.fabric, &attr, &eq, nullptr), 0);
        ASSERT_EQ(fi_domain_bind(n.domain, &eq->fid, FI_REG_MR), 0);
        std::vector<char> memory(64);
        int context = 0;
        fid_mr* mr = nullptr;
        ASSERT_EQ(fi_mr_reg(n.domain, memory.data(), 64, FI_REMOTE_READ, 0, 7, 0, &mr, &context), 0);
        std::uint32_t event = 0;
        fi_eq_entry e{};
        ASSERT_EQ(fi_eq_read(eq, &event, &e, sizeof e, 0), static_cast<ssize_t>(sizeof e));
        EXPECT_EQ(event, static_cast<std::uint32_t>(FI_MR_COMPLETE));
        EXPECT_EQ(e.fid, &mr->fid);
        EXPECT_EQ(e.context, &context);
        EXPECT_EQ(fi_mr_key(mr), 7u);
        fid_mr* failed = nullptr;
        EXPECT_EQ(fi_mr_reg(n.domain, memory.data(), 64, FI_REMOTE_READ, 0, 7, 0, &failed, &context), -FI_ENOKEY);
        EXPECT_EQ(fi_eq_read(eq, &event, &e, sizeof e, 0), -FI_EAGAIN) << "what failed at once has no event";
        EXPECT_EQ(fi_close(&mr->fid), 0);
        EXPECT_EQ(fi_close(&n.ep->fid), 0);
        n.ep = nullptr;
        for (fid_cq** cq : {&n.tx, &n.rx}) {
            EXPECT_EQ(fi_close(&(*cq)->fid), 0);
            *cq = nullptr;
        }
        EXPECT_EQ(fi_close(&n.av->fid), 0);
        n.av = nullptr;
        EXPECT_EQ(fi_close(&n.domain->fid), 0);
        n.domain = nullptr;
        EXPECT_EQ(fi_close(&eq->fid), 0);
    });
}

TEST(LinnetCounter, WaitsWithoutAWaitObjectToo)
{
    alone([] {
        Node n;
        fid_cntr* counter = nullptr;
        ASSERT_EQ(fi_cntr_open(n.domain, nullptr, &counter, nullptr), 0);
        EXPECT_EQ(fi_cntr_wait(counter, 0, 0), 0);
        EXPECT_EQ(fi_cntr_wait(counter, 1, 5), -FI_ETIMEDOUT);
        std::thread other{[&] {
            std::this_thread::sleep_for(std::chrono::milliseconds{20});
            EXPECT_EQ(fi_cntr_add(counter, 3), 0);
        }};
        EXPECT_EQ(fi_cntr_wait(counter, 3, 20000), 0);
        other.join();
        std::atomic<bool> over{false};
        std::thread fails{[&] {
            while (!over.load()) {
                std::this_thread::sleep_for(std::chrono::milliseconds{1});
                EXPECT_EQ(fi_cntr_adderr(counter, 1), 0);
            }
        }};
        EXPECT_EQ(fi_cntr_wait(counter, 4, 20000), -FI_EAVAIL);
        over.store(true);
        fails.join();
        EXPECT_EQ(fi_cntr_read(counter), 3u);
        EXPECT_EQ(fi_cntr_seterr(counter, 7), 0);
        EXPECT_EQ(fi_cntr_readerr(counter), 7u);
        EXPECT_EQ(fi_close(&counter->fid), 0);
    });
}

// An operation may fail while it is posted, before anybody can wait for it.
TEST(LinnetCounter, ErrorEndsOneWaitAlsoIfItCameBefore)
{
    alone([] {
        Node n{{.counters = true}};
        char in = 0;
        int context = 0;
        for (const bool read : {false, true}) {
            n.post([&] { return fi_trecv(n.ep, &in, 1, nullptr, FI_ADDR_UNSPEC, 1, 0, &context); });
            EXPECT_EQ(fi_cancel(&n.ep->fid, &context), 0);
            EXPECT_EQ(n.next_error(n.rx).err, FI_ECANCELED);
            if (read) {   // then the program knows
                EXPECT_EQ(fi_cntr_readerr(n.received), 2u);
            } else {
                EXPECT_EQ(fi_cntr_wait(n.received, 1, 20000), -FI_EAVAIL);
            }
            EXPECT_EQ(fi_cntr_wait(n.received, 1, 5), -FI_ETIMEDOUT);
        }
        EXPECT_EQ(fi_cntr_adderr(n.received, 1), 0);
        EXPECT_EQ(fi_cntr_wait(n.received, 0, 20000), 0);   // it is reached
        EXPECT_EQ(fi_cntr_wait(n.received, 1, 20000), -FI_EAVAIL);
    });
}

TEST(LinnetPollSet, ReadingACounterIsNothingToIt)
{
    alone([] {
        Node n;
        fid_poll* set = nullptr;
        fid_cntr* counter = nullptr;
        fi_poll_attr attr{};
        ASSERT_EQ(fi_poll_open(n.domain, &attr, &set), 0);
        ASSERT_EQ(fi_cntr_open(n.domain, nullptr, &counter, &counter), 0);
        EXPECT_EQ(fi_poll_add(set, &counter->fid, 0), 0);
        void* told = nullptr;
        EXPECT_EQ(fi_poll(set, &told, 1), 0);
        EXPECT_EQ(fi_cntr_adderr(counter, 1), 0);
        EXPECT_EQ(fi_cntr_read(counter), 0u);
        EXPECT_EQ(fi_poll(set, &told, 1), 1);
        EXPECT_EQ(told, static_cast<void*>(&counter));
        EXPECT_EQ(fi_poll(set, &told, 1), 0);
        EXPECT_EQ(fi_poll_del(set, &counter->fid, 0), 0);
        EXPECT_EQ(fi_poll_del(set, &counter->fid, 0), -FI_EINVAL);
        EXPECT_EQ(fi_close(&set->fid), 0);
        EXPECT_EQ(fi_close(&counter->fid), 0);
    });
}

}   // namespace
}   // namespace linnet::ofi_test
