"""What every peer's process does alike: read the arguments, time the calls, report as one line of JSON."""

import argparse
import json
import time

import numpy as np


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("file")
    parser.add_argument("--bandwidth", type=float, required=True)
    parser.add_argument("--number", type=int, required=True)
    parser.add_argument("--picks", required=True, help="the chosen row numbers go here")
    parser.add_argument("--calls", type=int, default=1, help="how often to herd in this process")
    parser.add_argument("--form", choices=["rows", "blocked", "tuned"], default="rows", help="NumPy only: see there")
    parser.add_argument("--compiled", action="store_true", help="coreax only: see there")
    return parser.parse_args()


def peak_bytes():
    """The most memory this process ever had resident. Not getrusage: that also counts the parent's before exec."""
    with open("/proc/self/status") as status:
        for line in status:
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) * 1024


def report(args, herd, **more):
    """Calls herd() as often as asked; each call returns (row numbers, what else is to be reported)."""
    seconds = []
    for _ in range(args.calls):
        start = time.perf_counter()
        rows, extra = herd()
        seconds.append(time.perf_counter() - start)
        more |= extra
    np.savetxt(args.picks, rows, fmt="%d")
    print(json.dumps({"seconds": seconds[-1], "all_seconds": seconds, "peak_bytes": peak_bytes()} | more))
