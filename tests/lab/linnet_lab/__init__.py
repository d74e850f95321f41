# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Network hosts on one machine: namespaces, links, faults and the launching of programs on them.
