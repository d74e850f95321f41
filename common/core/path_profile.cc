// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// path_profile.h: the profile, and what of it is about this host.
#include "core/path_profile.h"

#include <algorithm>

#include "core/transport_table.h"
#include "sys/process.h"
#include "transport/own_addresses.h"

namespace linnet::core {

namespace {

constexpr double kShort = 64 * 1024;
constexpr double kLong = 4 * 1024 * 1024;

model::Line transfer_line(const model::PathCost& cost)
{
    const auto at = [&cost](double bytes) { return model::one_way_ns(cost, static_cast<std::uint64_t>(bytes), model::kPacketBytes); };
    const double slope = (at(kLong) - at(kShort)) / (kLong - kShort);
    return {std::max(0.0, at(kShort) - slope * kShort) + at(0), slope};   // and the way back
}

// The interface whose address peers are told first.
const NetInterface* contact_interface(const Settings& settings, const std::vector<NetInterface>& interfaces)
{
    const Log quiet{LogLevel::kNone, nullptr, nullptr};
    OwnAddresses own;
    if (failed(own.choose(settings, quiet)) || own.verdicts().empty() || !own.verdicts().front().used) {
        return nullptr;
    }
    const std::string& name = own.verdicts().front().interface;
    const auto it = std::find_if(interfaces.begin(), interfaces.end(), [&name](const NetInterface& i) { return i.name == name; });
    return it == interfaces.end() ? nullptr : &*it;
}

}   // namespace

model::PathKey path_key(std::string_view transport, const NetInterface* interface)
{
    const auto word = [](std::string text) { return text.empty() ? "-" : text; };
    return {std::string{transport}, word(kernel_release()), interface != nullptr ? word(interface->driver) : "-", interface != nullptr ? interface->mtu : 0};
}

std::vector<std::pair<std::string, model::Line>> expected_costs(const Settings& settings, const Log& log)
{
    const std::string& file = settings.text(SettingId::kPathProfile);
    if (file.empty()) {
        return {};
    }
    model::Profile profile;
    std::string error;
    if (profile.load(file, error) != Status::kOk) {
        LINNET_LOG(log, kWarn, "path_profile: %s; it is ignored", error.c_str());
        return {};
    }
    const auto interfaces = list_interfaces(log);
    const NetInterface* const contact = interfaces.ok() ? contact_interface(settings, *interfaces) : nullptr;
    std::vector<std::pair<std::string, model::Line>> expected;
    for (const TransportRow& row : transport_table()) {
        const std::string_view name = row.name;
        const model::PathKey key = path_key(name, name == "shm" ? nullptr : contact);
        if (const model::PathCost* const cost = profile.find(key); cost != nullptr) {
            expected.emplace_back(name, transfer_line(*cost));
            LINNET_LOG(log, kInfo, "path_profile: %s takes %.1f us and %.3f ns per byte", row.name, expected.back().second.fixed_ns * 1e-3,
                       expected.back().second.per_byte_ns);
        }
    }
    if (expected.empty()) {
        LINNET_LOG(log, kInfo, "path_profile: %s has nothing about this host (kernel %s, driver and MTU of its interface)", file.c_str(),
                   kernel_release().c_str());
    }
    return expected;
}

}   // namespace linnet::core
