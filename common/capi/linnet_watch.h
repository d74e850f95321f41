/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* linnet_watch.h: the part of linnet.h for hosts that match messages by themselves, for instance those of several contexts. */
/*
 * What it is     Such a host posts no receives in a space. It is told that messages wait there, claims them with linnet_probe_claim(), and receives
 *                each with linnet_message_recv() where its own rules say. Or it posts one in the place of another, as often as that has ended. In both
 *                cases it knows better than the core whether a receive is meant for what waits there. And, for hosts whose programs count on progress
 *                without calls: what is complete is handed out while the program stays away.
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

/* As linnet_tag_recv(), of a receive behind which the host posts the next one when it has ended: a renewed one. What comes in between is meant for that. */
LINNET_API linnet_status_t linnet_tag_recv_renewed(linnet_context_t* ctx, const linnet_recv_t* recv, linnet_request_t* request) LINNET_NOEXCEPT;

/* From now on `renewed` of the receives of this space are renewed ones: to be called before one is posted for the first time, and when one will be posted no
 * more. And, after each of them has been posted again: if none has a message now, no receive is meant for what waits in the space, and senders are told so.
 * In a watched space only the host can tell, of what it has looked at: so this is to be called after each linnet_news_fn, with the mark that it took before it
 * looked. When the watch ends, all of them are told.
 * @retval LINNET_OK  @retval LINNET_ERR_AGAIN  some have a message: to be called when they have been posted again */
LINNET_API linnet_status_t linnet_space_settle(linnet_context_t* ctx, uint32_t space, uint32_t renewed, uint64_t mark) LINNET_NOEXCEPT;
LINNET_API uint64_t linnet_space_mark(linnet_context_t* ctx, uint32_t space) LINNET_NOEXCEPT;

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
