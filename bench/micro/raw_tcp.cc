// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The floor below every stack on TCP: ping-pong and stream over one socket, both ends spinning, no MPI.

// mpirun starts two processes of it, so that they are placed and pinned like the ranks of the MPI programs; the rank comes
// from the environment. Rank 0 listens at --address, rank 1 connects. Options, definitions (half round trip; windows
// ended by a 4-byte reply) and the result line are those of bench/mpi; the payload of the last message of every
// batch is checked. Exit status 1 with a sentence on any error, 124 after --limit seconds.

#include <arpa/inet.h>
#include <fcntl.h>
#include <getopt.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

using Seconds = std::chrono::duration<double>;
using SteadyClock = std::chrono::steady_clock;

constexpr std::uint16_t kPort = 28517;   // in a host of its own nobody else uses it
constexpr int kBatches = 11;
constexpr int kLeastBatches = 3;

[[noreturn]] void fail(const std::string& what)
{
    std::fprintf(stderr, "raw_tcp: %s\n", what.c_str());
    std::exit(1);
}

[[noreturn]] void fail_errno(const std::string& what) { fail(what + ": " + std::strerror(errno)); }

struct Options {
    std::string address;
    std::string mode = "pingpong";
    std::vector<std::size_t> sizes{1, 8, 64, 256, 1024, 4096, 8192, 16384, 65536, 262144, 1048576, 4194304};
    Seconds seconds{2};
    unsigned limit = 120;
    std::size_t window = 64;
};

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

Options parse(int argc, char** argv)
{
    static const std::array<option, 8> known{{{"address", required_argument, nullptr, 'a'},
                                              {"mode", required_argument, nullptr, 'm'},
                                              {"sizes", required_argument, nullptr, 's'},
                                              {"seconds", required_argument, nullptr, 't'},
                                              {"limit", required_argument, nullptr, 'l'},
                                              {"window", required_argument, nullptr, 'w'},
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
        case 'v': break;   // the last message of a batch is always checked; there is no library in between to distrust
        default: fail("options: --address A --mode pingpong|oneway --sizes 8,1K --seconds S --limit S --window N");
        }
    }
    if (options.mode != "pingpong" && options.mode != "oneway")
        fail("--mode is pingpong or oneway");
    if (options.address.empty() || options.window == 0 || options.limit == 0 || options.seconds <= Seconds{0})
        fail("--address, and positive --window, --limit and --seconds are needed");
    return options;
}

// A connected socket that never blocks: both calls spin until all bytes are moved, as a polling library does.
class Connection {
public:
    Connection(const Options& options, bool listens)
    {
        sockaddr_in address{};
        address.sin_family = AF_INET;
        address.sin_port = htons(kPort);
        if (inet_pton(AF_INET, options.address.c_str(), &address.sin_addr) != 1)
            fail("not an address: " + options.address);
        fd_ = listens ? accept_one(address) : connect_to(address);
        const int on = 1;
        setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        if (fcntl(fd_, F_SETFL, O_NONBLOCK) != 0)
            fail_errno("fcntl");
    }
    ~Connection() { close(fd_); }
    Connection(const Connection&) = delete;
    Connection& operator=(const Connection&) = delete;

    void send_all(std::span<const std::byte> bytes)
    {
        while (!bytes.empty()) {
            const ssize_t sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
            if (sent < 0 && errno != EAGAIN && errno != EINTR)
                fail_errno("send");
            bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(sent, 0)));
        }
    }

    void recv_all(std::span<std::byte> bytes)
    {
        while (!bytes.empty()) {
            const ssize_t got = recv(fd_, bytes.data(), bytes.size(), 0);
            if (got == 0)
                fail("the other end closed the connection");
            if (got < 0 && errno != EAGAIN && errno != EINTR)
                fail_errno("recv");
            bytes = bytes.subspan(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
        }
    }

    template <class T>
    void send_value(const T& value) { send_all(std::as_bytes(std::span(&value, 1))); }

    template <class T>
    T recv_value()
    {
        T value{};
        recv_all(std::as_writable_bytes(std::span(&value, 1)));
        return value;
    }

private:
    static int accept_one(const sockaddr_in& address)
    {
        const int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const int on = 1;
        if (listener < 0 || setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0 ||
            bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 || listen(listener, 1) != 0)
            fail_errno("listen");
        const int fd = accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
        if (fd < 0)
            fail_errno("accept");
        close(listener);
        return fd;
    }

    // The listener may not be up yet; --limit bounds the attempts.
    static int connect_to(const sockaddr_in& address)
    {
        for (;;) {
            const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
            if (fd < 0)
                fail_errno("socket");
            if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0)
                return fd;
            if (errno != ECONNREFUSED)
                fail_errno("connect");
            close(fd);
            std::this_thread::sleep_for(std::chrono::milliseconds{2});
        }
    }

    int fd_ = -1;
};

struct Sent {
    double bytes = 0;
    double messages = 0;
};

// One end of the measurement of one size.
struct Exchange {
    Connection& connection;
    bool leads;
    bool pingpong;
    std::size_t size;
    std::size_t window;
    std::vector<std::byte>& buffer;   // a message, or the receiver's window
    Sent& sent;

    std::size_t count() const { return pingpong ? 1 : window; }

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
        const std::size_t last = leads || pingpong ? 0 : (count() - 1) * size;
        for (std::size_t at = 0; at < size; ++at)
            if (buffer[last + at] != pattern(stamp, at))
                fail("wrong payload");
    }

    void lead_one()
    {
        const std::span message(buffer.data(), size);
        for (std::size_t i = 0; i < count(); ++i)
            connection.send_all(message);
        if (pingpong)
            connection.recv_all(message);
        else
            (void)connection.recv_value<std::uint32_t>();
        sent.bytes += static_cast<double>(count() * size);
        sent.messages += static_cast<double>(count());
    }

    void follow_one()
    {
        const std::span received(buffer.data(), count() * size);
        connection.recv_all(received);
        if (pingpong)
            connection.send_all(received);
        else
            connection.send_value(std::uint32_t{0});
        sent.bytes += static_cast<double>(pingpong ? size : sizeof(std::uint32_t));
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

void print_result(const Options& options, const std::string& rows, const std::array<Host, 2>& hosts,
                  const std::array<Sent, 2>& sent)
{
    std::printf("{\"bench\":\"raw_tcp\",\"mode\":\"%s\",\"ranks\":[", options.mode.c_str());
    for (std::size_t rank = 0; rank < 2; ++rank)
        std::printf("%s{\"rank\":%zu,\"host\":\"%s\",\"must_tx\":0,\"must_rx\":0,\"sent\":[[%zu,%.0f,%.0f]],\"pvars\":{}}",
                    rank == 0 ? "" : ",", rank, hosts[rank].name.data(), 1 - rank, sent[rank].bytes,
                    sent[rank].messages);
    std::printf("],\"rows\":[%s],\"notes\":[]}\n", rows.c_str());
}

std::string row_of(const Exchange& exchange, double seconds)
{
    std::array<char, 160> row{};
    const auto bytes = static_cast<double>(exchange.size * exchange.window);
    if (exchange.pingpong)
        std::snprintf(row.data(), row.size(),
                      R"({"metric":"half-round-trip","x":%zu,"unit":"us","better":"lower","value":%.9g})", exchange.size,
                      0.5e6 * seconds);
    else
        std::snprintf(row.data(), row.size(),
                      R"({"metric":"one-way","x":%zu,"unit":"MB/s","better":"higher","value":%.9g})", exchange.size,
                      1e-6 * bytes / seconds);
    return row.data();
}

void out_of_time(int)
{
    static constexpr std::string_view kMessage = "raw_tcp: exceeded its time limit\n";
    (void)!write(STDERR_FILENO, kMessage.data(), kMessage.size());
    _exit(124);
}

}  // namespace

int main(int argc, char** argv)
{
    const Options options = parse(argc, argv);
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    if (rank == nullptr || (std::string_view(rank) != "0" && std::string_view(rank) != "1"))
        fail("to be started as two processes by mpirun");
    const bool leads = *rank == '0';
    std::signal(SIGALRM, out_of_time);
    alarm(options.limit);

    Connection connection(options, leads);
    Host mine;
    gethostname(mine.name.data(), mine.name.size() - 1);
    const std::size_t largest = *std::max_element(options.sizes.begin(), options.sizes.end());
    std::vector<std::byte> buffer(std::max(largest * window_for(options, largest), (std::size_t{4} << 20) + largest));
    std::string rows;
    Sent sent;
    show_path(connection, leads, sent);
    for (const std::size_t size : options.sizes) {
        Exchange exchange{connection, leads,  options.mode == "pingpong", size, window_for(options, size),
                          buffer,     sent};
        if (leads)
            rows += (rows.empty() ? "" : ",") + row_of(exchange, exchange.lead(options.seconds / options.sizes.size()));
        else
            exchange.follow();
    }
    if (leads) {
        const auto host = connection.recv_value<Host>();
        const auto other = connection.recv_value<Sent>();
        print_result(options, rows, {mine, host}, {sent, other});
    } else {
        connection.send_value(mine);
        connection.send_value(sent);
    }
    return 0;
}
