// SPDX-License-Identifier: BSD-3-Clause
// Copyright (c) 2026 the Linnet authors
// Loses, duplicates and corrupts frames that cross a lab host's cable, and hands those to be delayed to the relay.
//
// Attached by "lab fault" with tc(8) as a direct-action classifier; compiled for each use, its settings being constants:
//   LOSS, DUPLICATE, CORRUPT   probability times 2^32
//   EVERY                      of so many frames the last is lost; 0: none
//   ONLY                       the frame of this number is lost, from 1 on; 0: none
//   SEED                       of the draws
//   ETHERTYPE                  frames concerned, host byte order; 0 is all
//   TAP                        interface index of the relay's tap; 0 is no delay
//   PORT, INGRESS              where the frame belongs: interface index, and whether it was on its way in
//
// What happens to a frame depends on SEED and on its number alone: the same frames in the same order fare the same.

#include <linux/bpf.h>
#include <linux/pkt_cls.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#define ETHERNET_HEADER 14
#define REDIRECT_FLAGS (INGRESS ? BPF_F_INGRESS : 0)

// skb->mark of frames that come back to the program. Marks from the hosts do not get here: crossing to another network
// namespace clears them.
#define MARK_COPY 0x4c4e0001     // the second of a duplicated frame
#define MARK_DELAYED 0x4c4e0002  // the relay has had it

struct counters {
    __u64 frames;  // concerned; each is dropped or passed
    __u64 dropped;
    __u64 passed;  // whole or corrupted
    __u64 duplicated;
    __u64 corrupted;
};

struct {
    __uint(type, BPF_MAP_TYPE_ARRAY);
    __uint(max_entries, 1);
    __type(key, __u32);
    __type(value, struct counters);
} totals SEC(".maps");

// The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): consecutive numbers in, independent draws out.
static __u64 mix(__u64 x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
    return x ^ (x >> 31);
}

// Flips one bit behind the Ethernet header.
static int corrupt(struct __sk_buff *skb, __u32 draw)
{
    if (skb->len <= ETHERNET_HEADER)
        return 0;
    __u8 byte;
    __u32 offset = ETHERNET_HEADER + (draw >> 3) % (skb->len - ETHERNET_HEADER);
    if (bpf_skb_load_bytes(skb, offset, &byte, 1) < 0)
        return 0;
    byte ^= 1 << (draw & 7);
    return bpf_skb_store_bytes(skb, offset, &byte, 1, 0) == 0;
}

static int duplicate(struct __sk_buff *skb)
{
    skb->mark = MARK_COPY;
    int failed = bpf_clone_redirect(skb, PORT, REDIRECT_FLAGS);
    skb->mark = 0;
    return !failed;
}

static int forward(struct __sk_buff *skb)
{
    skb->mark = 0;
    return TAP ? bpf_redirect(TAP, 0) : TC_ACT_OK;
}

SEC("tc/fault")
int fault(struct __sk_buff *skb)
{
    if (skb->mark == MARK_DELAYED) {
        skb->mark = 0;
        return TC_ACT_OK;
    }
    if (skb->mark == MARK_COPY)
        return forward(skb);
    if (ETHERTYPE && skb->protocol != bpf_htons(ETHERTYPE))
        return TC_ACT_OK;

    __u32 key = 0;
    struct counters *total = bpf_map_lookup_elem(&totals, &key);
    if (!total)
        return TC_ACT_OK;
    __u64 number = __sync_fetch_and_add(&total->frames, 1);
    __u64 first = mix(SEED + (number + 1) * 0x9e3779b97f4a7c15ULL);
    __u64 second = mix(first);

    if ((__u32)first < LOSS || (EVERY && (number + 1) % EVERY == 0) || (ONLY && number + 1 == ONLY)) {
        __sync_fetch_and_add(&total->dropped, 1);
        return TC_ACT_SHOT;
    }
    __sync_fetch_and_add(&total->passed, 1);
    if (first >> 32 < DUPLICATE && duplicate(skb))
        __sync_fetch_and_add(&total->duplicated, 1);
    if ((__u32)second < CORRUPT && corrupt(skb, second >> 32))
        __sync_fetch_and_add(&total->corrupted, 1);
    return forward(skb);
}

// On the relay's tap: puts a frame back where it was taken from.
SEC("tc/resume")
int resume(struct __sk_buff *skb)
{
    skb->mark = MARK_DELAYED;
    return bpf_redirect(PORT, REDIRECT_FLAGS);
}

char fault_license[] SEC("license") = "Dual BSD/GPL";
