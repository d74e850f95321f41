# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# programs: real programs over the installed component; make installcheck runs a quick selection

integration_tests += programs/real_programs.sh
dist_check_SCRIPTS += programs/real_programs.sh programs/slurm.sh programs/container.sh
job_folders += programs/frames programs/jobs
job_programs += programs/everyone
EXTRA_DIST += \
    programs/checkpoint.c \
    programs/confined \
    programs/everyone.c \
    programs/melt.lammps \
    programs/pickles.py \
    programs/programs.py \
    programs/run_programs.py
