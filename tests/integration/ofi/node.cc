// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Two processes, and endpoints in them.
#include "integration/ofi/node.h"

#include <poll.h>
#include <sched.h>
#include <spawn.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>

#include "support/eventually.h"
#include "support/net_namespace.h"
#include "support/pace.h"

namespace linnet::ofi_test {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

namespace {
constexpr auto kPatience = 20s;

// The provider of this build tree, unless the environment names another folder.
void find_provider()
{
    const char* const top = std::getenv("top_builddir");
    ::setenv("FI_PROVIDER_PATH", (std::string{top != nullptr ? top : ".."} + "/ofi_provider/.libs").c_str(), 0);
    ::setenv("FI_PROVIDER", provider_name().c_str(), 0);
}

// libfabric's verbs provider reads all of /proc/kallsyms, a KiB at a time, when libfabric is loaded: most of what a short test costs.
void hide_kernel_symbols()
{
    if (::unshare(CLONE_NEWNS) == 0 && ::mount("none", "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0) {
        ::mount("/dev/null", "/proc/kallsyms", nullptr, MS_BIND, nullptr);
    }
}

// With LINNET_TEST_HOSTS=2 the sides are on two hosts, joined by a cable; null: on this one.
std::unique_ptr<testing::NamespacePair> two_hosts()
{
    const char* const hosts = std::getenv("LINNET_TEST_HOSTS");
    std::string why;
    auto pair = hosts != nullptr && std::string{hosts} == "2" ? testing::NamespacePair::make(why) : nullptr;
    EXPECT_EQ(why, "");
    return pair;
}

// ---- a side is this program again, for this test alone; kRole says which side of which of the test's calls, and where its friend is ----

constexpr const char* kRole = "LINNET_TEST_SIDE";

struct Role {
    unsigned side{0};
    unsigned call{0};
    int fd{-1};
};

// nullopt: this is the test itself.
std::optional<Role> role_of_this_program()
{
    static const std::optional<Role> role = []() -> std::optional<Role> {
        const char* const text = std::getenv(kRole);
        Role r;
        if (text == nullptr || std::sscanf(text, "%u %u %d", &r.side, &r.call, &r.fd) != 3) {
            return std::nullopt;
        }
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);   // a test that was killed leaves no sides that wait for each other
        std::atexit([] {
            std::fputs("the test ended before it came to the side that it was started for\n", stderr);
            std::fflush(nullptr);
            ::_exit(3);
        });
        return r;
    }();
    return role;
}

// By way of a stream: g++ 12 sees an overflow in sums of strings that are inlined into each other.
template <typename... Parts>
std::string joined(const Parts&... parts)
{
    std::ostringstream out;
    (out << ... << parts);
    return out.str();
}

pid_t start_side(const Role& role)
{
    const ::testing::TestInfo& test = *::testing::UnitTest::GetInstance()->current_test_info();
    std::vector<std::string> words{"integration_ofi_test", joined("--gtest_filter=", test.test_suite_name(), ".", test.name()), "--gtest_brief=1"};
    std::vector<std::string> environment{joined(kRole, "=", role.side, " ", role.call, " ", role.fd)};
    if (std::getenv("LINNET_TEST_TIMEOUT") == nullptr) {   // a side that hangs says where before the test is over its time
        environment.push_back(joined("LINNET_TEST_TIMEOUT=", testing::kSanitized ? 250 : 50));
    }
    for (char** e = environ; *e != nullptr; ++e) {
        const std::string one{*e};
        if (one.rfind("GTEST_", 0) != 0 && one.rfind("LINNET_TEST_RESULTS=", 0) != 0) {   // which choose cases, and ask for results
            environment.push_back(one);
        }
    }
    const auto pointers = [](std::vector<std::string>& from) {
        std::vector<char*> all;
        for (std::string& s : from) {
            all.push_back(s.data());
        }
        all.push_back(nullptr);
        return all;
    };
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, role.fd, role.fd);   // in the child it is not to be closed
    pid_t child = -1;
    const int error = ::posix_spawn(&child, "/proc/self/exe", &actions, nullptr, pointers(words).data(), pointers(environment).data());
    ::posix_spawn_file_actions_destroy(&actions);
    EXPECT_EQ(error, 0);
    return child;
}

[[noreturn]] void run_side(const Side& side, const Role& role)
{
    Friend other{role.fd};
    hide_kernel_symbols();
    find_provider();
    side(other);
    if (::testing::Test::HasFailure()) {
        std::fprintf(stderr, "(the failures above are of the %s side)\n", role.side == 0 ? "first" : "second");
    }
    std::fflush(nullptr);
    ::_exit(::testing::Test::HasFailure() ? 1 : 0);
}

void check(int result, const char* what)
{
    if (result != 0) {
        ADD_FAILURE() << what << ": " << fi_strerror(-result);
        std::fflush(nullptr);
        ::_exit(1);
    }
}
}   // namespace

std::string provider_name()
{
    const char* const named = std::getenv("LINNET_TEST_FI_PROVIDER");
    return named != nullptr && *named != '\0' ? named : "linnet";
}
bool is_linnet() { return provider_name() == "linnet"; }

void Friend::tell(const std::string& text) const
{
    const auto n = static_cast<std::uint32_t>(text.size());
    std::string all(sizeof n, '\0');
    std::memcpy(all.data(), &n, sizeof n);
    all += text;
    EXPECT_EQ(::send(fd_, all.data(), all.size(), MSG_NOSIGNAL), static_cast<ssize_t>(all.size()));
}

std::string Friend::hear() const
{
    pollfd p{fd_, POLLIN, 0};
    while (idle && ::poll(&p, 1, 1) == 0) {
        idle();
    }
    std::uint32_t n = 0;
    if (::recv(fd_, &n, sizeof n, MSG_WAITALL) != sizeof n) {
        ADD_FAILURE() << "the other side is gone";
        ::_exit(1);
    }
    std::string text(n, '\0');
    EXPECT_EQ(n == 0 ? 0 : ::recv(fd_, text.data(), n, MSG_WAITALL), static_cast<ssize_t>(n));
    return text;
}

void Friend::meet() const
{
    tell("here");
    EXPECT_EQ(hear(), "here");
}

pid_t test_process() { return role_of_this_program() ? ::getppid() : ::getpid(); }

void two_processes(const Side& first, const Side& second, int second_dies_of)
{
    static std::pair<const ::testing::TestInfo*, ::testing::TimeInMillis> test;   // which, and begun when: it may be repeated
    static unsigned calls = 0;                                                    // of this test
    const ::testing::TestInfo* const info = ::testing::UnitTest::GetInstance()->current_test_info();
    const auto now = std::pair{info, info->result()->start_timestamp()};
    calls = test == now ? calls + 1 : 0;
    test = now;
    if (const auto role = role_of_this_program()) {
        if (role->call == calls) {
            run_side(role->side == 0 ? first : second, *role);
        }
        return;
    }
    int fds[2];
    ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
    std::fflush(nullptr);
    const auto hosts = two_hosts();
    pid_t children[2];
    for (unsigned i = 0; i < 2; ++i) {
        const auto there = hosts != nullptr ? std::make_unique<testing::NamespacePair::Scope>(*hosts, i) : nullptr;
        children[i] = start_side({i, calls, fds[i]});
    }
    ::close(fds[0]);
    ::close(fds[1]);
    for (const unsigned i : {0u, 1u}) {
        int status = 0;
        ASSERT_EQ(::waitpid(children[i], &status, 0), children[i]);
        EXPECT_EQ(status, i == 1 ? second_dies_of : 0) << "status of the " << (i == 0 ? "first" : "second") << " side";   // a signal is told as its number
    }
}

namespace {
// The letter behind the name in brackets; proc_pid_stat(5).
bool is_stopped(const std::filesystem::path& task)
{
    std::ifstream in{task / "stat"};
    std::string text;
    std::getline(in, text);
    const std::size_t name_ends = text.rfind(") ");
    return name_ends != std::string::npos && text[name_ends + 2] == 'T';
}
}   // namespace

void stop(pid_t process)
{
    ASSERT_EQ(::kill(process, SIGSTOP), 0);
    ASSERT_TRUE(testing::eventually([process] {
        return std::ranges::all_of(std::filesystem::directory_iterator{"/proc/" + std::to_string(process) + "/task"},
                                   [](const auto& task) { return is_stopped(task.path()); });
    }));
}

void receive(const Node& n, void* buffer, std::size_t bytes, fi_addr_t from, std::uint64_t flags, void* context)
{
    const iovec iov{buffer, bytes};
    fi_msg m{};
    m.msg_iov = &iov;
    m.iov_count = 1;
    m.addr = from;
    m.context = context;
    n.post([&] { return fi_recvmsg(n.ep, &m, flags); });
}

std::vector<char> pattern(std::size_t bytes, unsigned seed)
{
    std::vector<char> v(bytes);
    std::uint32_t x = seed * 2654435761u + 1;
    for (char& b : v) {
        x = x * 1664525u + 1013904223u;
        b = static_cast<char>(x >> 24);
    }
    return v;
}

fi_info* make_hints(const Options& o)
{
    fi_info* const hints = fi_allocinfo();
    hints->caps = o.caps;
    hints->mode = FI_CONTEXT | FI_CONTEXT2;
    hints->ep_attr->type = FI_EP_RDM;
    hints->addr_format = o.addr_format;
    hints->tx_attr->op_flags = o.tx_flags;
    hints->tx_attr->iov_limit = o.pieces;
    hints->rx_attr->iov_limit = o.pieces;
    hints->domain_attr->av_type = o.av_type;
    hints->domain_attr->mr_mode = o.mr_mode;
    if (!is_linnet()) {   // which never needs any of these
        hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
    }
    hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
    hints->domain_attr->threading = o.threading;
    hints->fabric_attr->prov_name = ::strdup(provider_name().c_str());
    return hints;
}

Node::Node(const Options& o, bool enabled)
{
    fi_info* const hints = make_hints(o);
    check(fi_getinfo(o.version, o.node, o.service, o.info_flags, hints, &info), "fi_getinfo");
    fi_freeinfo(hints);
    check(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
    check(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
    fi_av_attr av_attr{};
    av_attr.type = o.av_type;
    check(fi_av_open(domain, &av_attr, &av, nullptr), "fi_av_open");
    fi_cq_attr cq_attr{};
    cq_attr.format = o.format;
    cq_attr.wait_obj = o.wait;
    cq_attr.wait_cond = o.wait_cond;
    cq_attr.size = o.cq_size;
    check(fi_cq_open(domain, &cq_attr, &tx, &tx), "fi_cq_open");
    check(fi_cq_open(domain, &cq_attr, &rx, &rx), "fi_cq_open");
    check(fi_endpoint(domain, info, &ep, nullptr), "fi_endpoint");
    check(fi_ep_bind(ep, &av->fid, 0), "fi_ep_bind av");
    check(fi_ep_bind(ep, &tx->fid, FI_TRANSMIT | o.bind_flags), "fi_ep_bind tx");
    check(fi_ep_bind(ep, &rx->fid, FI_RECV | o.bind_flags), "fi_ep_bind rx");
    if (o.counters) {
        fi_cntr_attr attr{};
        attr.wait_obj = FI_WAIT_UNSPEC;
        check(fi_cntr_open(domain, &attr, &sent, nullptr), "fi_cntr_open");
        check(fi_cntr_open(domain, &attr, &received, nullptr), "fi_cntr_open");
        check(fi_ep_bind(ep, &sent->fid, FI_SEND), "fi_ep_bind counter");
        check(fi_ep_bind(ep, &received->fid, FI_RECV), "fi_ep_bind counter");
    }
    const auto count = [&](fid_cntr*& counter, std::uint64_t what) {
        fi_cntr_attr attr{};
        attr.wait_obj = FI_WAIT_UNSPEC;
        check(fi_cntr_open(domain, &attr, &counter, nullptr), "fi_cntr_open");
        check(fi_ep_bind(ep, &counter->fid, what), "fi_ep_bind counter");
    };
    if (o.rma_counters) {
        count(written, FI_WRITE);
        count(was_read, FI_READ);
    }
    if (o.remote_counters) {
        count(remote_written, FI_REMOTE_WRITE);
        count(remote_read, FI_REMOTE_READ);
    }
    if (enabled) {
        enable();
    }
}

Node::~Node()
{
    if (other_ != nullptr) {
        other_->idle = nullptr;
    }
    const auto of = [](auto* object) { return object != nullptr ? &object->fid : nullptr; };
    struct fid* const all[] = {of(ep), of(rx), of(tx), of(sent), of(received), of(written), of(was_read), of(remote_written), of(remote_read), of(av),
                               domain != nullptr ? &domain->fid : nullptr, fabric != nullptr ? &fabric->fid : nullptr};
    for (struct fid* f : all) {
        if (f != nullptr) {
            EXPECT_EQ(fi_close(f), 0) << f->fclass;
        }
    }
    fi_freeinfo(info);
}

void Node::enable() { check(fi_enable(ep), "fi_enable"); }

std::string Node::name() const
{
    char bytes[256];
    std::size_t n = sizeof bytes;
    EXPECT_EQ(fi_getname(&ep->fid, bytes, &n), 0);
    return {bytes, n};
}

fi_addr_t Node::insert(const std::string& name) const
{
    fi_addr_t a = FI_ADDR_UNSPEC;
    EXPECT_EQ(fi_av_insert(av, name.data(), 1, &a, 0, nullptr), 1);
    return a;
}

void Node::connect(Friend& other)
{
    if (!is_linnet()) {   // which moves data by itself
        other_ = &other;
        other.idle = [this] {
            fi_cq_read(tx, nullptr, 0);
            fi_cq_read(rx, nullptr, 0);
        };
    }
    other.tell(name());
    peer = insert(other.hear());
    other.meet();
}

void Node::post(const std::function<ssize_t()>& operation) const
{
    const auto end = Clock::now() + kPatience;
    ssize_t r = operation();
    while (r == -FI_EAGAIN && Clock::now() < end) {
        fi_cq_read(tx, nullptr, 0);
        fi_cq_read(rx, nullptr, 0);
        r = operation();
    }
    EXPECT_EQ(r, 0) << fi_strerror(static_cast<int>(-r));
}

fi_cq_tagged_entry Node::next(fid_cq* cq) const
{
    fi_cq_tagged_entry e{};
    const auto end = Clock::now() + kPatience;
    ssize_t n = -FI_EAGAIN;
    while (n == -FI_EAGAIN && Clock::now() < end) {
        n = fi_cq_read(cq, &e, 1);
        if (n == -FI_EAGAIN) {
            fi_cq_read(cq == tx ? rx : tx, nullptr, 0);
        }
    }
    if (n == -FI_EAVAIL) {
        fi_cq_err_entry bad{};
        fi_cq_readerr(cq, &bad, 0);
        ADD_FAILURE() << "an error entry: " << fi_strerror(bad.err);
    } else {
        EXPECT_EQ(n, 1) << "no completion";
    }
    return e;
}

fi_cq_err_entry Node::next_error(fid_cq* cq) const
{
    fi_cq_err_entry bad{};
    fi_cq_tagged_entry e{};
    const auto end = Clock::now() + kPatience;
    ssize_t n = -FI_EAGAIN;
    while (n == -FI_EAGAIN && Clock::now() < end) {
        n = fi_cq_read(cq, &e, 1);
    }
    EXPECT_EQ(n, -FI_EAVAIL);
    EXPECT_EQ(fi_cq_readerr(cq, &bad, 0), 1);
    return bad;
}

bool Node::quiet_for(std::chrono::milliseconds time) const
{
    const auto end = Clock::now() + time;
    fi_cq_tagged_entry e{};
    while (Clock::now() < end) {
        if (fi_cq_read(tx, &e, 1) != -FI_EAGAIN || fi_cq_read(rx, &e, 1) != -FI_EAGAIN) {
            return false;
        }
    }
    return true;
}

}   // namespace linnet::ofi_test
