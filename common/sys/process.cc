// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Facts about this process and this host.
#include "sys/process.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <system_error>

#include "sys/error.h"
#include "sys/fd.h"

namespace linnet {

namespace {
constexpr std::uint32_t kLargestRank = INT32_MAX - 1;   // an MPI rank is an int; beyond are the PMIs' special ones

// What a variable of the environment says, if it is a rank or a number of them.
std::optional<std::uint32_t> number_in(const char* variable) noexcept
{
    const char* const value = std::getenv(variable);
    const std::string_view text{value != nullptr ? value : ""};
    std::uint32_t n = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), n);
    return !text.empty() && error == std::errc{} && end == text.data() + text.size() && n <= kLargestRank ? std::optional{n} : std::nullopt;
}

}   // namespace

std::uint32_t process_id() noexcept { return static_cast<std::uint32_t>(::getpid()); }
std::uint32_t user_id() noexcept { return ::geteuid(); }

DescriptorLimit descriptor_limit() noexcept
{
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    return {limit.rlim_cur, limit.rlim_max};   // RLIM_INFINITY is the largest number, which is what it means
}

std::uint64_t raise_descriptor_limit(std::uint64_t wanted) noexcept
{
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || wanted <= limit.rlim_cur) {
        return limit.rlim_cur;
    }
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = std::min<rlim_t>(wanted, limit.rlim_max);
    return ::setrlimit(RLIMIT_NOFILE, &limit) == 0 ? limit.rlim_cur : before;
}

std::size_t open_descriptors() noexcept
{
    DIR* dir = ::opendir("/proc/self/fd");
    if (dir == nullptr) {
        return 0;
    }
    std::size_t n = 0;
    while (const dirent* entry = ::readdir(dir)) {
        n += entry->d_name[0] != '.' ? 1 : 0;
    }
    ::closedir(dir);
    return n - 1;   // the directory itself
}

Status random_bytes(std::span<std::byte> out, const Log& log) noexcept
{
    while (!out.empty()) {
        const ssize_t n = ::getrandom(out.data(), out.size(), 0);
        if (n < 0) {
            if (errno == EINTR) {
                continue;
            }
            return log_errno(log, "getrandom", errno);
        }
        out = out.subspan(static_cast<std::size_t>(n));
    }
    return Status::kOk;
}

std::optional<std::uint32_t> launcher_rank() noexcept
{
    if (const auto rank = number_in("OMPI_COMM_WORLD_RANK")) {
        return rank;
    }
    const auto pmix = number_in("PMIX_RANK"), pmi = number_in("PMI_RANK");
    if (pmix || pmi) {
        return !pmix ? pmi : !pmi || pmi == pmix ? pmix : std::nullopt;
    }
    return number_in("SLURM_STEP_NUM_TASKS").value_or(0) > 1 ? number_in("SLURM_PROCID") : std::nullopt;
}

std::optional<std::uint32_t> launcher_local_ranks() noexcept
{
    const auto open_mpi = number_in("OMPI_COMM_WORLD_LOCAL_SIZE");
    const auto count = open_mpi ? open_mpi : number_in("MPI_LOCALNRANKS");
    return count.value_or(0) != 0 ? count : std::nullopt;
}

std::string host_name()
{
    std::array<char, 256> name{};
    return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "unknown";
}

std::string kernel_release()
{
    ::utsname system{};
    return ::uname(&system) == 0 ? system.release : "";
}

std::string boot_id()
{
    const Fd fd{::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)};
    std::array<char, 36> id{};
    const ssize_t n = fd ? ::read(fd.get(), id.data(), id.size()) : 0;
    return n == static_cast<ssize_t>(id.size()) ? std::string(id.data(), id.size()) : std::string{};
}

}   // namespace linnet
