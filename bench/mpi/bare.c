/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Messages without MPI, which sets them up; see bare.h. */
#include "bare.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/udp.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "common.h"

enum { kHeads = 20 + 8, kMostSegments = 64, kMostRun = 65000, kQueueBytes = 8 << 20, kLine = 64 };

/* Of one direction of a pair. `filled` is the writer's, `emptied` the reader's: how many messages so far. */
typedef struct mailbox {
    _Alignas(kLine) atomic_ulong filled;
    _Alignas(kLine) atomic_ulong emptied;
    _Alignas(kLine) unsigned char data[BARE_MOST];
} mailbox;

typedef struct way {
    int fd;                /* -1: within the host */
    size_t datagram;       /* payload of each */
    unsigned char* rest;   /* what was read and not asked for yet: datagrams of several messages that the kernel joined */
    size_t begin, end;
    mailbox* out;
    mailbox* in;
} way;

static way* ways;
static MPI_Comm near = MPI_COMM_NULL;   /* the ranks of this host */
static MPI_Win boxes = MPI_WIN_NULL;

/* ---- set-up ---- */

/* The first address of an interface that is up and no loopback. */
static struct sockaddr_in own_address(void)
{
    struct sockaddr_in found = {0};
    struct ifaddrs* all = NULL;
    if (getifaddrs(&all) != 0)
        bench_fail("getifaddrs: %s", strerror(errno));
    for (const struct ifaddrs* i = all; i != NULL && found.sin_family == 0; i = i->ifa_next)
        if (i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP)
            memcpy(&found, i->ifa_addr, sizeof found);
    freeifaddrs(all);
    if (found.sin_family == 0)
        bench_fail("no IPv4 address but loopback");
    found.sin_port = 0;
    return found;
}

static void set(int fd, int level, int name, int value, const char* what)
{
    if (setsockopt(fd, level, name, &value, sizeof value) != 0)
        bench_fail("%s: %s", what, strerror(errno));
}

static struct sockaddr_in open_socket(way* w, const struct sockaddr_in* own)
{
    struct sockaddr_in bound = *own;
    socklen_t length = sizeof bound;
    w->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (w->fd < 0 || bind(w->fd, (const struct sockaddr*)own, sizeof *own) != 0 || getsockname(w->fd, (struct sockaddr*)&bound, &length) != 0)
        bench_fail("UDP socket: %s", strerror(errno));
    set(w->fd, SOL_SOCKET, SO_RCVBUFFORCE, kQueueBytes, "SO_RCVBUFFORCE");
    set(w->fd, SOL_SOCKET, SO_SNDBUFFORCE, kQueueBytes, "SO_SNDBUFFORCE");
    set(w->fd, IPPROTO_UDP, UDP_GRO, 1, "UDP_GRO");
    w->rest = bench_alloc(BARE_MOST);
    return bound;
}

static void connect_socket(way* w, const struct sockaddr_in* other)
{
    int mtu = 0;
    socklen_t length = sizeof mtu;
    if (connect(w->fd, (const struct sockaddr*)other, sizeof *other) != 0 || getsockopt(w->fd, IPPROTO_IP, IP_MTU, &mtu, &length) != 0)
        bench_fail("UDP socket to another host: %s", strerror(errno));
    w->datagram = (size_t)(mtu - kHeads);
}

/* The mailboxes of a rank's arrivals lie in its own part, in the order of the host's ranks. */
static void open_near(void)
{
    int mine, count;
    mailbox* own = NULL;
    MPI_Group all_group, near_group;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, bench_rank, MPI_INFO_NULL, &near);
    MPI_Comm_rank(near, &mine);
    MPI_Comm_size(near, &count);
    MPI_Win_allocate_shared((MPI_Aint)(sizeof(mailbox) * (size_t)(count + 1)), 1, MPI_INFO_NULL, near, &own, &boxes);
    MPI_Comm_group(MPI_COMM_WORLD, &all_group);
    MPI_Comm_group(near, &near_group);
    for (int i = 0; i < count; ++i) {
        MPI_Aint bytes;
        int unit, rank;
        unsigned char* part;
        MPI_Win_shared_query(boxes, i, &bytes, &unit, &part);
        MPI_Group_translate_ranks(near_group, 1, &i, all_group, &rank);
        if (i == mine)
            memset(part, 0, (size_t)bytes);
        /* One mailbox more than needed leaves room for it; it is the same in all processes, whose views begin at pages. */
        const size_t offset = (kLine - (size_t)part % kLine) % kLine;
        ways[rank].out = (mailbox*)(void*)(part + offset) + mine;
        if (i == mine)
            for (int from = 0; from < count; ++from) {
                int of;
                MPI_Group_translate_ranks(near_group, 1, &from, all_group, &of);
                ways[of].in = (mailbox*)(void*)(part + offset) + from;
                ways[of].fd = -1;
            }
    }
    MPI_Group_free(&all_group);
    MPI_Group_free(&near_group);
    MPI_Barrier(near);
}

void bare_open(void)
{
    const struct sockaddr_in own = own_address();
    struct sockaddr_in* mine = bench_alloc(sizeof *mine * (size_t)bench_ranks);
    struct sockaddr_in* theirs = bench_alloc(sizeof *theirs * (size_t)bench_ranks);
    ways = bench_alloc(sizeof *ways * (size_t)bench_ranks);
    open_near();
    for (int rank = 0; rank < bench_ranks; ++rank)
        if (ways[rank].in == NULL)
            mine[rank] = open_socket(&ways[rank], &own);
    MPI_Alltoall(mine, sizeof *mine, MPI_BYTE, theirs, sizeof *theirs, MPI_BYTE, MPI_COMM_WORLD);
    for (int rank = 0; rank < bench_ranks; ++rank)
        if (ways[rank].in == NULL)
            connect_socket(&ways[rank], &theirs[rank]);
    free(mine);
    free(theirs);
    MPI_Barrier(MPI_COMM_WORLD);   /* who has not connected yet would hear everybody */
}

void bare_close(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    for (int rank = 0; rank < bench_ranks; ++rank)
        if (ways[rank].fd > 0) {
            close(ways[rank].fd);
            free(ways[rank].rest);
        }
    MPI_Win_free(&boxes);
    MPI_Comm_free(&near);
    free(ways);
}

/* ---- messages ---- */

static void put(mailbox* box, const void* data, size_t bytes)
{
    const unsigned long turn = atomic_load_explicit(&box->filled, memory_order_relaxed);
    while (atomic_load_explicit(&box->emptied, memory_order_acquire) != turn)
        sched_yield();
    memcpy(box->data, data, bytes);
    atomic_store_explicit(&box->filled, turn + 1, memory_order_release);
}

static void take(mailbox* box, void* data, size_t bytes)
{
    const unsigned long turn = atomic_load_explicit(&box->emptied, memory_order_relaxed);
    while (atomic_load_explicit(&box->filled, memory_order_acquire) == turn)
        sched_yield();
    memcpy(data, box->data, bytes);
    atomic_store_explicit(&box->emptied, turn + 1, memory_order_release);
}

static ssize_t send_run(const way* w, const void* data, size_t bytes)
{
    struct iovec piece = {(void*)(size_t)data, bytes};
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(sizeof(uint16_t))];
    } control = {0};
    const struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1, .msg_control = control.room, .msg_controllen = sizeof control.room};
    const uint16_t segment = (uint16_t)w->datagram;
    control.head.cmsg_level = IPPROTO_UDP;
    control.head.cmsg_type = UDP_SEGMENT;
    control.head.cmsg_len = CMSG_LEN(sizeof segment);
    memcpy(CMSG_DATA(&control.head), &segment, sizeof segment);
    return sendmsg(w->fd, &message, MSG_DONTWAIT);
}

void bare_send(int to, const void* data, size_t bytes)
{
    const way* w = &ways[to];
    const unsigned char* at = data;
    if (w->fd < 0) {
        put(w->out, data, bytes);
        return;
    }
    do {
        const size_t segments = kMostRun / w->datagram < kMostSegments ? kMostRun / w->datagram : kMostSegments;
        const size_t run = bytes < segments * w->datagram ? bytes : segments * w->datagram;
        const ssize_t sent = run <= w->datagram ? send(w->fd, at, run, MSG_DONTWAIT) : send_run(w, at, run);
        if (sent < 0 && errno != EAGAIN && errno != ENOBUFS)
            bench_fail("send to rank %d: %s", to, strerror(errno));
        if (sent < 0) {
            sched_yield();
            continue;
        }
        at += sent;
        bytes -= (size_t)sent;
    } while (bytes != 0);
}

static size_t came(const way* w, void* to, size_t room, int from)
{
    for (;;) {
        const ssize_t n = recv(w->fd, to, room, MSG_DONTWAIT | MSG_TRUNC);
        if (n > 0 && (size_t)n <= room)
            return (size_t)n;
        if (n >= 0 || errno != EAGAIN)
            bench_fail("recv from rank %d: %s", from, n < 0 ? strerror(errno) : "not what was expected");
        sched_yield();
    }
}

void bare_recv(int from, void* data, size_t bytes)
{
    way* w = &ways[from];
    unsigned char* at = data;
    if (w->fd < 0) {
        take(w->in, data, bytes);
        return;
    }
    while (bytes != 0) {
        if (w->begin == w->end) {
            w->begin = 0;
            w->end = came(w, w->rest, BARE_MOST, from);
        }
        const size_t n = w->end - w->begin < bytes ? w->end - w->begin : bytes;
        memcpy(at, w->rest + w->begin, n);
        w->begin += n;
        at += n;
        bytes -= n;
    }
}
