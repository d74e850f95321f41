# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# The lab, and its tests: they need root, else they are skipped.

dist_check_SCRIPTS += lab/lab_test.sh lab/lab lab/agent lab/enter lab/pin
TESTS += lab/lab_test.sh
EXTRA_DIST += lab/lab_traffic.py lab/lab_mpi.c lab/fault.bpf.c lab/relay.cc \
    lab/linnet_lab/__init__.py lab/linnet_lab/cli.py lab/linnet_lab/fault.py lab/linnet_lab/machine.py \
    lab/linnet_lab/mpi.py lab/linnet_lab/network.py lab/linnet_lab/state.py lab/linnet_lab/stats.py
