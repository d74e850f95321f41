/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* beside.c: a TCP stream of the program's own from rank 1 to rank 0, over the interfaces that Linnet uses, through a port of 1 Gbit/s; udp or eth. */
/* It keeps its rate while Linnet's links are open; while short messages go over them as well as beside a bare UDP ping-pong, which takes of the cores too; */
/* and its share while Linnet takes what it gets; so does Linnet. What the machine gives the stream scatters, so both are looked at more than once before. */
#include "mpi_check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>

/* The kernel's TCP may lose 0.2 s to one timeout: seconds enough that this is a small part. */
enum { SECONDS = 5, SECONDS_BEFORE = 3, TURNS_BEFORE = 2, SETTLE_MS = 500, ROUNDS = 3, CHUNK = 128 * 1024, LONG = 1024 * 1024 };

static atomic_ullong arrived;   /* rank 0: bytes of the stream */
static atomic_bool over;
static int stream = -1;
static int datagrams = -1;      /* to the other rank, at the addresses and ports of the stream */

/* Before MPI_Init there are no checks that end the job: a rank that ends does. */
static void must(int ok, const char *what)
{
    if (!ok) {
        fprintf(stderr, "beside: %s: %s\n", what, strerror(errno));
        exit(1);
    }
}

static void *run_stream(void *unused)
{
    static char data[CHUNK];
    (void)unused;
    while (!over) {
        const ssize_t n = check_rank == 0 ? recv(stream, data, sizeof data, 0) : send(stream, data, sizeof data, MSG_NOSIGNAL);
        if (n <= 0) {
            break;
        }
        arrived += (unsigned long long)n;
    }
    return NULL;
}

/* The first address of an interface that is up and no loopback. */
static struct sockaddr_in own_address(void)
{
    struct sockaddr_in found = {0};
    struct ifaddrs *all;
    must(getifaddrs(&all) == 0, "getifaddrs");
    for (const struct ifaddrs *i = all; i != NULL; i = i->ifa_next) {
        if (found.sin_family == 0 && i->ifa_addr != NULL && i->ifa_addr->sa_family == AF_INET && (i->ifa_flags & (IFF_UP | IFF_LOOPBACK)) == IFF_UP) {
            memcpy(&found, i->ifa_addr, sizeof found);
        }
    }
    freeifaddrs(all);
    must(found.sin_family == AF_INET, "no interface");
    return found;
}

/* A datagram socket between the stream's two ends. */
static void open_datagrams(void)
{
    struct sockaddr_in here, there;
    socklen_t bytes = sizeof here;
    must(getsockname(stream, (struct sockaddr *)&here, &bytes) == 0 && getpeername(stream, (struct sockaddr *)&there, &bytes) == 0, "names of the stream");
    datagrams = socket(AF_INET, SOCK_DGRAM, 0);
    must(datagrams >= 0 && bind(datagrams, (struct sockaddr *)&here, sizeof here) == 0, "bind");
    must(connect(datagrams, (struct sockaddr *)&there, sizeof there) == 0, "connect");
}

/* Rank 0 says in a file where it listens. */
static void listen_and_tell(const char *file)
{
    struct sockaddr_in at = own_address();
    socklen_t bytes = sizeof at;
    char draft[512];
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    at.sin_port = 0;
    must(listener >= 0 && bind(listener, (struct sockaddr *)&at, sizeof at) == 0 && listen(listener, 1) == 0, "listen");
    must(getsockname(listener, (struct sockaddr *)&at, &bytes) == 0, "getsockname");
    snprintf(draft, sizeof draft, "%s.draft", file);
    FILE *f = fopen(draft, "w");
    must(f != NULL && fwrite(&at, sizeof at, 1, f) == 1 && fclose(f) == 0 && rename(draft, file) == 0, file);
    must((stream = accept(listener, NULL, NULL)) >= 0, "accept");
    close(listener);
    unlink(file);
}

static void look_up_and_connect(const char *file)
{
    struct sockaddr_in to;
    FILE *f = NULL;
    for (int tries = 0; tries < 2000 && (f = fopen(file, "r")) == NULL; ++tries) {
        usleep(10000);
    }
    must(f != NULL && fread(&to, sizeof to, 1, f) == 1, file);
    fclose(f);
    stream = socket(AF_INET, SOCK_STREAM, 0);
    must(stream >= 0 && connect(stream, (struct sockaddr *)&to, sizeof to) == 0, "connect");
}

/* What the stream brought since, MB/s. */
static double rate_since(double begin, unsigned long long before) { return 1e-6 * (double)(arrived - before) / (check_now(CLOCK_MONOTONIC) - begin); }

static double rate_alone(unsigned seconds)
{
    usleep(1000 * SETTLE_MS);
    const double begin = check_now(CLOCK_MONOTONIC);
    const unsigned long long before = arrived;
    sleep(seconds);
    return rate_since(begin, before);
}

/* Beside 8 bytes to and fro between two that do nothing but look for them, without MPI. A lost ping is sent again after 10 ms. */
static double rate_beside_bare(unsigned seconds)
{
    char ping[8] = "ping";
    const double begin = check_now(CLOCK_MONOTONIC);
    const unsigned long long before = arrived;
    double sent = 0;
    for (double now = begin; now - begin < seconds; now = check_now(CLOCK_MONOTONIC)) {
        const int came = recv(datagrams, ping, sizeof ping, MSG_DONTWAIT) > 0;
        if (check_rank == 1 ? came || now - sent > 0.01 : came) {
            sent = now;
            (void)!send(datagrams, ping, sizeof ping, MSG_DONTWAIT);
        }
    }
    return rate_since(begin, before);
}

/* Messages from rank 1 to rank 0 until rank 0 has had enough, each answered if `bytes` are few; what they brought, MB/s, goes to `own`. */
static double rate_beside(int bytes, double *own)
{
    unsigned char *data = check_alloc((size_t)bytes);
    const double begin = check_now(CLOCK_MONOTONIC);
    const unsigned long long before = arrived;
    unsigned long long rounds = 0;
    for (int go = 1; go; ++rounds) {
        if (check_rank == 1) {
            pattern_fill(data, (size_t)bytes, rounds);
            MPI_Send(data, bytes, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
            MPI_Recv(&go, 1, MPI_INT, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        } else {
            MPI_Recv(data, bytes, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            CHECK_PATTERN(data, (size_t)bytes, rounds);
            go = check_now(CLOCK_MONOTONIC) - begin < SECONDS;
            MPI_Send(&go, 1, MPI_INT, 1, 2, MPI_COMM_WORLD);
        }
    }
    *own = 1e-6 * (double)rounds * bytes / (check_now(CLOCK_MONOTONIC) - begin);
    free(data);
    return rate_since(begin, before);
}

/* The least that the stream got before MPI_Init. */
struct floor {
    double alone, beside_bare;
};

static struct floor floor_before(void)
{
    struct floor least = {1e9, 1e9};
    for (int turn = 0; turn < TURNS_BEFORE; ++turn) {
        const double alone = rate_alone(SECONDS_BEFORE), beside_bare = rate_beside_bare(SECONDS_BEFORE);
        if (check_rank == 0) {
            printf("TCP's rate before MPI_Init, MB/s: alone %.1f, beside a bare UDP ping-pong %.1f\n", alone, beside_bare);
        }
        least.alone = alone < least.alone ? alone : least.alone;
        least.beside_bare = beside_bare < least.beside_bare ? beside_bare : least.beside_bare;
    }
    return least;
}

/* What has held in a round, a bit each. */
enum { IDLE_HELD = 1, SHORT_HELD = 2, SHARE_HELD = 4, ALL_HELD = 7 };

static int round_holds(const struct floor *least)
{
    double own;
    const double idle = rate_alone(SECONDS);
    MPI_Barrier(MPI_COMM_WORLD);
    const double short_ones = rate_beside(8, &own);
    const double long_ones = rate_beside(LONG, &own);
    if (check_rank == 0) {
        printf("TCP's rate, MB/s: links open %.1f, beside short messages %.1f, beside long ones %.1f (and theirs %.1f)\n", idle, short_ones, long_ones, own);
        fflush(stdout);
    }
    return (idle > 0.9 * least->alone ? IDLE_HELD : 0) | (short_ones > 0.8 * least->beside_bare ? SHORT_HELD : 0) |
           (long_ones > 0.4 * least->alone && own > 0.1 * least->alone ? SHARE_HELD : 0);   /* half of it is fair between two */
}

int main(int argc, char **argv)
{
    const char *rank = getenv("OMPI_COMM_WORLD_RANK"), *job = getenv("PMIX_NAMESPACE");
    char file[400];
    pthread_t thread;
    int held = 0;

    must(rank != NULL && job != NULL, "not begun by mpirun");
    check_rank = atoi(rank);
    snprintf(file, sizeof file, "%s.%s", argv[0], job);
    check_rank == 0 ? listen_and_tell(file) : look_up_and_connect(file);
    must(pthread_create(&thread, NULL, run_stream, NULL) == 0, "pthread_create");
    open_datagrams();
    const struct floor least = floor_before();
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK_EQ(check_size, 2);
    /* Others may have the cores for a while: each must hold once. */
    for (int round = 0; round < ROUNDS && held != ALL_HELD; ++round) {
        MPI_Barrier(MPI_COMM_WORLD);
        held |= round_holds(&least);
        MPI_Bcast(&held, 1, MPI_INT, 0, MPI_COMM_WORLD);
    }
    CHECK_EQ(held, ALL_HELD);
    over = 1;
    shutdown(stream, SHUT_RDWR);
    pthread_join(thread, NULL);
    close(stream);
    close(datagrams);
    return check_end("beside");
}
