// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// The table of settings: every name, default, range and sentence that a user can see.
//
// A setting is an enumerator and, in the same place of the order, a row. The compiler refuses a row that is missing, out of order,
// or whose default its own range forbids. The environment (LINNET_CONNECT_TIMEOUT), Open MPI's MCA parameters, libfabric's
// parameters and linnet-info are all made from this table. Constant; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "conf/setting_parse.h"

namespace linnet {

enum class SettingId : std::uint8_t {
    kTransports, kPathChoice, kPathProfile, kNetInclude, kNetExclude,
    kConnectTimeout, kPeerTimeout, kSilenceTimeout, kFinalizeTimeout,
    kEagerLimit, kRetainLimit, kEagerCredit, kRndvFirst, kBulkChunk,
    kProgressPolicy, kEventThread, kSpinTime, kSleepMax, kLookIn, kArmGap, kHoldTime, kLocalRanks, kGiveWay,
    kTasks, kTaskHelpers, kCopy,
    kTcpCongestion, kTcpPortMin, kTcpPortMax, kTcpBacklog, kTcpHotSockets,
    kShmPull,
    kFrameCrc, kUdpPortMin, kUdpPortMax, kUdpQueue, kUdpSegment,
    kEthType, kEthRing, kEthListeners, kEthBypass,
    kDescriptorReserve, kExpectedPeers,
    kLogLevel, kStatsPage, kTraceEvents, kLabel,
    kCount
};
inline constexpr std::size_t kSettingCount = static_cast<std::size_t>(SettingId::kCount);

struct SettingInfo {
    SettingId id;
    const char* name;           // lower case; the environment variable is LINNET_ and the upper-case name
    SettingKind kind;
    const char* default_text;   // as a user would write it
    std::int64_t min, max;      // in bytes, nanoseconds or units; both 0 for kinds without a range
    const char* choices;        // "a|b|c" for kChoice, in the order of the index that choice() returns; else null
    const char* text;           // one sentence for users
    bool advanced;              // of interest to developers
};

namespace detail {
inline constexpr std::int64_t kKi = 1024, kMi = 1024 * kKi, kGi = 1024 * kMi;
inline constexpr std::int64_t kLanePayloadMax = 127 * kKi;   // what fits into one lane packet of 128 KiB (TransportCaps) with its heads
inline constexpr std::int64_t kUs = 1000, kMs = 1000 * kUs, kSec = 1000 * kMs, kHour = 3600 * kSec;
}   // namespace detail

// net_exclude, why these: docker*, podman*, br-<12 digits>, lxcbr*, lxdbr* and virbr* are bridges to containers and virtual machines of this
// host alone; the same address (172.17.0.1, 192.168.122.1) stands on every host, so a peer that is given it connects to itself.
// cni*, flannel*, cali* and kube-* are the overlay of a Kubernetes node: reachable from pods, or by encapsulation, never better than the
// interface below. tun* and wg* are tunnels: a job that picks one by chance runs at its speed or hangs on its filters, while one
// that needs it fails within connect_timeout with a line that names this setting. lo reaches nobody else; it is used all the same
// where no other interface is left. Not excluded: veth* and tap*, which are the only interface inside some containers, and bond*,
// br0, vlan and macvlan interfaces, which are real networks. Interfaces that are down, or without an address, need no rule.
inline constexpr std::array<SettingInfo, kSettingCount> kSettingTable{{
    {SettingId::kTransports, "transports", SettingKind::kText, "auto", 0, 0, nullptr,
     "Comma-separated transports that may be used, the first that reaches a peer: shm, eth, udp, tcp; auto means shm, tcp, where it may eth, "
     "and with at most 8 processes on the host udp.", false},
    {SettingId::kPathChoice, "path_choice", SettingKind::kChoice, "measured", 0, 0, "order|measured",
     "Which of several transports carries what goes to a peer; order: the first that reaches it; measured: messages go where they are expected to take the "
     "least time, rendezvous data where it is measured to.", false},
    {SettingId::kPathProfile, "path_profile", SettingKind::kText, "", 0, 0, nullptr,
     "File of measured costs of paths, which stand until path_choice=measured has measured by itself; empty means none.", false},
    {SettingId::kNetInclude, "net_include", SettingKind::kText, "", 0, 0, nullptr,
     "Comma-separated interface names (* and ? as wildcards) or networks (10.1.0.0/16) to use; when set, only these, and net_exclude is ignored.", false},
    {SettingId::kNetExclude, "net_exclude", SettingKind::kText,
     "lo,docker*,podman*,br-????????????,lxcbr*,lxdbr*,virbr*,cni*,flannel*,cali*,kube-*,tun*,wg*", 0, 0, nullptr,
     "Comma-separated interface names (* and ? as wildcards) or networks (10.1.0.0/16) never to use.", false},

    {SettingId::kConnectTimeout, "connect_timeout", SettingKind::kDuration, "30s", 100 * detail::kMs, detail::kHour, nullptr,
     "Longest time to reach a peer before its operations fail as unreachable.", false},
    {SettingId::kPeerTimeout, "peer_timeout", SettingKind::kDuration, "10s", 0, detail::kHour, nullptr,
     "Silence of a peer that owes us an answer after which a warning is written; 0 means never.", false},
    {SettingId::kSilenceTimeout, "silence_timeout", SettingKind::kDuration, "10min", 0, 24 * detail::kHour, nullptr,
     "Silence of a peer that owes us an answer after which it is declared dead; 0 means never.", false},
    {SettingId::kFinalizeTimeout, "finalize_timeout", SettingKind::kDuration, "10s", 0, detail::kHour, nullptr,
     "Longest time that closing waits for peers to acknowledge what was sent.", false},

    {SettingId::kEagerLimit, "eager_limit", SettingKind::kSize, "64k", 0, detail::kLanePayloadMax, nullptr,
     "Largest message that is sent without waiting for its receive, unless asking first is expected to take less time (never up to 4 KiB); longer ones use "
     "rendezvous.", false},
    {SettingId::kRetainLimit, "retain_limit", SettingKind::kSize, "16k", 0, detail::kMi, nullptr,
     "Largest eager message that is copied, so that its send completes at once (four times as much while ranks take turns on cores); longer ones complete "
     "when the peer acknowledges.", false},
    {SettingId::kEagerCredit, "eager_credit", SettingKind::kSize, "1m", 64 * detail::kKi, detail::kGi, nullptr,
     "Payload, in bytes, of eager messages without a matching receive that each peer may have in our memory; four times as many, up to 4m, after it had no "
     "credit for one whose receive was posted.", false},
    {SettingId::kRndvFirst, "rndv_first", SettingKind::kSize, "127k", 0, detail::kLanePayloadMax, nullptr,
     "Leading bytes of a rendezvous message that travel with its announcement.", true},
    {SettingId::kBulkChunk, "bulk_chunk", SettingKind::kSize, "1m", 4 * detail::kKi, 64 * detail::kMi, nullptr,
     "Rendezvous bytes that are handed to a transport at a time.", true},

    {SettingId::kProgressPolicy, "progress_policy", SettingKind::kChoice, "adaptive", 0, 0, "adaptive|spin|block",
     "How a thread waits: adaptive polls about as long as a wake-up costs and then sleeps, spin never sleeps, block sleeps at once.", false},
    {SettingId::kEventThread, "event_thread", SettingKind::kBool, "on", 0, 0, nullptr,
     "Whether a thread of Linnet's own makes progress while the application computes.", false},
    {SettingId::kSpinTime, "spin_time", SettingKind::kDuration, "0", 0, 100 * detail::kMs, nullptr,
     "How long the adaptive policy polls before it sleeps; 0 means learn it: from 100us up, as wake-ups turn out to come too late.", true},
    {SettingId::kSleepMax, "sleep_max", SettingKind::kDuration, "500us", detail::kUs, detail::kSec, nullptr,
     "Longest sleep inside one call of the host's progress function; up to 16 times that where threads outnumber cores.", true},
    {SettingId::kLookIn, "look_in", SettingKind::kDuration, "20ms", 100 * detail::kUs, 10 * detail::kSec, nullptr,
     "How often the event thread looks in while the application seems to poll by itself; up to 10 times rarer where ranks outnumber cores.", true},
    {SettingId::kArmGap, "arm_gap", SettingKind::kDuration, "20us", 0, 10 * detail::kMs, nullptr,
     "A usual gap between progress calls shorter than this leaves the event thread parked.", true},
    {SettingId::kHoldTime, "hold_time", SettingKind::kDuration, "100us", 0, 100 * detail::kMs, nullptr,
     "In a row of sends to one peer, how long a small packet may wait for the next ones, to go out with them; 0 sends each at once.", true},
    {SettingId::kLocalRanks, "local_ranks", SettingKind::kInteger, "0", 0, 65536, nullptr,
     "Processes of this job on this host, by which the waiting policy sees oversubscription; 0 means as MPI or the environment of its launcher "
     "says.", true},
    {SettingId::kGiveWay, "give_way", SettingKind::kChoice, "auto", 0, 0, "auto|yield|nap",
     "How a thread that waits lets others have its core: by a yield, or by a nap of some 60us; auto yields, but for a nap now and then while several "
     "threads of the process test in turn, and for naps alone where one of these was starved.", true},

    {SettingId::kTasks, "tasks", SettingKind::kBool, "on", 0, 0, nullptr,
     "Whether there are queues of work for threads with time to spare: copies of long messages, their submission and answers, polls of idle "
     "transports.", false},
    {SettingId::kTaskHelpers, "task_helpers", SettingKind::kInteger, "4", 0, 16, nullptr,
     "Most threads that copy on idle cores, fewer where the job needs the cores.", false},
    {SettingId::kCopy, "copy", SettingKind::kChoice, "auto", 0, 0, "auto|cpu|tasks|dsa",
     "Who copies long messages: the thread that receives them, idle cores with it, or an Intel Data Streaming Accelerator; auto: idle cores with it, where "
     "there can be any.", false},

    {SettingId::kTcpCongestion, "tcp_congestion", SettingKind::kText, "cubic", 0, 0, nullptr,
     "Congestion control of TCP connections; empty means the system's default.", true},
    {SettingId::kTcpPortMin, "tcp_port_min", SettingKind::kInteger, "0", 0, 65535, nullptr,
     "Lowest TCP port to listen on; 0 means any.", false},
    {SettingId::kTcpPortMax, "tcp_port_max", SettingKind::kInteger, "0", 0, 65535, nullptr,
     "Highest TCP port to listen on; 0 means 65535 where the lowest is given.", false},
    {SettingId::kTcpBacklog, "tcp_backlog", SettingKind::kInteger, "4096", 1, 65535, nullptr,
     "Connections that may wait to be accepted; the system cuts it to net.core.somaxconn.", true},
    {SettingId::kTcpHotSockets, "tcp_hot_sockets", SettingKind::kInteger, "2", 0, 64, nullptr,
     "Recently active sockets that a poll reads directly; where more are active it asks epoll instead.", true},

    {SettingId::kShmPull, "shm_pull", SettingKind::kChoice, "auto", 0, 0, "auto|on|off",
     "Whether long messages within a host are read straight out of the sender's memory where the system permits it; auto: where that takes less than copying "
     "them through shared memory, as is measured at the start, or the sender computes.", true},

    {SettingId::kFrameCrc, "frame_crc", SettingKind::kBool, "off", 0, 0, nullptr,
     "Whether frames of udp and eth carry a CRC-32C of all that is in them, between two processes where either has it on, for networks that damage "
     "frames.", true},
    {SettingId::kUdpPortMin, "udp_port_min", SettingKind::kInteger, "0", 0, 65535, nullptr,
     "Lowest UDP port to be called at; 0 means any; with transports=auto it is the TCP port of the process.", false},
    {SettingId::kUdpPortMax, "udp_port_max", SettingKind::kInteger, "0", 0, 65535, nullptr,
     "Highest UDP port to be called at; 0 means 65535 where the lowest is given; with transports=auto it is the TCP port of the process.", false},
    {SettingId::kUdpQueue, "udp_queue", SettingKind::kSize, "4m", 64 * detail::kKi, detail::kGi / 2, nullptr,
     "Bytes that the kernel is asked to queue for each UDP socket; it grants at most net.core.rmem_max.", true},
    {SettingId::kUdpSegment, "udp_segment", SettingKind::kBool, "on", 0, 0, nullptr,
     "Whether the kernel may be given several datagrams in one piece, to cut them apart.", true},

    {SettingId::kEthType, "eth_type", SettingKind::kInteger, "34997", 1536, 65535, nullptr,
     "EtherType of raw Ethernet frames, the same on all hosts, also written 0x88B5; 34997 (0x88B5) and 34998 are for local use.", true},
    {SettingId::kEthRing, "eth_ring", SettingKind::kInteger, "512", 64, 8192, nullptr,
     "Frames that the kernel keeps for us on each interface of raw Ethernet; each costs memory for the longest frame.", true},
    {SettingId::kEthListeners, "eth_listeners", SettingKind::kInteger, "8", 0, 1024, nullptr,
     "Processes of a host that may listen to raw Ethernet with transports=auto, each from its first link over it on, to which it is called by a UDP "
     "datagram; 0: all listen from the start, whatever transports says.", true},
    {SettingId::kEthBypass, "eth_bypass", SettingKind::kBool, "off", 0, 0, nullptr,
     "Whether raw Ethernet frames pass by the queueing discipline of their interface, and so by its shaping.", true},

    {SettingId::kDescriptorReserve, "descriptor_reserve", SettingKind::kInteger, "64", 0, 1048576, nullptr,
     "File descriptors that are left to the application when connections are opened.", true},
    {SettingId::kExpectedPeers, "expected_peers", SettingKind::kInteger, "0", 0, 16777216, nullptr,
     "Peers that this process may talk to, for which descriptors are set aside; 0 means unknown.", true},

    {SettingId::kLogLevel, "log_level", SettingKind::kChoice, "warn", 0, 0, "none|error|warn|info|debug|trace",
     "What is logged: info explains each choice, debug follows objects, trace follows events.", false},
    {SettingId::kStatsPage, "stats_page", SettingKind::kBool, "on", 0, 0, nullptr,
     "Whether counters are shown to linnet-top through a page of shared memory.", false},
    {SettingId::kTraceEvents, "trace_events", SettingKind::kInteger, "0", 0, 65536, nullptr,
     "Recent events (messages, links, peers) kept in memory, rounded up to a power of two; they are logged when a peer is lost or does not "
     "acknowledge; 0 means none.", true},
    {SettingId::kLabel, "label", SettingKind::kText, "", 0, 0, nullptr,
     "What linnet-top shows as the name of this process; when empty, its rank as the launcher's environment tells it.", false},
}};

[[nodiscard]] constexpr const SettingInfo& setting_info(SettingId id) noexcept { return kSettingTable[static_cast<std::size_t>(id)]; }

namespace detail {
constexpr bool settings_are_consistent() noexcept
{
    for (std::size_t i = 0; i < kSettingCount; ++i) {
        const SettingInfo& row = kSettingTable[i];
        if (static_cast<std::size_t>(row.id) != i || row.name == nullptr || row.text == nullptr) {
            return false;
        }
        std::int64_t number = 0;
        if (!parse_setting(row.kind, row.default_text, row.min, row.max, row.choices, number)) {
            return false;
        }
    }
    return true;
}
static_assert(settings_are_consistent(), "rows in the order of SettingId, each default within its range");
}   // namespace detail

}   // namespace linnet
