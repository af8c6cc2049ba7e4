"""Carries frames between two network interfaces, each so many milliseconds after it came: delay.py A B MILLISECONDS.

Says `carries` once it does. Kernels without netem have no other delay than that of a full queue.
"""

import collections
import select
import socket
import struct
import sys
import time

# Of linux/if_packet.h and linux/if_ether.h.
ALL_PROTOCOLS = 3
SOL_PACKET = 263
ADD_MEMBERSHIP = 1
PROMISCUOUS = 1
IGNORE_OUTGOING = 23

FRAME_BYTES_MAX = 65_536
# More than the bandwidth of the links here, times the delay. What finds no room is lost, as in a router.
FRAMES_MAX = 8_192
SOCKET_BYTES = 4 << 20


def opened(interface):
    """A socket that receives whatever comes into the interface, and sends out of it."""
    opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW | socket.SOCK_NONBLOCK, socket.htons(ALL_PROTOCOLS))
    opened.setsockopt(SOL_PACKET, IGNORE_OUTGOING, 1)
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BYTES)
    opened.bind((interface, ALL_PROTOCOLS))
    index = socket.if_nametoindex(interface)
    opened.setsockopt(SOL_PACKET, ADD_MEMBERSHIP, struct.pack("iHH8s", index, PROMISCUOUS, 0, b""))
    return opened


def take(source, waiting, delay_s):
    """Moves what has come into the queue, with the instant at which it is due."""
    while True:
        try:
            frame = source.recv(FRAME_BYTES_MAX)
        except BlockingIOError:
            return
        if len(waiting) < FRAMES_MAX:
            waiting.append((time.monotonic() + delay_s, frame))


def give(waiting, target):
    """Sends what is due."""
    while waiting and waiting[0][0] <= time.monotonic():
        try:
            target.send(waiting.popleft()[1])
        except OSError:
            # The queue of the interface is full: the frame is lost.
            pass


def main():
    first, second = opened(sys.argv[1]), opened(sys.argv[2])
    delay_s = float(sys.argv[3]) / 1e3
    ways = [(first, second, collections.deque()), (second, first, collections.deque())]
    print("carries", flush=True)
    while True:
        dues = [waiting[0][0] for _, _, waiting in ways if waiting]
        timeout = max(0.0, min(dues) - time.monotonic()) if dues else None
        select.select([first, second], [], [], timeout)
        for source, target, waiting in ways:
            take(source, waiting, delay_s)
            give(waiting, target)


main()
