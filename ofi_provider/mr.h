// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Memory registration, fi_mr(3). Local buffers need none, so that a registration is a key and no more.
#pragma once

#include "provider.h"

namespace linnet::ofi {

fi_ops_mr* memory_ops() noexcept;

}   // namespace linnet::ofi
