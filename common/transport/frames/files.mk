# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# transport/frames: links over datagrams, whatever carries them

noinst_LTLIBRARIES += liblinnet-transport-frames.la
liblinnet_la_LIBADD += liblinnet-transport-frames.la
liblinnet_transport_frames_la_SOURCES = \
    transport/frames/port.h
