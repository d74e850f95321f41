/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * Packets held back (docs/threading.md): a thread that sends a row may leave a packet to the next pass, and go to compute. Somebody makes that pass.
 *
 * Two sending threads, a thread that polls now and then, the event thread. A thread that sends never comes back: what it left must go out all the same.
 * Checked, over all interleavings: no state in which nothing moves any more and a packet is still held. The event thread's long sleeps (parked or
 * armed, look_in) do not end by themselves here, only its short ones (hold_time) while it watches.
 * Sequentially consistent, as the code's accesses to these words are (seq_cst). A list under a lock changes in one step.
 *     POSTS   packets of each sending thread (1 or 2)
 *     PASSES  of the thread that polls
 *     ARMS    1: the event thread is also sent to drain the sources
 * M_...: what is left out, for tests/checks/check_model to see that the check would notice.
 */
#ifndef POSTS
#define POSTS 2
#endif
#ifndef PASSES
#define PASSES 1
#endif
#ifndef ARMS
#define ARMS 1
#endif
#define LOOKS 2          /* at most, after a row; the code's number depends on the rows before */

mtype = { awake, parked, armed };

byte holder;             /* of the token: 0 nobody, 1 the polling thread, 2 the event thread */
bit lock[2];             /* of the session of sender i */
byte waiting[2];         /* packets that it holds; under its lock, as in_held */
bit in_held[2];
bit list[2];             /* is it in the list? under a lock of its own */
bit any_held;            /* SessionLayer::any_held_ */
byte held, held_sent;    /* ProgressEngine::held_, held_sent_ */
bit watching;
mtype state = awake;     /* of the event thread */
bit bell;                /* wakes it, parked or armed */
bit arm_request;
byte left;               /* senders that went to compute */

/* One look at the session layer (send_all_held), and the end of the pass. */
inline pass(seen)
{
    seen = held;
    if
    :: any_held ->
        any_held = 0;
        atomic { taken[0] = list[0]; taken[1] = list[1]; list[0] = 0; list[1] = 0 }
        if
        :: taken[0] -> atomic { lock[0] == 0 -> in_held[0] = 0; waiting[0] = 0 }
        :: else
        fi;
        if
        :: taken[1] -> atomic { lock[1] == 0 -> in_held[1] = 0; waiting[1] = 0 }
        :: else
        fi
    :: else
    fi;
    held_sent = seen;
}

inline ring()
{
    if
    :: !watching ->
        atomic { if :: state == parked -> state = awake; bell = 1 :: else fi }
        if
        :: state == armed -> bell = 1
        :: else
        fi
    :: else
    fi
}

proctype Sender(byte me)
{
    byte n;
    bit first, polled;
    do
    :: n == POSTS -> break
    :: n < POSTS ->
        n++;
        atomic { lock[me] == 0 -> lock[me] = 1 }
        if
        :: holder != 0 -> waiting[me] = 0       /* may_hold() says no: it goes out, behind what is held */
        :: holder == 0 ->
            waiting[me]++;
            if
            :: !in_held[me] -> in_held[me] = 1; list[me] = 1
            :: else
            fi;
            atomic { first = !any_held; any_held = 1 }
            if
            :: first ->
                held++;
                polled = holder != 0;
#ifdef M_UNTOLD
                if
                :: polled -> waiting[me] = 0
                :: else -> ring()
                fi
#else
                ring();
                if
                :: polled -> waiting[me] = 0    /* send_held() */
                :: else
                fi
#endif
            :: else
            fi
        fi;
        lock[me] = 0
    od;
    left++
}

/* A thread of the host that calls progress. Its pass may end before it comes to the session layer. */
proctype Poller()
{
    byte n, seen;
    bit taken[2];
    do
    :: n == PASSES -> break
    :: n < PASSES ->
        n++;
        atomic { holder == 0 -> holder = 1 }
        if
        :: pass(seen)
        :: skip
        fi;
        holder = 0
    od;
#if ARMS                                        /* leaves for long; what is held makes prepare_sleep() say no */
    arm_request = 1;
    if
    :: state == awake
    :: state != awake ->
        atomic { holder == 0 -> holder = 1 }
        n = any_held;
        atomic { if :: state == parked -> state = armed :: else fi }
        holder = 0;
        if
        :: n != 0 -> bell = 1
        :: else
        fi
    fi
#endif
}

proctype EventThread()
{
    byte seen, looked, looks, now;
    bit taken[2], mine;
    bit watch;
    do
    :: !arm_request ->                          /* event_thread_parked() */
        now = held;
        if
        :: now != looked -> looked = now; if :: looks = 1 :: looks = LOOKS fi
#ifdef M_LOSE_PATIENCE
        :: now == looked && looks != 0 -> looks--
#else
        :: now == looked && looks != 0 -> if :: held_sent == now -> looks-- :: else fi
#endif
        :: else
        fi;
        watch = looks != 0;
        watching = watch;
        state = parked;
        if
        :: arm_request -> goto up
#ifndef M_PARK_BLINDLY
        :: !watch && held != now -> goto up
#endif
        :: else
        fi;
end_parked:
        if
        :: bell -> bell = 0; goto up            /* woken */
        :: watch ->                             /* hold_time is over: send_what_is_held() */
            state = awake;
            if
            :: held_sent == held -> goto up
            :: else
            fi;
            if
            :: left < 2 -> goto up              /* the host was here just now, perhaps */
            :: true
            fi;
            atomic { mine = (holder == 0); if :: mine -> holder = 2 :: else fi }
            if
            :: mine -> pass(seen); holder = 0
            :: else
            fi
        fi;
up:     state = awake
    :: arm_request ->                           /* event_thread_armed(); the host does not come back */
        watching = 0;
        state = armed;
        atomic { holder == 0 -> holder = 2 }    /* or follows whoever polls */
        pass(seen);
        holder = 0;
end_armed:
        bell -> bell = 0;                       /* epoll */
        state = awake
    od
}

/* Nothing moves any more. */
proctype Judge()
{
    timeout -> assert(waiting[0] == 0 && waiting[1] == 0)
}

init
{
    atomic { run Sender(0); run Sender(1); run Poller(); run EventThread(); run Judge() }
}
