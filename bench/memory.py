"""Memory that a call of Python adds to that of its rows: python bench/memory.py

Each call runs in a process of its own: 200 of 50,000 rows, without a search, after a small call that loads everything. Needs Linux.
"""

import subprocess
import sys

CALLS = [(200, "f8", "thin"), (200, "f4", "thin"), (384, "f4", "thin"), (384, "f4", "herd")]
CODE = """
import resource, sys
import numpy as np
import supersample as ss
columns, kind, verb = int(sys.argv[1]), sys.argv[2], sys.argv[3]
draw = np.random.default_rng(0).normal
options = {"search": 0} if verb == "thin" else {}
x = draw(size=(50_000, columns)).astype(kind)
getattr(ss, verb)(draw(size=(500, columns)), 20, threads=2, **options)
before = int(open("/proc/self/statm").read().split()[1]) * resource.getpagesize()
getattr(ss, verb)(x, 200, threads=2, **options)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
print(f"| {verb} | 50,000 × {columns} {kind} | {x.nbytes >> 20} MiB | {(peak - before) >> 20} MiB |")
"""

print("| call | rows | their size | added |\n|---|---|---|---|", flush=True)
for columns, kind, verb in CALLS:
    subprocess.run([sys.executable, "-c", CODE, str(columns), kind, verb], check=True)
