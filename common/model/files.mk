# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# model: what messages cost, and which path takes them

noinst_LTLIBRARIES += liblinnet-model.la
liblinnet_la_LIBADD += liblinnet-model.la
liblinnet_model_la_SOURCES = \
    model/chance.h \
    model/cost.cc \
    model/cost.h \
    model/lane_choice.cc \
    model/lane_choice.h \
    model/loss_rate.h \
    model/path_choice.cc \
    model/path_choice.h \
    model/profile.cc \
    model/profile.h \
    model/samples.cc \
    model/samples.h
