"""Build backend: maturin, behind a look for a Rust that is new enough and a sentence for whoever has none.

Without it a missing or old compiler shows as a traceback or as an error about a file that the user has never seen.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import maturin

ROOT = Path(__file__).resolve().parent.parent
REMEDY = (
    "Install the current Rust as https://www.rust-lang.org/tools/install says (no administrator is needed), open a new "
    "terminal and try again; or choose a platform and a Python (3.10 or newer, not free-threaded) for which there is a "
    "wheel, which needs no Rust."
)


def required() -> tuple[int, int]:
    """The oldest Rust that builds the package, as Cargo.toml has it."""
    found = re.search(r'^rust-version = "(\d+)\.(\d+)', (ROOT / "Cargo.toml").read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit("supersample: Cargo.toml names no rust-version; the source distribution is damaged")
    return int(found[1]), int(found[2])


def complaint() -> str | None:
    """What is wrong with the Rust at hand; None where nothing is."""
    major, minor = required()
    needed = f"this package is built from source here, which needs Rust {major}.{minor} or newer"
    # cargo asks the same program, so what is found here is what will compile.
    rustc = os.environ.get("RUSTC", "rustc")
    try:
        said = subprocess.run([rustc, "--version"], capture_output=True, text=True, check=False, cwd=ROOT)
        subprocess.run([os.environ.get("CARGO", "cargo"), "--version"], capture_output=True, check=False, cwd=ROOT)
    except OSError:
        return f"{needed}, and there is none on the PATH. {REMEDY}"
    version = re.match(r"rustc (\d+)\.(\d+)", said.stdout)
    if version is None:
        words = (said.stderr or said.stdout).strip() or "nothing"
        return f"{needed}, but `{rustc} --version` says: {words}. {REMEDY}"
    if (int(version[1]), int(version[2])) < (major, minor):
        return f"{needed}, but this is {said.stdout.strip()}. `rustup update` brings a newer one. {REMEDY}"
    return None


def _insist() -> None:
    found = complaint()
    if found is not None:
        print(f"\nsupersample: {found}\n", file=sys.stderr)
        raise SystemExit(1)


def get_requires_for_build_wheel(config_settings: dict[str, Any] | None = None) -> list[str]:
    _insist()
    return maturin.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings: dict[str, Any] | None = None) -> list[str]:
    _insist()
    return maturin.get_requires_for_build_editable(config_settings)


def build_wheel(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    _insist()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(
    wheel_directory: str, config_settings: dict[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    _insist()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: dict[str, Any] | None = None) -> str:
    _insist()
    return maturin.prepare_metadata_for_build_wheel(metadata_directory, config_settings)


prepare_metadata_for_build_editable = prepare_metadata_for_build_wheel
get_requires_for_build_sdist = maturin.get_requires_for_build_sdist
build_sdist = maturin.build_sdist
