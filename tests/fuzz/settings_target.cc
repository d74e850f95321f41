// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Fuzz target: values of settings, the environment, lists of interfaces, addresses.
#include <string>

#include "conf/settings.h"
#include "fuzz/fuzz_target.h"
#include "sys/net_interfaces.h"

namespace linnet::fuzz {
namespace {

void set_one(const std::string& name, const std::string& value)
{
    Settings settings;
    std::string error;
    const Status s = settings.set(name, value, error);
    LINNET_FUZZ_CHECK(failed(s) == !error.empty());
    if (failed(s)) {
        return;
    }
    const SettingInfo* const row = find_setting(name);
    LINNET_FUZZ_CHECK(row != nullptr);
    // What is shown is what was understood: it can be set again, and means the same.
    const std::string text = settings.value_text(row->id);
    Settings again;
    LINNET_FUZZ_CHECK(again.set(name, text, error) == Status::kOk);
    LINNET_FUZZ_CHECK(again.value_text(row->id) == text);
    if (row->kind == SettingKind::kSize) {
        const auto n = static_cast<std::int64_t>(settings.size(row->id));
        LINNET_FUZZ_CHECK(n >= row->min && n <= row->max && again.size(row->id) == settings.size(row->id));
    } else if (row->kind == SettingKind::kDuration) {
        const auto n = settings.duration(row->id).count();
        LINNET_FUZZ_CHECK(n >= row->min && n <= row->max && again.duration(row->id).count() == n);
    }
}

void read_list(const std::string& list)
{
    InterfaceRules rules;
    std::string error;
    if (!rules.parse(list, error)) {
        LINNET_FUZZ_CHECK(!error.empty());
        return;
    }
    for (const char* const at : {"10.1.0.2", "fe80::1", "127.0.0.1"}) {
        const auto address = InetAddress::parse(at);
        const std::string* const covering = rules.covering("eth0", *address);
        LINNET_FUZZ_CHECK(covering == nullptr || !rules.empty());
    }
}

void read_address(const std::string& text)
{
    const auto address = InetAddress::parse(text, 80);
    if (address) {
        const auto again = InetAddress::parse(address->host_text(), 80);
        LINNET_FUZZ_CHECK(again && again->same_host(*address) && again->text() == address->text());
    }
}

}   // namespace

// First byte: what to do; then text, at whose first '=' a name ends.
void run_settings(std::span<const std::uint8_t> input)
{
    Reader in{input};
    const std::uint8_t kind = in.byte();
    const auto rest = in.bytes(std::min<std::size_t>(input.size(), 4096));
    const std::string text{rest.begin(), rest.end()};
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
    switch (kind % 5) {
        case 0: set_one(name, value); break;
        case 1: {   // any name of the table
            set_one(kSettingTable[(kind / 5) % kSettingCount].name, text);
            break;
        }
        case 2: {
            const std::string variable = "LINNET_" + text;
            const char* const variables[] = {"PATH=/bin", variable.c_str(), nullptr};
            Settings settings;
            Log log;
            log.configure(LogLevel::kError, [](void*, LogLevel, const char*) noexcept {}, nullptr);
            std::string error;
            LINNET_FUZZ_CHECK(failed(settings.load_environment(variables, log, error)) == !error.empty());
            break;
        }
        case 3: read_list(text); break;
        default: read_address(text);
    }
}

std::vector<Input> settings_seeds()
{
    std::vector<Input> all;
    const auto add = [&](std::uint8_t kind, const std::string& text) {
        Input in{kind};
        in.insert(in.end(), text.begin(), text.end());
        all.push_back(in);
    };
    for (const SettingInfo& row : kSettingTable) {
        add(0, std::string{row.name} + "=" + row.default_text);
    }
    add(2, "CONNECT_TIMEOUT=30s");
    add(2, "EAGER_LIMT=64k");
    add(0, "eager_limit=18446744073709551616k");
    add(0, "connect_timeout=153722867281min");
    add(3, "eth0,10.1.0.0/16,fd00::/8,br-????????????");
    add(4, "10.1.0.2");
    add(4, "::ffff:10.1.0.2");
    add(4, "fe80::1%eth0");
    return all;
}

}   // namespace linnet::fuzz
