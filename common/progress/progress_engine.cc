// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// ProgressEngine: start and stop, the pass over the sources, and the words by which threads call each other.
#include "progress/progress_engine.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "sync/backoff.h"
#include "sys/cpu_set.h"
#include "sys/futex.h"
#include "sys/process.h"
#include "sys/system_clock.h"

namespace linnet {
namespace {

// Gaps up to this are the host's own bookkeeping between two calls of its progress loop; longer ones are work of the application.
constexpr Nanos kBackToBack{2'000};
// A yield costs some 0.5 us: often enough to notice a neighbour within its first microseconds. Rarer while there is none (Crowd::calm()).
constexpr Nanos kBetweenYields{4'000};
// What was learned of how long to poll before a sleep holds for so long: learning it again takes some 10 ms.
constexpr Nanos kSpinMemory{1'000'000'000};
// A host that was not seen for so long is not polling: some twenty times the gap of a polling loop, and too short to matter.
constexpr Nanos kAway{100'000};

// On a core that the application computes on, the event thread has a message to answer: soon, and for a short time.
constexpr Nanos kEventSlice{100'000};

// Among ranks that take turns on a core a wake-up takes the core from one that has something to do, and a gap is long because others had it.
constexpr Ticks kArmGapFactorWhenContended = 50;

// A core sees as many looks of event threads as if there were one rank on it; up to this factor, since a look is what finds a computation that nobody foresaw.
constexpr unsigned kMostRanksPerCore = 10;

// Passes in a row that may end behind the source that had events last, without asking the others: some microseconds.
constexpr unsigned kFavoursInARow = 15;

// A partner in shared memory answers a message of some pages within this, also on a core that is slowed; a message for another source waits at most so much
// longer, and only once. Too short, and an exchange that one disturbance made slow stays so: each wait outlasts its look, and sees its message late.
constexpr Nanos kLingerMost{4'000};

// A yield that nobody uses comes back within a microsecond; one that lets somebody else run costs two context switches at least.
constexpr Nanos kSlowYield{4'000};
// What a wait for the core counts for at most, where messages are weighed by it.
constexpr Nanos kCoreWaitMost{500'000};
// One that takes so long went to a program that computes: the kernel's slice is 0.7 ms on one core, 1.4 ms on two, 2.8 ms on eight and more, and ends with a
// tick. Three neighbours that have seven messages each to answer take 0.2 to 0.7 ms, where a system call is slow.
constexpr Nanos kRobbed{1'500'000};
constexpr Nanos kRobbedOnOneCore{600'000};
constexpr Nanos kRobberyCounts{6'250'000};         // about two slices: less is no reason to stop yielding, and no less time to do without
constexpr Nanos kRobberyRemembered{100'000'000};   // what is lost by trying again so often is little
// Who does not yield asks the kernel how long it waited for a core: that takes 4 us and more.
constexpr Nanos kAskForWait{1'000'000};
constexpr Nanos kWaitWindow{50'000'000};   // slices are up to 12 ms long on older kernels
constexpr Nanos kLongTurn{10'000};         // a wake-up that waits for nobody takes 1 us, also on a virtual machine
constexpr Nanos kStarved{100'000'000};     // 33 threads of two cores that yield and take turns at a lock wait for less
constexpr Nanos kStarvedRemembered{30'000'000'000};   // who yields again too soon starves others again, which is known only when they have waited
constexpr Nanos kNapApart{3'000'000};      // while the host's lock is held and several want it a nap of 60 us costs more than that

// Of tests in a row: what answers at once has done so by then, some round trips of the next host; and two system calls and what is around them.
constexpr Nanos kQuietTests{20'000};
constexpr Nanos kTestsApart{1'000};

const char* gives_way_by(GiveWay way) noexcept
{
    return way == GiveWay::kAuto ? "yields and naps" : way == GiveWay::kYield ? "yields" : "naps";
}

bool is_me(std::uintptr_t mark) noexcept { return mark != 0 && mark == this_thread_mark(); }
}   // namespace

ProgressEngine::ProgressEngine(const Config& config, const Clock& clock, Stats& stats, Log& log)
    : config_{config}, clock_{clock}, stats_{stats}, log_{log}, token_{*this, barrier_}
{
}

ProgressEngine::~ProgressEngine() { stop(); }

Status ProgressEngine::add_source(EventSource& source)
{
    if (started_) {
        return Status::kInvalid;
    }
    sources_.push_back(&source);
    return Status::kOk;
}

Status ProgressEngine::open_sets()
{
    Result<EpollSet> host_set = EpollSet::open(log_);
    Result<EventFd> host_bell = EventFd::open(log_);
    Result<TimerFd> host_timer = TimerFd::open(log_);
    for (const Status s : {host_set.status(), host_bell.status(), host_timer.status()}) {
        if (failed(s)) {
            return s;
        }
    }
    host_set_ = std::move(*host_set);
    host_bell_ = std::move(*host_bell);
    host_timer_ = std::move(*host_timer);
    return watch_sources();
}

Status ProgressEngine::watch_sources()
{
    Status s = host_set_.add(host_bell_.get(), EPOLLIN, kHostBellTag, log_);
    if (!failed(s)) {
        s = host_set_.add(host_timer_.get(), EPOLLIN, kHostTimerTag, log_);
    }
    std::vector<int> descriptors;
    for (const EventSource* source : sources_) {
        const int fd = source->wait_descriptor();
        if (!failed(s) && fd >= 0) {
            s = host_set_.add(fd, EPOLLIN, 0, log_);
            descriptors.push_back(fd);
        }
    }
    return failed(s) ? s : event_sleep_.prepare(descriptors, log_);
}

Status ProgressEngine::start()
{
    if (started_) {
        return Status::kInvalid;
    }
    if (const Status s = open_sets(); failed(s)) {
        return s;
    }
    if (!barrier_.prepare()) {
        LINNET_LOG(log_, kDebug, "no membarrier(2): letting go of the token takes a few nanoseconds longer");
    }
    started_ = true;
    owner_pid_ = process_id();
    if (suspect_crowd(config_.local_ranks, usable_cpus())) {
        crowd_.suspect();
    }
    if (config_.give_way == GiveWay::kNap) {
        crowd_.nap_until(~Ticks{0});
    }
    const unsigned cores_of_all = std::max(usable_cpus(), launcher_cpus());   // a rank bound to one core is not the only one there is
    const bool outnumbered = config_.local_ranks > cores_of_all;
    ranks_per_core_ = std::clamp(config_.local_ranks / cores_of_all, 1u, kMostRanksPerCore);
    scale_ = machine_ticks();
    stamp_.store(read_ticks() & ~Ticks{1}, std::memory_order_relaxed);
    if (config_.event_thread) {
        set_event_state(EventThreadState::kAwake);
        Result<Thread> thread = Thread::start({"linnet-event", Nanos{1}, false, kEventSlice}, &ProgressEngine::event_thread_entry, this, log_);
        if (thread.ok()) {
            thread_ = std::move(*thread);
            measure_wake_cost();
        } else {
            set_event_state(EventThreadState::kNone);
            LINNET_LOG(log_, kWarn, "no event thread: %s. messages move only inside calls of the application",
                       status_text(thread.status()));
        }
    }
    spin_time_ = config_.spin_time > Nanos::zero() ? config_.spin_time : spin_time_for(wake_cost_);
    spin_learned_.set(scale_.ticks(spin_time_), config_.spin_time > Nanos::zero() ? 0 : scale_.ticks(kSpinMemory));
    spin_budget_ = {config_.policy, scale_.ticks(spin_time_), scale_.ticks(kBetweenYields), scale_.ticks(kBackToBack)};
    arm_gap_ = scale_.ticks(config_.arm_gap);
    away_ = scale_.ticks(kAway);
    slow_yield_ = scale_.ticks(kSlowYield);
    core_wait_most_ = scale_.ticks(kCoreWaitMost);
    robbed_ = scale_.ticks(online_cpus() > 1 ? kRobbed : kRobbedOnOneCore);
    robbery_remembered_ = scale_.ticks(kRobberyRemembered);
    nap_memory_ = scale_.ticks(kStarvedRemembered);
    // Ranks that outnumber the cores are most likely who was slow. They must all try again at about the same time to see that they can, so they do it often.
    robbery_ = {scale_.ticks(kRobberyCounts), outnumbered ? scale_.ticks(kRobberyCounts) : robbery_remembered_};
    wait_pace_ = {scale_.ticks(kAskForWait), scale_.ticks(kWaitWindow), scale_.ticks(kLongTurn), scale_.ticks(kStarved)};
    hold_age_ = scale_.ticks(config_.hold_time / 2);
    linger_most_ = scale_.ticks(kLingerMost);
    {
        TokenGuard guard{*this};
        host_spin_ = Spin{spin_budget_};
        testers_ = Testers{scale_.ticks(kNapApart)};
        test_pace_ = {scale_.ticks(kQuietTests), scale_.ticks(kTestsApart)};
    }
    LINNET_LOG(log_, kDebug, "progress wake-up %lld ns spin %lld ns ranks %u cores %u gives way by %s", static_cast<long long>(wake_cost_.count()),
               static_cast<long long>(spin_time_.count()), config_.local_ranks, usable_cpus(), gives_way_by(config_.give_way));
    ready_to_run();
    return Status::kOk;
}

void ProgressEngine::stop() noexcept
{
    if (!started_ || stopping_.exchange(true, std::memory_order_seq_cst)) {
        return;
    }
    if (process_id() != owner_pid_) {
        thread_.forget();   // after fork(): it runs in the parent only
        return;
    }
    ready_to_run();
    event_sleep_.ring();
    host_bell_.signal();
    followers_.wake_all();
    thread_.join();
    set_event_state(EventThreadState::kNone);
}

// ---- the token ----

void ProgressEngine::token_released() noexcept
{
    if (token_.wanted()) {
        token_seq_.fetch_add(1, std::memory_order_seq_cst);
        futex_wake(token_seq_);
    } else {
        followers_.wake_one();
    }
}

void ProgressEngine::take_token() noexcept
{
    if (token_.try_take()) {
        return;
    }
    token_.want();
    token_.join_audience();
    for (Backoff backoff;;) {
        const std::uint32_t seq = token_seq_.load(std::memory_order_seq_cst);
        if (token_.try_take_wanted()) {
            break;
        }
        if (sleeper_.load(std::memory_order_seq_cst)) {
            host_bell_.signal();
        }
        if (backoff.yielding()) {
            futex_wait(token_seq_, seq);
        } else {
            backoff.wait();
        }
    }
    token_.unwant();
    token_.leave_audience();
}

void ProgressEngine::release_token() noexcept
{
    const std::uint32_t polled = polled_kicks_;
    const bool prepared = prepared_;
    let_go();
    tell_event_thread(polled, prepared);
}

// Every release goes this way: completions that the holder made are told first.
void ProgressEngine::let_go() noexcept
{
    tell_completed();
    token_.release();
}

// ---- the pass ----

// What is complete shall not wait for the other sources: the pass ends behind the one that completed something, and the next begins with the one after it.
// Before all others comes the one that had events last: in a ping-pong it has the next one too. A pass that ended behind it asked nobody else, so
// only a few such passes follow each other, and none while somebody waits for a pass over all. Who waits for nothing else looks there a little longer.
unsigned ProgressEngine::pass(unsigned budget, StatsRole role, Ticks waits_since) noexcept
{
    const bool slept = prepared_;
    finish_sources(role == StatsRole::kEventThread ? EventSource::Sleeper::kEventThread : EventSource::Sleeper::kHost);
    if (work_waits_.load(std::memory_order_acquire)) [[unlikely]] {   // nobody has left since; acquire: and we see the work
        work_waits_.store(false, std::memory_order_seq_cst);
        kicks_.fetch_add(1, std::memory_order_seq_cst);
    }
    const std::uint32_t kicks = kicks_.load(std::memory_order_seq_cst);
    const std::uint32_t held = held_.load(std::memory_order_seq_cst);
    const unsigned each = budget == 0 ? std::numeric_limits<unsigned>::max() : budget;
    stats_.block(StatsRole::kPoller).add(role == StatsRole::kEventThread ? Counter::kEventThreadPolls : Counter::kAppPolls);
    here_ = false;
    EventSource* asked = nullptr;
    unsigned events = 0;
    if (favours_ < kFavoursInARow && kicks == polled_kicks_ && held == held_sent_.load(std::memory_order_relaxed)) {
        asked = liveliest_;
    }
    if (asked != nullptr) {
        events = asked->poll(each);
        if (events == 0 && waits_since != 0) {
            events = linger(*asked, waits_since, each);
        }
        if (completed_ || here_) {
            ++favours_;
            stamp_is_fresh_.store(waits_since != 0 && asked->was_brief(), std::memory_order_relaxed);
            linger_ = waits_since != 0 ? std::min(4 * linger_ + linger_most_ / 16, linger_most_) : linger_;
            tell_completed();
            return std::max(events, 1u);
        }
    }
    if (favours_ != 0 || events != 0) {
        liveliest_->note_events();
    }
    favours_ = 0;
    thorough_ = slept || role == StatsRole::kEventThread || kicks != polled_kicks_ || held != held_sent_.load(std::memory_order_relaxed);
    return events + pass_over_all(each, asked, kicks, held);
}

// What rests is left to its task, which the source of tasks runs: in a thorough pass, and else now and then.
unsigned ProgressEngine::pass_over_all(unsigned each, EventSource* asked, std::uint32_t kicks, std::uint32_t held) noexcept
{
    unsigned events = 0;
    std::size_t looked = 0;
    const std::size_t n = sources_.size();
    for (; looked < n && (looked == 0 || !(completed_ || here_)); ++looked) {
        EventSource* const source = sources_[next_source_];
        next_source_ = next_source_ + 1 == n ? 0 : next_source_ + 1;
        const unsigned n_events = source != asked && !source->rests() ? source->poll(each) : 0;
        if (n_events != 0) {
            source->note_events();
            liveliest_ = source;
            events += n_events;
        }
    }
    if (looked == n) {
        polled_kicks_ = kicks;
        held_sent_.store(held, std::memory_order_relaxed);
    } else {
        events = std::max(events, 1u);   // not an empty pass, after which a thread may sleep
    }
    tell_completed();
    return events;
}

// Completions made by the holder of the token are told once for all.
void ProgressEngine::tell_completed() noexcept
{
    if (completed_) {
        completed_ = false;
        wake_ready();
    }
}

bool ProgressEngine::prepare_sources(EventSource::Sleeper who) noexcept
{
    const bool fresh = !std::exchange(prepared_, true);
    if (fresh) {
        prepared_quiet_ = true;
        for (EventSource* source : sources_) {
            prepared_quiet_ = source->prepare_sleep() && prepared_quiet_;
        }
    }
    if (prepared_quiet_ && (fresh || prepared_for_ != who)) {
        prepared_for_ = who;
        for (EventSource* source : sources_) {
            source->will_sleep(who);
        }
    }
    return prepared_quiet_;   // what was there before a source was prepared rings for nobody, whoever asks again before the next pass
}

void ProgressEngine::finish_sources(EventSource::Sleeper who) noexcept
{
    using Polling = EventSource::Polling;
    const Polling polling = who == EventSource::Sleeper::kEventThread ? Polling::kForAMoment : contended() ? Polling::kInTurns : Polling::kSteadily;
    if (polling_ != polling) {
        polling_ = polling;
        for (EventSource* source : sources_) {
            source->will_poll(polling);
        }
    }
    if (prepared_) {
        prepared_ = false;
        for (EventSource* source : sources_) {
            source->finish_sleep();
        }
    }
}

TimePoint ProgressEngine::next_timer() const noexcept
{
    TimePoint first = TimePoint::max();
    for (const EventSource* source : sources_) {
        first = std::min(first, source->next_timer());
    }
    return first;
}

// ---- calls between threads ----

void ProgressEngine::kick() noexcept
{
    kicks_.fetch_add(1, std::memory_order_seq_cst);
    if (sleeper_.load(std::memory_order_seq_cst) || fd_armed_.load(std::memory_order_seq_cst)) {
        host_bell_.signal();
    } else if (event_thread_state() == EventThreadState::kArmed && !token_.held()) {
        event_sleep_.ring();
    }
}

bool ProgressEngine::others_have_time() const noexcept
{
    return event_thread_state() != EventThreadState::kNone && !in_event_thread() && !crowd_.contended() && config_.idle_core();
}

bool ProgressEngine::leaves_work() const noexcept
{
    return gaps_.will_leave(CallKind::kEmpty) && gaps_.will_leave(CallKind::kCompleted) && gaps_.will_leave_idle(CallKind::kCompleted) && others_have_time();
}

// Nobody is called yet: whoever leaves work may hold locks, and calls take system calls.
void ProgressEngine::work_left() noexcept { work_waits_.store(true, std::memory_order_seq_cst); }

// The host leaves, and work waits. A thread that sleeps where it ran last is woken there, as a rule, and would take the core from the host that goes away to
// compute: for longer than the work that was left to it would have taken. So it is woken elsewhere; up, it may go anywhere again.
void ProgressEngine::leave_work() noexcept
{
    work_waits_.store(false, std::memory_order_seq_cst);
    const unsigned here = current_cpu();
    if (event_cpu_.load(std::memory_order_relaxed) == here && event_on_.load(std::memory_order_relaxed) == kNowhere) {
        kept_off_.keep(event_id_.load(std::memory_order_relaxed), here);
    }
    if (event_thread_state() == EventThreadState::kArmed) {
        arm_request_.store(true, std::memory_order_seq_cst);
    } else {
        arm();
    }
    kick();   // whoever has the token, or sleeps with it, does it
}

void ProgressEngine::completed() noexcept
{
    if (token_.held_by_me()) {
        token_.assert_held();
        completed_ = true;   // told at the end of the pass, once for all
    } else {
        wake_ready();
    }
}

void ProgressEngine::wake_ready() noexcept
{
    crossing_.fetch_add(1, std::memory_order_acq_rel);
    if (token_.has_audience()) {
        followers_.wake_ready();
    }
    if (sleeper_.load(std::memory_order_seq_cst) || fd_armed_.load(std::memory_order_seq_cst)) {
        host_bell_.signal();
    }
}

void ProgressEngine::peers_changed(int more) noexcept
{
    if (connected_.fetch_add(more, std::memory_order_relaxed) == 0) {
        wake_event_thread();   // it may have just begun one of its longer sleeps
    }
}

// ---- the host comes and goes ----

// Learns from the gap.
inline void ProgressEngine::came_back(Ticks now) noexcept
{
    const Ticks before = stamp_.load(std::memory_order_relaxed);
    stamp_.store(now, std::memory_order_relaxed);
    if ((before & 1) == 0) [[likely]] {
        Ticks gap = now - before;
        bool is_long = gap > arm_gap_;
        if (is_long) [[unlikely]] {
            gap = without_event_thread(gap);
            is_long = gap > (crowd_.contended() ? arm_gap_ * kArmGapFactorWhenContended : arm_gap_);
        }
        last_gap_.store(gap, std::memory_order_relaxed);
        gaps_.returned(is_long);
    }
    if (arm_request_.load(std::memory_order_relaxed)) [[unlikely]] {
        arm_request_.store(false, std::memory_order_seq_cst);
    }
    if (fd_armed_.load(std::memory_order_relaxed)) [[unlikely]] {
        fd_armed_.store(false, std::memory_order_seq_cst);
    }
}

// Operations are open, or what the host believes gone is here: somebody has to stand in for it.
bool ProgressEngine::has_work() const noexcept { return open_work() > 0 || (debtor_ != nullptr && debtor_->keeps()); }

inline void ProgressEngine::goes(CallKind kind) noexcept
{
    event_busy_at_leave_.store(event_busy_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    const bool works = has_work();
    const bool leaves = works && gaps_.leaving(kind);
    if (!works) {
        gaps_.left(kind);
    }
    bool late = false;
    if (owes(leaves) && token_.try_take()) [[unlikely]] {   // who holds it polls, and sees to it when it goes; the event thread does before it parks
        debtor_->settle();
        release_token();
        late = true;
    }
    if (work_waits_.load(std::memory_order_acquire)) [[unlikely]] {   // another thread's, perhaps, on whose behalf we then call
        leave_work();
        late = true;
    } else if (leaves || (late && arm_request_.load(std::memory_order_relaxed))) [[unlikely]] {   // or another thread left, and found the token held
        arm();
        late = true;
    } else if (arm_request_.load(std::memory_order_relaxed)) [[unlikely]] {
        arm_request_.store(false, std::memory_order_seq_cst);
    }
    // What this took is no absence of the host: else to arm in vain would make a long gap, and that would be the reason for the next time.
    if (late) [[unlikely]] {
        event_busy_at_leave_.store(event_busy_.load(std::memory_order_relaxed), std::memory_order_relaxed);
        stamp_.store(read_ticks() & ~Ticks{1}, std::memory_order_relaxed);
    }
}

// A peer waits for something that can go out now. With operations open the host is back soon, unless it leaves for long.
inline bool ProgressEngine::owes(bool leaves) const noexcept
{
    return debtor_ != nullptr && debtor_->owes() && (leaves || open_work() <= 0);
}

// What the event thread posts on behalf of the host leaves that as far away as before.
void ProgressEngine::enter() noexcept
{
    if (!is_me(attending_.load(std::memory_order_relaxed))) [[likely]] {
        came_back(read_ticks() | 1);
    }
}

void ProgressEngine::leave(CallKind kind) noexcept
{
    if (is_me(attending_.load(std::memory_order_relaxed))) [[unlikely]] {
        return;
    }
    if (kind == CallKind::kPost || kind == CallKind::kLongPost) {
        posted_.store(true, std::memory_order_relaxed);
    }
    // A post may take long too: the first fragment of a large message is sent within it.
    const Ticks now = stamp_is_fresh_.load(std::memory_order_relaxed) ? stamp_.load(std::memory_order_relaxed) : read_ticks();
    stamp_is_fresh_.store(false, std::memory_order_relaxed);
    stamp_.store(now & ~Ticks{1}, std::memory_order_relaxed);
    goes(kind);
}

void ProgressEngine::passed_by(CallKind kind) noexcept
{
    if (is_me(attending_.load(std::memory_order_relaxed))) [[unlikely]] {
        return;
    }
    posted_.store(true, std::memory_order_relaxed);
    const bool called_for =
        arm_request_.load(std::memory_order_relaxed) || fd_armed_.load(std::memory_order_relaxed) || work_waits_.load(std::memory_order_relaxed) ||
        owes(false);
    if (!called_for && gaps_.passes_unseen(kind)) {
        return;   // reading the clock takes longer than the rest of a post
    }
    came_back(read_ticks() & ~Ticks{1});
    goes(kind);
}

void ProgressEngine::arm() noexcept
{
    arm_request_.store(true, std::memory_order_seq_cst);
    if (token_.held()) {
        return;   // that thread polls now, and when it leaves it comes here itself; the event thread looks at the request again
    }
    switch (event_thread_state()) {
        case EventThreadState::kParked:
        case EventThreadState::kArmed:
            // It sleeps on, from now on on the sources too: we do what it would do before. To wake it would cost more; and the scheduler, to which it would
            // then owe what it ran, would let the first arrival wait for as long at least. What our own polling undid is done again likewise.
            if (token_.try_take()) {
                const bool quiet = prepare_sources(EventSource::Sleeper::kEventThread);
                if (!quiet) {   // there is work: it looks at all sources itself before it sleeps again
                    let_go();
                    bool woke = wake_event_thread();
                    if (event_thread_state() == EventThreadState::kArmed) {
                        event_sleep_.ring();
                        woke = true;
                    }
                    stats_.block(StatsRole::kAnyThread).add_shared(Counter::kEventThreadArms, woke ? 1 : 0);
                    break;
                }
                const std::uint32_t polled = polled_kicks_;
                event_sleep_.wake_at(next_timer());
                auto parked = static_cast<std::uint32_t>(EventThreadState::kParked);
                const bool opens =
                    event_state_.compare_exchange_strong(parked, static_cast<std::uint32_t>(EventThreadState::kArmed), std::memory_order_seq_cst);
                let_go();
                if (opens) {   // whom an arrival wakes at once finds the token free
                    stats_.block(StatsRole::kAnyThread).add_shared(Counter::kEventThreadArms);
                    event_sleep_.open();
                }
                tell_event_thread(polled, true);
            }
            break;
        case EventThreadState::kNone:
        case EventThreadState::kAwake:
            break;
    }
}

// The caller held the token without polling, up to now: threads that left for long, or kicked, meanwhile took it for a poller.
void ProgressEngine::tell_event_thread(std::uint32_t polled, bool prepared) noexcept
{
    const bool sent_for = arm_request_.load(std::memory_order_seq_cst);
    const bool kicked = kicks_.load(std::memory_order_seq_cst) != polled;
    if (sent_for && wake_event_thread()) {
        stats_.block(StatsRole::kAnyThread).add_shared(Counter::kEventThreadArms);
    }
    if ((kicked || (sent_for && !prepared)) && event_thread_state() == EventThreadState::kArmed) {
        event_sleep_.ring();
    }
}

// Out of a parked sleep, if it is in one.
bool ProgressEngine::wake_event_thread() noexcept
{
    auto parked = static_cast<std::uint32_t>(EventThreadState::kParked);
    const bool was = event_state_.compare_exchange_strong(parked, static_cast<std::uint32_t>(EventThreadState::kAwake), std::memory_order_seq_cst);
    if (was) {
        event_sleep_.ring();
    }
    return was;
}

// ---- packets held back ----

bool ProgressEngine::may_hold() const noexcept
{
    return config_.hold_time > Nanos::zero() && last_gap_.load(std::memory_order_relaxed) <= spin_budget_.back_to_back &&
           gaps_.within_row(CallKind::kPost, has_work()) && !token_.held() && event_thread_state() != EventThreadState::kNone;
}

// Even when this one is sent now: those behind it may be held, and are not the first.
bool ProgressEngine::held() noexcept
{
    held_.fetch_add(1, std::memory_order_seq_cst);
    const bool polled = token_.held();
    if (!watching_.load(std::memory_order_seq_cst)) {
        wake_event_thread();
        if (event_thread_state() == EventThreadState::kArmed) {
            event_sleep_.ring();
        }
    }
    return !polled;
}

// ---- descriptor mode ----

int ProgressEngine::wait_fd() const noexcept { return host_set_.valid() ? host_set_.get() : -1; }

bool ProgressEngine::arm_wait_fd() noexcept
{
    if (!started_ || stopping_.load(std::memory_order_seq_cst)) {
        return false;
    }
    // Two threads that begin to sleep at the same time meet here, and one that is told to poll again wakes the other for it: without a wait, four that had
    // nothing to do kept each other busy for up to 0.2 s at a time. No yield: the caller may hold a lock, and a crowded core comes back late.
    Backoff backoff;
    while (!token_.try_take()) {
        if (backoff.yielding()) {
            return false;
        }
        backoff.wait();
    }
    fd_armed_.store(true, std::memory_order_seq_cst);
    host_bell_.drain();
    crossing_.fetch_add(1, std::memory_order_acq_rel);
    const bool quiet = prepare_sources(EventSource::Sleeper::kHost);
    const bool sleep = quiet && kicks_.load(std::memory_order_seq_cst) == polled_kicks_ && !config_.has_completions();
    if (sleep) {
        const TimePoint timer = next_timer();
        if (timer != fd_timer_) {
            fd_timer_ = timer;
            host_timer_.set(timer);
        }
    } else {
        fd_armed_.store(false, std::memory_order_seq_cst);
        finish_sources(EventSource::Sleeper::kHost);
    }
    let_go();
    return sleep;
}

}   // namespace linnet
