/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* linnet.h: the one interface between the core and every host (Open MPI, MPICH, libfabric). Plain C11; also valid C++20. */
/*
 * What it is     Tagged messages and active messages between processes, over the transports that the context opened; linnet_rma.h adds one-sided
 *                operations, linnet_watch.h what a host needs that matches by itself.
 * Who owns it    A host opens a context and closes it. Two contexts in one process are independent. After fork() the
 *                contexts of the parent are dead in the child: every call answers LINNET_ERR_CLOSED.
 * Threads        Every function may be called from any thread, except where it says otherwise. Completion and message handlers run only in calls of
 *                linnet_progress(), linnet_wait(), linnet_hand_out() (linnet_watch.h), linnet_context_flush() and linnet_context_close(), on their thread,
 *                with no lock held: they may call any function of this header, linnet_progress() too. The event thread never calls the host; the exceptions
 *                are a pack or unpack function, which may touch nothing but its own request's data, and what linnet_attend() registers.
 * Blocking       Only linnet_wait(), linnet_context_flush(), linnet_context_close() and, with LINNET_MAY_SLEEP, linnet_progress().
 *                Each is bounded by its argument or by the setting it names.
 * Failure        A negative linnet_status_t; its reason is logged once, by the function that found it, through the host's log sink. Outputs are written
 *                only on success. NULL that nothing allows is LINNET_ERR_INVALID; only for the struct of an operation (linnet_send_t...) nobody looks.
 *
 * Times are nanoseconds, sizes bytes. Structs that may grow begin with `size`: set it to sizeof(the struct).
 */
#ifndef LINNET_H
#define LINNET_H

#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

#ifdef __cplusplus
#define LINNET_NOEXCEPT noexcept
extern "C" {
#else
#define LINNET_NOEXCEPT
#endif

#if defined(__GNUC__)
#define LINNET_API __attribute__((visibility("default")))
#else
#define LINNET_API
#endif
#define LINNET_API_VERSION 1u

/* ---- status ---- */
typedef enum linnet_status {
    LINNET_OK = 0,
    LINNET_IN_PROGRESS = 1,         /* accepted; the request's `done` will run */
    LINNET_ERR_NO_RESOURCE = -1,    /* nothing happened; retry after linnet_progress() */
    LINNET_ERR_NO_MEMORY = -2,
    LINNET_ERR_NOT_FOUND = -3,      /* no such message, peer, setting */
    LINNET_ERR_INVALID = -4,        /* an argument or a setting is wrong */
    LINNET_ERR_UNSUPPORTED = -5,
    LINNET_ERR_AGAIN = -6,
    LINNET_ERR_TIMED_OUT = -7,
    LINNET_ERR_TRUNCATED = -10,     /* the message was longer than the buffer; result.length is its true length */
    LINNET_ERR_CANCELED = -11,
    LINNET_ERR_KEY = -12,           /* one-sided: no memory region has this key; registering: one has it already */
    LINNET_ERR_BOUNDS = -13,        /* not within the memory region */
    LINNET_ERR_NOT_ALLOWED = -14,   /* the memory region may not be used so */
    LINNET_ERR_PEER_DOWN = -20,     /* the peer died or departed; permanent for this peer */
    LINNET_ERR_UNREACHABLE = -21,   /* no way to the peer within connect_timeout */
    LINNET_ERR_REFUSED = -22,       /* the peer refused: wrong secret, another incarnation, another version */
    LINNET_ERR_PROTOCOL = -23,      /* the peer sent what no correct peer sends */
    LINNET_ERR_IO = -30, LINNET_ERR_NO_DESCRIPTORS = -31, LINNET_ERR_PERMISSION = -32, LINNET_ERR_CLOSED = -33, LINNET_ERR_INTERNAL = -34
} linnet_status_t;

/* Lower-case words; never NULL; static storage. */
LINNET_API const char* linnet_status_text(linnet_status_t status) LINNET_NOEXCEPT;
/* "0.1.0"; static storage. */
LINNET_API const char* linnet_version_text(void) LINNET_NOEXCEPT;

/* ---- settings ---- */
typedef struct linnet_setting {
    const char* name;    /* as in linnet(7), without the LINNET_ prefix, lower case: "connect_timeout" */
    const char* value;   /* text with unit: "30s", "64k", "on" */
} linnet_setting_t;

typedef enum linnet_setting_kind {
    LINNET_SETTING_BOOL, LINNET_SETTING_INTEGER, LINNET_SETTING_SIZE, LINNET_SETTING_DURATION, LINNET_SETTING_CHOICE, LINNET_SETTING_TEXT
} linnet_setting_kind_t;

typedef struct linnet_setting_info {
    const char* name;
    linnet_setting_kind_t kind;
    const char* default_value;
    const char* choices;    /* "a|b|c" for LINNET_SETTING_CHOICE, else NULL */
    const char* text;       /* one sentence for users */
    int advanced;           /* non-zero: of interest to developers */
} linnet_setting_info_t;

/* The table of settings, so that a host can export them as its own parameters. Static storage.
 * @retval LINNET_ERR_NOT_FOUND  index is past the end */
LINNET_API linnet_status_t linnet_setting_describe(size_t index, linnet_setting_info_t* out) LINNET_NOEXCEPT;

/* ---- context ---- */
typedef struct linnet_context linnet_context_t;
typedef uint32_t linnet_peer_t;
#define LINNET_PEER_ANY UINT32_MAX              /* receive and probe: any source */
#define LINNET_PEER_UNKNOWN (UINT32_MAX - 1u)   /* result: a peer that the host has not added */

typedef enum linnet_log_level {
    LINNET_LOG_ERROR = 1, LINNET_LOG_WARN = 2, LINNET_LOG_INFO = 3, LINNET_LOG_DEBUG = 4, LINNET_LOG_TRACE = 5
} linnet_log_level_t;

/* `line` has no newline and lives for the call. Any thread; must not call Linnet. */
typedef void (*linnet_log_fn)(void* arg, linnet_log_level_t level, const char* line) LINNET_NOEXCEPT;

typedef struct linnet_open_options {
    size_t size;
    const linnet_setting_t* settings;   /* override the environment (LINNET_*), which overrides the defaults */
    size_t setting_count;
    linnet_log_fn log;                  /* NULL: standard error */
    void* log_arg;
    uint64_t wild_mask;                 /* the ignore mask (besides 0) that has the fast path; MPI's "any tag" */
    const char* label;                  /* what linnet-top shows, e.g. "job 7 rank 3"; NULL: the rank as the launcher tells it */
    uint32_t expected_peers;            /* for the descriptor budget; 0 unknown */
    uint32_t local_ranks;               /* processes of this job on this host, for the waiting policy; 0: as the launcher tells it */
} linnet_open_options_t;

/* Open the transports and start the event thread. Connects to nobody. */
LINNET_API linnet_status_t linnet_context_open(const linnet_open_options_t* options, linnet_context_t** out) LINNET_NOEXCEPT;

/* Wait until everything sent has been acknowledged by living peers, at most `timeout_ns`; UINT64_MAX: as long as the setting finalize_timeout says.
 * @retval LINNET_ERR_TIMED_OUT  a peer has not acknowledged; how many was logged */
LINNET_API linnet_status_t linnet_context_flush(linnet_context_t* ctx, uint64_t timeout_ns) LINNET_NOEXCEPT;

/* Say goodbye to every peer, stop the event thread, free everything. Bounded by the setting finalize_timeout. Requests that end meanwhile may tell their
 * `done`; the others end without. Their storage is the host's again when this returns. No other call may be under way. */
LINNET_API void linnet_context_close(linnet_context_t* ctx) LINNET_NOEXCEPT;

typedef struct linnet_caps {
    size_t size;
    uint64_t eager_max;        /* largest message that travels without asking the receiver */
    uint32_t am_header_max;    /* largest header of an active message */
    uint64_t am_payload_max;   /* largest payload of an active message */
} linnet_caps_t;
LINNET_API linnet_status_t linnet_context_caps(linnet_context_t* ctx, linnet_caps_t* caps) LINNET_NOEXCEPT;

/* ---- names and peers ---- */
/* A name is a capability: it holds the endpoint's secret, and must travel only through the host's own exchange. Opaque, of fixed
 * length, comparable by memcmp. */
#define LINNET_NAME_BYTES 64
typedef struct linnet_name { unsigned char bytes[LINNET_NAME_BYTES]; } linnet_name_t;

LINNET_API linnet_status_t linnet_context_name(linnet_context_t* ctx, linnet_name_t* out) LINNET_NOEXCEPT;
/* "10.1.0.2 port 41873" into `out`, always terminated; for messages to people, without the secret. */
LINNET_API linnet_status_t linnet_name_text(const linnet_name_t* name, char* out, size_t out_bytes) LINNET_NOEXCEPT;

/* Make `name` known. Never waits: the connection opens with the first message. Adding a name twice gives the same peer. Messages that
 * came from this endpoint before match receives that name this peer from now on.
 * @retval LINNET_ERR_INVALID  not a name, or made by another version of Linnet */
LINNET_API linnet_status_t linnet_peer_add(linnet_context_t* ctx, const linnet_name_t* name, linnet_peer_t* out) LINNET_NOEXCEPT;

/* The same from a numeric address and port ("10.1.0.2", "fd00::2" or "fe80::2%eth0", "41873"), without a secret, so neither side proves
 * who it is (docs/security.md). The other side accepts it. */
LINNET_API linnet_status_t linnet_peer_add_address(linnet_context_t* ctx, const char* node, const char* service, linnet_peer_t* out) LINNET_NOEXCEPT;

/* What log lines and linnet-top call this peer, before its address: at most 23 bytes. Without it: "rank 3", as told by its launcher. May be called again. */
LINNET_API linnet_status_t linnet_peer_label(linnet_context_t* ctx, linnet_peer_t peer, const char* label) LINNET_NOEXCEPT;

/* The host needs this peer no more: receives that name it end with LINNET_ERR_PEER_DOWN, later messages from it have an unknown source. */
LINNET_API linnet_status_t linnet_peer_remove(linnet_context_t* ctx, linnet_peer_t peer) LINNET_NOEXCEPT;

/* LINNET_OK while nothing is known against the peer, else why it is lost. */
LINNET_API linnet_status_t linnet_peer_status(linnet_context_t* ctx, linnet_peer_t peer) LINNET_NOEXCEPT;

/* What the host knows from elsewhere (a launcher's event): the peer's process is dead. Its operations end with LINNET_ERR_PEER_DOWN. */
LINNET_API linnet_status_t linnet_peer_declare_dead(linnet_context_t* ctx, linnet_peer_t peer) LINNET_NOEXCEPT;

/* ---- requests ---- */
typedef struct linnet_result {
    linnet_status_t status;
    linnet_peer_t peer;     /* receive: the source, or LINNET_PEER_UNKNOWN */
    uint64_t match_bits;    /* receive: as sent */
    uint64_t immediate;     /* receive: as sent */
    uint64_t length;        /* receive: bytes of the message as sent, also when truncated */
    uint32_t flags;         /* receive: LINNET_SEND_IMMEDIATE when the sender set it */
    uint32_t reserved[3];
} linnet_result_t;

typedef struct linnet_request linnet_request_t;

/* The operation is over; `request` is the host's again and may be freed inside this call. */
typedef void (*linnet_done_fn)(linnet_request_t* request, void* arg) LINNET_NOEXCEPT;

#define LINNET_REQUEST_OPAQUE_BYTES 512
#define LINNET_REQUEST_ALIGN 16

/* Storage that the host lends for one operation, from the call that starts it until `done` is entered, or until a call returns anything
 * but LINNET_IN_PROGRESS. Needs no initialisation; must not be moved or copied meanwhile. `result` is valid from then on. */
struct linnet_request {
    linnet_result_t result;
    unsigned char opaque[LINNET_REQUEST_OPAQUE_BYTES];
}
#if defined(__GNUC__)
__attribute__((aligned(LINNET_REQUEST_ALIGN)))
#endif
;

/* Fill `to` with the `bytes` bytes of the packed message from `offset` on. Offsets ascend without gaps, except that a transfer whose
 * connection broke starts again at an earlier one. Event thread or caller's, one at a time per request. Must not call Linnet. */
typedef void (*linnet_pack_fn)(void* arg, uint64_t offset, void* to, size_t bytes) LINNET_NOEXCEPT;
typedef void (*linnet_unpack_fn)(void* arg, uint64_t offset, const void* from, size_t bytes) LINNET_NOEXCEPT;

/* The bytes of a message, in one of three forms: contiguous (iov NULL, pack/unpack NULL), a vector (iov), or behind functions. */
typedef struct linnet_data {
    void* base;                  /* contiguous form; may be NULL when length is 0 */
    uint64_t length;             /* of the whole message, in every form */
    const struct iovec* iov;     /* must stay valid as long as the data */
    size_t iov_count;
    linnet_pack_fn pack;         /* sends */
    linnet_unpack_fn unpack;     /* receives */
    void* pack_arg;
} linnet_data_t;

/* ---- tagged messages ---- */
/* Messages of one context to one peer in one space match in the order of the send calls (MPI 4.0, section 3.5). */

enum {
    LINNET_SEND_SYNC = 1u << 0,    /* complete only when the receiver has matched it */
    LINNET_SEND_COPY = 1u << 1,    /* complete at once if it can be done by copying: the caller is about to wait for it */
    LINNET_SEND_ACKED = 1u << 2,   /* complete only when the peer's process has the message, matched or not; rendezvous: matched */
    LINNET_SEND_IMMEDIATE = 1u << 3,  /* the immediate means something; the receiver's result.flags tell */
    LINNET_SEND_FENCE = 1u << 4,      /* only when all else towards this peer is over, and its `done` has returned; till then LINNET_ERR_AGAIN */
    LINNET_SEND_DELIVERED = 1u << 5   /* complete only when it is in its receive, or, if not rendezvous, waits and none is meant for it */
};

typedef struct linnet_send {
    linnet_peer_t peer;
    uint32_t space;
    uint64_t match_bits;
    uint64_t immediate;
    uint32_t flags;
    linnet_data_t data;
    linnet_done_fn done;
    void* done_arg;
} linnet_send_t;

/* Start sending one message. Never waits; at most one system call for a short message. Without LINNET_SEND_SYNC, completion means
 * that the data may be reused, not that it has arrived. `request` may be NULL: then either it is complete, or LINNET_ERR_AGAIN and nothing happened.
 * @retval LINNET_OK               complete; `done` will not run
 * @retval LINNET_IN_PROGRESS      accepted; `done` will run
 * @retval LINNET_ERR_NO_RESOURCE  nothing happened; retry after linnet_progress()
 * @retval LINNET_ERR_PEER_DOWN, LINNET_ERR_UNREACHABLE, LINNET_ERR_REFUSED  the peer is lost
 * @retval LINNET_ERR_INVALID      no such peer, or misaligned request */
LINNET_API linnet_status_t linnet_tag_send(linnet_context_t* ctx, const linnet_send_t* send, linnet_request_t* request) LINNET_NOEXCEPT;

typedef struct linnet_recv {
    linnet_peer_t peer;      /* or LINNET_PEER_ANY */
    uint32_t space;
    uint64_t match_bits;
    uint64_t ignore;         /* bits set here are not compared */
    linnet_data_t data;
    linnet_done_fn done;
    void* done_arg;
} linnet_recv_t;

/* Post a receive. Never waits.
 * @retval LINNET_OK           it was there already: complete, request->result is valid, `done` will not run
 * @retval LINNET_IN_PROGRESS  posted; `done` will run
 * @retval LINNET_ERR_TRUNCATED  as LINNET_OK, but it did not fit: data holds what did
 * other negative: nothing is posted; but for LINNET_ERR_INVALID and CLOSED, a message that it had matched is gone, for its sender as if received */
LINNET_API linnet_status_t linnet_tag_recv(linnet_context_t* ctx, const linnet_recv_t* recv, linnet_request_t* request) LINNET_NOEXCEPT;

/* Cancel, until the storage is used again. A receive: the verdict is immediate. A send: the peer is asked, and it ends canceled or as it would have.
 * @retval LINNET_OK             the receive is canceled; `done` will not run
 * @retval LINNET_IN_PROGRESS    a send; `done` will run
 * @retval LINNET_ERR_NOT_FOUND  too late: it completes as it would have */
LINNET_API linnet_status_t linnet_cancel(linnet_context_t* ctx, linnet_request_t* request) LINNET_NOEXCEPT;

/* What a probe looks for; the same meaning as in linnet_recv_t. */
typedef struct linnet_match {
    linnet_peer_t peer;
    uint32_t space;
    uint64_t match_bits;
    uint64_t ignore;
} linnet_match_t;

/* Is there a message that a receive like this would match? Looks at what has arrived; does not make progress.
 * @retval LINNET_OK  and *result tells;  @retval LINNET_ERR_NOT_FOUND */
LINNET_API linnet_status_t linnet_probe(linnet_context_t* ctx, const linnet_match_t* match, linnet_result_t* result) LINNET_NOEXCEPT;

typedef struct linnet_message linnet_message_t;
/* The same, and take the message out of matching: only linnet_message_recv() gets it now. Must be received (with length 0 to drop it). */
LINNET_API linnet_status_t linnet_probe_claim(linnet_context_t* ctx, const linnet_match_t* match, linnet_message_t** message,
                                              linnet_result_t* result) LINNET_NOEXCEPT;
/* Receive a claimed message; recv->data, done, done_arg are used, the rest ignored. Results as linnet_tag_recv(). */
LINNET_API linnet_status_t linnet_message_recv(linnet_context_t* ctx, linnet_message_t* message, const linnet_recv_t* recv,
                                               linnet_request_t* request) LINNET_NOEXCEPT;

/* Messages of a space that will not be used again are dropped, and what it held is freed. A space needs no opening. */
LINNET_API linnet_status_t linnet_space_close(linnet_context_t* ctx, uint32_t space) LINNET_NOEXCEPT;

/* ---- active messages ---- */
/* `header` and `payload` are aligned to 16 bytes and live for the call. Runs inside linnet_progress(); messages of one peer run in order. */
typedef void (*linnet_am_fn)(void* arg, linnet_peer_t from, uint64_t immediate, const void* header, size_t header_bytes,
                             const void* payload, size_t payload_bytes) LINNET_NOEXCEPT;

#define LINNET_AM_IDS 64
/* Before the peers of this context may send to `id`; messages to an id without a function are dropped and counted. */
LINNET_API linnet_status_t linnet_am_register(linnet_context_t* ctx, uint32_t id, linnet_am_fn fn, void* arg) LINNET_NOEXCEPT;

typedef struct linnet_am {
    linnet_peer_t peer;
    uint32_t id;
    uint64_t immediate;
    const void* header;      /* copied before the call returns */
    size_t header_bytes;
    uint32_t flags;          /* LINNET_SEND_COPY */
    linnet_data_t data;
    linnet_done_fn done;
    void* done_arg;
} linnet_am_t;

/* Results as linnet_tag_send(). Undelivered active messages at the receiver are bounded by the setting eager_credit per peer: a sender
 * that outruns it keeps its message (LINNET_IN_PROGRESS) until the receiver's handlers have run. LINNET_ERR_INVALID: longer than am_*_max. */
LINNET_API linnet_status_t linnet_am_send(linnet_context_t* ctx, const linnet_am_t* am, linnet_request_t* request) LINNET_NOEXCEPT;

/* ---- progress ---- */
enum {
    LINNET_MAY_SLEEP = 1u << 0,   /* the caller has nothing better to do; sleeps at most the setting sleep_max */
    LINNET_MAY_YIELD = 1u << 1,   /* it tests, and may have other work: never sleeps, gives way to who wants the core, after 20 us looks only once per us */
    LINNET_IF_HELD = 1u << 2,     /* it posts no more for now: nothing is done but where packets are held back for others, which go out */
    LINNET_IF_COMPLETE = 1u << 3  /* likewise, but where something is complete already */
};

/* Move data, then run what is complete: at most `budget` `done` functions and message handlers (0: all). Returns the true number of events. */
LINNET_API unsigned linnet_progress(linnet_context_t* ctx, unsigned budget, unsigned flags) LINNET_NOEXCEPT;

/* Sleep or poll, as the setting progress_policy says, until something completed (and run it) or `timeout_ns` is over: LINNET_ERR_TIMED_OUT. */
LINNET_API linnet_status_t linnet_wait(linnet_context_t* ctx, uint64_t timeout_ns) LINNET_NOEXCEPT;

/* A descriptor that polls readable when linnet_progress() would do something. Owned by the context; never read it. Before sleeping on it,
 * call linnet_wait_fd_arm(): LINNET_OK: sleep; LINNET_ERR_AGAIN: call linnet_progress() first. */
LINNET_API linnet_status_t linnet_wait_fd(linnet_context_t* ctx, int* fd) LINNET_NOEXCEPT;
LINNET_API linnet_status_t linnet_wait_fd_arm(linnet_context_t* ctx) LINNET_NOEXCEPT;

/* ---- statistics ---- */
typedef struct linnet_counter_info {
    const char* name;    /* "tcp_tx_bytes" */
    const char* unit;    /* "bytes" */
    const char* text;
} linnet_counter_info_t;

LINNET_API linnet_status_t linnet_counter_describe(size_t index, linnet_counter_info_t* out) LINNET_NOEXCEPT;
/* The sum over all threads, not older than the call. */
LINNET_API linnet_status_t linnet_counter_read(linnet_context_t* ctx, size_t index, uint64_t* value) LINNET_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* LINNET_H */
