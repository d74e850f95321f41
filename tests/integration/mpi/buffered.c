/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* buffered.c: the room of buffered sends is free again as soon as their sender can know that they were received. */
#include "mpi_check.h"

enum { MESSAGES = 16, ROUNDS = 40 };

/* The answer lies here when it is asked for: the pause is longer than anything takes, and a shorter one proves less, but fails nobody. */
enum { PAUSE_US = 3000 };

static void learn(int how, int partner, int round)
{
    MPI_Message message;
    int here = 0;

    usleep(PAUSE_US);
    switch (how) {
    case 0:
        MPI_Recv(NULL, 0, MPI_BYTE, partner, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        break;
    case 1:
        MPI_Mprobe(partner, 1, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(NULL, 0, MPI_BYTE, &message, MPI_STATUS_IGNORE);
        break;
    default:   /* its number is its tag: those of earlier rounds are still here */
        while (!here) {
            MPI_Iprobe(partner, 1 + round, MPI_COMM_WORLD, &here, MPI_STATUS_IGNORE);
        }
        break;
    }
}

static void fill_again_and_again(size_t bytes, int how)
{
    int partner = check_partner(), size = MESSAGES * ((int)bytes + MPI_BSEND_OVERHEAD);
    char *room = check_alloc((size_t)size), *data = check_alloc(bytes);

    MPI_Buffer_attach(room, size);
    for (int round = 0; round < ROUNDS; ++round) {
        for (int m = 0; m < MESSAGES; ++m) {
            uint64_t seed = (uint64_t)(round * MESSAGES + m);
            if (check_rank % 2 == 0) {
                pattern_fill(data, bytes, seed);
                MPI_Bsend(data, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD);   /* ends the job when there is no room */
            } else {
                MPI_Recv(data, (int)bytes, MPI_BYTE, partner, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
                CHECK_PATTERN(data, bytes, seed);
            }
        }
        if (check_rank % 2 == 0) {
            learn(how, partner, round);
        } else {
            MPI_Send(NULL, 0, MPI_BYTE, partner, how == 2 ? 1 + round : 1, MPI_COMM_WORLD);
        }
    }
    if (how == 2 && check_rank % 2 == 0) {
        for (int round = 0; round < ROUNDS; ++round) {
            MPI_Recv(NULL, 0, MPI_BYTE, partner, 1 + round, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Buffer_detach(&room, &size);
    free(room);
    free(data);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(check_partner() >= 0);
    for (int how = 0; how < 3; ++how) {
        fill_again_and_again(1000, how);
        fill_again_and_again(16384, how);
        fill_again_and_again(200000, how);
    }
    return check_end("buffered");
}
