# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# transport/frames: links over datagrams, whatever carries them

noinst_LTLIBRARIES += liblinnet-transport-frames.la
liblinnet_la_LIBADD += liblinnet-transport-frames.la
liblinnet_transport_frames_la_SOURCES = \
    transport/frames/frame_transport.cc \
    transport/frames/frame_transport.h \
    transport/frames/link.h \
    transport/frames/opening.cc \
    transport/frames/path_table.h \
    transport/frames/port.h \
    transport/frames/receive.cc \
    transport/frames/send.cc
