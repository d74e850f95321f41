# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# stress: everything at once; for seconds in make check, for LINNET_TEST_SOAK_SECONDS each in ./check --soak

test_programs += stress_traffic_test
seeded_programs += stress_traffic_test
stress_traffic_test_SOURCES = \
    integration/waist/waist.h \
    stress/traffic_test.cc
stress_traffic_test_LDADD = $(TEST_LIBS) $(top_builddir)/common/liblinnet.la

stress_tests += stress/programs.sh stress/collectives.sh stress/threads.sh
job_programs += stress/collectives_stress stress/threads_stress
dist_check_SCRIPTS += stress/programs.sh stress/collectives.sh stress/threads.sh
EXTRA_DIST += \
    stress/lab_jobs.sh \
    stress/mpi/collectives_stress.c \
    stress/mpi/threads_stress.c \
    stress/watch_mpi.py
