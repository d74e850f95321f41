/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* What a process may live through while its messages go on: fork, exec, system() and popen(), a storm of signals, being stopped as in a debugger. */
#include "mpi_check.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>

enum { kCount = 65536 };
static unsigned char out[kCount], in[kCount];
static volatile sig_atomic_t signals_seen, signals_elsewhere;

/* One exchange with the neighbour of each rank, of a size that depends on the round. */
static void exchange(unsigned round)
{
    const int other = check_rank ^ 1;
    if (other >= check_size) {
        return;
    }
    const int bytes = (int)((round * 4099u) % kCount);
    MPI_Request r[2];
    memset(out, (int)(round + (unsigned)check_rank), (size_t)bytes);
    MPI_Irecv(in, kCount, MPI_BYTE, other, 3, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(out, bytes, MPI_BYTE, other, 3, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    for (int i = 0; i < bytes; i += 97) {
        CHECK_EQ(in[i], (unsigned char)(round + (unsigned)other));
    }
}

static void wait_for(pid_t child, int wanted)
{
    int status = 0;
    CHECK_EQ(waitpid(child, &status, 0), child);
    CHECK(WIFEXITED(status));
    CHECK_EQ(WEXITSTATUS(status), wanted);
}

/* Children while receives are open: one that exits, one that becomes another program, one of system(), one of popen(). */
static void forks(void)
{
    for (unsigned round = 0; round < 24; ++round) {
        MPI_Request open_receive;
        int late = 0;
        const int other = check_rank ^ 1;
        MPI_Irecv(&late, 1, MPI_INT, other, 4, MPI_COMM_WORLD, &open_receive);
        exchange(round);
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            if (round % 2 == 0) {
                _exit(7);
            }
            execl("/bin/sh", "sh", "-c", "exit 7", (char *)NULL);
            _exit(1);
        }
        exchange(round + 1);
        if (round % 6 == 2) {
            CHECK_EQ(system("exit 0"), 0);
        }
        if (round % 6 == 3) {
            char line[16] = "";
            FILE *const pipe = popen("echo hello", "r");
            CHECK(pipe != NULL && fgets(line, sizeof line, pipe) != NULL && pclose(pipe) == 0);
            CHECK_EQ(strcmp(line, "hello\n"), 0);
        }
        wait_for(child, 7);
        const int mine = (int)round;
        MPI_Send(&mine, 1, MPI_INT, other, 4, MPI_COMM_WORLD);
        MPI_Wait(&open_receive, MPI_STATUS_IGNORE);
        CHECK_EQ(late, (int)round);
    }
}

static void on_signal(int number)
{
    char name[17] = "";
    (void)number;
    prctl(PR_GET_NAME, name);
    signals_seen = signals_seen + 1;
    if (strncmp(name, "linnet", 6) == 0) {
        signals_elsewhere = signals_elsewhere + 1;
    }
}

static void *storm(void *over)
{
    const struct timespec pause = {0, 100000};
    while (!__atomic_load_n((int *)over, __ATOMIC_RELAXED)) {
        kill(getpid(), SIGUSR1);
        nanosleep(&pause, NULL);
    }
    return NULL;
}

/* Without SA_RESTART every system call that can be interrupted is. */
static void signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};
    int over = 0;
    pthread_t thread;
    sigset_t usr1;
    sigemptyset(&usr1);
    sigaddset(&usr1, SIGUSR1);
    sigaction(SIGUSR1, &action, NULL);
    pthread_sigmask(SIG_BLOCK, &usr1, NULL);   /* the storm's own thread takes none */
    CHECK_EQ(pthread_create(&thread, NULL, storm, &over), 0);
    pthread_sigmask(SIG_UNBLOCK, &usr1, NULL);
    for (unsigned round = 1, go = 1; go != 0; ++round) {
        exchange(round);
        if (round % 100 == 0) {   /* all leave in the same round */
            const unsigned mine = round < 1500 || signals_seen < 200;
            MPI_Allreduce(&mine, &go, 1, MPI_UNSIGNED, MPI_MAX, MPI_COMM_WORLD);
        }
    }
    __atomic_store_n(&over, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    CHECK(signals_seen >= 200);
    CHECK_EQ(signals_elsewhere, 0);
}

/* Rank 1 is stopped for so long, all its threads; nobody is given up, and everything arrives afterwards. */
static void stop(int seconds)
{
    exchange(1);
    MPI_Barrier(MPI_COMM_WORLD);
    if (check_rank == 1) {
        const pid_t me = getpid();
        const pid_t child = fork();
        CHECK(child >= 0);
        if (child == 0) {
            kill(me, SIGSTOP);
            sleep((unsigned)seconds);
            kill(me, SIGCONT);
            _exit(0);
        }
        wait_for(child, 0);
    }
    const time_t began = time(NULL);
    for (unsigned round = 0; round < 50; ++round) {
        exchange(round);
    }
    if (check_rank == 0) {
        CHECK(time(NULL) - began >= seconds - 1);   /* it was really away */
    }
}

int main(int argc, char **argv)
{
    check_begin(&argc, &argv, MPI_THREAD_SINGLE);
    const char *const what = argc > 1 ? argv[1] : "forks";
    if (strcmp(what, "forks") == 0) {
        forks();
    } else if (strcmp(what, "signals") == 0) {
        signals();
    } else {
        CHECK_EQ(strcmp(what, "stop"), 0);
        stop(argc > 2 ? atoi(argv[2]) : 5);
    }
    return check_end("life");
}
