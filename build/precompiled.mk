# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Parses what most sources of a folder include once per build tree: a third to a half of what they cost to compile.
#
# For a folder's Makefile.am, after it has set AM_CXXFLAGS, precompiled (a header that is all #include, put before each source) and
# precompiled_flags (what libtool adds for that folder's objects, or empty).
# The compiler looks for X.gch before X in each folder of -I, and takes it only if it was made with the same options.

AM_CXXFLAGS += -include $(precompiled)
BUILT_SOURCES += $(precompiled).gch
CLEANFILES += $(precompiled).gch $(precompiled).flags
# `make CXXFLAGS=...` is a change of options too.
$(precompiled).flags: always
	@$(MKDIR_P) $(@D)
	@echo '$(CXXFLAGS)' | cmp -s - $@ 2>/dev/null || echo '$(CXXFLAGS)' >$@
always:
# (-w: of `#pragma once` in a main file.)
$(precompiled).gch: $(srcdir)/$(precompiled) $(precompiled).flags $(top_builddir)/config.status
	@$(MKDIR_P) $(@D)
	$(AM_V_CXX)$(CXX) $(DEFS) $(DEFAULT_INCLUDES) $(INCLUDES) $(AM_CPPFLAGS) $(CPPFLAGS) $(LINNET_CXXFLAGS) $(CXXFLAGS) $(precompiled_flags) $(PCH_CXXFLAGS) -w -x c++-header -o $@ $(srcdir)/$(precompiled)
