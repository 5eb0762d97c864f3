"""The examples of docs/gallery run, print what their pages say, and can be drawn."""

import importlib.util
import re
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "gallery"
NUMBER = re.compile(r"-?\d[\d,]*(?:\.\d+)?")
PRINTED = re.compile(r"^```text\n(.*?)^```", re.MULTILINE | re.DOTALL)
#: Less of everything than the pages have, so that the tests take seconds.
SMALLER = {
    "digits": [("range(20)", "range(3)")],
    "ensemble": [("range(5)", "range(2)")],
    "parquet": [("1_000_000", "100_000"), ("1,000,000", "100,000")],
}
PAGES = ["posterior", "nested", "digits", "ensemble", "parquet"]

specification = importlib.util.spec_from_file_location("figures", FOLDER / "figures.py")
figures = importlib.util.module_from_spec(specification)
specification.loader.exec_module(figures)


@pytest.mark.parametrize("page", PAGES)
def test_a_page_prints_what_it_says_and_can_be_drawn(page, tmp_path):
    # Small matrices on many threads wait for each other, above all where tests run in two processes.
    with threadpool_limits(1):
        names, shown, found = figures.run(page, SMALLER.get(page, ()))
    shown, found = "".join(PRINTED.findall(shown)), "".join(PRINTED.findall(found))
    assert NUMBER.sub("#", found).split() == NUMBER.sub("#", shown).split()
    for said, is_now in zip(numbers(shown), numbers(found), strict=True):
        assert abs(said - is_now) <= max(0.5 * abs(said), 0.005), f"{page}.md says {said}; it is {is_now} now\n{found}"
    globals()[page](names)

    figures.draw(page, names, tmp_path)
    for name in (f"{page}.svg", f"{page}_small.svg"):
        again, committed = (ElementTree.parse(folder / name).getroot() for folder in (tmp_path, FOLDER))
        assert again.get("viewBox") == committed.get("viewBox")
        assert (FOLDER / name).stat().st_size < 80_000


def numbers(text):
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def posterior(names):
    at_random, chosen = names["random_errors"], names["chosen_errors"]
    assert chosen[0] < 0.2 * at_random[0] and chosen[1] < 0.5 * at_random[1] and chosen[2] < at_random[2]


def nested(names):
    systematic = np.mean([names["errors"](rows) for rows in names["systematic"]], axis=0)
    assert np.all(np.array(names["errors"](names["chosen"].indices)) < 0.2 * systematic)
    assert names["astray"](names["chosen"].indices) < 3 < names["astray"](names["default"].indices)
    assert len(set(names["chosen"].indices)) == 100


def digits(names):
    at_random, thinned, shorter, medoids = (np.mean(found, axis=0) for found in names["results"].values())
    assert at_random[0] < thinned[0] < medoids[0] and thinned[2] < 0.8 * medoids[2] < 0.8 * at_random[2]
    assert shorter[0] > thinned[0]


def ensemble(names):
    at_random, chosen = names["at_random"], names["chosen"]
    assert chosen[0] < 0.85 * at_random[0]


def parquet(names):
    chosen = names["errors"](names["few"][names["columns"]].to_numpy())
    assert np.all(chosen < 0.4 * names["random_errors"])
    # The rows that are taken from the file are those that were chosen.
    assert np.isin(names["chosen"].points, names["few"][names["columns"]].to_numpy()).all()


def test_the_overview_has_the_numbers_of_the_pages():
    overview = (FOLDER / "index.md").read_text(encoding="utf-8")
    rows = re.findall(r"\]\((\w+)\.md\)\*\*(.*)", overview)
    assert [page for page, _ in rows] == PAGES
    for page, row in rows:
        printed = "".join(PRINTED.findall((FOLDER / f"{page}.md").read_text(encoding="utf-8")))
        quoted = re.findall(r"\d+\.\d+", row)
        assert len(quoted) >= 2 and set(quoted) <= set(re.findall(r"\d+\.\d+", printed))
