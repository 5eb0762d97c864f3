#!/usr/bin/env python3
"""Kills, interrupts and damaged files against the command, in a folder of its own.

    python bench/hostile.py BINARY kills 1000
    python bench/hostile.py BINARY interrupts 200
    python bench/hostile.py BINARY damage 50000 [SEED]

Prints one line of counts and ends with 1 if anything was lost, hung, or ended in another way than 0, 1, 2 or 130.
"""

import gzip, json, os, random, shutil, signal, subprocess, sys, tempfile, time

BINARY, WHAT, COUNT = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3])
RNG = random.Random(int(sys.argv[4]) if len(sys.argv) > 4 else 1)
LIMIT = 60
TREES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../crates/supersample-io/tests/trees")
# Seconds after which no further run is begun.
END = time.time() + float(os.environ.get("SECONDS", "1e9"))


def start(words, folder):
    return subprocess.Popen(
        [BINARY, *words.split(), "--threads", "1"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def run(words, folder):
    process = start(words, folder)
    try:
        out, err = process.communicate(timeout=LIMIT)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, b"", b""
    return process.returncode, out, err


def table(rows, seed, names="chain,draw,a,b,c,w"):
    r = random.Random(seed)
    lines = [names]
    for i in range(rows):
        x = [r.gauss(0, 1) for _ in range(3)]
        lines.append(
            f"{1 + 4 * i // rows},{1 + i % (rows // 4)},{x[0]:.6f},{x[1] + x[0]:.6f},{x[2]:.6f},{r.random():.4f}"
        )
    return "\n".join(lines) + "\n"


def write(path, data):
    with open(path, "wb") as file:
        file.write(data if isinstance(data, bytes) else data.encode())


def draws(folder):
    text = table(1200, 1)
    write(f"{folder}/d.csv", text)
    write(f"{folder}/d.csv.gz", gzip.compress(text.encode()))
    for ending in ["parquet", "arrow", "npz", "npy", "csv.zst"]:
        run(f"herd d.csv --columns a,b,c -n 1200 --unique --sorted -q -o d.{ending}", folder)
    scores = [line.split(",") for line in text.splitlines()]
    write(f"{folder}/s.csv", "a,b,c\n" + "".join(f"{r[2]},{r[3]},{r[4]}\n" for r in scores[1:]))
    write(f"{folder}/f.csv", "row,f1\n" + "".join(f"{i},{r[2]}\n" for i, r in enumerate(scores[1:])))


CASES = [
    "herd d.csv --columns a,b,c -n 1200 --unique",
    "thin d.csv --columns a,b,c -n 100 --search 5",
    "thin d.csv.gz --columns a,b,c -n 60 --pool-rows 1000 --search 2",
    "herd d.parquet --columns a,b,c -n 500 --pool-rows 1100 --unique",
    "thin d.csv --columns a,b,c --weight-column w -n 50 --search 2",
    "thin d.csv --columns a,b,c --functions-file f.csv -n 50 --search 2",
    "thin d.csv --columns a,b,c --scores s.csv --target density -n 50 --search 2",
    "thin d.csv --columns a,b,c --stratify chain -n 80 --search 2",
    "herd d.npy -n 1000 --landmarks 200",
]
OUTPUTS = "-o o.csv --json j.json --indices i.txt --report r.html --trace t.csv --checkpoint ck"
OLD = {"o.csv": "old rows\n", "j.json": '{"old": 1}\n', "i.txt": "0\n", "r.html": "old page", "t.csv": "old\n"}


def outputs(folder):
    return {name: open(f"{folder}/{name}", "rb").read() for name in OLD if os.path.exists(f"{folder}/{name}")}


def strip(found):
    """What does not depend on how often a run was begun."""
    return {name: found.get(name) for name in ["o.csv", "i.txt", "t.csv"]}


def stopped(kind):
    hit = lost = wrong = hang = left = 0
    worst = 0.0
    with tempfile.TemporaryDirectory() as folder:
        draws(folder)
        whole, times = {}, {}
        for case in CASES:
            begun = time.time()
            code, _, err = run(f"{case} {OUTPUTS} -q", folder)
            assert code == 0, (case, err)
            whole[case], times[case] = outputs(folder), time.time() - begun
            os.remove(f"{folder}/ck")
        done = 0
        for number in range(COUNT):
            if time.time() > END:
                break
            done += 1
            case = CASES[number % len(CASES)]
            for name, text in OLD.items():
                write(f"{folder}/{name}", text)
            for name in os.listdir(folder):
                if name == "ck" or ".partial" in name or ".kept" in name:
                    os.remove(f"{folder}/{name}")
            write(f"{folder}/ck.lock", "precious")
            process = start(f"{case} {OUTPUTS} -q", folder)
            time.sleep(RNG.random() * times[case] * 1.05)
            sent = signal.SIGKILL if kind == "kills" else RNG.choice([signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
            was_running = process.poll() is None
            process.send_signal(sent)
            begun = time.time()
            try:
                process.communicate(timeout=LIMIT)
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
                hang += 1
                continue
            hit += was_running and process.returncode not in (0,)
            worst = max(worst, time.time() - begun)
            found = outputs(folder)
            for name, text in OLD.items():
                is_new = strip(found).get(name) == whole[case][name] if name in ("o.csv", "i.txt", "t.csv") else True
                if found.get(name) != text.encode() and not (name in found and is_new):
                    lost += 1
            if open(f"{folder}/ck.lock").read() != "precious":
                lost += 1
            if kind != "kills":
                left += any(name.startswith(".supersample") for name in os.listdir(folder))
                # A signal that comes before the first line of the program ends it as any other.
                if process.returncode not in (0, 130, -sent):
                    wrong += 1
                partial = [name for name in os.listdir(folder) if name == "j.partial.json"]
                for name in partial:
                    json.load(open(f"{folder}/{name}"))
            code, _, err = run(f"{case} {OUTPUTS} -q", folder)
            if code is None:
                hang += 1
            elif code != 0 or strip(outputs(folder)) != strip(whole[case]):
                wrong += 1
                print(case, code, err[-300:], file=sys.stderr)
            left += any(name.startswith(".supersample") for name in os.listdir(folder))
    print(
        f"{kind}: {done} runs, {hit} hit, {lost} lost, {wrong} wrong, {hang} hung, {left} with left-overs, worst answer {worst:.2f} s"
    )
    return lost + wrong + hang + left


def damaged(data):
    data = bytearray(data)
    for _ in range(RNG.choice([1, 1, 1, 2, 5, 20])):
        kind, at = RNG.randrange(6), RNG.randrange(max(1, len(data)))
        if kind == 0 and data:
            data[at % len(data)] ^= 1 << RNG.randrange(8)
        elif kind == 1:
            data = data[:at]
        elif kind == 2:
            data[at:at] = bytes(RNG.randrange(256) for _ in range(RNG.randrange(1, 9)))
        elif kind == 3:
            end = min(len(data), at + RNG.randrange(1, 200))
            data[at:end] = b""
        elif kind == 4:
            data[at : at + 8] = RNG.choice(
                [b"\xff" * 8, b"\0" * 8, (2**31 - 1).to_bytes(8, "little"), (2**62).to_bytes(8, "little")]
            )
        else:
            data[at:at] = RNG.choice(
                [b"NaN", b"inf", b"-", b'"', b"\n", b",", b"1e999", b"\xef\xbb\xbf", b"\r", b"#", "µ".encode()]
            )
    return bytes(data)


def damage():
    counts, panics, hangs, odd, invalid, left = {}, 0, 0, 0, 0, 0
    with tempfile.TemporaryDirectory() as folder:
        text = "\n".join(table(400, 2).splitlines()[:61]) + "\n"
        write(f"{folder}/d.csv", text)
        write(f"{folder}/m.toml", "[[component]]\nweight = 1\nmean = [0, 0]\ncovariance = [[1, 0.2], [0.2, 1]]\n")
        for ending in ["csv.gz", "csv.zst", "npy", "npz", "parquet", "arrow"]:
            run(f"herd d.csv -n 60 --unique --sorted -q -o d.{ending}", folder)
        run("herd d.csv --columns a,b,c -n 9 -q -o o.csv --checkpoint ck --indices i.txt", folder)
        rows = [line.split(",") for line in text.splitlines()]
        write(f"{folder}/s.csv", "a,b,c\n" + "".join(f"{r[2]},{r[3]},{r[4]}\n" for r in rows[1:]))
        columns = "--columns a,b,c"
        files = {
            f"d.{e}": f"thin BAD {'' if e == 'npy' else columns} -n 4 --search 0 -q -o o.csv --json j.json"
            for e in ["csv", "csv.gz", "csv.zst", "npy", "npz", "parquet", "arrow"]
        }
        batches = {name: words + " --pool-rows 20" for name, words in files.items() if name != "d.npz"}
        others = {
            "ck": f"herd d.csv {columns} -n 12 -q -o o.csv --json j.json --resume BAD",
            "i.txt": f"eval d.csv BAD {columns} -q --json j.json",
            "s.csv": f"thin d.csv {columns} -n 4 -q -o o.csv --json j.json --scores BAD --target density",
            "m.toml": "sample BAD -n 4 -q -o o.csv --json j.json",
        }
        cases = [
            *files.items(),
            *batches.items(),
            *others.items(),
            ("s.csv", f"thin d.csv {columns} -n 4 -q -o o.csv --json j.json --functions-file BAD"),
            ("d.csv", "info BAD --json j.json"),
            ("d.parquet", "info BAD --json j.json"),
        ]
        for name in ["arviz.nc", "classic.nc", "emcee.h5"]:
            shutil.copy(f"{TREES}/{name}", folder)
            cases.append((name, "thin BAD -n 4 --search 0 -q -o o.csv --json j.json"))
            cases.append((name, "info BAD --json j.json"))
        sound = {name: open(f"{folder}/{name}", "rb").read() for name, _ in cases}
        done = 0
        for number in range(COUNT):
            if time.time() > END:
                break
            done += 1
            name, words = cases[number % len(cases)]
            bad = "bad." + name.partition(".")[2] if "." in name else "bad"
            data = damaged(sound[name])
            write(f"{folder}/{bad}", data)
            for out in ["o.csv", "j.json"]:
                if os.path.exists(f"{folder}/{out}"):
                    os.remove(f"{folder}/{out}")
            code, _, err = run(words.replace("BAD", bad), folder)
            counts[code] = counts.get(code, 0) + 1
            is_panic = b"panicked" in err or b"this is a bug" in err
            if code is None or is_panic or code not in (0, 1, 2):
                write(f"/tmp/supersample-damage-{number}-{bad}", data)
                print(number, words, code, err[-300:], file=sys.stderr)
            hangs += code is None
            panics += is_panic
            odd += code not in (0, 1, 2, None)
            if os.path.exists(f"{folder}/j.json"):
                try:
                    json.load(open(f"{folder}/j.json"))
                except ValueError:
                    invalid += 1
            left += any(one.startswith(".supersample") for one in os.listdir(folder))
            os.remove(f"{folder}/{bad}")
    print(
        f"damage: {done} files, exits {counts}, {panics} panics, {hangs} hung, {odd} odd exits, {invalid} invalid JSON, {left} with left-overs"
    )
    return panics + hangs + odd + invalid + left


sys.exit(1 if (damage() if WHAT == "damage" else stopped(WHAT)) else 0)
