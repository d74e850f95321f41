# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# mpich: the MPICH test suite over the installed component; make installcheck

integration_tests += mpich/mpich_suite.sh mpich/mpich_provider.sh
dist_check_SCRIPTS += mpich/mpich_suite.sh mpich/mpich_provider.sh
job_folders += mpich/logs mpich/programs
EXTRA_DIST += \
    mpich/differences \
    mpich/differences-btl \
    mpich/differences-mpich \
    mpich/differences-ofi \
    mpich/launchers.py \
    mpich/results/between-hosts.tsv \
    mpich/results/btl-between-hosts.tsv \
    mpich/results/btl-within-a-host.tsv \
    mpich/results/mpich-between-hosts.tsv \
    mpich/results/mpich-within-a-host.tsv \
    mpich/results/ofi-between-hosts.tsv \
    mpich/results/ofi-within-a-host.tsv \
    mpich/results/within-a-host.tsv \
    mpich/run_mpich.py \
    mpich/suite.py \
    mpich/tables.py
dist_check_SCRIPTS += mpich/check_build_mpich mpich/check_run_mpich
if HAVE_PYTHON
TESTS += mpich/check_build_mpich mpich/check_run_mpich
endif HAVE_PYTHON
