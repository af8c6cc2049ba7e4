"""Every arm once in each block, in an order drawn by lot: blocks.py BLOCKS SEED, into forwarded.csv and direct.csv.

From the root of the repository, after begin.sh and with its variables.
"""

import csv
import json
import os
import random
import shutil
import subprocess
import sys
import time

WAYS = "runs/cluster-2026-11-26/ways"
KUBERNETES = "crates/linerate/tests/system_parts/kubernetes/kubernetes.sh"
CLUSTER, LINERATE = os.environ["CLUSTER"], os.environ["LINERATE"]
SETTLE_S, ATTEMPTS = 5, 5
# A server that compares no keys.
KEYS = dict(os.environ, AWS_ACCESS_KEY_ID="a", AWS_SECRET_ACCESS_KEY="b")
FIRST_POD = "jsonpath={.items[0].status.podIP}"


def on(space, *words):
    return [KUBERNETES, "on", CLUSTER, space, *words]


def said(*words):
    return subprocess.run(words, check=True, capture_output=True, text=True).stdout


def hosts():
    of_n2 = ["--namespace", "compared", "--field-selector=spec.nodeName=n2", "--output", FIRST_POD]
    pod = said(KUBERNETES, "in", CLUSTER, "kubectl", "get", "pods", *of_n2)
    # The port of the service on the other node, whichever is asked: each request is forwarded.
    return {"forwarded": ("client", "10.231.80.11:31002,10.231.80.12:31001"), "direct": ("1", f"{pod}:9000")}


# Arm snat is native routing too.
ARMS = {"snat": ["forwarded", "direct"], "dsr": ["forwarded"], "vxlan": ["direct"]}


def measured(space, host):
    cell = f"{CLUSTER}/cell"
    load = "--bucket bench --op get,put --obj.size 1MiB --objects 16 --concurrent 16 --warmup 1500ms --duration 4s"
    others = "--precision none --no-ceiling --yes-load --quiet"
    words = on(space, LINERATE, "bench", "--host", host, *load.split(), *others.split(), "-o", cell)
    # An agent that has just begun again makes its programs anew for some seconds more, in which nothing passes.
    for attempt in range(ATTEMPTS):
        time.sleep(SETTLE_S)
        shutil.rmtree(cell, ignore_errors=True)
        if subprocess.run(words, env=KEYS).returncode == 0:
            break
        print(f"attempt {attempt + 1} of {ATTEMPTS} at {host} failed", flush=True)
    else:
        sys.exit(f"no cell at {host}")
    view = json.loads(said(LINERATE, "report", cell, "--format", "json"))
    return [series["points"][0]["bytes_per_s"]["mean"] / 2**20 for series in view["series"]]


def main(blocks, seed):
    draw, ways = random.Random(seed), hosts()
    tables = {way: csv.writer(open(f"{WAYS}/{way}.csv", "w", buffering=1), lineterminator="\n") for way in ways}
    for table in tables.values():
        table.writerow(["series", "block", "order", "arm", "value"])
    for block in range(1, blocks + 1):
        arms = list(ARMS)
        draw.shuffle(arms)
        for order, arm in enumerate(arms, 3 * block - 2):
            subprocess.run([f"{WAYS}/arm.sh", arm], check=True)
            for way in ARMS[arm]:
                name = "native" if (way, arm) == ("direct", "snat") else arm
                for operation, mean in zip(["get", "put"], measured(*ways[way])):
                    tables[way].writerow([operation, block, order, name, f"{mean:.2f}MiB/s"])


main(int(sys.argv[1]), int(sys.argv[2]))
