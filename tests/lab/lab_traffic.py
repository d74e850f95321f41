#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
# Copyright (c) 2026 the Linnet authors
# Traffic for lab_test.sh: numbered raw frames, datagrams and TCP streams, each with a receiver that prints what it got as JSON; and the rate of a port.

import hashlib
import json
import select
import socket
import struct
import subprocess
import sys
import time

ETHERTYPE = 0x88B5  # IEEE 802: local experimental
ETHERTYPE_END = 0x88B6  # its sibling: says that all frames are sent
ETHERTYPE_IP = 0x0800
BODY = 100
UDP_SEGMENT = 103  # linux/udp.h
UDP_PORT = 7001
SO_RCVBUFFORCE = 33  # asm-generic/socket.h


def body(number):
    return struct.pack("!I", number) + hashlib.shake_128(number.to_bytes(4, "big")).digest(BODY)


def frames_send(count, per_second):
    """Sends numbered frames; with a rate of 0 in small bursts, as fast as they go."""
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    link.bind(("eth0", 0))
    addresses = b"\xff" * 6 + link.getsockname()[4]
    start = time.monotonic()
    for number in range(count):
        if per_second:
            time.sleep(max(0.0, start + number / per_second - time.monotonic()))
        elif number % 200 == 0:
            time.sleep(0.001)
        link.send(addresses + struct.pack("!H", ETHERTYPE) + body(number))
    link.send(addresses + struct.pack("!H", ETHERTYPE_END) + bytes(46))


def open_frames(ethertype):
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ethertype))
    link.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 64 << 20)
    link.bind(("eth0", ethertype))
    return link


def arriving():
    """Frames until the sender has sent all and none has come for a while, in which delayed ones arrive."""
    frames, end = open_frames(ETHERTYPE), open_frames(ETHERTYPE_END)
    print("ready", flush=True)
    sources = [frames, end]
    while ready := select.select(sources, [], [], 20 if end in sources else 0.2)[0]:
        if frames in ready:
            yield frames.recv(2048)[14:]
        else:
            sources.remove(end)


def frames_receive():
    """Counts what arrived: whole and for the first time, again, changed, and after one that was sent later."""
    seen, corrupted, duplicated, overtaken, highest = set(), 0, 0, 0, -1
    for frame in arriving():
        number = struct.unpack("!I", frame[:4])[0]
        if frame != body(number):
            corrupted += 1
        elif number in seen:
            duplicated += 1
        else:
            seen.add(number)
            overtaken += number < highest
            highest = max(highest, number)
    digest = hashlib.sha256(json.dumps(sorted(seen)).encode()).hexdigest()
    print(json.dumps({"distinct": len(seen), "corrupted": corrupted, "duplicated": duplicated,
                      "overtaken": overtaken, "set": digest}))


def datagrams_send(address, count, size):
    """Hands the kernel `count` datagrams in one send, to be cut apart on the way."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as link:
        link.setsockopt(socket.IPPROTO_UDP, UDP_SEGMENT, size)
        link.sendto(bytes(count * size), (address, UDP_PORT))


def datagrams_receive():
    """The lengths of the frames that bring UDP to eth0, until none has come for a while."""
    lengths = []
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE_IP)) as link:
        link.bind(("eth0", ETHERTYPE_IP))
        print("ready", flush=True)
        while select.select([link], [], [], 0.3 if lengths else 20)[0]:
            frame = link.recv(1 << 17)
            if frame[23] == socket.IPPROTO_UDP and frame[36:38] == struct.pack("!H", UDP_PORT):
                lengths.append(len(frame))
    print(json.dumps(lengths))


def stream_send(address, size, limit):
    """Sends up to `size` bytes for at most `limit` seconds and prints their digest."""
    digest, sent, end = hashlib.sha256(), 0, time.monotonic() + limit
    with socket.create_connection((address, 7000)) as link:
        while sent < size and time.monotonic() < end:
            chunk = hashlib.shake_128(sent.to_bytes(8, "big")).digest(32768)
            link.sendall(chunk)
            digest.update(chunk)
            sent += len(chunk)
    print(digest.hexdigest())


def stream_receive():
    """Takes one stream; its rate leaves out the first 0.3 s, in which TCP finds its speed."""
    with socket.create_server(("", 7000)) as server:
        print("ready", flush=True)
        link, _ = server.accept()
    digest, start, counted = hashlib.sha256(), time.monotonic(), 0
    begun = last = start
    while chunk := link.recv(1 << 16):
        digest.update(chunk)
        last = time.monotonic()
        if last - start < 0.3:
            begun = last
        else:
            counted += len(chunk)
    rate = counted * 8 / (last - begun) if last > begun else 0
    print(json.dumps({"bits_per_second": rate, "sha256": digest.hexdigest()}))


def port_rate(namespace, port, burst, command):
    """The rate of a port with a token bucket while a command sends through it, from the port's own counter: between any two looks it sends at
    most a bucket and what its rate gives in that time. So the highest of (bytes - burst) / time over all pairs of looks is at most the rate,
    however late the machine lets it send; and close to it as soon as there was one stretch in which nothing but the port held the frames."""
    ask = ["tc", "-n", namespace, "-s", "-j", "-b", "-"]
    looks, rate = [], 0.0
    with subprocess.Popen(ask, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as tc, \
            subprocess.Popen(command, stdout=subprocess.DEVNULL) as sender:
        while sender.poll() is None:
            before = time.monotonic()
            tc.stdin.write(f"qdisc show dev {port}\n")
            tc.stdin.flush()
            text = tc.stdout.readline()
            while not text.rstrip().endswith("]"):
                text += tc.stdout.readline()
            sent = next(queue for queue in json.loads(text) if queue["kind"] == "tbf")["bytes"]
            after = time.monotonic()
            rate = max([rate] + [(sent - then_sent - burst) * 8 / (after - then) for then, then_sent in looks])
            looks.append((before, sent))
            time.sleep(0.01)
        tc.stdin.close()
    print(json.dumps({"bits_per_second": rate}))
    sys.exit(sender.returncode)


COMMANDS = {"frames-send": lambda count, rate: frames_send(int(count), float(rate)),
            "frames-receive": frames_receive,
            "datagrams-send": lambda address, count, size: datagrams_send(address, int(count), int(size)),
            "datagrams-receive": datagrams_receive,
            "stream-send": lambda address, size, limit: stream_send(address, int(size), float(limit)),
            "stream-receive": stream_receive,
            "port-rate": lambda namespace, port, burst, *command: port_rate(namespace, port, int(burst), command)}
COMMANDS[sys.argv[1]](*sys.argv[2:])
