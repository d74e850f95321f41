/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* testing.c: a program that looks with MPI_Test, MPI_Iprobe and their kin is never put to sleep; one that waits is. */
#include "mpi_check.h"

enum { LOOKS = 20000 };   /* back to back; half a millisecond asleep in each would be ten seconds */

static MPI_T_pvar_handle sleeps_handle;
static MPI_T_pvar_session session;

static void watch_sleeps(void)
{
    int index, count;
    CHECK_EQ(MPI_T_pvar_get_index("mtl_linnet_app_sleeps", MPI_T_PVAR_CLASS_COUNTER, &index), MPI_SUCCESS);
    CHECK_EQ(MPI_T_pvar_session_create(&session), MPI_SUCCESS);
    CHECK_EQ(MPI_T_pvar_handle_alloc(session, index, NULL, &sleeps_handle, &count), MPI_SUCCESS);
}

static unsigned long long sleeps(void)
{
    unsigned long long value = 0;
    CHECK_EQ(MPI_T_pvar_read(session, sleeps_handle, &value), MPI_SUCCESS);
    return value;
}

static int look(int kind, MPI_Request requests[2])
{
    int flag = 0, index, indices[2], count = 0;
    MPI_Message message;
    switch (kind) {
    case 0: MPI_Test(&requests[0], &flag, MPI_STATUS_IGNORE); break;
    case 1: MPI_Testany(2, requests, &index, &flag, MPI_STATUS_IGNORE); break;
    case 2: MPI_Testall(2, requests, &flag, MPI_STATUSES_IGNORE); break;
    case 3: MPI_Testsome(2, requests, &count, indices, MPI_STATUSES_IGNORE); flag = count > 0; break;
    case 4: MPI_Iprobe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE); break;
    default: MPI_Improbe(MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE); break;
    }
    return flag;
}

int main(int argc, char **argv)
{
    int provided, got[2] = {0, 0}, go = 0;
    MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    const int partner = check_partner();
    CHECK(partner >= 0);
    if (check_rank % 2 == 0) {
        MPI_Request requests[2];
        watch_sleeps();
        MPI_Irecv(&got[0], 1, MPI_INT, partner, 1, MPI_COMM_WORLD, &requests[0]);
        MPI_Irecv(&got[1], 1, MPI_INT, partner, 2, MPI_COMM_WORLD, &requests[1]);
        for (int kind = 0; kind < 6; ++kind) {
            const unsigned long long before = sleeps();
            for (int i = 0; i < LOOKS; ++i) {
                CHECK(!look(kind, requests));
            }
            CHECK_EQ(sleeps() - before, 0);
        }
        const unsigned long long before = sleeps();
        MPI_Send(&go, 1, MPI_INT, partner, 3, MPI_COMM_WORLD);
        MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
        CHECK(got[0] == 1 && got[1] == 2);
        CHECK(sleeps() > before);
    } else {
        MPI_Recv(&go, 1, MPI_INT, partner, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(300000);
        for (int i = 1; i <= 2; ++i) {
            MPI_Send(&i, 1, MPI_INT, partner, i, MPI_COMM_WORLD);
        }
    }
    return check_end("testing");
}
