// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Endpoints: fi_endpoint(3), fi_msg(3), fi_tagged(3), fi_rma(3), fi_atomic(3), FI_EP_RDM.
//
// What it is     One context of linnet.h with the queues, counters and address vector bound to it. An EndpointFid is what the application
//                holds; aliases (fi_ep_alias) are further ones of the same endpoint with other default flags.
// Owner          The application; fi_close() of the last alias ends it.
// Threads        Any. Lock order: claims_lock_, that of a SharedRx > posted_lock_ > what linnet.h locks; completions come with no lock held.
// Blocking       Nothing but fi_close(), bounded by the setting finalize_timeout.
// Failure        Errors of arguments at once; of the network as error completions, for ever the same, so that no caller retries in vain.
#pragma once

#include <atomic>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <vector>

#include "address.h"
#include "capi/linnet_rma.h"
#include "capi/linnet_watch.h"
#include "fence.h"
#include "lock.h"
#include "operation.h"
#include "provider.h"
#include "wait.h"

namespace linnet::ofi {

class Av;
class Counter;
class Cq;
class Domain;
class Endpoint;
class Eq;
class Region;
class SharedRx;
class SharedTx;

// FI_OPT_MIN_MULTI_RECV of fi_getopt(3).
int get_least_multi_recv(const std::atomic<std::size_t>& least, int level, int name, void* value, std::size_t* bytes) noexcept;
int set_least_multi_recv(std::atomic<std::size_t>& least, int level, int name, const void* value, std::size_t bytes) noexcept;

class EndpointFid final : public fid_ep {
public:
    EndpointFid(Endpoint& e, std::uint64_t tx, std::uint64_t rx, void* user);
    static EndpointFid& of(fid_ep* f) noexcept { return static_cast<EndpointFid&>(*f); }
    static EndpointFid& of(struct fid* f) noexcept { return object<EndpointFid, fid_ep>(f); }

    Endpoint& endpoint;
    std::uint64_t tx_flags;   // of operations that bring no flags of their own
    std::uint64_t rx_flags;
};

inline constexpr std::uint32_t kTaggedSpace = 1;   // the match spaces of a context
inline constexpr std::uint32_t kMessageSpace = 2;

struct SendCall {
    Bytes bytes;
    fi_addr_t to;
    std::uint64_t kind;      // FI_MSG, FI_TAGGED
    std::uint64_t tag;
    std::uint64_t data;
    void* context;
    std::uint64_t flags;     // FI_COMPLETION, FI_INJECT, FI_REMOTE_CQ_DATA, FI_FENCE, completion levels
    bool silent;             // fi_inject: no completion, but of an error
};

struct RmaCall {
    Bytes bytes;
    fi_addr_t to;
    std::uint64_t address;
    std::uint64_t key;
    std::uint64_t data;
    void* context;
    std::uint64_t flags;     // as of a send
    bool silent;
};

// A vector of elements for atomic operations; valid for the call.
struct Elements {
    const fi_ioc* ioc{nullptr};
    std::size_t count{0};
};

struct AtomicCall {
    linnet_atomic_form_t form;
    Elements operand;
    Elements compare;
    Elements result;
    fi_addr_t to;
    std::uint64_t address;
    std::uint64_t key;
    fi_datatype type;
    fi_op op;
    void* context;
    std::uint64_t flags;
    bool silent;
};

struct RecvCall {
    Bytes bytes;
    fi_addr_t from;
    std::uint64_t kind;
    std::uint64_t tag;
    std::uint64_t ignore;
    void* context;
    std::uint64_t flags;     // FI_COMPLETION, FI_MULTI_RECV, FI_PEEK, FI_CLAIM, FI_DISCARD
};

class Endpoint {
public:
    static int open(fid_domain* domain, fi_info* info, fid_ep** out, void* context) noexcept;
    static int open_with_flags(fid_domain* domain, fi_info* info, fid_ep** out, std::uint64_t flags, void* context) noexcept;

    ssize_t send(const SendCall& call) noexcept;
    ssize_t receive(const RecvCall& call) noexcept;
    ssize_t cancel(void* context) noexcept;
    ssize_t write(const RmaCall& call) noexcept;
    ssize_t read(const RmaCall& call) noexcept;
    ssize_t atomic(const AtomicCall& call) noexcept;

    // For the domain, under its region lock.
    int expose(Region& region);
    [[nodiscard]] Source& source() noexcept { return source_; }
    [[nodiscard]] const Domain& domain() const noexcept { return domain_; }

    // For the address vector, under its lock: 0 or a negative fi_errno.
    int learn_peer(fi_addr_t index, const Address& address) noexcept;
    void forget_peer(fi_addr_t index) noexcept;

    int alias(EndpointFid& of, const struct fi_alias& want);
    void release() noexcept;
    int bind(struct fid* what, std::uint64_t flags);
    int enable();
    int set_name(const void* address, std::size_t bytes);      // takes it
    int choose_name(const void* address, std::size_t bytes);   // the context takes it when it opens
    int get_name(void* to, std::size_t* bytes);
    [[nodiscard]] std::atomic<std::size_t>& least_multi_recv() noexcept { return least_multi_recv_; }

private:
    friend class EndpointFid;
    friend class Fence;      // which starts what it has held back
    friend class SharedRx;   // which does the receiving of its endpoints
    struct Claim {
        linnet_message_t* message;
        linnet_result_t result;
    };

    Endpoint(Domain& domain, const fi_info& info);
    ~Endpoint();
    int bind_cq(Cq& cq, std::uint64_t flags);
    int bind_shared(struct fid* what, std::uint64_t flags);
    int bind_counter(Counter& counter, std::uint64_t flags);
    int open_context();
    void close_context() noexcept;
    static void on_attend(void* arg) noexcept;
    [[nodiscard]] std::array<Waitable*, 2 + kCountSlots> fed() const noexcept;
    int feed() noexcept;
    void unfeed() noexcept;
    int join();
    void leave() noexcept;

    // transmit.cc
    SendOperation* new_send() noexcept;
    bool sent_at_once(const SendCall& call, const linnet_send_t& send) noexcept;
    void report_send(void* context, std::uint64_t kind, linnet_status_t status) noexcept;
    template <class What>
    ssize_t post(SendOperation& op, const What& what, bool fenced) noexcept;
    [[nodiscard]] linnet_status_t start(SendOperation& op, const Posting& what) noexcept;
    ssize_t refuse(SendOperation& op) noexcept;
    ssize_t started(SendOperation& op, linnet_status_t status) noexcept;
    void end_send(SendOperation& op, linnet_status_t status) noexcept;
    static void on_sent(linnet_request_t* request, void* arg) noexcept;

    // rma.cc
    SendOperation* begin(void* user, std::uint64_t flags, bool silent, std::uint64_t kind, CounterSlot counted) noexcept;
    void remote(const linnet_remote_t& what) noexcept;
    static void on_remote(void* arg, const linnet_remote_t* what) noexcept;

    // receive.cc
    RecvOperation* new_receive() noexcept;
    void give_back(RecvOperation& op) noexcept;
    linnet_status_t post(RecvOperation& op, const Bytes& bytes) noexcept;
    linnet_status_t start(RecvOperation& op, const Bytes& bytes) noexcept;
    ssize_t started(RecvOperation& op, linnet_status_t status) noexcept;
    void end_receive(RecvOperation& op) noexcept;
    void report_receive(const RecvOperation& op, const linnet_result_t& result, std::uint64_t more_flags) noexcept;
    static void on_received(linnet_request_t* request, void* arg) noexcept;
    // multi_recv.cc
    [[nodiscard]] bool must_wait(const RecvOperation& op) const noexcept;
    [[nodiscard]] bool blocked(const RecvOperation& op) const noexcept;
    void hold(RecvOperation& op, const Bytes& bytes) noexcept;
    void post_multi(RecvOperation& op) noexcept;
    void use_multi(RecvOperation& op) noexcept;
    linnet_status_t run_multi(RecvOperation& op, linnet_status_t status) noexcept;
    void end_multi(RecvOperation& op) noexcept;
    void leave_multis(const RecvOperation& op) noexcept;
    bool tell_multi(RecvOperation& op, linnet_status_t status) noexcept;
    void start_held() noexcept;
    void reserve(RecvOperation& op) noexcept;
    void unreserve(RecvOperation& op) noexcept;
    void start_free() noexcept;

    // held_receives.cc; likewise
    [[nodiscard]] RecvOperation* first_from_any() const noexcept;
    [[nodiscard]] bool taken_before(const RecvOperation& op, linnet_peer_t source) const noexcept;
    [[nodiscard]] linnet_message_t* claim_for(const RecvOperation& op) noexcept;
    void look_past() noexcept;
    static void on_news(void* arg, std::uint32_t space, std::uint32_t news) noexcept;
    void take(RecvOperation& op, linnet_message_t* message) noexcept;
    void passed(RecvOperation& op, linnet_status_t status) noexcept;
    // peek.cc
    ssize_t peek(const RecvCall& call, linnet_peer_t peer) noexcept;
    int claim(void* context, const linnet_match_t& match, linnet_status_t& status, linnet_result_t& result);
    ssize_t receive_claimed(const RecvCall& call) noexcept;
    void report_peek(const RecvCall& call, linnet_status_t status, const linnet_result_t& result) noexcept;
    void drop(linnet_message_t* message) noexcept;
    void drop(linnet_message_t* message, RecvOperation& storage) noexcept;

    [[nodiscard]] fi_addr_t address_of(linnet_peer_t peer) const noexcept
    {
        return peer == LINNET_PEER_UNKNOWN ? FI_ADDR_NOTAVAIL : addresses_.get(peer);
    }
    // The source that a receive names counts.
    [[nodiscard]] bool directed() const noexcept { return (caps_ & FI_DIRECTED_RECV) != 0; }
    [[nodiscard]] bool knows(fi_addr_t address) const noexcept { return peers_.get(address) != LINNET_PEER_UNKNOWN; }
    // Why a call that names this address comes to nothing, where peers_ has no peer for it.
    [[nodiscard]] int no_peer(fi_addr_t address) const noexcept;
    [[nodiscard]] linnet_status_t why_lost(fi_addr_t address) const noexcept;
    void count(CounterSlot slot, bool success, std::uint32_t times = 1) noexcept;
    [[nodiscard]] bool may(std::uint64_t direction) const noexcept;

    // Constant once enabled.
    Domain& domain_;
    const std::uint64_t caps_;
    const std::uint64_t tx_caps_;              // what a shared context must offer
    const std::uint64_t rx_caps_;
    const bool shares_tx_;
    const bool may_share_tx_;                  // or left open how it transmits: a shared context holds nothing that it would need
    const bool shares_rx_;
    const bool sends_messages_;
    const bool receives_messages_;
    const std::size_t most_sent_;              // pieces of one operation: iov_limit
    const std::size_t most_received_;
    std::optional<Address> local_;
    Source source_;
    Cq* tx_cq_{nullptr};
    Cq* rx_cq_{nullptr};
    bool tx_selective_{false};
    bool rx_selective_{false};
    Av* av_{nullptr};
    Eq* eq_{nullptr};
    SharedTx* shared_tx_{nullptr};
    SharedRx* shared_rx_{nullptr};
    std::array<linnet_reservation_t, 2> shared_reservations_{};   // as long as there is a context: all that comes is meant for the shared receives
    bool enabled_{false};
    bool name_told_{false};   // so the application counts on it
    std::array<std::atomic<Counter*>, kCountSlots> counters_{};   // each is set once; that may be while the endpoint works
    std::atomic<unsigned> aliases_{1};
    std::atomic<std::size_t> least_multi_recv_{1024};

    std::mutex peers_lock_;                    // writers of the next three
    GrowingTable<linnet_peer_t> peers_{LINNET_PEER_UNKNOWN};   // by fi_addr_t
    GrowingTable<fi_addr_t> addresses_{FI_ADDR_NOTAVAIL};      // by peer: one address that names it, at first the first,
    GrowingTable<std::uint32_t> names_{0};                     // and how many do

    OperationPool<SendOperation> sends_;
    Fence fence_{*this};

    Lock posted_lock_;
    OperationStore<RecvOperation> receives_;   // these are guarded by it
    RecvOperation* posted_{nullptr};           // the oldest of a ring of posted receives
    RecvOperation* multis_{nullptr};           // multi-receive buffers in use
    RecvOperation* held_{nullptr};             // receives behind them: the oldest of a ring
    bool watches_{false};                      // messages for the held ones
    std::mutex claims_lock_;
    std::unordered_map<void*, Claim> claims_;  // guarded by claims_lock_, by context
};

}   // namespace linnet::ofi
