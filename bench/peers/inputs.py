"""Writes the inputs of the speed comparison as .npy (f64) and .csv: python inputs.py FOLDER SHAPES.json"""

import json
import pathlib
import sys

import numpy as np


def mixture(rng, n, d):
    """Ten normal components of different weights, means and widths."""
    means = rng.normal(scale=3.0, size=(10, d))
    widths = rng.uniform(0.5, 1.5, size=(10, d))
    component = rng.choice(10, size=n, p=rng.dirichlet(np.full(10, 5.0)))
    return means[component] + widths[component] * rng.normal(size=(n, d))


def heavy(rng, n, d):
    """A multivariate t with 5 degrees of freedom, scaled to unit variance: white, with heavy tails."""
    freedom = 5.0
    radii = np.sqrt(freedom / rng.chisquare(freedom, size=(n, 1)))
    return rng.normal(size=(n, d)) * radii * np.sqrt((freedom - 2.0) / freedom)


def main():
    folder, shapes = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text())
    makers = {"mixture": mixture, "heavy": heavy}
    for name, shape in shapes.items():
        # The seed is the letter, so that a shape is the same whichever others are run.
        x = makers[shape["kind"]](np.random.default_rng(ord(name)), shape["n"], shape["d"])
        if shape.get("csv"):
            header = ",".join(f"x{i}" for i in range(shape["d"]))
            np.savetxt(folder / f"{name}.csv", x, delimiter=",", header=header, comments="", fmt="%.9g")
            x = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
        np.save(folder / f"{name}.npy", np.ascontiguousarray(x))


if __name__ == "__main__":
    main()
