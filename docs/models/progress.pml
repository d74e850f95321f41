/* SPDX-License-Identifier: BSD-3-Clause */
/* Copyright (c) 2026 the Linnet authors */
/* progress.pml: who polls, who sleeps, who is woken. The machine of docs/threading.md, for the model checker spin.
 *
 * Checked by tests/checks/check_model, over all interleavings of the event thread, two application threads, a network that delivers
 * two messages, a third thread that kicks or wants the token, and stop(), in several scenarios small enough to be searched completely:
 *     WAITERS     how many application threads end in wait() (the others only make progress)
 *     CALLS       how many make a call of progress first, and leave for a short or for a long time
 *     KICKS       1: the third thread makes work for the poller
 *     TAKES       1: the third thread takes the token, not to poll
 *     STOP_EARLY  1: stop() comes at any moment instead of at the end
 * What is checked:
 *   - at most one thread holds the token;
 *   - no stuck state: everybody who waits, takes or stops comes to an end (no invalid end state);
 *   - no lost wake-up: the look-in timer, which in this model fires only when nobody else can move, never finds work that an armed
 *     event thread, a sleeping leader or a waiting thread should have been woken for.
 * Each M_... macro plants one mistake; the check expects spin to find every one of them.
 *
 * Modelled as sequentially consistent: each access to a shared word is a step of its own, and the code uses seq_cst for exactly
 * these words (the proofs beside the classes say so). A list under a spin lock changes in one step. A futex or epoll sleep blocks until its
 * condition holds: in the code whoever makes it hold also wakes. The messages are the two requests that the application threads
 * wait for. They come through a source without a descriptor of its own (a shared-memory ring): it must be prepared before a sleep,
 * and only then does an arrival ring. A source with a socket is the special case that is always prepared. The event thread always sleeps on its bell and on the
 * sources; of those it hears only while the gate is open. It alone closes the gate.
 */

#define EV 1            /* thread marks: the event thread; application thread i is 2 + i; the third thread is 4 */
#define APP(i) (2 + i)
#define THIRD 4
#define APPS 2

mtype = { awake, parked, armed, ended };

#ifndef WAITERS
#define WAITERS 2
#endif
#ifndef CALLS
#define CALLS 0
#endif
#ifndef KICKS
#define KICKS 0
#endif
#ifndef TAKES
#define TAKES 0
#endif
#ifndef STOP_EARLY
#define STOP_EARLY 0
#endif

/* token */
byte holder = 0;
byte audience = 0;
byte wanted = 0;
byte token_seq = 0;     /* futex of take_token() */
byte polling = 0;       /* ghost: threads that believe to hold the token */

/* the wait list: slots of application threads, under a spin lock */
bit listed[APPS];
bit word[APPS];         /* futex of the slot */
bit done[APPS];         /* the request that application thread i waits for is complete */
bit waiting[APPS];      /* ghost: inside wait() */
bit gone[APPS];         /* ghost: left for long, and has not come back */
bit near[APPS];         /* ghost: left for a short time, or is inside */
bit ev_listed = 0;      /* the event thread's slot, behind the others */
bit ev_word = 0;
bit third_done = 0;

/* sleeping */
bit sleeper = 0;        /* a holder sleeps in epoll, or is about to */
bit host_bell = 0;
bit event_bell = 0;
byte kicks = 0;
byte polled_kicks = 0;  /* value of kicks before the last pass; token */
bit prepared = 0;       /* sources are prepared for a sleep; token */
bit prepared_quiet = 1; /* and had nothing when they were prepared; token */

/* the event thread */
mtype ev = awake;
bit arm_request = 0;    /* the host said that it leaves for long, and has not come back */
bit gate = 0;           /* the event thread's epoll set listens to the sources */
bit stopping = 0;
byte done_apps = 0;     /* threads of the application that are through */

/* the source */
bit ring_data[APPS];    /* arrived, not yet polled */
bit ring_armed = 0;     /* an arrival shall ring */
bit ring_bell = 0;

#define PENDING (ring_data[0] || ring_data[1] || kicks != polled_kicks)

inline grab(me, got)            /* one compare-and-swap */
{
    atomic {
        if
        :: holder == 0 -> holder = me; polling++; assert(polling == 1); got = 1
        :: else -> got = 0
        fi
    }
}

inline try_take(me, got)
{
    if
    :: wanted != 0 -> got = 0
    :: else -> grab(me, got)
    fi
}

inline wake_one()               /* under the list's lock: any of the sleepers */
{
    atomic {
        if
        :: listed[0] -> listed[0] = 0; word[0] = 1
        :: listed[1] -> listed[1] = 0; word[1] = 1
        :: !listed[0] && !listed[1] && ev_listed -> ev_listed = 0; ev_word = 1
        :: else
        fi
    }
}

inline token_released()
{
    if
    :: wanted != 0 -> token_seq = (token_seq + 1) % 8
    :: else -> wake_one()
    fi
}

inline release()
{
    atomic { polling--; holder = 0 };
#ifndef M_SILENT_RELEASE
    if
    :: audience != 0 -> token_released()
    :: else
    fi
#endif
}

inline finish_sleep()           /* token; a ring that crosses it is at worst a needless wake-up, so this is one step */
{
    atomic { ring_armed = 0; ring_bell = 0; prepared = 0 }
}

inline prepare(ok)              /* token */
{
    if
    :: !prepared -> atomic { ring_armed = 1; prepared = 1 };
       prepared_quiet = !(ring_data[0] || ring_data[1])
    :: else                     /* what came since then rang */
    fi;
    ok = prepared_quiet
}

/* The pass itself, and then completed() for what it completed: the list's lock, and those whose own request is complete. */
inline poll_pass(n)             /* token; n: events were there */
{
    finish_sleep();
    atomic {
        assert(!sleeper);
        n = ring_data[0] || ring_data[1] || kicks != polled_kicks;
        polled_kicks = kicks;
        done[0] = done[0] || ring_data[0]; ring_data[0] = 0;
        done[1] = done[1] || ring_data[1]; ring_data[1] = 0
    };
    if
    :: n ->
        atomic {
            if :: listed[0] && done[0] -> listed[0] = 0; word[0] = 1 :: else fi;
            if :: listed[1] && done[1] -> listed[1] = 0; word[1] = 1 :: else fi
        }
    :: else
    fi
}

inline kick()
{
    kicks++;
    if
    :: sleeper -> host_bell = 1
    :: else ->
        if
        :: holder == 0 && ev == armed -> event_bell = 1    /* two loads in the code; the order does not matter */
        :: else
        fi
    fi
}

/* Out of a parked sleep, if it is in one. */
inline wake_event_thread()
{
    atomic { if :: ev == parked -> ev = awake; woke = 1 :: else -> woke = 0 fi };
    if :: woke -> event_bell = 1; woke = 0 :: else fi
}

/* ---- the event thread ---- */

/* The timer fires when nobody can move. It may find work only when no one promised to be woken for it. */
inline look_in()
{
    assert(wanted == 0);
    assert(!(PENDING && (gone[0] || gone[1]) && !near[0] && !near[1]));
    assert(!(PENDING && (waiting[0] || waiting[1])))
}

proctype EventThread()
{
    bit got, ok, n, away;   /* away: the host was not seen for a while; a guess from the clock, so anything goes */
    byte seen;

    if :: away = 0 :: away = 1 fi;
    do
    :: atomic { ev = awake; got = 0; ok = 0; n = 0; seen = 0 };
        if :: stopping -> break :: else fi;
        if
        :: arm_request || away ->
            ev = armed;
            try_take(EV, got);
            if
            :: !got && !arm_request -> away = 0            /* somebody polls */
            :: !got && arm_request ->                      /* and did so before: it is our turn after him */
                atomic { ev_word = 0; ev_listed = 1 };
                audience++;
                if
                :: !arm_request || stopping
                :: else ->
                    try_take(EV, got);
                    if
                    :: got
                    :: !got ->
                        if                                 /* futex_wait with the look-in timer */
                        :: ev_word
                        :: timeout -> look_in()
                        fi
                    fi
                fi;
                atomic { ev_listed = 0 };
                audience--
            :: else
            fi;
            if
            :: !got
            :: else ->
                poll_pass(n);
                seen = polled_kicks;
                if
                :: n -> ok = 0
                :: else -> prepare(ok)
                fi;
                release();
                if
                :: !ok || stopping
                :: ok && !stopping ->
                    if
                    :: kicks != seen
                    :: kicks == seen ->
                        gate = 1;
                        if                                 /* epoll_wait with the look-in timer */
                        :: atomic { ring_bell || event_bell -> event_bell = 0 };
                            if :: holder == 0 && away :: away = 0 fi
                        :: timeout -> look_in(); away = (holder == 0)
                        fi
                    fi
                fi
            fi
        :: else ->
#ifndef M_CLOSE_LATE
            gate = 0;                                      /* before it looks for those who open it */
#endif
            ev = parked;
            if
#ifndef M_PARK_BLINDLY
            :: stopping || arm_request
            :: !(stopping || arm_request) ->
#else
            :: stopping
            :: !stopping ->
#endif
#ifdef M_CLOSE_LATE
                gate = 0;
#endif
                if                                         /* epoll_wait with the look-in timer */
                :: atomic { (gate && ring_bell) || event_bell -> event_bell = 0 }
                :: timeout -> look_in(); away = (holder == 0)
                fi
            fi
        fi
    od;
    ev = ended
}

/* ---- application threads ---- */

/* After a release by a holder that did not poll: who left for long, or kicked, meanwhile took it for a poller. */
inline tell_event_thread(ready)
{
#ifndef M_UNTOLD
    if
    :: arm_request && ev == parked -> wake_event_thread()
    :: else
    fi;
    if :: (kicks != seen || (arm_request && !ready)) && ev == armed -> event_bell = 1 :: else fi
#else
    skip
#endif
}

inline leave_for_long(me)       /* leave() when the predicted gap is long */
{
    arm_request = 1;
    if
    :: holder != 0                                         /* that thread polls now, and says so when it leaves */
    :: else ->
        if
        :: ev == parked || ev == armed ->
#ifndef M_STALE_ARM
            try_take(me, got);
            if
            :: got ->
                prepare(ok);
                if
                :: !ok ->                                      /* work is there: it makes its own pass */
                    release();
                    if :: ev == parked -> wake_event_thread() :: else fi;
                    if :: ev == armed -> event_bell = 1 :: else fi
                :: ok ->
                    seen = polled_kicks;
                    atomic { if :: ev == parked -> ev = armed; woke = 1 :: else -> woke = 0 fi };
                    release();
                    if :: woke -> gate = 1; woke = 0 :: else fi;
                    tell_event_thread(1)
                fi;
                atomic { ok = 0; got = 0; seen = 0 }
            :: else
            fi
#else
            skip
#endif
        :: else
        fi
    fi
}

inline lead(me, i)              /* token held; until done, stop or somebody wants the token; gives it back */
{
    do
    :: poll_pass(n);
        if
        :: done[i] || stopping || wanted != 0 -> break
        :: else ->
            sleeper = 1;
            prepare(ok);
            if
#ifndef M_SLEEP_BLINDLY
            :: !ok || done[i] || stopping || wanted != 0 || kicks != polled_kicks
            :: ok && !(done[i] || stopping || wanted != 0 || kicks != polled_kicks) ->
#else
            :: !ok
            :: ok ->
#endif
                (ring_bell || host_bell)                   /* epoll_wait */
            fi;
            sleeper = 0;
            host_bell = 0;
            finish_sleep()
        fi
    od;
    atomic { n = 0; ok = 0; got = 0 };
    release()
}

inline wait_for(me, i)
{
    waiting[i] = 1;
    do
    :: done[i] || stopping -> break
    :: else ->
        try_take(me, got);
        if
        :: got -> lead(me, i)
        :: else ->
            atomic { word[i] = 0; listed[i] = 1 };
            audience++;
            if
            :: done[i] || stopping
            :: else ->
                try_take(me, got);
                if
                :: got -> atomic { listed[i] = 0 }; audience--; lead(me, i); audience++
                :: else -> (word[i] == 1)                  /* futex_wait */
                fi
            fi;
            atomic { listed[i] = 0 };
            audience--
        fi
    od;
    waiting[i] = 0;
#ifndef M_KEEP_TURN
    if                                                     /* a turn that we were given and do not use */
    :: audience != 0 && holder == 0 -> token_released()
    :: else
    fi
#endif
}

/* One pass, then away for a time that was predicted to be short (nothing) or long. */
inline progress_once(me)
{
    near[me - 2] = 1;
    arm_request = 0;                                       /* enter() */
    try_take(me, got);
    if
    :: got -> poll_pass(n); d_step { n = 0; got = 0 }; release()
    :: else
    fi;
    if
    :: true -> arm_request = 0                             /* leave() when the predicted gap is short */
    :: true -> leave_for_long(me); atomic { gone[me - 2] = 1; near[me - 2] = 0 }
    fi
}

proctype Application(byte i)
{
    bit got, ok, n, woke;
    byte seen;

    if
    :: CALLS > i -> progress_once(APP(i))
    :: else
    fi;
    if
    :: WAITERS > i ->
        atomic { gone[i] = 0; near[i] = 1 };
        arm_request = 0;                                   /* enter() */
        wait_for(APP(i), i)
    :: else -> (done[i] || stopping)                       /* computes until somebody else has handled its message */
    fi;
    done_apps++
}

inline take_token(me)
{
    wanted++;
    audience++;
    do
    :: true ->
        if :: sleeper -> host_bell = 1 :: else fi;
        s = token_seq;
        grab(me, got);
        if
        :: got -> d_step { got = 0; s = 0 }; break
        :: else ->
            if :: sleeper -> host_bell = 1 :: else fi;
            (token_seq != s)                               /* futex_wait */
        fi
    od;
    wanted--;
    audience--
}

proctype Third()
{
    bit got, ok, woke;
    byte s, seen;

#if KICKS
    kick();
    (kicks == polled_kicks || stopping);                   /* somebody handles it */
#endif
#if TAKES
    take_token(THIRD);
    seen = polled_kicks;
    ok = prepared;
    release();
    tell_event_thread(ok);
#endif
    atomic { third_done = 1; done_apps++ }
}

/* The second message comes when the third thread is through: it must not be what saves it. */
proctype Network()
{
    ring_data[1] = 1;
    atomic { if :: ring_armed -> ring_bell = 1 :: else fi };
    (third_done);
    ring_data[0] = 1;
    atomic { if :: ring_armed -> ring_bell = 1 :: else fi }
}

/* stop(): at any moment when STOP_EARLY, else when the application is through. */
proctype Closer()
{
#if !STOP_EARLY
    (done_apps == 3);
#endif
    stopping = 1;
    event_bell = 1;
    host_bell = 1;
    atomic { listed[0] = 0; word[0] = 1 };
    atomic { listed[1] = 0; word[1] = 1 };
    atomic { ev_listed = 0; ev_word = 1 };
    (ev == ended)                                           /* join */
}

init
{
    atomic {
        run EventThread();
        run Application(0);
        run Application(1);
        run Third();
        run Network();
        run Closer()
    }
}
