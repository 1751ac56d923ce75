"""A wire that takes its time: joins network namespaces by an interface in each, link0, whose packets reach another host
after a delay. For kernels without netem. Started by scripts/bench/links.sh; ends with its standard input."""

import collections
import ctypes
import fcntl
import os
import select
import struct
import sys
import time

TUNSETIFF = 0x400454CA
IFF_TUN, IFF_NO_PI = 0x0001, 0x1000
CLONE_NEWNET = 0x40000000
MTU = 9000  # few packets, as each costs this program some microseconds
LAST_BYTE_OF_TARGET = 19  # in an IPv4 packet


def open_interface(host):
    """The packets that `host` sends to link0, one a read, and a write for each that it receives."""
    with open(f"/run/netns/{host}", "rb") as namespace:
        if ctypes.CDLL(None, use_errno=True).setns(namespace.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {host}")
    interface = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(interface, TUNSETIFF, struct.pack("16sH22x", b"link0", IFF_TUN | IFF_NO_PI))
    return interface


def carry(interfaces, delay):
    """`interfaces`: by the last number of the host's address."""
    under_way = collections.deque()  # (when it arrives, interface, packet), in this order
    poll = select.epoll()
    for interface in (*interfaces.values(), sys.stdin.fileno()):
        poll.register(interface, select.EPOLLIN)
    while True:
        wait = under_way[0][0] - time.monotonic() if under_way else -1
        ready = poll.poll(max(wait, 0) if under_way else -1)  # late by up to a millisecond
        now = time.monotonic()
        for interface, _ in ready:
            if interface == sys.stdin.fileno():
                return
            for _ in range(16):
                try:
                    packet = os.read(interface, MTU + 100)
                except BlockingIOError:
                    break
                target = interfaces.get(packet[LAST_BYTE_OF_TARGET]) if packet[0] >> 4 == 4 else None
                if target is not None:
                    under_way.append((now + delay, target, packet))
        while under_way and under_way[0][0] <= now:
            _, target, packet = under_way.popleft()
            try:
                os.write(target, packet)
            except BlockingIOError:
                pass  # lost, as on a wire; TCP sends it again


def main():
    delay, *hosts = sys.argv[1:]
    interfaces = {number: open_interface(host) for number, host in enumerate(hosts, 1)}
    print("ready", flush=True)
    carry(interfaces, float(delay) / 1000)


if __name__ == "__main__":
    main()
