# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# checks: facts about the tree and about what was built

# What depends on the compiler, and what on the sources alone.
built_checks = \
    checks/check_headers \
    checks/check_links \
    checks/check_symbols
tree_checks = \
    checks/check_model \
    $(built_checks) \
    checks/check_layers \
    checks/check_man \
    checks/check_packed \
    checks/check_style \
    checks/check_tally
dist_check_SCRIPTS += $(tree_checks)
EXTRA_DIST += checks/tree.py
if HAVE_PYTHON
TESTS += $(tree_checks)
endif HAVE_PYTHON
