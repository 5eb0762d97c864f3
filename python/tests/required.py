"""Tests that need what not every machine has."""

import os

import pytest

REQUIRED = os.environ.get("SUPERSAMPLE_REQUIRE", "").split(",")


def skipped(need: str, why: object) -> None:
    """Skips the test; fails where SUPERSAMPLE_REQUIRE, a list with commas, names what it needs."""
    if need in REQUIRED:
        pytest.fail(f"SUPERSAMPLE_REQUIRE names {need}, but {why}")
    pytest.skip(f"for want of {need}: {why}")
