/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* persistent.c: persistent sends and receives, started many times, strided too. */
#include "types.h"

enum { TURNS = 20, PAIRS = 6 };

/* MPI_Bsend_init is not among them: Open MPI's pml cm can start such a request only once. */
static void turns(int layout, size_t bytes)
{
    MPI_Datatype type;
    MPI_Request requests[2 * PAIRS];
    unsigned char *in[PAIRS], *out[PAIRS];
    int count, partner = check_partner();
    size_t span;

    layout_make(layout, bytes, &type, &count, &span);
    for (int p = 0; p < PAIRS; ++p) {
        in[p] = check_alloc(span);
        out[p] = check_alloc(span);
        MPI_Recv_init(in[p], count, type, p % 2 ? MPI_ANY_SOURCE : partner, p, MPI_COMM_WORLD, &requests[p]);
        (p % 3 == 2 ? MPI_Ssend_init : MPI_Send_init)(out[p], count, type, partner, p, MPI_COMM_WORLD, &requests[PAIRS + p]);
    }
    for (int turn = 0; turn < TURNS; ++turn) {
        MPI_Status statuses[2 * PAIRS];
        for (int p = 0; p < PAIRS; ++p) {
            pattern_fill(out[p], span, (uint64_t)(turn * PAIRS + p));
            pattern_fill(in[p], span, 1u << 20);
        }
        if (turn % 2) {
            MPI_Startall(2 * PAIRS, requests);
        } else {
            for (int p = 2 * PAIRS - 1; p >= 0; --p) {
                MPI_Start(&requests[p]);
            }
        }
        MPI_Waitall(2 * PAIRS, requests, statuses);
        for (int p = 0; p < PAIRS; ++p) {
            CHECK_EQ(statuses[p].MPI_SOURCE, partner);
            CHECK_EQ(layout_differs(in[p], span, type, count, (uint64_t)(turn * PAIRS + p), 1u << 20), -1);
        }
    }
    for (int p = 0; p < PAIRS; ++p) {
        MPI_Request_free(&requests[p]);
        MPI_Request_free(&requests[PAIRS + p]);
        free(in[p]);
        free(out[p]);
    }
    MPI_Type_free(&type);
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    CHECK(check_partner() >= 0);
    for (int layout = 0; layout < LAYOUTS; ++layout) {
        turns(layout, 24);
        turns(layout, 5000);
        turns(layout, 150000);
    }
    return check_end("persistent");
}
