/* SPDX-License-Identifier: BSD-3-Clause
 * Copyright (c) 2026 the Linnet authors
 * The model of ClaimQueue (common/sync/claim_queue.h): two slots, two offerers, two claimers.
 *
 * Checked: each claim of each offer is given out exactly once, to somebody who got the right element; a filled slot is always found by who searches after
 * the push, so nothing is lost; when all is claimed, every bit is clear. A claimer may stop for ever between its load and its exchange, or before it
 * clears the bits: the others still finish (STOPPED).
 * M_...: what is left out, for tests/checks/check_model to see that the checks would notice.
 */
#ifndef OFFERS
#define OFFERS 2     /* each offerer makes so many */
#endif
#ifndef CLAIMS
#define CLAIMS 2     /* of each offer */
#endif
#define SLOTS 2
#define ALL (2 * OFFERS)

byte used, ready;                     /* bitmaps */
byte word_gen[SLOTS], word_left[SLOTS];
byte element[SLOTS];                  /* 1 .. ALL; 0: nothing */
byte pushed, claimed;                 /* offers made, claims taken, of all */
byte taken[ALL * CLAIMS + CLAIMS];    /* [(element - 1) * CLAIMS + left]: how often that claim was given out */
byte stopped;

inline count_claim(e, left)
{
    assert(e != 0);
    taken[(e - 1) * CLAIMS + left]++;
    assert(taken[(e - 1) * CLAIMS + left] == 1);
    claimed++;
}

proctype Offerer(byte first)
{
    byte n, at, was;
    do
    :: n == OFFERS -> break
    :: n < OFFERS ->
        /* (U): look, then fetch_or */
        if
        :: (used & 1) == 0 -> at = 0
        :: (used & 2) == 0 -> at = 1
        :: used == 3 -> skip; goto again
        fi;
        atomic { was = used; used = used | (1 << at) }
        if
        :: was & (1 << at) -> goto again
        :: else
        fi;
        element[at] = first + n;
#ifdef M_READY_LATE
        atomic { word_gen[at] = word_gen[at] + 1; word_left[at] = CLAIMS }
        ready = ready | (1 << at);
#else
        ready = ready | (1 << at);
        atomic { word_gen[at] = word_gen[at] + 1; word_left[at] = CLAIMS }   /* (W) */
#endif
        atomic { pushed++; n++ }
again:  skip
    od
}

proctype Claimer(bool may_stop)
{
    byte at, gen, left, e;
    do
    :: claimed == ALL * CLAIMS -> break
    :: claimed < ALL * CLAIMS && ready != 0 ->
        if
        :: (ready & 1) != 0 -> at = 0
        :: (ready & 2) != 0 -> at = 1
        :: else -> goto next
        fi;
        atomic { gen = word_gen[at]; left = word_left[at] }
        if
        :: left == 0 -> goto next
        :: else
        fi;
        e = element[at];
        /* (C) */
        atomic {
            if
#ifdef M_NO_GENERATION
            :: word_left[at] == left -> word_left[at] = left - 1; count_claim(e, left - 1)
#else
            :: word_gen[at] == gen && word_left[at] == left -> word_left[at] = left - 1; count_claim(e, left - 1)
#endif
            :: else -> goto next
            fi
        }
        if
        :: left == 1 ->
            if
            :: may_stop && stopped == 0 -> stopped = 1; goto end_stop   /* its slot stays taken */
            :: true
            fi;
            /* (F) */
#ifdef M_FREE_FIRST
            atomic { used = used & (3 - (1 << at)) }
            atomic { ready = ready & (3 - (1 << at)) }
#else
            atomic { ready = ready & (3 - (1 << at)) }
            atomic { used = used & (3 - (1 << at)) }
#endif
        :: else
        fi;
next:   e = 0; gen = 0; left = 0
    od;
end_stop: skip
}

/* Somebody can always go on, and at the end nothing is left over. */
proctype Watcher()
{
    byte i;
    timeout ->   /* nobody else can move */
    assert(pushed == ALL && claimed == ALL * CLAIMS);
    assert(stopped || (used == 0 && ready == 0));
}

init {
    atomic {
        run Offerer(1);
        run Offerer(1 + OFFERS);
#ifdef STOPPED
        run Claimer(true);
#else
        run Claimer(false);
#endif
        run Claimer(false);
        run Watcher()
    }
}
