// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// linnet-info: which ways messages have out of this host, why others are closed, and what would make them faster.
#include <cstdio>
#include <string>

#include <CLI/CLI.hpp>

#include "core/path_profile.h"
#include "core/transport_table.h"
#include "info_view.h"

namespace linnet::tools {
namespace {

struct Options {
    bool json{false};
    bool measure{false};
    bool serve{false};
    std::string save;
    std::string peer;
    unsigned port{0};
};

int complain(const std::string& what)
{
    std::fprintf(stderr, "linnet-info: %s\n", what.c_str());
    return 2;
}

const NetInterface* interface_called(const HostFacts& facts, const std::string& name)
{
    const auto it = std::find_if(facts.nics.begin(), facts.nics.end(), [&name](const Nic& n) { return n.interface.name == name; });
    return it == facts.nics.end() ? nullptr : &it->interface;
}

// Towards the peer, over each transport that has a way to it; without one within the host.
void measure(InfoReport& report, const std::optional<InetAddress>& server)
{
    if (server) {
        report.costs_from = "measured towards " + server->host_text();
        for (const WayToPeer& w : report.peer->ways) {
            if (w.usable) {
                report.costs.push_back(measure_towards(w.transport, *server));
            }
        }
        return;
    }
    report.costs_from = "measured between two processes of this host, over shared memory and interface lo";
    for (const TransportFinding& t : report.transports) {
        if (t.usable && t.name != "eth") {
            report.costs.push_back(measure_transport(t.name));
        }
    }
}

// Empty, or what went wrong.
std::string save(const InfoReport& report, const std::string& file)
{
    model::Profile profile;
    std::string error;
    if (const Status s = profile.load(file, error); s != Status::kOk && s != Status::kNotFound) {
        return error;   // what others have put there stays
    }
    for (const PathFinding& c : report.costs) {
        const std::string name = report.peer ? report.peer->interface : "lo";
        const NetInterface* const over = c.transport == "shm" ? nullptr : interface_called(report.facts, name);
        if (c.error.empty() && profile.set(core::path_key(c.transport, over), c.cost) != Status::kOk) {
            return file + ": there is no room for " + c.transport;
        }
    }
    return profile.save(file, error) == Status::kOk ? std::string{} : error;
}

// What the setting path_profile names, as far as it is about this host.
std::string show_profile(InfoReport& report, const std::string& file)
{
    model::Profile profile;
    std::string error;
    if (profile.load(file, error) != Status::kOk) {
        return "path_profile: " + error;
    }
    report.costs_from = "by the profile " + file;
    const std::string contact = report.addresses.empty() ? "" : report.addresses.front().interface;
    for (const TransportFinding& t : report.transports) {
        if (const auto* const cost = profile.find(core::path_key(t.name, t.name == "shm" ? nullptr : interface_called(report.facts, contact)))) {
            report.costs.push_back(predicted(t.name, *cost));
        }
    }
    return {};
}

int run(const Options& options)
{
    const Log log{LogLevel::kWarn, [](void*, LogLevel, const char* line) noexcept { std::fprintf(stderr, "linnet-info: %s\n", line); }, nullptr};
    Settings settings;
    std::string error;
    if (failed(settings.load_environment(log, error))) {
        return complain(error);
    }
    error = core::wrong_transport(settings.text(SettingId::kTransports));
    if (!error.empty()) {
        return complain(error);
    }
    std::optional<InetAddress> peer;
    std::optional<InetAddress> server;
    if (!options.peer.empty()) {
        peer = look_up(options.peer, static_cast<std::uint16_t>(options.port), error);
        if (!peer) {
            return complain(options.peer + ": " + error);
        }
        if (options.measure) {
            server = peer;
            server->set_port(options.port != 0 ? static_cast<std::uint16_t>(options.port) : kServePort);
            peer->set_port(0);   // nobody needs to call it twice
        }
    }
    auto facts = read_host_facts(log);
    if (!facts.ok()) {
        return 2;   // it said why
    }
    InfoReport report;
    report.facts = std::move(*facts);
    report.addresses = check_addresses(settings, error);
    if (!error.empty()) {
        return complain(error);
    }
    report.transports_setting = settings.text(SettingId::kTransports);
    report.transports = check_transports(settings);
    report.sizes = size_ranges(settings);
    report.advice = advise(report.facts, report.addresses, settings);
    if (peer) {
        report.peer = check_peer(*peer, settings, report.transports);
    }
    if (options.measure) {
        measure(report, server);
    } else if (!settings.text(SettingId::kPathProfile).empty()) {
        error = show_profile(report, settings.text(SettingId::kPathProfile));
    }
    if (!error.empty()) {
        return complain(error);
    }
    std::printf("%s\n", (options.json ? info_json(report) : info_text(report)).c_str());
    if (!options.save.empty()) {   // what was measured is shown even if it cannot be kept
        static_cast<void>(std::fflush(stdout));
        error = save(report, options.save);
    }
    if (!error.empty()) {
        return complain(error);
    }
    const auto works = [](const auto& t) { return t.usable; };
    const bool any = server ? std::any_of(report.costs.begin(), report.costs.end(), [](const PathFinding& c) { return c.error.empty(); })
                     : peer ? std::any_of(report.peer->ways.begin(), report.peer->ways.end(), works)
                            : std::any_of(report.transports.begin(), report.transports.end(), works);
    const bool starts = std::none_of(report.transports.begin(), report.transports.end(), [](const TransportFinding& t) { return t.stops_job; });
    return std::fflush(stdout) != 0 || std::ferror(stdout) != 0 ? 2 : any && starts ? 0 : 1;
}

// Only returns when it cannot serve.
int serve(const Options& options)
{
    const auto port = options.port != 0 ? static_cast<std::uint16_t>(options.port) : kServePort;
    return complain(serve_peers(port, [](const std::string& what) {
        std::printf("%s\n", what.c_str());
        static_cast<void>(std::fflush(stdout));
    }));
}

}   // namespace
}   // namespace linnet::tools

int main(int argc, char** argv)
{
    linnet::tools::Options options;
    CLI::App app{"Shows which transports and interfaces Linnet can use on this host, and towards a peer; what the others lack; and which settings would help."};
    app.name("linnet-info");
    app.add_flag("-j,--json", options.json, "Print one JSON document instead of text");
    app.add_flag("-m,--measure", options.measure, "Measure what messages cost, towards the peer or within this host; takes some seconds");
    app.add_flag("--serve", options.serve, "Let others measure towards this host until interrupted; on trusted networks only");
    app.add_option("-s,--save", options.save, "Add what was measured to this profile, which the setting path_profile may name");
    app.add_option("peer", options.peer, "A host name or address: show the ways to it, too")->check([](const std::string& given) {
        return given.empty() ? std::string{"must not be empty"} : std::string{};
    });
    app.add_option("-p,--port", options.port,
                   "Call this TCP port of the peer, to see whether it can be reached; or where --serve and --measure meet (27180)")
        ->check(CLI::Range(1u, 65535u));
    CLI11_PARSE(app, argc, argv);
    if (options.serve && (options.measure || options.json || !options.peer.empty() || !options.save.empty())) {
        std::fputs("linnet-info: with --serve goes only --port\n", stderr);
        return 2;
    }
    if (options.port != 0 && options.peer.empty() && !options.serve) {
        std::fputs("linnet-info: --port needs a peer, or --serve\n", stderr);
        return 2;
    }
    if (!options.save.empty() && !options.measure) {
        std::fputs("linnet-info: --save needs --measure\n", stderr);
        return 2;
    }
    return options.serve ? linnet::tools::serve(options) : linnet::tools::run(options);
}
