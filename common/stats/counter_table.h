// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The table of counters: name, unit and one sentence for each.
//
// A counter is an enumerator and, in the same place of the order, a row; the compiler refuses a row that is missing or out of order.
// The statistics page, linnet-top and linnet-info are made from this table. Constant; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace linnet {

enum class Counter : std::uint8_t {
    // messages
    kTxMessages, kTxBytes, kRxMessages, kRxBytes,
    kEagerSent, kRndvSent, kRndvReceived, kUnexpected, kTruncated, kCanceled, kActiveSent, kActiveReceived, kRmaOperations,
    kRmaUnasked, kCompletions,
    // sessions
    kConnects, kReconnects, kPathMoves, kAcksSent, kRetransmittedMessages, kDuplicatesDropped, kStaleBulkDropped, kUnexpectedDropped,
    kCreditStalls, kHeldBack, kPeersLost, kProtocolErrors, kRefusedHellos,
    // transports
    kTcpTxBytes, kTcpRxBytes, kTcpTxCalls, kTcpRxCalls, kTcpConnects, kTcpAccepts, kTcpReconnects, kLoopbackTxBytes,
    kShmTxBytes, kShmRxBytes, kShmPulledBytes, kShmDoorbells, kShmRoomStalls, kShmConnects, kShmAccepts,
    kUdpTxBytes, kUdpRxBytes, kUdpTxCalls, kUdpRxCalls,
    kEthTxBytes, kEthRxBytes, kEthTxCalls, kEthForeign, kEthBroken,
    // links over frames: the drops in the order of flow::Drop
    kFlowFramesOut, kFlowFramesIn, kFlowFramesAgain, kFlowAcks, kFlowPulls, kFlowProbes, kFlowTimeouts, kFlowSpurious, kFlowCreditStalls,
    kFlowConnects, kFlowAccepts, kFlowKernelDrops,
    kFlowDropBadHead, kFlowDropUnknown, kFlowDropIncarnation, kFlowDropEpoch, kFlowDropCheck, kFlowDropImplausible, kFlowDropDuplicate,
    kFlowDropBeyondCredit, kFlowDropNoBuffer, kFlowDropMismatch, kFlowDropStale,
    // progress
    kAppPolls, kAppSleeps, kAppSleepsEmpty, kAppYields,
    kEventThreadPolls, kEventThreadWakeups, kEventThreadSpurious, kEventThreadLookIns, kEventThreadArms,
    // tasks: kinds and places in the order of task/task.h
    kTaskPollHost, kTaskPollEventThread, kTaskPollHelper, kTaskPollWaiter,
    kTaskAnswerHost, kTaskAnswerEventThread, kTaskAnswerHelper, kTaskAnswerWaiter,
    kTaskSendHost, kTaskSendEventThread, kTaskSendHelper, kTaskSendWaiter,
    kTaskCopyHost, kTaskCopyEventThread, kTaskCopyHelper, kTaskCopyWaiter,
    // copies
    kCopyDsaBytes, kCopyDsaFaults, kCopyDsaFull,
    // memory
    kPoolGrowths,
    kCount
};
inline constexpr std::size_t kCounterCount = static_cast<std::size_t>(Counter::kCount);

enum class CounterUnit : std::uint8_t { kEvents = 0, kBytes = 1 };

struct CounterInfo {
    Counter id;
    const char* name;   // at most 23 letters: it travels in the statistics page
    CounterUnit unit;
    const char* text;
};

inline constexpr std::array<CounterInfo, kCounterCount> kCounterTable{{
    {Counter::kTxMessages, "tx_messages", CounterUnit::kEvents, "Messages sent, of every kind and size, also to ourselves."},
    {Counter::kTxBytes, "tx_bytes", CounterUnit::kBytes, "Bytes of the user in them; counted when the send starts."},
    {Counter::kRxMessages, "rx_messages", CounterUnit::kEvents, "Messages whose beginning has arrived."},
    {Counter::kRxBytes, "rx_bytes", CounterUnit::kBytes, "Bytes of the user in them, whole, when their beginning arrives."},
    {Counter::kEagerSent, "eager_sent", CounterUnit::kEvents, "Messages sent without waiting for their receive."},
    {Counter::kRndvSent, "rndv_sent", CounterUnit::kEvents, "Messages sent by rendezvous."},
    {Counter::kRndvReceived, "rndv_received", CounterUnit::kEvents, "Messages received by rendezvous."},
    {Counter::kUnexpected, "unexpected", CounterUnit::kEvents, "Messages that arrived before their receive was posted."},
    {Counter::kTruncated, "truncated", CounterUnit::kEvents, "Messages longer than the buffer of their receive."},
    {Counter::kCanceled, "canceled", CounterUnit::kEvents, "Operations canceled."},
    {Counter::kActiveSent, "active_sent", CounterUnit::kEvents, "Active messages sent."},
    {Counter::kActiveReceived, "active_received", CounterUnit::kEvents, "Active messages received."},
    {Counter::kRmaOperations, "rma_operations", CounterUnit::kEvents, "One-sided operations started here."},
    {Counter::kRmaUnasked, "rma_unasked", CounterUnit::kEvents, "Long writes that were sent without asking first."},
    {Counter::kCompletions, "completions", CounterUnit::kEvents, "Completions and active messages handed to the host."},
    {Counter::kConnects, "connects", CounterUnit::kEvents, "Sessions with a peer that came up."},
    {Counter::kReconnects, "reconnects", CounterUnit::kEvents, "Sessions that came up again over another connection of the same transport."},
    {Counter::kPathMoves, "path_moves", CounterUnit::kEvents, "Links that went to another transport, trials and returns included."},
    {Counter::kAcksSent, "acks_sent", CounterUnit::kEvents, "Packets sent only to acknowledge."},
    {Counter::kRetransmittedMessages, "retransmitted_messages", CounterUnit::kEvents, "Messages sent again over a new connection."},
    {Counter::kDuplicatesDropped, "duplicates_dropped", CounterUnit::kEvents, "Messages that had arrived before."},
    {Counter::kStaleBulkDropped, "stale_bulk_dropped", CounterUnit::kEvents, "Rendezvous packets that nobody waited for any more."},
    {Counter::kUnexpectedDropped, "unexpected_dropped", CounterUnit::kEvents, "Messages dropped because their match space was closed."},
    {Counter::kCreditStalls, "credit_stalls", CounterUnit::kEvents, "Sends that found no eager credit."},
    {Counter::kHeldBack, "held_back", CounterUnit::kEvents, "Small packets that waited for others, to go out in one system call."},
    {Counter::kPeersLost, "peers_lost", CounterUnit::kEvents, "Peers declared dead."},
    {Counter::kProtocolErrors, "protocol_errors", CounterUnit::kEvents, "Packets that no correct peer sends."},
    {Counter::kRefusedHellos, "refused_hellos", CounterUnit::kEvents, "Connections refused: no hello, or one with a wrong secret, target, version or epoch."},
    {Counter::kTcpTxBytes, "tcp_tx_bytes", CounterUnit::kBytes, "Bytes written to TCP sockets."},
    {Counter::kTcpRxBytes, "tcp_rx_bytes", CounterUnit::kBytes, "Bytes read from TCP sockets."},
    {Counter::kTcpTxCalls, "tcp_tx_calls", CounterUnit::kEvents, "System calls that wrote to TCP sockets."},
    {Counter::kTcpRxCalls, "tcp_rx_calls", CounterUnit::kEvents, "System calls that read from TCP sockets."},
    {Counter::kTcpConnects, "tcp_connects", CounterUnit::kEvents, "TCP connections opened from here."},
    {Counter::kTcpAccepts, "tcp_accepts", CounterUnit::kEvents, "TCP connections accepted."},
    {Counter::kTcpReconnects, "tcp_reconnects", CounterUnit::kEvents, "TCP connections to a peer that had another one of the same use before."},
    {Counter::kLoopbackTxBytes, "loopback_tx_bytes", CounterUnit::kBytes, "Bytes sent to ourselves."},
    {Counter::kShmTxBytes, "shm_tx_bytes", CounterUnit::kBytes, "Bytes written to shared memory, or offered to be read out of this process."},
    {Counter::kShmRxBytes, "shm_rx_bytes", CounterUnit::kBytes, "Bytes read from shared memory, or out of another process."},
    {Counter::kShmPulledBytes, "shm_pulled_bytes", CounterUnit::kBytes, "Of these, read out of another process by one copy."},
    {Counter::kShmDoorbells, "shm_doorbells", CounterUnit::kEvents, "System calls that woke a sleeping process of this host."},
    {Counter::kShmRoomStalls, "shm_room_stalls", CounterUnit::kEvents, "Times that a ring in shared memory was full."},
    {Counter::kShmConnects, "shm_connects", CounterUnit::kEvents, "Shared memory links opened from here."},
    {Counter::kShmAccepts, "shm_accepts", CounterUnit::kEvents, "Shared memory links asked for by others."},
    {Counter::kUdpTxBytes, "udp_tx_bytes", CounterUnit::kBytes, "Bytes of frames written to UDP sockets."},
    {Counter::kUdpRxBytes, "udp_rx_bytes", CounterUnit::kBytes, "Bytes of frames read from UDP sockets."},
    {Counter::kUdpTxCalls, "udp_tx_calls", CounterUnit::kEvents, "System calls that wrote to UDP sockets."},
    {Counter::kUdpRxCalls, "udp_rx_calls", CounterUnit::kEvents, "System calls that read from UDP sockets."},
    {Counter::kEthTxBytes, "eth_tx_bytes", CounterUnit::kBytes, "Bytes of raw Ethernet frames sent."},
    {Counter::kEthRxBytes, "eth_rx_bytes", CounterUnit::kBytes, "Bytes of raw Ethernet frames received."},
    {Counter::kEthTxCalls, "eth_tx_calls", CounterUnit::kEvents, "System calls that sent raw Ethernet frames."},
    {Counter::kEthForeign, "eth_foreign", CounterUnit::kEvents, "Frames dropped: broadcast, for another address, or in a VLAN."},
    {Counter::kEthBroken, "eth_broken", CounterUnit::kEvents, "Frames dropped: too short, or longer than a place of the ring."},
    {Counter::kFlowFramesOut, "flow_frames_out", CounterUnit::kEvents, "Frames given to datagram networks (UDP, raw Ethernet)."},
    {Counter::kFlowFramesIn, "flow_frames_in", CounterUnit::kEvents, "Frames that came from them."},
    {Counter::kFlowFramesAgain, "flow_frames_again", CounterUnit::kEvents, "Frames sent again since they were lost, or late."},
    {Counter::kFlowAcks, "flow_acks", CounterUnit::kEvents, "Frames sent only to acknowledge."},
    {Counter::kFlowPulls, "flow_pulls", CounterUnit::kEvents, "Frames sent to ask for missing blocks."},
    {Counter::kFlowProbes, "flow_probes", CounterUnit::kEvents, "Frames sent only to ask for a sign of life, or for credit."},
    {Counter::kFlowTimeouts, "flow_timeouts", CounterUnit::kEvents, "Times that nothing was heard for the probe timeout."},
    {Counter::kFlowSpurious, "flow_spurious", CounterUnit::kEvents, "Frames sent again that had arrived at first."},
    {Counter::kFlowCreditStalls, "flow_credit_stalls", CounterUnit::kEvents, "Times that the peer's receive queue had no place left for us."},
    {Counter::kFlowConnects, "flow_connects", CounterUnit::kEvents, "Links over frames opened from here."},
    {Counter::kFlowAccepts, "flow_accepts", CounterUnit::kEvents, "Links over frames asked for by others."},
    {Counter::kFlowKernelDrops, "flow_kernel_drops", CounterUnit::kEvents, "Frames that the kernel dropped since our receive queue was full."},
    {Counter::kFlowDropBadHead, "flow_drop_bad_head", CounterUnit::kEvents, "Frames dropped: too short, or of another version or kind."},
    {Counter::kFlowDropUnknown, "flow_drop_unknown", CounterUnit::kEvents, "Frames dropped: for a connection that is not known here."},
    {Counter::kFlowDropIncarnation, "flow_drop_incarnation", CounterUnit::kEvents, "Frames dropped: from another process at the peer's place."},
    {Counter::kFlowDropEpoch, "flow_drop_epoch", CounterUnit::kEvents, "Frames dropped: of an older link."},
    {Counter::kFlowDropCheck, "flow_drop_check", CounterUnit::kEvents, "Frames dropped: wrong checksum or authentication."},
    {Counter::kFlowDropImplausible, "flow_drop_implausible", CounterUnit::kEvents, "Frames dropped: they say what no correct peer says."},
    {Counter::kFlowDropDuplicate, "flow_drop_duplicate", CounterUnit::kEvents, "Frames dropped: they had arrived before."},
    {Counter::kFlowDropBeyondCredit, "flow_drop_beyond_credit", CounterUnit::kEvents, "Frames dropped: more than was granted."},
    {Counter::kFlowDropNoBuffer, "flow_drop_no_buffer", CounterUnit::kEvents, "Frames dropped: they came too early, and there was no room to keep them."},
    {Counter::kFlowDropMismatch, "flow_drop_mismatch", CounterUnit::kEvents, "Frames dropped: blocks and questions that contradict their train."},
    {Counter::kFlowDropStale, "flow_drop_stale", CounterUnit::kEvents, "Frames dropped: about what is over, or not yet open."},
    {Counter::kAppPolls, "app_polls", CounterUnit::kEvents, "Passes over the transports by threads of the application."},
    {Counter::kAppSleeps, "app_sleeps", CounterUnit::kEvents, "Sleeps of threads of the application."},
    {Counter::kAppSleepsEmpty, "app_sleeps_empty", CounterUnit::kEvents, "Of these, ended by time and not by an arrival."},
    {Counter::kAppYields, "app_yields", CounterUnit::kEvents, "Times that a polling thread gave up its processor."},
    {Counter::kEventThreadPolls, "event_thread_polls", CounterUnit::kEvents, "Passes over the transports by the event thread."},
    {Counter::kEventThreadWakeups, "event_thread_wakeups", CounterUnit::kEvents, "Returns of the event thread from a sleep."},
    {Counter::kEventThreadSpurious, "event_thread_spurious", CounterUnit::kEvents, "Of these, in vain: the application was polling."},
    {Counter::kEventThreadLookIns, "event_thread_look_ins", CounterUnit::kEvents, "Of these, by the look-in timer."},
    {Counter::kEventThreadArms, "event_thread_arms", CounterUnit::kEvents, "Times that a leaving caller had the event thread watch, or woke it."},
    {Counter::kTaskPollHost, "task_poll_host", CounterUnit::kEvents, "Looks for arrivals as tasks, by polling threads of the application."},
    {Counter::kTaskPollEventThread, "task_poll_event", CounterUnit::kEvents, "Looks for arrivals as tasks, by the event thread."},
    {Counter::kTaskPollHelper, "task_poll_helper", CounterUnit::kEvents, "Looks for arrivals as tasks, by helpers on idle cores."},
    {Counter::kTaskPollWaiter, "task_poll_waiter", CounterUnit::kEvents, "Looks for arrivals as tasks, by threads that waited for them."},
    {Counter::kTaskAnswerHost, "task_answer_host", CounterUnit::kEvents, "Answers to a peer as tasks, by polling threads of the application."},
    {Counter::kTaskAnswerEventThread, "task_answer_event", CounterUnit::kEvents, "Answers to a peer as tasks, by the event thread."},
    {Counter::kTaskAnswerHelper, "task_answer_helper", CounterUnit::kEvents, "Answers to a peer as tasks, by helpers on idle cores."},
    {Counter::kTaskAnswerWaiter, "task_answer_waiter", CounterUnit::kEvents, "Answers to a peer as tasks, by threads that waited for them."},
    {Counter::kTaskSendHost, "task_send_host", CounterUnit::kEvents, "Packets handed to a transport as tasks, by polling threads of the application."},
    {Counter::kTaskSendEventThread, "task_send_event", CounterUnit::kEvents, "Packets handed to a transport as tasks, by the event thread."},
    {Counter::kTaskSendHelper, "task_send_helper", CounterUnit::kEvents, "Packets handed to a transport as tasks, by helpers on idle cores."},
    {Counter::kTaskSendWaiter, "task_send_waiter", CounterUnit::kEvents, "Packets handed to a transport as tasks, by threads that waited for them."},
    {Counter::kTaskCopyHost, "task_copy_host", CounterUnit::kEvents, "Pieces copied as tasks, by polling threads of the application."},
    {Counter::kTaskCopyEventThread, "task_copy_event", CounterUnit::kEvents, "Pieces copied as tasks, by the event thread."},
    {Counter::kTaskCopyHelper, "task_copy_helper", CounterUnit::kEvents, "Pieces copied as tasks, by helpers on idle cores."},
    {Counter::kTaskCopyWaiter, "task_copy_waiter", CounterUnit::kEvents, "Pieces copied as tasks, by threads that waited for them."},
    {Counter::kCopyDsaBytes, "copy_dsa_bytes", CounterUnit::kBytes, "Bytes copied by a data streaming accelerator."},
    {Counter::kCopyDsaFaults, "copy_dsa_faults", CounterUnit::kEvents, "Its copies that ended early at a page that was not there."},
    {Counter::kCopyDsaFull, "copy_dsa_full", CounterUnit::kEvents, "Batches that its queues had no room for."},
    {Counter::kPoolGrowths, "pool_growths", CounterUnit::kEvents, "Times that a pool asked the allocator for memory."},
}};

[[nodiscard]] constexpr const CounterInfo& counter_info(Counter id) noexcept { return kCounterTable[static_cast<std::size_t>(id)]; }

namespace detail {
constexpr bool counters_are_consistent() noexcept
{
    for (std::size_t i = 0; i < kCounterCount; ++i) {
        const CounterInfo& row = kCounterTable[i];
        if (static_cast<std::size_t>(row.id) != i || row.name == nullptr || row.text == nullptr || std::string_view{row.name}.size() > 23) {
            return false;
        }
    }
    return true;
}
static_assert(counters_are_consistent(), "rows in the order of Counter, names of at most 23 letters");
}   // namespace detail

}   // namespace linnet
