/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* linnet_watch.h: the part of linnet.h for hosts that match messages by themselves, for instance those of several contexts. */
/*
 * What it is     Such a host posts no receives in a space. It is told that messages wait there, claims them with linnet_probe_claim(), and receives each with
 *                linnet_message_recv() where its own rules say. Or it posts one receive in the place of another when that has ended. In both cases it
 *                knows better than the core whether a receive is meant for what waits there, and says so. And, for hosts whose programs count on
 *                progress without calls: what is complete is handed out while the program stays away.
 * Who owns it    A watch belongs to its context, and goes with it.
 * Threads        Any.
 * Blocking       Nothing.
 * All else       As in linnet.h. A watched space is open work: messages are taken in while the host computes.
 */
#ifndef LINNET_WATCH_H
#define LINNET_WATCH_H

#include "linnet.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    LINNET_NEWS_MESSAGES = 1u << 0,   /* messages came for which no receive was posted */
    LINNET_NEWS_PEER = 1u << 1        /* a peer was lost or removed: linnet_peer_status() */
};

/* News of a space. One call may stand for many messages, and it may come when they are gone. Runs inside linnet_progress() or linnet_wait(). */
typedef void (*linnet_news_fn)(void* arg, uint32_t space, uint32_t news) LINNET_NOEXCEPT;

/* Be told. Messages that wait in the space already are news. A space is watched once, until its context closes or `fn` is NULL: from then on no call
 * begins; one that is under way on another thread goes on.
 * @retval LINNET_ERR_INVALID  it was watched before */
LINNET_API linnet_status_t linnet_space_watch(linnet_context_t* ctx, uint32_t space, linnet_news_fn fn, void* arg) LINNET_NOEXCEPT;

/* The source of a claimed message. What linnet_probe_claim() told of it changes when a peer that nobody had added is added. */
LINNET_API linnet_status_t linnet_message_peer(linnet_context_t* ctx, const linnet_message_t* message, linnet_peer_t* peer) LINNET_NOEXCEPT;

/* ---- senders that want to know when their message is delivered: LINNET_SEND_DELIVERED ---- */

/* What a receive of the host would match that is not posted: because it is one of the host's own, or will be posted in the place, or behind, of another.
 * Storage that the host lends from linnet_reserve() to linnet_unreserve(), or till its context is closed. */
typedef struct linnet_reservation {
    unsigned char opaque[64];
}
#if defined(__GNUC__)
__attribute__((aligned(LINNET_REQUEST_ALIGN)))
#endif
linnet_reservation_t;

/* From now on messages that wait, and that `match` accepts, are meant for that receive: their senders are told when it has them. To be called before the
 * receive is posted for the first time; while it is posted, too, nothing is wrong with it.
 * @retval LINNET_ERR_NO_MEMORY */
LINNET_API linnet_status_t linnet_reserve(linnet_context_t* ctx, const linnet_match_t* match, linnet_reservation_t* reservation) LINNET_NOEXCEPT;

/* Not any more, after the last posting: what waits and is accepted by no other reservation is meant for none, and senders are told so. */
LINNET_API linnet_status_t linnet_unreserve(linnet_context_t* ctx, linnet_reservation_t* reservation) LINNET_NOEXCEPT;

/* None is meant for this claimed message: its sender is told so, once. */
LINNET_API linnet_status_t linnet_message_settle(linnet_context_t* ctx, linnet_message_t* message) LINNET_NOEXCEPT;

/* ---- completions while the program stays away ---- */

/* Runs on the event thread, where it found something complete that no thread of the program has taken, with no lock held that the functions of these headers
 * take: it may call what a completion handler may, and linnet_hand_out(). It must not close the context, and should not wait. */
typedef void (*linnet_attend_fn)(void* arg) LINNET_NOEXCEPT;

/* From now on `fn` is called. NULL: not any more; a call that is under way on the event thread is waited for, so hold no lock that it may want. */
LINNET_API linnet_status_t linnet_attend(linnet_context_t* ctx, linnet_attend_fn fn, void* arg) LINNET_NOEXCEPT;

/* Run what is complete, as linnet_progress() does, and move no data. For a linnet_attend_fn: the program counts as being away as before.
 * Returns how many functions were run. */
LINNET_API unsigned linnet_hand_out(linnet_context_t* ctx) LINNET_NOEXCEPT;

#ifdef __cplusplus
}
#endif

#endif /* LINNET_WATCH_H */
