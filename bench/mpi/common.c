/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Start, finish, watchdog, the result line and small helpers of the benchmark programs. */
#include "common.h"

#include "pvars.h"

#include <getopt.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

int bench_rank;
int bench_ranks;

typedef struct text {
    char* data;
    size_t length;
    size_t capacity;
} text;

static struct {
    const char* name;
    text rows;
    text notes;
    double* sent_bytes;      /* by peer */
    double* sent_messages;
    double must_tx, must_rx;
    double start_wall, start_cpu;
    bench_options options;
} run;

static void text_add(text* out, const char* format, ...) __attribute__((format(printf, 2, 3)));

static void text_add(text* out, const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char* piece = NULL;
    const int length = vasprintf(&piece, format, arguments);
    va_end(arguments);
    if (length < 0)
        bench_fail("out of memory");
    if (out->length + (size_t)length + 1 > out->capacity) {
        out->capacity = 2 * (out->length + (size_t)length + 1);
        out->data = realloc(out->data, out->capacity);
        if (out->data == NULL)
            bench_fail("out of memory");
    }
    memcpy(out->data + out->length, piece, (size_t)length + 1);
    out->length += (size_t)length;
    free(piece);
}

void bench_fail(const char* format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    fprintf(stderr, "%s: rank %d: ", run.name != NULL ? run.name : "bench", bench_rank);
    vfprintf(stderr, format, arguments);
    fputc('\n', stderr);
    va_end(arguments);
    MPI_Abort(MPI_COMM_WORLD, 1);
    abort();
}

void* bench_alloc(size_t bytes)
{
    void* memory = NULL;
    if (posix_memalign(&memory, 4096, bytes > 0 ? bytes : 1) != 0)
        bench_fail("cannot allocate %zu bytes", bytes);
    memset(memory, 0, bytes);
    return memory;
}

size_t bench_largest(const bench_options* options)
{
    size_t largest = 0;
    for (int i = 0; i < options->size_count; ++i)
        largest = options->sizes[i] > largest ? options->sizes[i] : largest;
    return largest;
}

double bench_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static double seconds_of(struct timeval time) { return (double)time.tv_sec + 1e-6 * (double)time.tv_usec; }

double bench_cpu(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

bench_cpu_parts bench_cpu_split(void)
{
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    bench_cpu_parts parts = {seconds_of(usage.ru_utime), seconds_of(usage.ru_stime), 0};
    FILE* stat = fopen("/proc/stat", "re");
    if (stat != NULL) {
        double irq = 0;
        double softirq = 0;   /* proc(5): user nice system idle iowait irq softirq, in clock ticks */
        if (fscanf(stat, "cpu %*f %*f %*f %*f %*f %lf %lf", &irq, &softirq) == 2)
            parts.softirq = (irq + softirq) / (double)sysconf(_SC_CLK_TCK);
        fclose(stat);
    }
    return parts;
}

/* ---- options ---- */

/* A number with an optional binary suffix (64K) for sizes, decimal (10M) for counts; aborts on nonsense. */
static double parse_number(const char* item, double kilo)
{
    char* end = NULL;
    double value = strtod(item, &end);
    if (end == item || value < 0)
        bench_fail("not a number: %s", item);
    if (*end == 'K' || *end == 'k')
        value *= kilo, ++end;
    else if (*end == 'M')
        value *= kilo * kilo, ++end;
    else if (*end == 'G')
        value *= kilo * kilo * kilo, ++end;
    if (*end != '\0')
        bench_fail("not a number: %s", item);
    return value;
}

static int parse_list(const char* list, double kilo, double out[BENCH_MAX_POINTS])
{
    char* copy = strdup(list);
    char* rest = NULL;
    int count = 0;
    for (char* item = strtok_r(copy, ",", &rest); item != NULL; item = strtok_r(NULL, ",", &rest)) {
        if (count == BENCH_MAX_POINTS)
            bench_fail("more than %d points: %s", BENCH_MAX_POINTS, list);
        out[count++] = parse_number(item, kilo);
    }
    free(copy);
    if (count == 0)
        bench_fail("an empty list");
    return count;
}

static const char usage_text[] =
    "options: --mode M --sizes 8,1K,4M --seconds S --limit S --window N --fresh --verify --arena 128M\n"
    "         --memory 1G --compute-ms T --increments 1M,10M --threads 1,2,32 --ops Bcast,Barrier\n"
    "         --tests 0,4,16 --pvar-prefix P --port-mbs 117\n";

static int parse_counts(const char* items, int out[BENCH_MAX_POINTS])
{
    double list[BENCH_MAX_POINTS];
    const int count = parse_list(items, 1000, list);
    for (int i = 0; i < count; ++i)
        out[i] = (int)list[i];
    return count;
}

static void parse_one(bench_options* options, int letter)
{
    double list[BENCH_MAX_POINTS];
    switch (letter) {
    case 'm': options->mode = optarg; break;
    case 's':
        options->size_count = parse_list(optarg, 1024, list);
        for (int i = 0; i < options->size_count; ++i)
            options->sizes[i] = (size_t)list[i];
        break;
    case 'i':
        options->increment_count = parse_list(optarg, 1000, list);
        for (int i = 0; i < options->increment_count; ++i)
            options->increments[i] = (long)list[i];
        break;
    case 'n': options->thread_count = parse_counts(optarg, options->threads); break;
    case 'e': options->test_count = parse_counts(optarg, options->tests); break;
    case 't': options->seconds = parse_number(optarg, 1000); break;
    case 'l': options->limit_seconds = parse_number(optarg, 1000); break;
    case 'w': options->window = (int)parse_number(optarg, 1024); break;
    case 'f': options->fresh = true; break;
    case 'v': options->verify = true; break;
    case 'a': options->arena_bytes = (size_t)parse_number(optarg, 1024); break;
    case 'g': options->memory_bytes = (size_t)parse_number(optarg, 1024); break;
    case 'c': options->compute_ms = parse_number(optarg, 1000); break;
    case 'o': options->ops = optarg; break;
    case 'p': options->pvar_prefix = optarg; break;
    case 'r': options->port_mbs = parse_number(optarg, 1000); break;
    default: bench_fail("%s", usage_text);
    }
}

static void parse_options(bench_options* options, int argc, char** argv)
{
    static const struct option known[] = {
        {"mode", required_argument, NULL, 'm'},       {"sizes", required_argument, NULL, 's'},
        {"seconds", required_argument, NULL, 't'},    {"limit", required_argument, NULL, 'l'},
        {"window", required_argument, NULL, 'w'},     {"fresh", no_argument, NULL, 'f'},
        {"verify", no_argument, NULL, 'v'},           {"arena", required_argument, NULL, 'a'},
        {"memory", required_argument, NULL, 'g'},     {"compute-ms", required_argument, NULL, 'c'},
        {"increments", required_argument, NULL, 'i'}, {"ops", required_argument, NULL, 'o'},
        {"threads", required_argument, NULL, 'n'},    {"pvar-prefix", required_argument, NULL, 'p'},
        {"port-mbs", required_argument, NULL, 'r'},   {"tests", required_argument, NULL, 'e'},
        {NULL, 0, NULL, 0}};
    for (int letter; (letter = getopt_long(argc, argv, "", known, NULL)) != -1;)
        parse_one(options, letter);
    if (optind != argc)
        bench_fail("unexpected argument %s\n%s", argv[optind], usage_text);
    if (options->window < 1 || options->seconds <= 0 || options->limit_seconds < 1)
        bench_fail("--window, --seconds and --limit must be positive");
}

/* ---- start and finish ---- */

static void out_of_time(int signal_number)
{
    (void)signal_number;
    static const char message[] = "benchmark program exceeded its time limit\n";
    const ssize_t ignored = write(STDERR_FILENO, message, sizeof message - 1);
    (void)ignored;
    _exit(124);
}

/* An MPI that cannot be called by several threads at a time has nothing to measure there. */
static void start_mpi(int* argc, char*** argv, bool threaded)
{
    int provided = MPI_THREAD_SINGLE;
    if (!threaded)
        MPI_Init(argc, argv);
    else if (MPI_Init_thread(argc, argv, MPI_THREAD_MULTIPLE, &provided) != MPI_SUCCESS || provided != MPI_THREAD_MULTIPLE)
        bench_fail("this MPI has no MPI_THREAD_MULTIPLE");
}

bench_options bench_start(int* argc, char*** argv, const char* name, const bench_options* defaults)
{
    run.name = name;
    start_mpi(argc, argv, defaults->threaded);
    MPI_Comm_rank(MPI_COMM_WORLD, &bench_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &bench_ranks);

    bench_options options = *defaults;
    if (options.seconds <= 0)
        options.seconds = 2;
    if (options.limit_seconds <= 0)
        options.limit_seconds = 120;
    if (options.arena_bytes == 0)
        options.arena_bytes = (size_t)128 << 20;
    if (options.memory_bytes == 0)
        options.memory_bytes = (size_t)512 << 20;
    if (options.window == 0)
        options.window = 64;
    options.pvar_prefix = "mtl_linnet_";
    parse_options(&options, *argc, *argv);

    struct sigaction action = {.sa_handler = out_of_time};
    sigaction(SIGALRM, &action, NULL);
    alarm((unsigned)options.limit_seconds);

    run.options = options;
    run.sent_bytes = calloc((size_t)bench_ranks, sizeof *run.sent_bytes);
    run.sent_messages = calloc((size_t)bench_ranks, sizeof *run.sent_messages);
    if (run.sent_bytes == NULL || run.sent_messages == NULL)
        bench_fail("out of memory");
    bench_pvars_start(options.pvar_prefix);
    run.start_wall = bench_now();
    run.start_cpu = bench_cpu();
    return options;
}

void bench_row(const char* metric, double x, const char* unit, const char* better, double value)
{
    if (bench_rank == 0)
        text_add(&run.rows, "%s{\"metric\":\"%s\",\"x\":%.17g,\"unit\":\"%s\",\"better\":\"%s\",\"value\":%.9g}",
                 run.rows.length > 0 ? "," : "", metric, x, unit, better, value);
}

void bench_overlap_rows(const char* what, const char* who, size_t bytes, const double seconds[BENCH_PHASES])
{
    static const double kMostCredible = 1.1;
    static const char* const names[BENCH_PHASES] = {"Tcomp", "Tcomm", "Tboth"};
    const double shorter = seconds[0] < seconds[1] ? seconds[0] : seconds[1];
    const double hidden = (seconds[0] + seconds[1] - seconds[2]) / shorter;
    char metric[96];
    snprintf(metric, sizeof metric, "hidden, %s", what);
    bench_row(metric, (double)bytes, "share", "higher", hidden);
    if (bench_rank == 0 && hidden > kMostCredible)
        bench_note("disturbed: %s of %zu bytes: both together took less than one alone", metric, bytes);
    for (int phase = 0; phase < BENCH_PHASES; ++phase) {
        snprintf(metric, sizeof metric, "%s, %s", names[phase], who);
        bench_row(metric, (double)bytes, "us", "lower", 1e6 * seconds[phase]);
    }
}

void bench_note(const char* format, ...)
{
    if (bench_rank != 0)
        return;
    char line[256];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    text_add(&run.notes, "%s\"%s\"", run.notes.length > 0 ? "," : "", line);
}

void bench_sent(int peer, double bytes, double messages)
{
    run.sent_bytes[peer] += bytes;
    run.sent_messages[peer] += messages;
}

void bench_must_cross(double tx_bytes, double rx_bytes)
{
    run.must_tx += tx_bytes;
    run.must_rx += rx_bytes;
}

/* What this rank has to tell, as a JSON object. */
static text describe_rank(void)
{
    text out = {0};
    char host[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    MPI_Get_processor_name(host, &length);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    text_add(&out, "{\"rank\":%d,\"host\":\"%s\",\"wall\":%.6f,\"cpu\":%.6f,\"sleeps\":%ld,\"preempted\":%ld,", bench_rank,
             host, bench_now() - run.start_wall, bench_cpu() - run.start_cpu, usage.ru_nvcsw, usage.ru_nivcsw);
    text_add(&out, "\"must_tx\":%.0f,\"must_rx\":%.0f,\"sent\":[", run.must_tx, run.must_rx);
    const char* separator = "";
    for (int peer = 0; peer < bench_ranks; ++peer) {
        if (run.sent_messages[peer] <= 0)
            continue;
        text_add(&out, "%s[%d,%.0f,%.0f]", separator, peer, run.sent_bytes[peer], run.sent_messages[peer]);
        separator = ",";
    }
    text_add(&out, "],\"pvars\":{");
    char name[256];
    double value = 0;
    separator = "";
    for (int i = 0; bench_pvars_read(i, name, sizeof name, &value); ++i) {
        text_add(&out, "%s\"%s\":%.17g", separator, name, value);
        separator = ",";
    }
    text_add(&out, "}}");
    return out;
}

int bench_finish(void)
{
    text mine = describe_rank();
    if (bench_rank != 0) {
        int length = (int)mine.length + 1;
        bench_quiet_send(&length, sizeof length, 0, BENCH_TAG_CONTROL + 3);
        bench_quiet_send(mine.data, length, 0, BENCH_TAG_CONTROL + 4);
    } else {
        printf("{\"bench\":\"%s\",\"mode\":\"%s\",\"fresh\":%s,\"verify\":%s,\"ranks\":[%s", run.name,
               run.options.mode != NULL ? run.options.mode : "", run.options.fresh ? "true" : "false",
               run.options.verify ? "true" : "false", mine.data);
        for (int rank = 1; rank < bench_ranks; ++rank) {
            int length = 0;
            bench_quiet_recv(&length, sizeof length, rank, BENCH_TAG_CONTROL + 3);
            char* other = bench_alloc((size_t)length);
            bench_quiet_recv(other, length, rank, BENCH_TAG_CONTROL + 4);
            printf(",%s", other);
            free(other);
        }
        printf("],\"rows\":[%s],\"notes\":[%s]}\n", run.rows.data != NULL ? run.rows.data : "",
               run.notes.data != NULL ? run.notes.data : "");
        fflush(stdout);
    }
    bench_pvars_stop();
    MPI_Finalize();
    free(mine.data);
    free(run.rows.data);
    free(run.notes.data);
    free(run.sent_bytes);
    free(run.sent_messages);
    return 0;
}

/* ---- computing and quiet messages ---- */

__attribute__((noinline)) void bench_compute(long count)
{
    for (volatile long counter = 0; counter < count;)
        counter = counter + 1;
}

long bench_increments_for(double seconds)
{
    const long probe = 2000000;
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {   /* the fastest of five: the others were disturbed */
        const double begin = bench_now();
        bench_compute(probe);
        const double took = bench_now() - begin;
        best = took < best ? took : best;
    }
    return (long)((double)probe * seconds / best);
}

static void quiet_wait(MPI_Request* request)
{
    useconds_t nap = 20;
    for (int done = 0;;) {
        MPI_Test(request, &done, MPI_STATUS_IGNORE);
        if (done)
            return;
        usleep(nap);
        nap = nap < 5000 ? 2 * nap : nap;
    }
}

void bench_quiet_send(const void* data, int bytes, int peer, int tag)
{
    MPI_Request request;
    MPI_Isend(data, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request);
    quiet_wait(&request);
}

void bench_quiet_recv(void* data, int bytes, int peer, int tag)
{
    MPI_Request request;
    MPI_Irecv(data, bytes, MPI_BYTE, peer, tag, MPI_COMM_WORLD, &request);
    quiet_wait(&request);
}
