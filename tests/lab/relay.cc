// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Delays frames: reads them from a tap and writes each back when its time has come. Started by "lab fault".
//
// usage: relay TAP DELAY_NS JITTER_NS REORDER SEED STATISTICS_FILE
//
// Makes the tap and says "ready" on the standard output once it exists; the tap goes with the process. A frame waits
// DELAY plus a uniform draw of at most JITTER to either side, but never less than the frame before it, so that jitter
// alone changes no order. With probability REORDER a frame waits not at all and overtakes those that do.

#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <random>
#include <vector>

namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::nanoseconds;

constexpr std::size_t kFrameMax = 65536 + 18;
constexpr std::size_t kWaitingMax = 256u << 20;  // bytes; frames beyond are lost, as in a full queue
constexpr int         kBurst = 64;               // frames read before those that are due are looked at again

struct Settings {
    const char*   tap;
    nanoseconds   delay;
    nanoseconds   jitter;
    double        reorder;
    std::uint64_t seed;
    const char*   statistics;
};

struct Statistics {  // shared with "lab stats" through a file, in this order
    std::uint64_t delayed;
    std::uint64_t reordered;
    std::uint64_t overflowed;
};

struct Frame {
    Clock::time_point      due;
    std::vector<std::byte> bytes;
};

[[noreturn]] void fail(const char* what)
{
    std::fprintf(stderr, "lab relay: %s: %s\n", what, std::strerror(errno));
    std::exit(1);
}

int open_tap(const char* name)
{
    const int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        fail("/dev/net/tun");
    ifreq request{};
    request.ifr_flags = IFF_TAP | IFF_NO_PI;
    std::snprintf(request.ifr_name, sizeof request.ifr_name, "%s", name);
    if (ioctl(fd, TUNSETIFF, &request) < 0)
        fail(name);
    return fd;
}

Statistics* map_statistics(const char* path)
{
    const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0 || ftruncate(fd, sizeof(Statistics)) < 0)
        fail(path);
    void* at = mmap(nullptr, sizeof(Statistics), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        fail(path);
    close(fd);
    return static_cast<Statistics*>(at);
}

class Relay {
public:
    explicit Relay(const Settings& settings)
        : settings_{settings}, tap_{open_tap(settings.tap)}, statistics_{map_statistics(settings.statistics)},
          random_{settings.seed}
    {
    }

    [[noreturn]] void run()
    {
        for (;;) {
            const auto now = Clock::now();
            for (; !waiting_.empty() && waiting_.front().due <= now; waiting_.pop_front()) {
                waiting_bytes_ -= waiting_.front().bytes.size();
                write_frame(waiting_.front().bytes);
            }
            wait();
            for (int i = 0; i < kBurst && read_frame(); ++i) {
            }
        }
    }

private:
    void wait()
    {
        pollfd ready{.fd = tap_, .events = POLLIN, .revents = 0};
        timespec  timeout{};
        timespec* until = nullptr;
        if (!waiting_.empty()) {
            const auto left = std::max<nanoseconds>(waiting_.front().due - Clock::now(), nanoseconds::zero()).count();
            timeout = {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
            until = &timeout;
        }
        if (ppoll(&ready, 1, until, nullptr) < 0 && errno != EINTR)
            fail("ppoll");
    }

    // Takes one frame from the tap; false when there is none.
    bool read_frame()
    {
        const auto size = read(tap_, buffer_.data(), buffer_.size());
        if (size < 0) {
            if (errno == EAGAIN || errno == EINTR || errno == EIO)  // EIO: the tap is not up yet
                return false;
            fail("read");
        }
        const std::vector<std::byte> frame(buffer_.begin(), buffer_.begin() + size);
        if (std::uniform_real_distribution<>{}(random_) < settings_.reorder) {
            ++statistics_->reordered;
            write_frame(frame);
        } else if (waiting_bytes_ + frame.size() > kWaitingMax) {
            ++statistics_->overflowed;
        } else {
            ++statistics_->delayed;
            waiting_bytes_ += frame.size();
            waiting_.push_back({draw_due(), frame});
        }
        return true;
    }

    Clock::time_point draw_due()
    {
        const auto jitter = settings_.jitter.count();
        const auto off = std::uniform_int_distribution<std::int64_t>{-jitter, jitter}(random_);
        const auto due = Clock::now() + settings_.delay + nanoseconds{off};
        return waiting_.empty() ? due : std::max(due, waiting_.back().due);
    }

    void write_frame(const std::vector<std::byte>& bytes)
    {
        // A frame that the other side does not take is lost, as on any network.
        if (write(tap_, bytes.data(), bytes.size()) < 0)
            ++statistics_->overflowed;
    }

    const Settings         settings_;
    const int              tap_;
    Statistics* const      statistics_;
    std::mt19937_64        random_;
    std::deque<Frame>      waiting_;  // ordered by due
    std::size_t            waiting_bytes_ = 0;
    std::vector<std::byte> buffer_ = std::vector<std::byte>(kFrameMax);
};

}  // namespace

int main(int argc, char** argv)
{
    if (argc != 7) {
        std::fprintf(stderr, "usage: relay TAP DELAY_NS JITTER_NS REORDER SEED STATISTICS_FILE\n");
        return 2;
    }
    const Settings settings{.tap = argv[1],
                            .delay = nanoseconds{std::strtoll(argv[2], nullptr, 10)},
                            .jitter = nanoseconds{std::strtoll(argv[3], nullptr, 10)},
                            .reorder = std::strtod(argv[4], nullptr),
                            .seed = std::strtoull(argv[5], nullptr, 10),
                            .statistics = argv[6]};
    close_range(3, ~0U, 0);         // the lab's lock, held until this process is where the lab finds it
    prctl(PR_SET_TIMERSLACK, 1UL);  // timers fire when they say, not up to 50 us later
    Relay relay{settings};
    std::puts("ready");
    std::fclose(stdout);
    relay.run();
}
