/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* completion.c: Waitany, Waitsome, Testany, Testsome, Testall, and requests freed while they are under way. */
#include "mpi_check.h"

enum { N = 100 };

static size_t length_of(int i)
{
    return i % 9 == 4 ? 150000 : 10 + (size_t)i;
}

static void send_shuffled(int partner)
{
    char *data = check_alloc(200000);
    for (int k = 0; k < N; ++k) {
        int i = k * 37 % N;
        pattern_fill(data, length_of(i), (uint64_t)i);
        MPI_Send(data, (int)length_of(i), MPI_BYTE, partner, i, MPI_COMM_WORLD);
    }
    free(data);
}

/* Complete what `how` says is complete; returns how many. */
static int some(int how, MPI_Request *requests, int *indices, MPI_Status *statuses)
{
    int n = 0, flag = 0;
    switch (how) {
    case 0:
        MPI_Waitany(N, requests, indices, statuses);
        return 1;
    case 1:
        MPI_Waitsome(N, requests, &n, indices, statuses);
        return n;
    case 2:
        MPI_Testany(N, requests, indices, &flag, statuses);
        return flag;
    case 3:
        MPI_Testsome(N, requests, &n, indices, statuses);
        return n;
    default:
        MPI_Testall(N, requests, &flag, statuses);
        for (int i = 0; flag && i < N; ++i) {
            indices[i] = i;
        }
        return flag ? N : 0;
    }
}

static void receive_all(int partner, int how)
{
    static char *buffers[N];
    MPI_Request requests[N];
    MPI_Status statuses[N];
    int indices[N], seen[N] = {0}, total = 0;

    for (int i = 0; i < N; ++i) {
        buffers[i] = check_alloc(200000);
        MPI_Irecv(buffers[i], 200000, MPI_BYTE, partner, i, MPI_COMM_WORLD, &requests[i]);
    }
    MPI_Send(NULL, 0, MPI_BYTE, partner, N, MPI_COMM_WORLD);
    while (total < N) {
        int n = some(how, requests, indices, statuses);
        for (int k = 0; k < n; ++k) {
            int i = indices[k], count = -1;
            CHECK(i >= 0 && i < N && !seen[i]);
            seen[i] = 1;
            CHECK_EQ(statuses[k].MPI_TAG, i);
            MPI_Get_count(&statuses[k], MPI_BYTE, &count);
            CHECK_EQ(count, length_of(i));
            CHECK_PATTERN(buffers[i], length_of(i), (uint64_t)i);
            free(buffers[i]);
        }
        total += n;
    }
}

/* A request freed while active completes by itself. */
static void freed(int partner)
{
    MPI_Request request;
    char *data = check_alloc(300000);

    if (check_rank % 2 == 0) {
        pattern_fill(data, 300000, 4);
        MPI_Isend(data, 300000, MPI_BYTE, partner, 1, MPI_COMM_WORLD, &request);
        MPI_Request_free(&request);
        MPI_Recv(NULL, 0, MPI_BYTE, partner, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);   /* after it has arrived */
    } else {
        MPI_Recv(data, 300000, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        CHECK_PATTERN(data, 300000, 4);
        MPI_Send(NULL, 0, MPI_BYTE, partner, 2, MPI_COMM_WORLD);
    }
    free(data);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    int partner = check_partner();
    CHECK(partner >= 0);
    for (int how = 0; how < 5; ++how) {
        if (check_rank % 2 == 0) {
            MPI_Recv(NULL, 0, MPI_BYTE, partner, N, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            send_shuffled(partner);
        } else {
            receive_all(partner, how);
        }
    }
    for (int i = 0; i < 20; ++i) {
        freed(partner);
    }
    return check_end("completion");
}
