// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The tables of data transfer functions that an endpoint shows to libfabric; static storage.
#pragma once

#include <rdma/fi_atomic.h>
#include <rdma/fi_collective.h>

#include "info.h"
#include "provider.h"

namespace linnet::ofi {

// Flags that a receive may bring; what else comes is refused, because the caller relies on it.
inline constexpr std::uint64_t kRecvMsgFlags = kRxOpFlags | FI_MORE;
inline constexpr std::uint64_t kRecvTaggedFlags = (kRxOpFlags & ~FI_MULTI_RECV) | FI_MORE | FI_PEEK | FI_CLAIM | FI_DISCARD;

fi_ops_msg* message_ops() noexcept;
fi_ops_msg* no_message_ops() noexcept;
fi_ops_tagged* tagged_ops() noexcept;
fi_ops_tagged* no_tagged_ops() noexcept;
fi_ops_rma* rma_ops() noexcept;
fi_ops_rma* no_rma_ops() noexcept;
fi_ops_atomic* atomic_ops() noexcept;
fi_ops_atomic* no_atomic_ops() noexcept;
fi_ops_collective* no_collective_ops() noexcept;   // there are none

// fi_query_atomic(3).
int query_atomic(fid_domain* domain, fi_datatype type, fi_op op, fi_atomic_attr* attr, std::uint64_t flags) noexcept;

// Stands for any function that we do not have.
template <class R, class... Args>
R unsupported(Args...) noexcept
{
    return -FI_ENOSYS;
}

}   // namespace linnet::ofi
