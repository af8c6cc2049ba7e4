#!/usr/bin/env python3
"""Writes bench-schema-3-two-clients beside this file: a run of two clients, by docs/run-folder.md alone.

It shares no code with linerate, so that what reads the folder is held against the text and not against its writer.
The same folder comes of it each time. What is in it, for the report to tell:

- two clients of unlike size drive two hosts, in two points of 2 s and a ceiling each; rack2's clock is 3 ms off;
- rack2 loses a tenth of its processor time to its hypervisor;
- rack2 ends the second point 0.5 s before rack1.
"""

import base64
import json
import math
import pathlib
import random
import struct

HERE = pathlib.Path(__file__).parent / "bench-schema-3-two-clients"
INTERVAL_MS = 100
SIZE = 1 << 20
DICE = random.Random(3)


def bucket(ns):
    """Index of the bucket of a value: 64 ns wide up to 16 µs, then 128 to each doubling."""
    units = ns >> 6
    if units < 256:
        return units
    group = units.bit_length() - 8
    return (group << 7) + (units >> group)


def leb128(number):
    """ZigZag, then seven bits a byte."""
    number = (number << 1) ^ (number >> 63)
    coded = bytearray()
    while number >= 0x80:
        coded.append(number & 0x7F | 0x80)
        number >>= 7
    coded.append(number)
    return bytes(coded)


def histogram(values):
    """HdrHistogram V2, in base64."""
    if not values:
        return ""
    counts = {}
    for ns in values:
        counts[bucket(ns)] = counts.get(bucket(ns), 0) + 1
    coded, at = b"", 0
    for index in sorted(counts):
        if index > at:
            coded += leb128(at - index)
        coded += leb128(counts[index])
        at = index + 1
    head = struct.pack(">iiiiqqd", 0x1C849313, len(coded), 0, 2, 64, 3_600_000_000_000, 1.0)
    return base64.b64encode(head + coded).decode()


def latencies(n, median_ns):
    return [int(median_ns * math.exp(DICE.gauss(0, 0.25))) for _ in range(n)]


def row(host, n, median_ns):
    total = latencies(n, median_ns)
    return {
        "host": host, "op": "get", "requests": n, "bytes": n * SIZE, "moved_bytes": n * SIZE,
        "ttfb": histogram([ns // 2 for ns in total]), "total": histogram(total),
    }


class Machine:
    """Counters of one client's machine, since boot."""

    def __init__(self, client, cpus, steal):
        self.client, self.cpus, self.steal = client, cpus, steal
        self.rx_bytes, self.user_ms, self.read_at_ms = 7_000_000, 0, 0

    def reading(self, at_ms):
        wall_ms = 100_000 + at_ms
        user_ms = 100 + self.user_ms // self.cpus
        steal_ms = int(at_ms * self.steal)
        cpu = {
            "user_ms": user_ms, "system_ms": 0, "irq_ms": 0, "softirq_ms": 0, "steal_ms": steal_ms, "iowait_ms": 0,
            "idle_ms": wall_ms - user_ms - steal_ms,
        }
        nic = {
            "name": "eth0", "rx_bytes": self.rx_bytes, "tx_bytes": self.rx_bytes // 100, "rx_packets": 0,
            "tx_packets": 0, "rx_dropped": 0, "tx_dropped": 0, "rx_errors": 0, "tx_errors": 0,
        }
        reading = {
            "at_ms": at_ms, "unix_ms": 1_795_400_000_000 + at_ms,
            "cpus": [dict(cpu, cpu=number) for number in range(self.cpus)], "nics": [nic],
            "tcp": {"out_segments": self.rx_bytes // 1000, "retransmitted_segments": 0}, "disks": [],
            "memory": {"available_bytes": 1 << 33, "cached_bytes": 0, "dirty_bytes": 0},
        }
        return dict(reading, client=self.client) if self.client else reading


def client(name, cpus, threads, clock):
    nic = {
        "name": "eth0", "speed_bits_per_s": 25_000_000_000, "mtu_bytes": 9000, "driver": "mlx5_core", "numa_node": 0,
    }
    machine = {
        "kernel": "6.12.0", "cpu_model": "Generic", "cpus": cpus, "numa_nodes": 1, "memory_bytes": 1 << 34,
        "nics": [nic], "clocksource": "tsc", "virtualized": True,
    }
    told = {"name": name, "machine": machine, "threads": threads}
    return dict(told, clock=clock) if clock else told


def manifest():
    load = {
        "endpoint": {
            "server": {"hosts": {"authorities": ["store1:9000", "store2:9000"], "every_address": False}},
            "anonymous": False, "region": "us-east-1", "bucket": "b", "prefix": "", "lookup": "path",
            "host_select": "round-robin", "memory_bytes": 1 << 20,
        },
        "work": [{"workload": "get", "sizes": ["1MiB"]}],
        "objects": {"count": 100, "write": "put", "list_existing": False, "noclear": False},
        "bodies": {
            "payload": "signed", "unique": "tail", "part_bytes": 16 << 20, "part_concurrent": 1, "verify": False,
        },
        "levels": {"given": [8, 32]},
        "threads": 2,
        "time": {"duration_ns": 2_000_000_000, "warmup_ns": 200_000_000, "precision": None},
        "stops": {"timeout_ns": 60_000_000_000, "retries": 0},
    }
    return {
        "schema": 3, "id": "two-clients", "title": "Two clients", "linerate_version": "0.1.0",
        "started_unix_ms": 1_795_400_000_000, "seed": 12_153_973_149_029_439_066,
        "load": load,
        "resolved": {"prefix": "linerate-two-clients/", "duration_ms": 2000, "warmup_ms": 200},
        "target": {
            "kind": "s3", "hosts": ["store1:9000", "store2:9000"], "server": "Store", "lookup": "path",
            "region": "us-east-1", "on_this_machine": False, "bucket_made": False,
        },
        "clients": [
            client("rack1", 8, 4, None),
            client("rack2", 4, 2, {"offset_ns": -1_250_000, "bound_ns": 400_000}),
        ],
        "interval_ms": INTERVAL_MS, "intervals_bytes_max": 1 << 20,
    }


def written():
    """Lines of the three files."""
    points, intervals, readings = [], [], []
    machines = [Machine(0, 8, 0.0), Machine(1, 4, 0.1)]
    at_ms = 0
    readings += [machine.reading(0) for machine in machines]
    plan = [("ceiling", 32, 5, (200, 90)), ("measure", 8, 22, (40, 20)), ("measure", 32, 22, (60, 30))]
    for number, (purpose, concurrency, length, rates) in enumerate(plan):
        points.append({
            "event": "begin", "point": number, "at_ms": at_ms, "purpose": purpose, "workload": "get", "size": "1MiB",
            "concurrency": concurrency, "read_set_bytes": 100 * SIZE,
        })
        for i in range(length):
            for machine in machines:
                if number == 2 and machine.client == 1 and i >= length - 5:
                    continue
                each = rates[machine.client] + DICE.randrange(-3, 4)
                hosts = [0] if purpose == "ceiling" else [0, 1]
                # Little's law: of all in flight, each client has its share.
                share = rates[machine.client] / sum(rates)
                median_ns = int(concurrency * share * 100_000_000 / (each * len(hosts)) / math.exp(0.25**2 / 2))
                late_ms = 3 * machine.client
                threads = [4, 2][machine.client]
                interval = {
                    "point": number, "from_ms": at_ms + i * 100 + late_ms, "to_ms": at_ms + i * 100 + 100 + late_ms,
                    "client_cpu_ns": threads * 30_000_000, "thread_cpu_ns": [25_000_000] * threads,
                    "rows": [row(host, each, median_ns) for host in hosts],
                }
                intervals.append(dict(interval, client=1) if machine.client else interval)
                machine.user_ms += threads * 30
                if purpose != "ceiling":
                    machine.rx_bytes += int(each * len(hosts) * SIZE * 1.02)
            now_ms = at_ms + (i + 1) * 100
            if now_ms % 500 == 0:
                readings += [machine.reading(now_ms) for machine in machines]
        at_ms += length * 100
        points.append({
            "event": "end", "point": number, "at_ms": at_ms, "ended": "duration", "connections": concurrency,
            "warmup_ms": 100 if purpose == "ceiling" else 200,
        })
    readings += [machine.reading(at_ms + 1) for machine in machines]
    return {"points": points, "intervals": intervals, "readings": readings, "findings": []}


def main():
    HERE.mkdir(exist_ok=True)
    (HERE / "run.json").write_text(json.dumps(manifest(), indent=2) + "\n")
    for name, lines in written().items():
        text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
        (HERE / f"{name}.jsonl").write_text(text)


if __name__ == "__main__":
    main()
