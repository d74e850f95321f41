// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Registration with libfabric, parameters, log.
#include "provider.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <string_view>

#include "fabric.h"
#include "info.h"

namespace linnet::ofi {

namespace {
// 0.1.0 as FI_VERSION(0, 1).
constexpr std::uint32_t kVersion = FI_VERSION(0, 1);

void define_parameters() noexcept
{
    linnet_setting_info_t info{};
    for (std::size_t i = 0; linnet_setting_describe(i, &info) == LINNET_OK; ++i) {
        const bool choice = info.choices != nullptr;
        fi_param_define(&provider, info.name, FI_PARAM_STRING, "%s%s%s%s (default: %s)", info.text, choice ? " One of " : "",
                        choice ? info.choices : "", choice ? "." : "", *info.default_value != '\0' ? info.default_value : "empty");
    }
}

// libfabric says nothing about a variable that no provider has defined.
void warn_of_unknown() noexcept
{
    constexpr std::string_view kPrefix = "FI_LINNET_";
    for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
        const std::string_view written{*variable};
        if (!written.starts_with(kPrefix)) {
            continue;
        }
        const std::string_view name = written.substr(kPrefix.size(), written.find('=') - kPrefix.size());
        const auto same = [](char variable_letter, char letter) { return variable_letter == std::toupper(static_cast<unsigned char>(letter)); };
        linnet_setting_info_t info{};
        bool known = false;
        for (std::size_t i = 0; !known && linnet_setting_describe(i, &info) == LINNET_OK; ++i) {
            const std::string_view setting{info.name};
            known = std::equal(name.begin(), name.end(), setting.begin(), setting.end(), same);
        }
        if (!known) {
            std::array<char, 200> line{};
            std::snprintf(line.data(), line.size(), "unknown variable %s%.*s ignored; fi_info -e lists all", kPrefix.data(),
                          static_cast<int>(name.size()), name.data());
            log_line(nullptr, LINNET_LOG_WARN, line.data());
        }
    }
}

void cleanup() noexcept {}
}   // namespace

fi_provider provider = {kVersion, FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION), {}, "linnet", get_info, Fabric::open, cleanup};

std::vector<std::pair<std::string, std::string>> parameters_set()
{
    std::vector<std::pair<std::string, std::string>> set;
    linnet_setting_info_t info{};
    for (std::size_t i = 0; linnet_setting_describe(i, &info) == LINNET_OK; ++i) {
        char* value = nullptr;
        if (fi_param_get_str(&provider, info.name, &value) == FI_SUCCESS && value != nullptr) {
            set.emplace_back(info.name, value);
        }
    }
    return set;
}

void log_line(void*, linnet_log_level_t level, const char* line) noexcept
{
    const fi_log_level to = level <= LINNET_LOG_WARN ? FI_LOG_WARN : level == LINNET_LOG_INFO ? FI_LOG_INFO : FI_LOG_DEBUG;
    if (fi_log_enabled(&provider, to, FI_LOG_CORE) != 0) {
        fi_log(&provider, to, FI_LOG_CORE, "linnet", 0, "%s\n", line);
    } else {   // the setting log_level has let it pass
        std::fprintf(stderr, "linnet: %s\n", line);
    }
}

int fi_errno_of(linnet_status_t status) noexcept
{
    switch (status) {
        case LINNET_OK:
        case LINNET_IN_PROGRESS: return FI_SUCCESS;
        case LINNET_ERR_NO_RESOURCE:
        case LINNET_ERR_AGAIN: return FI_EAGAIN;
        case LINNET_ERR_NO_MEMORY: return FI_ENOMEM;
        case LINNET_ERR_NOT_FOUND: return FI_ENOENT;
        case LINNET_ERR_INVALID: return FI_EINVAL;
        case LINNET_ERR_UNSUPPORTED: return FI_ENOSYS;
        case LINNET_ERR_TIMED_OUT: return FI_ETIMEDOUT;
        case LINNET_ERR_TRUNCATED: return FI_ETRUNC;
        case LINNET_ERR_CANCELED: return FI_ECANCELED;
        case LINNET_ERR_KEY: return FI_ENOKEY;
        case LINNET_ERR_BOUNDS: return FI_EINVAL;
        case LINNET_ERR_NOT_ALLOWED: return FI_EACCES;
        case LINNET_ERR_PEER_DOWN: return FI_ECONNRESET;
        case LINNET_ERR_UNREACHABLE: return FI_EHOSTUNREACH;
        case LINNET_ERR_REFUSED: return FI_ECONNREFUSED;
        case LINNET_ERR_NO_DESCRIPTORS: return FI_EMFILE;
        case LINNET_ERR_PERMISSION: return FI_EACCES;
        case LINNET_ERR_PROTOCOL:
        case LINNET_ERR_IO: return FI_EIO;
        case LINNET_ERR_CLOSED:
        case LINNET_ERR_INTERNAL: break;
    }
    return FI_EOTHER;
}

const char* status_text(int provider_error, char* to, std::size_t bytes) noexcept
{
    // The number may come from anywhere: one that is no status is not made one.
    const bool is_status = provider_error >= LINNET_ERR_INTERNAL && provider_error <= LINNET_IN_PROGRESS;
    const char* const text = is_status ? linnet_status_text(static_cast<linnet_status_t>(provider_error)) : "unknown error";
    if (to == nullptr || bytes == 0) {
        return text;
    }
    std::strncpy(to, text, bytes - 1);
    to[bytes - 1] = '\0';
    return to;
}

int no_bind(fid*, fid*, std::uint64_t) noexcept { return -FI_ENOSYS; }
int no_control(fid*, int, void*) noexcept { return -FI_ENOSYS; }
int no_ops_open(fid*, const char*, std::uint64_t, void**, void*) noexcept { return -FI_ENOSYS; }

}   // namespace linnet::ofi

extern "C" __attribute__((visibility("default"))) fi_provider* fi_prov_ini()
{
    linnet::ofi::define_parameters();
    linnet::ofi::warn_of_unknown();
    return &linnet::ofi::provider;
}
