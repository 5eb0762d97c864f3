"""Rows that are known by their kernel values alone, against the same rows with coordinates."""

import numpy as np
import pytest
import supersample as ss

X = np.random.default_rng(3).normal(size=(300, 2))
GAUSSIAN = ss.Gaussian(1.3)


@pytest.mark.parametrize("choose", [ss.herd, ss.thin])
@pytest.mark.parametrize("weighted", [False, True])
def test_a_matrix_of_kernel_values_is_as_good_as_the_rows(choose, weighted):
    weights = np.random.default_rng(4).uniform(0.5, 2.0, size=300) if weighted else None
    gram = GAUSSIAN(X, X)
    options = {"sample_weight": weights, "functions": X[:, :1] ** 2}
    if choose is ss.thin:
        # The length of a search goes by the number of columns.
        options["search"] = 0
    by_values = choose(gram=gram, n=12, **options)
    by_rows = choose(X, 12, kernel=GAUSSIAN, scale="none", precision="double", marginals=0.0, moments=0.0, **options)
    assert by_values.indices.tolist() == by_rows.indices.tolist()
    assert abs(by_values.mmd / by_rows.mmd - 1) < 1e-9
    assert by_values.cdf is None and by_values.kernel.name == "precomputed"
    assert by_values.points.shape == (12, 1) and "precomputed kernel" in repr(by_values)


def test_what_has_no_meaning_is_refused():
    gram = GAUSSIAN(X, X)
    crooked = gram.copy()
    crooked[3, 5] += 0.5
    cases = [
        ({"x": X, "gram": gram}, TypeError, "both given"),
        ({}, TypeError, "x is of type NoneType"),
        ({"gram": gram[:, :40]}, ValueError, r"gram has shape \(300, 40\)"),
        ({"gram": crooked}, ValueError, "symmetric"),
        ({"gram": gram, "marginals": 0.1}, ValueError, "marginals cannot be used with a Gram matrix"),
        ({"gram": gram, "moments": 0.1}, ValueError, "moments cannot be used with a Gram matrix"),
        ({"gram": gram, "scale": "sd"}, ValueError, "scale cannot be used with a Gram matrix"),
        ({"gram": gram, "landmarks": 20}, ValueError, "landmarks cannot be used with a Gram matrix"),
        ({"gram": gram, "pool_rows": 50}, ValueError, "pool_rows cannot be used with a Gram matrix"),
        ({"gram": gram, "kernel": "imq"}, ValueError, "no effect with gram"),
        ({"gram": gram, "kernel": "gaussian"}, ValueError, "no effect with gram"),
        ({"gram": gram, "bandwidth": 1.3}, ValueError, "no effect with gram"),
        ({"gram": gram, "max_memory": "1G"}, ValueError, "no effect with gram"),
    ]
    for given, kind, message in cases:
        with pytest.raises(kind, match=message):
            ss.thin(n=5, **given)
