"""The results of speed.py as tables, for bench/peers/results, docs/performance.md and the README."""

BEGIN, END = "<!-- speed:begin (written by bench/peers/speed.py --write-docs) -->", "<!-- speed:end -->"
TITLES = {
    "A": "mixture of ten normals",
    "B": "white, heavy-tailed",
    "C": "small",
    "D": "large; whole command, landmarks",
    "E": "whole command from cold, CSV in and out",
}


def figure(value):
    """Three digits, whatever the size."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 1 else f"{value:.3f}"


def heading(name, shape):
    length = f", ℓ={shape['bandwidth']:g}" if name != "E" else ""
    return f"{name}: n={shape['n']:,}, d={shape['d']}{length}, T={shape['T']:,} ({TITLES[name]})"


def who(name, peer):
    if peer == "ours":
        return "**supersample**"
    if peer == "ours, all pairs":
        return "supersample, all pairs"
    return f"{peer} (second call)" if (name, peer) == ("C", "coreax") else peer


def shape_table(name, shape):
    ours = shape["peers"]["ours"]["seconds"]
    lines = [f"### {heading(name, shape)}", "", 
             "| | seconds | times ours | MMD at T | MMD level | peak memory | of the f64 input |", "|---" * 7 + "|"]
    for peer, result in shape["peers"].items():
        memory = ["", ""]
        if "peak_bytes" in result:
            memory = [f"{result['peak_bytes'] / 1e6:,.0f} MB", f"{figure(result['peak_bytes'] / shape['input_bytes'])}×"]
        cells = [who(name, peer), figure(result["seconds"]), figure(result["seconds"] / ours) + "×",
                 f"{result['mmd']:.5f}", f"{result['mmd_level']:.5f}", *memory]
        lines.append("| " + " | ".join(cells) + " |")
    lines.append("")
    best = shape["peers"]["ours"]
    if "embedding_seconds" in best:
        lines.append(f"Ours: embedding {figure(best['embedding_seconds'])} s, {shape['T']:,} picks "
                     f"{figure(best['picks_seconds'])} s; precision {best['precision']}, {best['isa']}.")
    coreax = shape["peers"].get("coreax", {})
    if name == "C" and coreax:
        first = coreax["all_seconds"][0]
        lines.append(f"coreax's first call, compilation included: {figure(first)} s ({figure(first / ours)}× ours).")
    runs = "; ".join(f"{peer} " + ", ".join(figure(s) for s in result["runs"]) for peer, result in shape["peers"].items())
    lines += [f"All runs, in seconds: {runs}.", ""]
    return lines


def floor_table(floors, ceilings):
    lines = ["### The floor", "",
             f"Ceilings on {ceilings['threads']} threads: {ceilings['fma_per_second'] / 1e9:.1f} G multiply-adds/s and "
             f"{ceilings['exp_per_second'] / 1e9:.2f} G exponentials/s in f32.", "",
             "| | floor | embedding | share | share by processor time |", "|---|---|---|---|---|"]
    for name, floor in floors.items():
        by_cpu = f"{100 * floor['share_by_cpu']:.0f} %" if "share_by_cpu" in floor else ""
        lines.append(f"| {name} | {figure(floor['floor_seconds'])} s | {figure(floor['embedding_seconds'])} s "
                     f"| {100 * floor['share']:.0f} % | {by_cpu} |")
    return lines


def long_table(results):
    machine, ceilings = results["machine"], results["ceilings"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items()
                         if name in ("coreax", "jax", "goodpoints", "numpy", "scikit-learn"))
    lines = []
    if results["quick"]:
        lines += ["**A trial with small inputs: the figures mean nothing.**", ""]
    lines += [f"{results['date']}, {machine['cpu']}, {machine['threads']} threads, {machine['system']}; supersample at "
              f"{machine['commit']} (rustc {machine['rustc']}); Python {machine['python']}, {versions}. Best of "
              f"{results['repeats']}, of {results['slow_repeats']} for coreax and plain NumPy at A and B. "
              f"Load average before {results['load_before']:.1f}, after {results['load_after']:.1f}; the whole run took "
              f"{results['seconds_in_all'] / 60:.0f} minutes.", ""]
    for name, shape in results["shapes"].items():
        lines += shape_table(name, shape)
    if results["floor"]:
        lines += floor_table(results["floor"], ceilings)
    if "scaling" in results:
        s = results["scaling"]
        lines += ["", "### Scaling", "",
                  f"At A, half the rows to all of them: {figure(s['half_n'])} → {figure(s['full_n'])} s, "
                  f"{s['n_ratio']:.2f}× (embedding). Twice the picks: {figure(s['T'])} → {figure(s['twice_T'])} s, "
                  f"{s['T_ratio']:.2f}× (pick loop)."]
        sweeps, search = results["refinement"]["sweeps"], results["refinement"]["search"]
        lines += ["", "### Refinement", "",
                  f"At A, after an embedding of {figure(sweeps['embedding_seconds'])} s: herding {sweeps['picks']:,} rows "
                  f"within the refinement {figure(sweeps['herding_seconds'])} s, sweeps until no swap helps "
                  f"{figure(sweeps['sweeps_seconds'])} s ({sweeps['swaps']:,} swaps, MMD {sweeps['mmd_herded']:.5f} → "
                  f"{sweeps['mmd']:.5f}). With a search of 3 annealed sweeps as well "
                  f"{figure(search['sweeps_and_search_seconds'])} s (MMD {search['mmd']:.5f}). Peak memory "
                  f"{sweeps['peak_bytes'] / 1e6:,.0f} MB, most of it kernel rows that are kept (up to 512 MiB)."]
    lines += ["", "### Targets", "", "| | this run | target | |", "|---|---|---|---|"]
    for bar in results["bars"]:
        sign = "≥" if bar["at_least"] else "≤"
        lines.append(f"| {bar['bar']} | {figure(bar['value'])} | {sign} {bar['limit']:g} "
                     f"| {'yes' if bar['reached'] else '**no**'} |")
    problems = [f"- {name}: {problem}" for name, shape in results["shapes"].items() for problem in shape["problems"]]
    if problems:
        lines += ["", "### Results that do not agree", "", *problems]
    return "\n".join(lines) + "\n"


SHORT = ("coreax", "NumPy", "NumPy, tuned")


def short_table(results):
    """The table of the README: seconds alone."""
    machine = results["machine"]
    lines = ["| rows × columns, chosen | supersample | " + " | ".join(SHORT) + " |", "|---" * (2 + len(SHORT)) + "|"]
    for name, shape in results["shapes"].items():
        peers = shape["peers"]
        others = [peers.get(peer) or peers.get(f"{peer}, compiled") for peer in SHORT]
        cells = [f"{figure(result['seconds'])} s" if result else "" for result in (peers["ours"], *others)]
        note = {"D": " (command, landmarks)", "E": " (command, CSV)"}.get(name, "")
        lines.append(f"| {shape['n']:,} × {shape['d']}, {shape['T']:,}{note} | " + " | ".join(cells) + " |")
    versions = machine["versions"]
    large, all_pairs = results["shapes"]["D"], results["shapes"]["D"]["peers"]["ours, all pairs"]["seconds"]
    lines += ["", f"`herd`, {machine['threads']} threads of an {machine['cpu']}; coreax {versions['coreax']}, NumPy "
              f"{versions['numpy']}. All reach about the same MMD. All pairs of rows are compared, except at {large['n']:,} rows: "
              f"there landmarks are the default, and all pairs take {figure(all_pairs)} s."]
    return "\n".join(lines) + "\n"


def write_between_markers(path, text):
    old = path.read_text()
    if old.count(BEGIN) != 1 or old.count(END) != 1:
        raise SystemExit(f"{path.name} lacks the markers {BEGIN} and {END}")
    before, rest = old.split(BEGIN)
    path.write_text(f"{before}{BEGIN}\n{text}{END}{rest.split(END)[1]}")
