# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# progress: who polls, who sleeps

noinst_LTLIBRARIES += liblinnet-progress.la
liblinnet_la_LIBADD += liblinnet-progress.la
liblinnet_progress_la_SOURCES = \
    progress/crowd.h \
    progress/event_source.h \
    progress/event_thread.cc \
    progress/event_thread_state.h \
    progress/gap_predictor.h \
    progress/gated_sleep.cc \
    progress/gated_sleep.h \
    progress/poll_task.h \
    progress/progress_engine.cc \
    progress/progress_engine.h \
    progress/rare_question.h \
    progress/ticks.cc \
    progress/ticks.h \
    progress/task_source.h \
    progress/token.h \
    progress/wait.cc \
    progress/wait_list.cc \
    progress/wait_list.h \
    progress/waiting_policy.cc \
    progress/waiting_policy.h

EXTRA_DIST += progress/README.md
