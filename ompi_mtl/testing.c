/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* testing.c: tells MPI_Test and its kin from MPI_Wait, since a program that tests has other work to do and must not be put to sleep. */
#include "mtl_linnet.h"

#include "opal/runtime/opal_progress.h"

/* Open MPI's progress function is the same for a wait and for a test. Its request functions are a table, so that layers may be put around them: ours
 * marks the thread while it is in a test. Weak: an Open MPI without the table sleeps in tests too. */
#pragma weak ompi_request_functions

/* In the static block of each thread, where a look at it is one instruction: the component is never unloaded. */
static __thread unsigned tests_under_way __attribute__((tls_model("initial-exec")));
static ompi_request_fns_t original;
static bool hooked;

bool mtl_linnet_tests(void)
{
    return tests_under_way != 0;
}

void mtl_linnet_progress_once(void)
{
    ++tests_under_way;
    opal_progress();
    --tests_under_way;
}

static int test(ompi_request_t **request, int *completed, ompi_status_public_t *status)
{
    ++tests_under_way;
    int rc = original.req_test(request, completed, status);
    --tests_under_way;
    return rc;
}

static int test_any(size_t count, ompi_request_t **requests, int *index, int *completed, ompi_status_public_t *status)
{
    ++tests_under_way;
    int rc = original.req_test_any(count, requests, index, completed, status);
    --tests_under_way;
    return rc;
}

static int test_all(size_t count, ompi_request_t **requests, int *completed, ompi_status_public_t *statuses)
{
    ++tests_under_way;
    int rc = original.req_test_all(count, requests, completed, statuses);
    --tests_under_way;
    return rc;
}

static int test_some(size_t count, ompi_request_t **requests, int *outcount, int *indices, ompi_status_public_t *statuses)
{
    ++tests_under_way;
    int rc = original.req_test_some(count, requests, outcount, indices, statuses);
    --tests_under_way;
    return rc;
}

void mtl_linnet_tests_hook(void)
{
    if (hooked || &ompi_request_functions == NULL) {
        return;
    }
    original = ompi_request_functions;
    ompi_request_functions.req_test = test;
    ompi_request_functions.req_test_any = test_any;
    ompi_request_functions.req_test_all = test_all;
    ompi_request_functions.req_test_some = test_some;
    hooked = true;
}

void mtl_linnet_tests_unhook(void)
{
    /* Unless a layer was put around ours: it calls us, and we go on calling the original. */
    if (hooked && ompi_request_functions.req_test == test) {
        ompi_request_functions.req_test = original.req_test;
        ompi_request_functions.req_test_any = original.req_test_any;
        ompi_request_functions.req_test_all = original.req_test_all;
        ompi_request_functions.req_test_some = original.req_test_some;
        hooked = false;
    }
}
