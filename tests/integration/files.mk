# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# integration: MPI programs over the installed component; make installcheck

integration_scripts = integration/mpi_on_this_host.sh integration/mpi_in_the_lab.sh integration/mpi_over_frames.sh integration/mpi_over_ofi.sh \
    integration/incast.sh integration/tcp_beside.sh integration/installed_tree.sh integration/configure_table.sh integration/deaths.sh
integration_tests += $(integration_scripts)
# By name only, in ./check --full.
full_scripts = integration/demo.sh integration/long_cases.sh integration/plugin_dirs.sh
dist_check_SCRIPTS += $(integration_scripts) $(full_scripts)
job_folders += $(addprefix integration/,beside-jobs ended-jobs frames here incast lab long ofi-jobs)
# How soon a job ends, and rates, are judged when nothing else runs here.
integration/deaths.log: $(patsubst %.sh,%.log,$(filter-out integration/deaths.sh integration/tcp_beside.sh,$(filter %.sh,$(integration_tests))))
integration/tcp_beside.log: $(patsubst %.sh,%.log,$(filter-out integration/tcp_beside.sh,$(filter %.sh,$(integration_tests))))
if BUILD_OMPI_MTL
test_programs += ompi_data_test
ompi_data_test_SOURCES = integration/ompi/data_test.c ../ompi_mtl/data.c integration/mpi/types.h integration/mpi/mpi_check.h
ompi_data_test_CPPFLAGS = $(AM_CPPFLAGS) -I$(top_srcdir)/ompi_mtl $(OMPI_CPPFLAGS) $(MPI_CPPFLAGS)
ompi_data_test_CFLAGS = $(LINNET_CFLAGS) $(OMPI_CFLAGS)
ompi_data_test_LDADD = $(MPI_LIBS) -lopen-pal
endif BUILD_OMPI_MTL
EXTRA_DIST += \
    integration/ompi/headers_of_5.sh \
    integration/run_mpi.py \
    integration/mpi/beside.c \
    integration/mpi/blocks.h \
    integration/mpi/buffered.c \
    integration/mpi/cancel.c \
    integration/mpi/collectives.c \
    integration/mpi/communicators.c \
    integration/mpi/completion.c \
    integration/mpi/connect.c \
    integration/mpi/copies.c \
    integration/mpi/counters.c \
    integration/mpi/death.c \
    integration/mpi/finalize.c \
    integration/mpi/flood.c \
    integration/mpi/huge.c \
    integration/mpi/incast.c \
    integration/mpi/intercomm.c \
    integration/mpi/lazy.c \
    integration/mpi/life.c \
    integration/mpi/memory.c \
    integration/mpi/modes.c \
    integration/mpi/mpi_check.h \
    integration/mpi/neighbours.c \
    integration/mpi/onesided.c \
    integration/mpi/ordering.c \
    integration/mpi/other_release.c \
    integration/mpi/persistent.c \
    integration/mpi/probes.c \
    integration/mpi/reload.c \
    integration/mpi/rma.c \
    integration/mpi/self.c \
    integration/mpi/spawn.c \
    integration/mpi/task_counters.h \
    integration/mpi/tasks.c \
    integration/mpi/testing.c \
    integration/mpi/threads.c \
    integration/mpi/truncation.c \
    integration/mpi/types.h \
    integration/mpi/wildcards.c
