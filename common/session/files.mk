# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# session: the ordered lane to each peer

noinst_LTLIBRARIES += liblinnet-session.la
liblinnet_la_LIBADD += liblinnet-session.la
liblinnet_session_la_SOURCES = \
    session/acks.cc \
    session/address_index.h \
    session/handshake.cc \
    session/handshake.h \
    session/lean.h \
    session/near.cc \
    session/numbers.h \
    session/paths.cc \
    session/paths.h \
    session/peers.cc \
    session/port.cc \
    session/session.h \
    session/session_config.h \
    session/session_layer.cc \
    session/session_layer.h \
    session/session_open.cc \
    session/session_retry.cc
EXTRA_DIST += session/README.md
