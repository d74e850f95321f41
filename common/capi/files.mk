# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# capi: the C interface, the only part of the core that is installed and exported

linnetincludedir = $(includedir)/linnet
linnetinclude_HEADERS = capi/linnet.h capi/linnet_rma.h capi/linnet_watch.h

noinst_LTLIBRARIES += liblinnet-capi.la
liblinnet_la_LIBADD += liblinnet-capi.la
liblinnet_capi_la_SOURCES = \
    capi/boundary.h \
    capi/linnet.cc \
    capi/linnet_rma.cc \
    capi/linnet_watch.cc
