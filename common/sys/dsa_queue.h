// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// DsaQueue: a work queue of an Intel Data Streaming Accelerator that the administrator gave to user space (/dev/dsa/wqX.Y).
//
// What it is  DsaPortal is where 64-byte descriptors go in; DsaQueue is the real one: a page of the device, mapped. What the bytes mean is not known here; see
//             the Intel DSA Architecture Specification, and accel-config(1) for how a queue is made.
// Owner       The copy engine. Unmapped by the destructor, which must not come before everything submitted has completed.
// Threads     submit() any. Blocking: never.
// Failure     find_dsa_queues() answers what there is, usually nothing; a queue that cannot be opened is logged at debug level and left out.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"

namespace linnet {

struct DsaLimits {
    std::size_t max_transfer{0};   // bytes per descriptor
    unsigned max_batch{0};         // descriptors per batch; 0 or 1: no batches
    unsigned size{0};              // descriptors that the queue holds
    bool dedicated{false};         // only ours: nobody tells when it is full, we count. Else it answers "retry"
};

class DsaPortal {
public:
    virtual ~DsaPortal() = default;
    [[nodiscard]] virtual const DsaLimits& limits() const noexcept = 0;
    // Hands over the 64 bytes at `descriptor` (aligned to 64), which are copied. False: a shared queue is full, nothing was taken.
    [[nodiscard]] virtual bool submit(const std::byte* descriptor) noexcept = 0;
};

// What /sys says about a queue; text as it stands there.
struct DsaQueueInfo {
    std::string name;   // "wq0.1"
    DsaLimits limits;
};

// The enabled work queues of type `user`. `root`: in front of /sys, for tests.
[[nodiscard]] std::vector<DsaQueueInfo> find_dsa_queues(const char* root = "");
// Does this processor have the instructions that submit, MOVDIR64B and ENQCMD?
[[nodiscard]] bool has_dsa_instructions() noexcept;
// Opens and maps. Null: not allowed, gone, or no such instructions; why is logged at debug level.
[[nodiscard]] std::unique_ptr<DsaPortal> open_dsa_queue(const DsaQueueInfo& info, const Log& log);

}   // namespace linnet
