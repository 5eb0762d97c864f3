"""Writes the inputs of the comparisons as .npy (f64, or f32 where "single" asks for it), .csv and Parquet:
python inputs.py FOLDER SHAPES.json"""

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


def embedding(rng, n, d):
    """Unit vectors around 200 topics, each with a few directions of its own, as text embeddings have them."""
    topics, own = rng.normal(size=(200, d)), rng.normal(size=(200, 8, d)) / np.sqrt(8)
    x = np.empty((n, d), dtype=np.float32)
    for start in range(0, n, 50_000):
        size = min(50_000, n - start)
        topic = rng.choice(200, size=size, p=np.arange(1, 201) ** -0.7 / (np.arange(1, 201) ** -0.7).sum())
        spread = np.einsum("ij,ijd->id", rng.normal(size=(size, 8)), own[topic])
        block = topics[topic] + 0.8 * spread + 0.4 * rng.normal(size=(size, d))
        x[start : start + size] = block / np.linalg.norm(block, axis=1, keepdims=True)
    return x


def main():
    folder, shapes = pathlib.Path(sys.argv[1]), json.loads(pathlib.Path(sys.argv[2]).read_text())
    makers = {"mixture": mixture, "heavy": heavy, "embedding": embedding}
    for name, shape in shapes.items():
        # The seed is the letter, so that a shape is the same whichever others are run.
        x = makers[shape["kind"]](np.random.default_rng(ord(name)), shape["n"], shape["d"])
        if shape.get("csv"):
            header = ",".join(f"x{i}" for i in range(shape["d"]))
            np.savetxt(folder / f"{name}.csv", x, delimiter=",", header=header, comments="", fmt="%.9g")
            x = np.loadtxt(folder / f"{name}.csv", delimiter=",", skiprows=1)
        if shape.get("parquet"):
            import pyarrow as pa
            import pyarrow.parquet as pq

            columns = {f"x{i}": x[:, i] for i in range(shape["d"])}
            pq.write_table(pa.table(columns), folder / f"{name}.parquet")
        np.save(folder / f"{name}.npy", np.ascontiguousarray(x, dtype=np.float32 if shape.get("single") else np.float64))


if __name__ == "__main__":
    main()
