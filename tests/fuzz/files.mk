# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# fuzz: targets that take any bytes; their corpus replayed by every compiler, and a driver for libFuzzer (configure --enable-fuzzer)

fuzz_targets = \
    fuzz/flow_target.cc \
    fuzz/frame_side.cc \
    fuzz/frame_side.h \
    fuzz/frames_target.cc \
    fuzz/fuzz_target.h \
    fuzz/hello_target.cc \
    fuzz/scripted_transport.cc \
    fuzz/scripted_transport.h \
    fuzz/session_seeds.cc \
    fuzz/session_target.cc \
    fuzz/settings_target.cc \
    fuzz/targets.cc \
    fuzz/tcp_target.cc

test_programs += fuzz_corpus_test
single_threaded_programs += fuzz_corpus_test
seeded_programs += fuzz_corpus_test
fuzz_corpus_test_SOURCES = fuzz/corpus_test.cc $(fuzz_targets)
fuzz_corpus_test_LDADD = $(TEST_LIBS) $(libs_core)
dist_check_SCRIPTS += fuzz/run_fuzzers.sh
EXTRA_DIST += $(wildcard $(srcdir)/fuzz/corpus/*/*)

if FUZZER
check_PROGRAMS += fuzz_driver
fuzz_driver_SOURCES = fuzz/fuzz_driver.cc $(fuzz_targets)
fuzz_driver_LDFLAGS = $(AM_LDFLAGS) -fsanitize=fuzzer
fuzz_driver_LDADD = $(libs_core)
endif FUZZER
