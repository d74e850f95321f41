// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The floors: measuring and reporting; see raw.h.
#include "raw.h"

#include <getopt.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

namespace raw {

namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr int kBatches = 11;
constexpr int kLeastBatches = 3;

const char* program = "raw";

}   // namespace

void fail(const std::string& what)
{
    std::fprintf(stderr, "%s: %s\n", program, what.c_str());
    std::exit(1);
}

void fail_errno(const std::string& what) { fail(what + ": " + std::strerror(errno)); }

void Connection::expose(std::span<std::byte>) {}
void Connection::write_all(std::span<const std::byte>, std::size_t) { fail("no remote memory over this connection"); }

namespace {

std::size_t parse_size(const std::string& text)
{
    std::size_t used = 0;
    std::size_t value = 0;
    try {
        value = std::stoul(text, &used);
    } catch (const std::exception&) {
        fail("not a size: " + text);
    }
    const std::string_view unit = std::string_view(text).substr(used);
    if (unit.empty())
        return value;
    if (unit == "K")
        return value << 10;
    if (unit == "M")
        return value << 20;
    fail("not a size: " + text);
}

std::vector<std::size_t> parse_sizes(const std::string& list)
{
    std::vector<std::size_t> sizes;
    for (std::size_t at = 0; at <= list.size();) {
        const std::size_t comma = std::min(list.find(',', at), list.size());
        sizes.push_back(std::max<std::size_t>(1, parse_size(list.substr(at, comma - at))));
        at = comma + 1;
    }
    return sizes;
}

// What an iteration is, and how its time is told.
struct Mode {
    std::string_view name;
    bool answered;     // by the same message: half of the time counts
    bool remote;       // writes instead of messages
    bool windows;      // many messages at once: bytes for each second count, not the time
    const char* metric;
};
constexpr std::array<Mode, 4> kModes{{{"pingpong", true, false, false, "half-round-trip"},
                                      {"oneway", false, false, true, "one-way"},
                                      {"write", false, true, false, "write"},
                                      {"write-window", false, true, true, "write-bandwidth"}}};

const Mode* mode_of(std::string_view name)
{
    const auto* found = std::find_if(kModes.begin(), kModes.end(), [name](const Mode& m) { return m.name == name; });
    return found != kModes.end() ? found : nullptr;
}

Options parse(int argc, char** argv)
{
    static const std::array<option, 10> known{{{"address", required_argument, nullptr, 'a'},
                                              {"mode", required_argument, nullptr, 'm'},
                                              {"sizes", required_argument, nullptr, 's'},
                                              {"seconds", required_argument, nullptr, 't'},
                                              {"limit", required_argument, nullptr, 'l'},
                                              {"window", required_argument, nullptr, 'w'},
                                              {"provider", required_argument, nullptr, 'p'},
                                              {"zero-copy", no_argument, nullptr, 'z'},
                                              {"verify", no_argument, nullptr, 'v'},
                                              {nullptr, 0, nullptr, 0}}};
    Options options;
    for (int letter; (letter = getopt_long(argc, argv, "", known.data(), nullptr)) != -1;) {
        switch (letter) {
        case 'a': options.address = optarg; break;
        case 'm': options.mode = optarg; break;
        case 's': options.sizes = parse_sizes(optarg); break;
        case 't': options.seconds = Seconds{std::atof(optarg)}; break;
        case 'l': options.limit = static_cast<unsigned>(std::atoi(optarg)); break;
        case 'w': options.window = parse_size(optarg); break;
        case 'p': options.provider = optarg; break;
        case 'z': options.zero_copy = true; break;
        case 'v': break;   // the last message of a batch is always checked; there is no library in between to distrust
        default: fail("options: --address A --mode pingpong|oneway|write|write-window --sizes 8,1K --seconds S --limit S --window N --zero-copy");
        }
    }
    if (mode_of(options.mode) == nullptr)
        fail("--mode is pingpong, oneway, write or write-window");
    if (options.address.empty() || options.window == 0 || options.limit == 0 || options.seconds <= Seconds{0})
        fail("--address, and positive --window, --limit and --seconds are needed");
    return options;
}

struct Sent {
    double bytes = 0;
    double messages = 0;
};

// One end of the measurement of one size.
struct Exchange {
    Connection& connection;
    bool leads;
    const Mode& mode;
    std::size_t size;
    std::size_t window;
    std::vector<std::byte>& buffer;   // a message, or the receiver's window
    Sent& sent;

    std::size_t count() const { return mode.windows ? window : 1; }

    std::byte pattern(std::uint64_t stamp, std::size_t at) const
    {
        return static_cast<std::byte>((stamp * 31 + at * 7 + at / 251) & 0xff);
    }

    void fill(std::uint64_t stamp)
    {
        for (std::size_t at = 0; at < size; ++at)
            buffer[at] = pattern(stamp, at);
    }

    void check(std::uint64_t stamp) const
    {
        const std::size_t last = leads ? 0 : (count() - 1) * size;
        for (std::size_t at = 0; at < size; ++at)
            if (buffer[last + at] != pattern(stamp, at))
                fail("wrong payload");
    }

    void lead_one()
    {
        const std::span message(buffer.data(), size);
        if (mode.remote) {
            connection.write_all(message, count());
        } else {
            for (std::size_t i = 0; i < count(); ++i)
                connection.send_all(message);
            if (mode.answered)
                connection.recv_all(message);
            else
                (void)connection.recv_value<std::uint32_t>();
        }
        sent.bytes += static_cast<double>(count() * size);
        sent.messages += static_cast<double>(count());
    }

    void follow_one()
    {
        const std::span received(buffer.data(), count() * size);
        connection.recv_all(received);
        if (mode.answered)
            connection.send_all(received);
        else
            connection.send_value(std::uint32_t{0});
        sent.bytes += static_cast<double>(mode.answered ? size : sizeof(std::uint32_t));
        sent.messages += 1;
    }

    // Seconds of a batch; the command tells the other end how many iterations follow, 0 ends the size.
    double lead_batch(std::uint64_t iterations, std::uint64_t stamp)
    {
        connection.send_value(iterations);
        connection.send_value(stamp);
        fill(stamp);
        (void)connection.recv_value<std::uint32_t>();
        const auto begin = SteadyClock::now();
        for (std::uint64_t i = 0; i < iterations; ++i)
            lead_one();
        const Seconds took = SteadyClock::now() - begin;
        if (mode.remote)   // the other end knows nothing of the writes
            connection.send_value(std::uint32_t{0});
        check(stamp);
        return took.count();
    }

    void follow()
    {
        for (;;) {
            const auto iterations = connection.recv_value<std::uint64_t>();
            const auto stamp = connection.recv_value<std::uint64_t>();
            if (iterations == 0)
                return;
            connection.send_value(std::uint32_t{0});
            if (mode.remote)
                (void)connection.recv_value<std::uint32_t>();
            else
                for (std::uint64_t i = 0; i < iterations; ++i)
                    follow_one();
            check(stamp);
        }
    }

    // Seconds of one iteration: the median over batches that share `budget`.
    double lead(Seconds budget)
    {
        static std::uint64_t stamp = 0;
        const auto begin = SteadyClock::now();
        const double target = budget.count() / (kBatches + 2);
        std::uint64_t iterations = 1;
        (void)lead_batch(1, ++stamp);
        for (;;) {
            // The shortest of three: a single batch may only have been disturbed.
            double took = lead_batch(iterations, ++stamp);
            for (int again = 0; again < 2 && took >= 0.5 * target && took < 10 * target; ++again)
                took = std::min(took, lead_batch(iterations, ++stamp));
            if (took >= 0.5 * target)
                break;
            const double factor = std::clamp(target / std::max(took, 1e-9), 1.5, 16.0);
            iterations = std::max(iterations + 1, static_cast<std::uint64_t>(static_cast<double>(iterations) * factor));
        }
        std::vector<double> times;
        while (times.size() < kBatches && (times.size() < kLeastBatches || SteadyClock::now() - begin < budget))
            times.push_back(lead_batch(iterations, ++stamp) / static_cast<double>(iterations));
        connection.send_value(std::uint64_t{0});
        connection.send_value(std::uint64_t{0});
        const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
        std::nth_element(times.begin(), middle, times.end());
        return *middle;
    }
};

// As in bench/mpi/stream.c: windows of large messages are shortened to 4 MB, but not below 4 messages.
std::size_t window_for(const Options& options, std::size_t size)
{
    return std::min(options.window, std::max<std::size_t>(4, (std::size_t{4} << 20) / size));
}

// As bench_show_path in bench/mpi: enough bytes, outside every time, for the interface counters to show the path.
void show_path(Connection& connection, bool leads, Sent& sent)
{
    std::vector<std::byte> megabyte(std::size_t{1} << 20, std::byte{0x5a});
    if (leads)
        connection.send_all(megabyte);
    connection.recv_all(megabyte);
    if (!leads)
        connection.send_all(megabyte);
    if (std::any_of(megabyte.begin(), megabyte.end(), [](std::byte b) { return b != std::byte{0x5a}; }))
        fail("wrong payload");
    sent.bytes += static_cast<double>(megabyte.size());
    sent.messages += 1;
}

struct Host {
    std::array<char, 64> name{};
};

void print_result(const Options& options, const std::string& rows, const std::array<Host, 2>& hosts, const std::array<Sent, 2>& sent,
                  const std::string& note)
{
    std::printf("{\"bench\":\"%s\",\"mode\":\"%s\",\"ranks\":[", program, options.mode.c_str());
    for (std::size_t rank = 0; rank < 2; ++rank)
        std::printf("%s{\"rank\":%zu,\"host\":\"%s\",\"must_tx\":0,\"must_rx\":0,\"sent\":[[%zu,%.0f,%.0f]],\"pvars\":{}}",
                    rank == 0 ? "" : ",", rank, hosts[rank].name.data(), 1 - rank, sent[rank].bytes,
                    sent[rank].messages);
    const std::string notes = note.empty() ? "" : '"' + note + '"';
    std::printf("],\"rows\":[%s],\"notes\":[%s]}\n", rows.c_str(), notes.c_str());
}

std::string row_of(const Exchange& exchange, double seconds)
{
    std::array<char, 160> row{};
    const Mode& mode = exchange.mode;
    const double value = mode.windows    ? 1e-6 * static_cast<double>(exchange.size * exchange.count()) / seconds
                         : mode.answered ? 0.5e6 * seconds
                                         : 1e6 * seconds;
    std::snprintf(row.data(), row.size(), R"({"metric":"%s","x":%zu,"unit":"%s","better":"%s","value":%.9g})", mode.metric, exchange.size,
                  mode.windows ? "MB/s" : "us", mode.windows ? "higher" : "lower", value);
    return row.data();
}

void out_of_time(int)
{
    static constexpr std::string_view kMessage = "the raw program exceeded its time limit\n";
    (void)!write(STDERR_FILENO, kMessage.data(), kMessage.size());
    _exit(124);
}

}   // namespace

int run(const char* name, int argc, char** argv, std::unique_ptr<Connection> (*connect)(const Options&, bool leads))
{
    program = name;
    const Options options = parse(argc, argv);
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    if (rank == nullptr || (std::string_view(rank) != "0" && std::string_view(rank) != "1"))
        fail("to be started as two processes by mpirun");
    const bool leads = *rank == '0';
    std::signal(SIGALRM, out_of_time);
    alarm(options.limit);

    const std::unique_ptr<Connection> stream = connect(options, leads);
    Connection& connection = *stream;
    Host mine;
    gethostname(mine.name.data(), mine.name.size() - 1);
    const std::size_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
    std::vector<std::byte> buffer(std::max(largest * window_for(options, largest), (std::size_t{4} << 20) + largest));
    connection.expose(buffer);
    std::string rows;
    Sent sent;
    show_path(connection, leads, sent);
    for (const std::size_t size : options.sizes) {
        Exchange exchange{connection, leads, *mode_of(options.mode), size, window_for(options, size), buffer, sent};
        if (leads)
            rows += (rows.empty() ? "" : ",") + row_of(exchange, exchange.lead(options.seconds / options.sizes.size()));
        else
            exchange.follow();
    }
    if (leads) {
        const auto host = connection.recv_value<Host>();
        const auto other = connection.recv_value<Sent>();
        print_result(options, rows, {mine, host}, {sent, other}, connection.note());
    } else {
        connection.send_value(mine);
        connection.send_value(sent);
    }
    return 0;
}

}   // namespace raw
