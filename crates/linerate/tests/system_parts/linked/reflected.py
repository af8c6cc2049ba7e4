"""A third party on a link: forges datagrams to ports of an address, and counts what comes back.

reflected.py INTERFACE TO FROM... takes ports from its input, one a line, sends datagrams of each kind to each of them,
from each of the addresses FROM, and says at the end of the input what it sent, and what came to those of these addresses
that are of its interface: bytes of IP packets, and how many carried UDP.
"""

import os
import select
import socket
import struct
import subprocess
import sys

# Of linux/if_packet.h and linux/if_ether.h.
IPV4 = 0x0800
SOL_PACKET = 263
IGNORE_OUTGOING = 23

SECRET_BYTES = 16
KINDS = [
    b"",
    b"x",
    bytes(SECRET_BYTES),
    # A whole head: a secret, the number 0 that counts, and when it was sent.
    bytes(SECRET_BYTES) + struct.pack(">QQ", 1 << 63, 1),
    os.urandom(SECRET_BYTES) + struct.pack(">QQ", 1 << 63, 1) + bytes(68),
    os.urandom(1_200),
]


def packet(source, to, port, payload):
    udp = struct.pack(">HHHH", 40_000, port, 8 + len(payload), 0) + payload
    # The kernel fills in the length, the identification and the sum (`raw(7)`).
    head = struct.pack(">BBHHHBBH", 0x45, 0, 0, 0, 0, 64, socket.IPPROTO_UDP, 0)
    return head + socket.inet_aton(source) + socket.inet_aton(to) + udp


def main():
    interface, to, *sources = sys.argv[1:]
    heard = socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK, socket.htons(IPV4))
    heard.setsockopt(SOL_PACKET, IGNORE_OUTGOING, 1)
    heard.bind((interface, IPV4))
    shown = subprocess.run(["ip", "-o", "-4", "address", "show", "dev", interface], capture_output=True, check=True)
    own = {words.split("/")[0] for words in shown.stdout.decode().split() if "/" in words}
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    sent = back = datagrams = 0
    ports = b""
    is_open = True
    while is_open or select.select([heard], [], [], 1)[0]:
        ready = select.select([heard] + [sys.stdin] * is_open, [], [], 1)[0]
        if sys.stdin in ready:
            read = os.read(0, 4_096)
            is_open = bool(read)
            *lines, ports = (ports + read).split(b"\n")
            for port, source, kind in ((int(line), a, k) for line in lines for a in sources for k in KINDS):
                forged = packet(source, to, port, kind)
                raw.sendto(forged, (to, 0))
                sent += len(forged)
        while True:
            try:
                came = heard.recv(65_536)
            except BlockingIOError:
                break
            if socket.inet_ntoa(came[16:20]) in own:
                back += len(came)
                datagrams += came[9] == socket.IPPROTO_UDP
    print(f"sent {sent} back {back} datagrams {datagrams}")


main()
