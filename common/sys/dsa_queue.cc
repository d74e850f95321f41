// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// DsaQueue: /sys/bus/dsa, /dev/dsa, and the two instructions.
#include "sys/dsa_queue.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fstream>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "sys/fd.h"

namespace linnet {
namespace {

constexpr std::size_t kPortalBytes = 4096;

std::string attribute(const std::string& folder, const char* name)
{
    std::string word;
    std::ifstream{folder + "/" + name} >> word;
    return word;
}

std::size_t number(const std::string& folder, const char* name) { return std::strtoull(attribute(folder, name).c_str(), nullptr, 10); }

#if defined(__x86_64__)

// 64 bytes as one write to the device, by their encodings: the assembler may be older than the instructions.
void movdir64b(void* portal, const void* descriptor) noexcept
{
    asm volatile("sfence\n\t"
                 ".byte 0x66, 0x0f, 0x38, 0xf8, 0x02"   // movdir64b (%rdx), %rax
                 :
                 : "a"(portal), "d"(descriptor)
                 : "memory");
}

// True: taken. False: the queue is full (ZF).
bool enqcmd(void* portal, const void* descriptor) noexcept
{
    bool retry = false;
    asm volatile("sfence\n\t"
                 ".byte 0xf2, 0x0f, 0x38, 0xf8, 0x02\n\t"   // enqcmd (%rdx), %rax
                 "setz %0"
                 : "=r"(retry)
                 : "a"(portal), "d"(descriptor)
                 : "memory", "cc");
    return !retry;
}

#else

void movdir64b(void*, const void*) noexcept {}
bool enqcmd(void*, const void*) noexcept { return false; }

#endif

class DsaQueue final : public DsaPortal {
public:
    DsaQueue(const DsaLimits& limits, void* page, Fd fd) noexcept : limits_{limits}, page_{page}, fd_{std::move(fd)} {}
    ~DsaQueue() override { ::munmap(page_, kPortalBytes); }
    DsaQueue(const DsaQueue&) = delete;
    DsaQueue& operator=(const DsaQueue&) = delete;

    [[nodiscard]] const DsaLimits& limits() const noexcept override { return limits_; }
    [[nodiscard]] bool submit(const std::byte* descriptor) noexcept override
    {
        if (limits_.dedicated) {
            movdir64b(page_, descriptor);
            return true;
        }
        return enqcmd(page_, descriptor);
    }

private:
    DsaLimits limits_;
    void* page_;
    Fd fd_;
};

}   // namespace

std::vector<DsaQueueInfo> find_dsa_queues(const char* root)
{
    std::vector<DsaQueueInfo> queues;
    const std::string devices = std::string{root} + "/sys/bus/dsa/devices";
    ::DIR* const dir = ::opendir(devices.c_str());
    if (dir == nullptr) {
        return queues;
    }
    while (const ::dirent* const entry = ::readdir(dir)) {
        const std::string folder = devices + "/" + entry->d_name;
        if (std::strncmp(entry->d_name, "wq", 2) != 0 || attribute(folder, "type") != "user" || attribute(folder, "state") != "enabled") {
            continue;
        }
        DsaQueueInfo info{entry->d_name, {}};
        info.limits.max_transfer = number(folder, "max_transfer_size");
        info.limits.max_batch = static_cast<unsigned>(number(folder, "max_batch_size"));
        info.limits.size = static_cast<unsigned>(number(folder, "size"));
        info.limits.dedicated = attribute(folder, "mode") == "dedicated";
        if (info.limits.max_transfer != 0 && info.limits.size != 0) {
            queues.push_back(std::move(info));
        }
    }
    ::closedir(dir);
    std::sort(queues.begin(), queues.end(), [](const DsaQueueInfo& a, const DsaQueueInfo& b) { return a.name < b.name; });
    return queues;
}

bool has_dsa_instructions() noexcept
{
#if defined(__x86_64__)
    unsigned a = 0, b = 0, c = 0, d = 0;
    constexpr unsigned kMovdir64b = 1u << 28, kEnqcmd = 1u << 29;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) != 0 && (c & kMovdir64b) != 0 && (c & kEnqcmd) != 0;
#else
    return false;
#endif
}

std::unique_ptr<DsaPortal> open_dsa_queue(const DsaQueueInfo& info, const Log& log)
{
    if (!has_dsa_instructions()) {
        LINNET_LOG(log, kDebug, "dsa queue %s not used: this processor has no MOVDIR64B and ENQCMD", info.name.c_str());
        return nullptr;
    }
    const std::string path = "/dev/dsa/" + info.name;
    Fd fd{::open(path.c_str(), O_RDWR | O_CLOEXEC)};
    if (!fd.valid()) {
        LINNET_LOG(log, kDebug, "dsa queue %s not used: errno %d", path.c_str(), errno);
        return nullptr;
    }
    void* const page = ::mmap(nullptr, kPortalBytes, PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd.get(), 0);
    if (page == MAP_FAILED) {
        LINNET_LOG(log, kDebug, "dsa queue %s cannot be mapped: errno %d", path.c_str(), errno);
        return nullptr;
    }
    ::madvise(page, kPortalBytes, MADV_DONTFORK);   // a child must not submit in our name
    return std::make_unique<DsaQueue>(info.limits, page, std::move(fd));
}

}   // namespace linnet
