// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Context bodies.
#include "core/context.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "base/assert.h"
#include "core/copy_choice.h"
#include "core/path_profile.h"
#include "core/transport_table.h"
#include "sys/call_cost.h"
#include "sys/process.h"
#include "sys/thread.h"
#include "transport/name_inet.h"

namespace linnet::core {

namespace {
constexpr Nanos kFlushStep = std::chrono::milliseconds{1};
constexpr unsigned kPollBudget = 64;

template <class T>
T random_value(const Log& log) noexcept
{
    T t{};
    const Status ignored = random_bytes(std::as_writable_bytes(std::span{&t, 1}), log);
    static_cast<void>(ignored);
    return t;
}
}   // namespace

Context::Context() : publisher_{*this, clock_} {}

Result<std::unique_ptr<Context>> Context::open(const OpenArgs& args)
{
    std::unique_ptr<Context> c{new Context};
    const Status s = c->start(args);
    if (s != Status::kOk) {
        return s;
    }
    return c;
}

Status Context::start(const OpenArgs& args)
{
    Status s = apply_settings(args);
    if (s == Status::kOk) {
        s = live_.raise(log_);
    }
    if (s != Status::kOk) {
        return s;
    }
    make_layers(args);
    s = open_transports();
    if (s == Status::kOk) {
        s = engine_->add_source(*sessions_);
        engine_->set_debtor(*sessions_);
    }
    if (s == Status::kOk && task_source_ != nullptr) {
        s = engine_->add_source(*task_source_);
    }
    publisher_.open(settings_, log_);
    if (s == Status::kOk) {
        s = engine_->add_source(publisher_);
    }
    if (s == Status::kOk) {
        s = engine_->start();
    }
    return s;
}

// The environment, then what the host gave, then its hints where nobody chose anything.
Status Context::apply_settings(const OpenArgs& args)
{
    log_.configure(LogLevel::kWarn, args.log, args.log_arg);
    std::string error;
    const Log quiet{LogLevel::kNone, nullptr, nullptr};   // what is to be said of variables that nobody knows is said at the level that the others ask for
    Status s = settings_.load_environment(quiet, error);
    for (const auto& [name, value] : args.settings) {
        if (s == Status::kOk) {
            s = settings_.set(name, value, error);
        }
    }
    log_.configure(settings_.log_level(), args.log, args.log_arg);
    std::string same;
    const Status told = settings_.load_environment(log_, same);
    if (s != Status::kOk) {
        LINNET_LOG(log_, kError, "%s", error.c_str());
        return s;
    }
    LINNET_ASSERT(told == Status::kOk);
    static_cast<void>(told);
    const auto set_default = [&](SettingId id, const std::string& value) {
        if (settings_.origin(id) == SettingOrigin::kDefault) {
            const Status ignored = settings_.set(id, value, error);
            static_cast<void>(ignored);
        }
    };
    set_default(SettingId::kLabel, !args.label.empty() || !rank_ ? args.label : "rank " + std::to_string(*rank_));
    set_default(SettingId::kExpectedPeers, std::to_string(args.expected_peers));
    set_default(SettingId::kLocalRanks, std::to_string(args.local_ranks != 0 ? args.local_ranks : launcher_local_ranks().value_or(0)));

    return Status::kOk;
}

// A thread that naps does not see from its yields whether others want its core: the kernel has to tell.
GiveWay Context::give_way() const
{
    const auto set = static_cast<GiveWay>(settings_.choice(SettingId::kGiveWay));
    if (set == GiveWay::kNap && !thread_core_wait().has_value()) {
        LINNET_LOG(log_, kWarn, "give_way=nap: /proc/thread-self/schedstat does not tell how long a thread waits for a core; threads yield instead");
        return GiveWay::kYield;
    }
    return set;
}

void Context::make_layers(const OpenArgs& args)
{
    if (const std::int64_t events = settings_.integer(SettingId::kTraceEvents); events > 0) {
        trace_ = std::make_unique<Trace>(static_cast<std::size_t>(events), clock_, log_);
    }
    ProgressEngine::Config pc;
    pc.policy = static_cast<ProgressPolicy>(settings_.choice(SettingId::kProgressPolicy));
    pc.event_thread = settings_.boolean(SettingId::kEventThread);
    pc.local_ranks = static_cast<unsigned>(settings_.integer(SettingId::kLocalRanks));
    pc.give_way = give_way();
    pc.spin_time = settings_.duration(SettingId::kSpinTime);
    pc.sleep_max = settings_.duration(SettingId::kSleepMax);
    pc.look_in = settings_.duration(SettingId::kLookIn);
    pc.hold_time = settings_.duration(SettingId::kHoldTime);
    pc.arm_gap = settings_.duration(SettingId::kArmGap);
    pc.attend = [](void* self) noexcept { return static_cast<Context*>(self)->be_attended(); };
    pc.attend_arg = this;
    pc.has_completions = ReadyRef{[](const void* about) noexcept { return static_cast<const Context*>(about)->proto_->has_completions(); }, this};
    pc.idle_core = ReadyRef{[](const void* about) noexcept {
                                const auto* const c = static_cast<const Context*>(about);
                                return c->helpers_ != nullptr && c->helpers_->idle_processor();
                            },
                            this};
    engine_ = std::make_unique<ProgressEngine>(pc, clock_, stats_, log_);
    make_tasks();
    copy_ = make_copy_engine({settings_, tasks_.get(), helpers_.get(), clock_, log_, stats_.block(StatsRole::kAnyThread)});

    proto::Proto::Config qc;
    qc.eager_limit = settings_.size(SettingId::kEagerLimit);
    qc.retain_limit = settings_.size(SettingId::kRetainLimit);
    qc.eager_credit = std::max(settings_.size(SettingId::kEagerCredit), 2 * qc.eager_limit);
    qc.rndv_first = settings_.size(SettingId::kRndvFirst);
    qc.bulk_chunk = settings_.size(SettingId::kBulkChunk);
    qc.wild_mask = args.wild_mask;
    qc.tasks = tasks_.get();
    qc.trace = trace_.get();
    qc.seed = random_value<std::uint64_t>(log_);
    proto_ = std::make_unique<proto::Proto>(qc, *engine_, log_, stats_.block(StatsRole::kPoller), stats_.block(StatsRole::kAnyThread));

    session::SessionLayer::Config sc;
    sc.connect_timeout = settings_.duration(SettingId::kConnectTimeout);
    sc.peer_timeout = settings_.duration(SettingId::kPeerTimeout);
    sc.silence_timeout = settings_.duration(SettingId::kSilenceTimeout);
    sc.told_rank = rank_ ? *rank_ + 1 : 0;
    sc.choose_paths = settings_.choice(SettingId::kPathChoice) == 1;
    sc.lane_choice.asked_beyond = qc.eager_limit;
    if (sc.choose_paths) {
        sc.expected = expected_costs(settings_, log_);
        sc.call_cost = system_call_cost();
    }
    sc.trace = trace_.get();
    sc.core_wait = AskRef<Nanos>{[](const void* engine) noexcept { return static_cast<const ProgressEngine*>(engine)->core_wait(); }, engine_.get()};
    sessions_ = std::make_unique<session::SessionLayer>(sc, *proto_, clock_, log_, stats_.block(StatsRole::kPoller), stats_.block(StatsRole::kAnyThread));
    proto_->attach(*sessions_);
}

void Context::make_tasks()
{
    if (!settings_.boolean(SettingId::kTasks)) {
        return;
    }
    tasks_ = std::make_unique<TaskTree>(Topology::read(log_), stats_);
    IdleHelpers::Config hc;
    hc.most = static_cast<unsigned>(settings_.integer(SettingId::kTaskHelpers));
    hc.local_ranks = static_cast<unsigned>(settings_.integer(SettingId::kLocalRanks));
    hc.crowded = ReadyRef{[](const void* engine) noexcept { return static_cast<const ProgressEngine*>(engine)->contended(); }, engine_.get()};
    helpers_ = std::make_unique<IdleHelpers>(*tasks_, hc, clock_, log_);
    task_source_ = std::make_unique<TaskSource>(*tasks_, *engine_, clock_);
}

// A job within one host needs none. Raw Ethernet costs those nothing that do not talk over it; UDP has sockets and buffers for each process.
bool Context::pays_to_open_behind(const TransportRow& row) const noexcept
{
    constexpr std::int64_t kMostOnHost = 8;
    const std::int64_t here = settings_.integer(SettingId::kLocalRanks);   // 0: not known
    const std::int64_t all = settings_.integer(SettingId::kExpectedPeers);
    const bool bearable = here <= kMostOnHost || row.automatic != TransportRow::Automatic::kBehindAtTheirPort;
    return here == 0 || (bearable && (all == 0 || all > here));
}

Status Context::open_transport(const TransportRow& row, const TransportEnv& env, wire::EndpointName& self, bool automatic)
{
    using Automatic = TransportRow::Automatic;
    transports_.push_back(row.make(env));   // before it can fail: its port stays, and close() goes through the ports
    Transport& t = *transports_.back();
    session::Port& port = sessions_->add_port(t);
    if (const Status s = t.open(port, self); s != Status::kOk) {
        if (!automatic || row.automatic == Automatic::kYes) {
            return s;   // it said why
        }
        LINNET_LOG(log_, kInfo, "going without the transport %s", row.name);   // it said why, and reaches nobody
        return Status::kOk;
    }
    if (automatic && row.behind() && !t.usable()) {
        return Status::kOk;
    }
    if (task_source_ != nullptr) {
        task_source_->add_polled(t);
    }
    return engine_->add_source(t);
}

Status Context::open_transports()
{
    wire::EndpointName self;
    self.endpoint_id.set(random_value<std::uint64_t>(log_) | 1);
    self.incarnation.set(static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(wall_clock_now()).count()));
    self.secret = random_value<wire::Secret>(log_);
    const TransportEnv env{settings_, clock_, log_, stats_, *copy_};
    const std::string& chosen = settings_.text(SettingId::kTransports);
    if (const std::string wrong = wrong_transport(chosen); !wrong.empty()) {
        LINNET_LOG(log_, kError, "%s", wrong.c_str());
        return Status::kInvalid;
    }
    sessions_->set_self(self);
    const bool automatic = settings_.automatic_transports();
    std::vector<const Transport*> behind;
    for (const bool last : {false, true}) {
        for (const TransportRow& row : transport_table()) {
            const bool goes_last = automatic && row.automatic == TransportRow::Automatic::kBehindAtTheirPort;
            const bool goes_behind = automatic && row.behind();
            if (!transport_chosen(chosen, row) || goes_last != last || (goes_behind && !pays_to_open_behind(row))) {
                continue;
            }
            if (const Status s = open_transport(row, env, self, automatic); s != Status::kOk) {
                return s;
            }
            if (goes_behind) {
                behind.push_back(transports_.back().get());
            }
        }
    }
    for (const Transport* const t : behind) {
        sessions_->lane_only(*t);
    }
    if (transports_.size() < 2 && chosen.find("loopback") == std::string::npos) {   // which reaches nobody else
        LINNET_LOG(log_, kError, "no transport is left to use (setting transports is \"%s\")", chosen.c_str());
        return Status::kInvalid;
    }
    sessions_->set_self(self);
    return Status::kOk;
}

Context::~Context()
{
    if (sessions_ != nullptr && alive()) {   // else it was never open: memory ran out before
        close();
    }
}

std::uint64_t Context::counter(Counter id) const noexcept
{
    std::uint64_t sum = stats_.total(id) + proto_->counted(id);
    for (const auto& t : transports_) {
        sum += t->counted(id);
    }
    return sum;
}

// ---- peers ----

Result<PeerId> Context::add_peer(const wire::EndpointName& name)
{
    const Result<session::Session*> s = sessions_->add(name);
    if (!s) {
        return s.status();
    }
    static_cast<proto::Peer*>(*s)->added.store(true, std::memory_order_relaxed);
    return (*s)->id;
}

Result<PeerId> Context::add_address(const char* node, const char* service)
{
    wire::EndpointName name;
    char* end = nullptr;
    const unsigned long port = std::strtoul(service, &end, 10);
    if (port == 0 || port > 65535 || *end != '\0') {
        LINNET_LOG(log_, kError, "\"%s\" is not a port number", service);
        return Status::kInvalid;
    }
    name.port.set(static_cast<std::uint16_t>(port));
    const auto at = InetAddress::parse(node);
    if (!at || !at->interface_is_here() || !wire::add_address(name, name_address(*at))) {
        const bool on_a_link = std::strchr(node, '%') != nullptr;
        LINNET_LOG(log_, kError, "\"%s\" is not %s", node, on_a_link ? "a link-local IPv6 address and an interface of this host" : "an IPv4 or IPv6 address");
        return Status::kInvalid;
    }
    wire::set_contact_scope(name, at->scope());
    const Result<session::Session*> s = sessions_->add_address(name);
    if (!s) {
        return s.status();
    }
    static_cast<proto::Peer*>(*s)->added.store(true, std::memory_order_relaxed);
    return (*s)->id;
}

Status Context::remove_peer(PeerId id) noexcept
{
    proto::Peer* const p = peer(id);
    if (p == nullptr) {
        return Status::kInvalid;
    }
    proto_->forget_peer(*p);
    return Status::kOk;
}

Status Context::declare_dead(PeerId id) noexcept
{
    proto::Peer* const p = peer(id);
    if (p == nullptr) {
        return Status::kInvalid;
    }
    TokenGuard token{*engine_};
    sessions_->declare_down(*p, Status::kPeerDown, "the host says that its process is dead");
    return Status::kOk;
}

// ---- progress ----

Status Context::register_active(std::uint32_t id, ActiveFn fn, void* arg) noexcept
{
    if (id >= handlers_.size()) {
        return Status::kInvalid;
    }
    handlers_[id].arg.store(arg, std::memory_order_relaxed);
    handlers_[id].fn.store(fn, std::memory_order_release);
    return Status::kOk;
}

void Context::run_active(proto::ActiveEvent& e) noexcept
{
    Handler* const h = e.id < handlers_.size() ? &handlers_[e.id] : nullptr;
    const ActiveFn fn = h != nullptr ? h->fn.load(std::memory_order_acquire) : nullptr;
    if (fn == nullptr) {
        stats_.block(StatsRole::kAnyThread).add_shared(Counter::kUnexpectedDropped);
    } else {
        const std::uint32_t from = e.peer->added.load(std::memory_order_relaxed) ? e.peer->id.value : kNoPeer.value - 1;
        const std::size_t padded = (e.header_bytes + 15) & ~std::size_t{15};
        fn(h->arg.load(std::memory_order_relaxed), from, e.immediate, e.body, e.header_bytes, e.body + padded, e.payload_bytes);
    }
    proto_->release_active(e);
}

void Context::register_remote(RemoteFn fn, void* arg) noexcept
{
    remote_arg_.store(arg, std::memory_order_relaxed);
    remote_fn_.store(fn, std::memory_order_release);
    proto_->regions().listen(fn != nullptr);
}

// Who takes it back has the lock after it ran for the last time.
void Context::attend(AttendFn fn, void* arg) noexcept
{
    MutexLock guard{attend_lock_};
    attend_arg_ = arg;
    attend_fn_.store(fn, std::memory_order_relaxed);
}

// False as well when the function left completions there: it would do so again at once.
bool Context::be_attended() noexcept
{
    if (attend_fn_.load(std::memory_order_relaxed) == nullptr || !proto_->has_completions()) {
        return false;
    }
    MutexLock guard{attend_lock_};
    const AttendFn fn = attend_fn_.load(std::memory_order_relaxed);
    if (fn == nullptr) {
        return false;
    }
    fn(attend_arg_);
    return !proto_->has_completions();
}

void Context::tell_remote(const RemoteNews& news) noexcept
{
    if (const RemoteFn fn = remote_fn_.load(std::memory_order_acquire); fn != nullptr) {
        fn(remote_arg_.load(std::memory_order_relaxed), news);
    } else {
        stats_.block(StatsRole::kAnyThread).add_shared(Counter::kUnexpectedDropped);
    }
}

void Context::run(proto::Completion& c) noexcept
{
    if (c.completion_kind == proto::Completion::Kind::kRequest) [[likely]] {
        auto& r = static_cast<proto::Request&>(c);
        proto::Peer* const open_to = r.opened_to();
        r.done(r);
        if (open_to != nullptr) {
            open_to->open_operations.fetch_sub(1, std::memory_order_seq_cst);
        }
    } else {
        run_event(c);
    }
}

void Context::run_event(proto::Completion& c) noexcept
{
    switch (c.completion_kind) {
        case proto::Completion::Kind::kRequest: return;   // run() does it
        case proto::Completion::Kind::kActive: run_active(static_cast<proto::ActiveEvent&>(c)); return;
        case proto::Completion::Kind::kRemote: {
            auto& e = static_cast<proto::RemoteEvent&>(c);
            RemoteNews news;
            news.from = e.peer->added.load(std::memory_order_relaxed) ? e.peer->id.value : news.from;
            news.has_immediate = true;
            news.immediate = e.immediate;
            news.length = e.length;
            tell_remote(news);
            proto_->release_remote(e);
            return;
        }
        case proto::Completion::Kind::kRegion: {
            const auto n = proto_->regions().take(static_cast<proto::Region&>(c));
            RemoteNews news;
            news.reads = n.reads;
            news.writes = n.writes;
            news.changes = n.changes;
            news.region_arg = n.arg;
            tell_remote(news);
            return;
        }
        case proto::Completion::Kind::kSpace: {
            auto& w = static_cast<proto::SpaceWatch&>(c);
            const std::uint32_t news = w.news.exchange(0, std::memory_order_acq_rel);   // from here on it may be in the list again
            if (!w.ended.load(std::memory_order_acquire)) {
                w.fn(w.arg, w.space, news);
            }
            return;
        }
    }
}

unsigned Context::drain(unsigned budget) noexcept
{
    proto::Proto::Collector mine{*proto_};
    return drain(mine, budget);
}

// Completions are taken one by one, so that one which waits for another from inside its handler finds that one still in the list.
unsigned Context::drain(proto::Proto::Collector& mine, unsigned budget) noexcept
{
    unsigned n = 0;
    while (budget == 0 || n < budget) {
        proto::Completion* c = mine.next();
        if (c == nullptr && proto_->has_completions()) {
            c = proto_->next_completion();
        }
        if (c == nullptr) {
            break;
        }
        ++n;
        run(*c);
    }
    return n;
}

unsigned Context::progress(unsigned budget, WhenIdle when) noexcept
{
    engine_->enter();
    proto::Proto::Collector mine{*proto_};
    unsigned done = mine.empty() && !proto_->has_completions() ? 0 : drain(mine, budget);
    // What is complete already was found by somebody who polled just now; the host does not wait for another look.
    unsigned polled = 0;
    if (done == 0 || engine_->holds_packets()) {
        polled = engine_->host_progress(kPollBudget, done == 0 ? when : WhenIdle::kReturn);
        done += drain(mine, budget);
    }
    engine_->leave(done != 0 ? CallKind::kCompleted : CallKind::kEmpty);
    return done != 0 ? done : polled;
}

// The end of a wait; what is beyond the clock's last moment is never.
TimePoint Context::after(Nanos timeout) const noexcept
{
    const TimePoint now = clock_.now();
    return timeout >= TimePoint::max() - now ? TimePoint::max() : now + timeout;
}

Status Context::wait(Nanos timeout) noexcept
{
    engine_->enter();
    const TimePoint deadline = after(timeout);
    const auto ready = [this]() noexcept { return proto_->has_completions(); };
    Status s = Status::kOk;
    unsigned n = drain(0);
    while (n == 0 && s == Status::kOk) {
        s = engine_->wait(ReadyRef::to(ready), deadline);
        n = drain(0);
    }
    engine_->leave(CallKind::kCompleted);
    return n != 0 ? Status::kOk : s;
}

Status Context::arm_wait_fd() noexcept
{
    return !proto_->has_completions() && engine_->arm_wait_fd() ? Status::kOk : Status::kAgain;
}

// Peers that have not acknowledged everything.
std::uint32_t Context::unacknowledged() noexcept
{
    std::uint32_t n = 0;
    for (std::uint32_t i = 0; i < sessions_->peers(); ++i) {
        session::Session* const s = sessions_->find(PeerId{i});
        MutexLock guard{s->lock};
        n += s->down_reason() == Status::kOk && !s->all_acked() ? 1 : 0;
    }
    return n;
}

Status Context::flush(Nanos timeout) noexcept
{
    timeout = timeout == Nanos::max() ? settings_.duration(SettingId::kFinalizeTimeout) : timeout;
    engine_->enter();
    const Status s = flush_until(after(timeout));
    if (s == Status::kTimedOut) {
        LINNET_LOG(log_, kWarn, "%u peers have not acknowledged everything within %lld ms (setting finalize_timeout)", unacknowledged(),
                   static_cast<long long>(std::chrono::duration_cast<std::chrono::milliseconds>(timeout).count()));
        tell(trace_.get(), "the end of the wait for acknowledgements");
    }
    engine_->leave(CallKind::kCompleted);
    return s;
}

Status Context::flush_until(TimePoint deadline) noexcept
{
    for (bool looked = false; unacknowledged() != 0; looked = true) {   // who has no time looks once
        if (looked && clock_.now() >= deadline) {
            return Status::kTimedOut;
        }
        const auto acked = [this]() noexcept { return proto_->has_completions(); };
        if (engine_->poll(kPollBudget) == 0) {
            const Status ignored = engine_->wait(ReadyRef::to(acked), std::min(deadline, clock_.now() + kFlushStep));
            static_cast<void>(ignored);
        }
        drain(0);
    }
    return Status::kOk;
}

void Context::close() noexcept
{
    const Status flushed = flush(Nanos::max());
    {
        TokenGuard token{*engine_};
        sessions_->set_closing();
        for (std::uint32_t i = 0; i < sessions_->peers(); ++i) {
            proto_->say_goodbye(static_cast<proto::Peer&>(*sessions_->find(PeerId{i})));
        }
    }
    if (flushed == Status::kOk) {
        const Status ignored = flush(Nanos::max());   // of the goodbyes
        static_cast<void>(ignored);
    }
    engine_->stop();
    if (helpers_ != nullptr) {
        helpers_->stop();   // what they are in the middle of belongs to requests
    }
    TokenGuard token{*engine_};
    sessions_->shutdown();
    proto_->clear();
}

}   // namespace linnet::core
