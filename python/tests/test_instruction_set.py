"""SUPERSAMPLE_ISA: a name that the machine does not have keeps the package from being imported."""

import os
import subprocess
import sys

import supersample as ss


def instruction_set_with(name):
    program = "import supersample; print(supersample.instruction_set())"
    environment = os.environ | {"SUPERSAMPLE_ISA": name}
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, env=environment, timeout=120)


def test_the_set_that_is_named_is_used():
    assert instruction_set_with(ss.instruction_set()).stdout.strip() == ss.instruction_set()


def test_a_misspelt_set_is_an_import_error_that_names_what_there_is():
    refused = instruction_set_with("avx51")
    assert refused.returncode != 0
    last = refused.stderr.strip().splitlines()[-1]
    assert last.startswith("ImportError: SUPERSAMPLE_ISA is avx51") and ss.instruction_set() in last, refused.stderr
