// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Shared memory without a name: memfd_create(2), mmap(2).
#include "sys/memfd.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "sys/error.h"

namespace linnet {

Result<Fd> create_memfd(const char* name, std::size_t bytes, const Log& log) noexcept
{
    Fd fd{::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING)};
    if (!fd) {
        return log_errno(log, "memfd_create", errno);
    }
    if (::ftruncate(fd.get(), static_cast<off_t>(bytes)) != 0) {
        return log_errno(log, "ftruncate of shared memory", errno);
    }
    if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) != 0) {
        return log_errno(log, "sealing of shared memory", errno);
    }
    return fd;
}

Result<MemfdInfo> inspect_memfd(int fd) noexcept
{
    struct stat st;
    if (::fstat(fd, &st) != 0) {
        return status_from_errno(errno);
    }
    const int seals = ::fcntl(fd, F_GET_SEALS);   // refuses everything that is not a memory file
    if (seals < 0) {
        return Status::kUnsupported;
    }
    return MemfdInfo{static_cast<std::size_t>(st.st_size), (seals & F_SEAL_SHRINK) != 0};
}

Result<Mapping> Mapping::map(int fd, std::size_t bytes, MapAccess access, const Log& log) noexcept
{
    const int protection = access == MapAccess::kReadOnly ? PROT_READ : PROT_READ | PROT_WRITE;
    void* const at = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        return log_errno(log, "mmap of shared memory", errno);
    }
    Mapping mapping;
    mapping.bytes_ = {static_cast<std::byte*>(at), bytes};
    return mapping;
}

Mapping& Mapping::operator=(Mapping&& other) noexcept
{
    if (this != &other) {
        reset();
        bytes_ = std::exchange(other.bytes_, {});
    }
    return *this;
}

void Mapping::exclude_from_fork() const noexcept
{
    if (valid()) {
        ::madvise(bytes_.data(), bytes_.size(), MADV_DONTFORK);
    }
}

void Mapping::discard(std::span<std::byte> part) const noexcept
{
    static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    const auto begin = (reinterpret_cast<std::uintptr_t>(part.data()) + page - 1) / page * page;
    const auto end = (reinterpret_cast<std::uintptr_t>(part.data()) + part.size()) / page * page;
    if (begin < end) {
        ::madvise(reinterpret_cast<void*>(begin), end - begin, MADV_REMOVE);
    }
}

void Mapping::reset() noexcept
{
    if (valid()) {
        ::munmap(bytes_.data(), bytes_.size());
        bytes_ = {};
    }
}

}   // namespace linnet
