"""Marginals and functions: what is matched beside the joint distribution, and what is refused."""

import pickle

import numpy as np
import pandas as pd
import pytest
import supersample as ss
import xarray as xr

RNG = np.random.default_rng(3)
X = RNG.normal(size=(400, 3)) * [1, 5, 0.2]
F = np.stack([np.exp(X[:, 0]), X[:, 0] * X[:, 1]], axis=1)
FRAME = pd.DataFrame(X, columns=["a", "b", "c"]).assign(**{"y[0]": F[:, 0], "y[1]": F[:, 1]})


def means_error(rows):
    """The error of the means in sds, root mean square, by its definition."""
    off = (F[rows].mean(axis=0) - F.mean(axis=0)) / F.std(axis=0)
    return np.sqrt(np.mean(off**2))


def cdf_error(rows):
    """The distance of the distribution functions by its definition, over the middles of the steps."""
    squares = []
    for column in X.T:
        u = (np.argsort(np.argsort(column)) + 0.5) / len(column)
        grid = np.concatenate([[0], np.sort(u), [1]])
        middles = (grid[1:] + grid[:-1]) / 2
        of_all = (u[:, None] <= middles).mean(axis=0)
        of_subset = (u[rows][:, None] <= middles).mean(axis=0)
        squares.append(np.sum((of_all - of_subset) ** 2 * np.diff(grid)))
    return np.sqrt(np.mean(squares))


def test_moments_keep_variances_and_cautions_name_columns():
    wide = np.exp(1.5 * RNG.normal(size=(2000, 2)))
    narrow, plain = ss.thin(wide, 50, moments=0), ss.thin(wide, 50, moments=1)
    variance = [wide[result.indices].var(axis=0).sum() / wide.var(axis=0).sum() for result in (narrow, plain)]
    assert variance[0] < 0.8 and abs(variance[1] - 1) < abs(variance[0] - 1)
    assert "note: columns 0, 1 have heavy tails" in repr(plain) and "heavy tails" in plain._repr_html_()
    line = RNG.normal(size=(500, 1)) * [1, 1] + 0.01 * RNG.normal(size=(500, 2))
    assert "are nearly collinear (correlation 1.00)" in repr(ss.thin(line, 20))
    assert "collinear" not in repr(ss.thin(line, 20, scale="pca"))
    for value in (-1, float("nan")):
        with pytest.raises(ValueError, match=r"moments is .*; give a number of at least 0"):
            ss.thin(X, 5, moments=value)


def test_thin_matches_marginals_by_default_and_herd_does_not():
    plain, alone = ss.thin(X, 30), ss.thin(X, 30, marginals=0, moments=0)
    assert (plain.objective, alone.objective) == ("joint MMD + 0.1 × marginals + 0.08 × moments", "joint MMD")
    assert plain.indices.tolist() == ss.thin(X, 30, marginals=0.1, moments=0.08).indices.tolist()
    assert plain.cdf < alone.cdf and alone.mmd < plain.mmd
    assert plain.cdf == pytest.approx(cdf_error(plain.indices), rel=1e-9)
    assert alone.refinement.objective is None
    stages = plain.refinement.objective
    assert stages["before"] > stages["swapped"] >= stages["searched"]
    assert "objective: joint MMD + 0.1 × marginals" in repr(plain) and "cdf" in plain._repr_html_()
    assert "objective" not in repr(ss.herd(X, 30)) and ss.herd(X, 30, marginals=1).cdf < ss.herd(X, 30).cdf


@pytest.mark.parametrize(
    "functions",
    [F, F.tolist(), pd.DataFrame(F), {"y": F}, np.asfortranarray(F), FRAME[["y[0]", "y[1]"]]],
    ids=["array", "lists", "frame", "dict", "order", "names"],
)
def test_functions_are_numbers_of_any_kind(functions):
    result = ss.thin(X, 20, functions=functions)
    assert result.indices.tolist() == ss.thin(X, 20, functions=F).indices.tolist()
    assert result.functions_error == pytest.approx(means_error(result.indices), rel=1e-9)
    assert result.functions_error < 0.5 * means_error(ss.thin(X, 20).indices)


@pytest.mark.parametrize("names", ["y", ["y[0]", "y[1]"], "y*", ("y[?]",)])
def test_functions_are_columns_by_name_and_distances_do_not_use_them(names):
    result = ss.thin(FRAME, 20, functions=names)
    assert result.names == ("a", "b", "c")
    assert result.indices.tolist() == ss.thin(X, 20, functions=F).indices.tolist()
    assert result.objective == "joint MMD + 0.1 × marginals + 0.08 × moments + 1 × functions"


def test_one_function_is_a_vector():
    for vector in (F[:, 0], FRAME["y[0]"], F[:, 0].tolist()):
        one = ss.herd(X, 20, functions=vector)
        assert one.indices.tolist() == ss.herd(X, 20, functions=F[:, :1]).indices.tolist()


def test_more_weight_is_less_error():
    light, heavy = (ss.thin(X, 20, functions=F, functions_weight=weight) for weight in (0.1, 50))
    assert heavy.functions_error < light.functions_error and heavy.objective.endswith("50 × functions")


def test_in_a_common_unit_errors_are_compared_as_they_are():
    result = ss.thin(X, 20, functions=F, functions_unit="common")
    assert result.objective.endswith("1 × functions in a common unit")
    off = F[result.indices].mean(axis=0) - F.mean(axis=0)
    expected = np.sqrt(np.mean(off**2) / np.mean(F.var(axis=0)))
    assert result.functions_error == pytest.approx(expected, rel=1e-9)
    assert ss.evaluate(X, result, functions=F, functions_unit="common").functions_error == pytest.approx(
        expected, rel=1e-9
    )
    # A constant is as good as anything there; alone it is refused.
    with_constant = ss.thin(X, 20, functions=np.column_stack([F, np.ones(400)]), functions_unit="common")
    assert with_constant.functions_error < 0.1
    with pytest.raises(ValueError, match="function 0 is constant"):
        ss.thin(X, 20, functions=np.ones(400), functions_unit="common")
    herder = ss.Herder(X, functions=F, functions_unit="common")
    herder.run(20)
    assert herder.indices.tolist() == ss.herd(X, 20, functions=F, functions_unit="common").indices.tolist()
    assert herder.indices.tolist() != ss.herd(X, 20, functions=F).indices.tolist()
    sampler = ss.SuperSampler(n_samples=20, functions_unit="common").fit(X, functions=F)
    assert sampler.sample_indices_.tolist() == result.indices.tolist()


def test_evaluate_shows_cdf_and_functions():
    result = ss.thin(X, 20, functions=F)
    found = ss.evaluate(X, result, functions=F)
    assert (found.cdf, found.functions_error) == pytest.approx((result.cdf, result.functions_error), rel=1e-9)
    assert (
        found.errors["functions_error"] == found.functions_error
        and found.random_errors["functions_error"] > found.functions_error
    )
    heading = " ".join(repr(found).splitlines()[0].split())
    assert heading == "MMD equivalent draws of these 400 rows of the posterior cdf functions error"
    plain = ss.evaluate(X, result)
    assert (
        plain.functions_error is None
        and plain.random_errors["functions_error"] is None
        and "functions" not in repr(plain)
    )
    assert "functions" in found._repr_html_()
    subset = FRAME.iloc[result.indices][["y[1]", "c", "b", "y[0]", "a"]]
    by_name = ss.evaluate(FRAME, subset, functions="y")
    assert (by_name.mmd, by_name.functions_error) == pytest.approx((found.mmd, found.functions_error), rel=1e-9)
    with pytest.raises(ValueError, match="the functions of y are unknown; give y as a Result"):
        ss.evaluate(X, X[:20], functions=F)


def test_unequal_weights_count():
    result = ss.thin(X, 20, functions=F, weights="simplex")
    off = (result.weights @ F[result.indices] - F.mean(axis=0)) / F.std(axis=0)
    assert result.functions_error == pytest.approx(np.sqrt(np.mean(off**2)), rel=1e-6)


def test_a_herder_matches_parts_and_keeps_them_in_a_pickle():
    options = {"marginals": 0.4, "functions": F.copy(), "functions_weight": 2.0, "unique": True}
    herder = ss.Herder(X, **options)
    herder.run(10)
    options["functions"][:] = 0
    again = pickle.loads(pickle.dumps(herder))
    rows = ss.herd(X, 20, marginals=0.4, functions=F, functions_weight=2.0, unique=True)
    for one in (herder, again):
        one.run(10)
        assert one.indices.tolist() == rows.indices.tolist()
        assert one.result().functions_error == pytest.approx(rows.functions_error, rel=1e-9)
        assert one.result().objective == rows.objective == "joint MMD + 0.4 × marginals + 2 × functions"


BAD = {
    "another length": (F[:5], "functions has 5 rows, but x has 400 rows; give one for each row"),
    "NaN": (np.where(np.arange(400)[:, None] == 7, np.nan, F), r"functions: row 7, function 0 is nan; every function"),
    "constant": (np.ones(400), "function 0 is constant"),
    "text": (np.array(["x"] * 400), "functions has dtype"),
    "no names": (["y"], "functions names a column, but the columns of x have no names"),
    "no columns": (np.zeros((400, 0)), "functions has no columns; give at least one"),
    "three axes": (np.zeros((400, 2, 2)), "functions has shape"),
}


@pytest.mark.parametrize("what", BAD)
def test_functions_that_cannot_be_are_refused(what):
    functions, message = BAD[what]
    for call in (lambda: ss.thin(X, 5, functions=functions), lambda: ss.Herder(X, functions=functions)):
        with pytest.raises((ValueError, TypeError), match=message):
            call()


def test_names_and_weights_that_cannot_be_are_refused():
    for functions, message in (
        ("z", "x has no column 'z'; its columns are a, b"),
        ("*", "every column of x is a function"),
    ):
        with pytest.raises(ValueError, match=message):
            ss.thin(FRAME, 5, functions=functions)
    flat = FRAME.assign(flat=1.0)
    with pytest.raises(ValueError, match="function 'flat' is constant"):
        ss.thin(flat, 5, functions="flat")
    for value in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"marginals is .*; give a number of at least 0"):
            ss.thin(X, 5, marginals=value)
        with pytest.raises(ValueError, match=r"functions_weight is .*; give a positive number"):
            ss.thin(X, 5, functions=F, functions_weight=value)
    for value in ("x", True):
        with pytest.raises(TypeError, match=f"marginals is {value!r}; give a number"):
            ss.herd(X, 5, marginals=value)
    with pytest.raises(ValueError, match="functions_weight has no effect without functions"):
        ss.thin(X, 5, functions_weight=2)
    with pytest.raises(ValueError, match="functions_unit has no effect without functions"):
        ss.thin(X, 5, functions_unit="common")
    with pytest.raises(ValueError, match="'sd' is not a unit of functions; choose each or common"):
        ss.thin(X, 5, functions=F, functions_unit="sd")


def posterior():
    by_chain = X.reshape(4, 100, 3)
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(
                {
                    "mu": (("chain", "draw"), by_chain[..., 0]),
                    "theta": (("chain", "draw", "k"), by_chain[..., 1:]),
                    "y_hat": (("chain", "draw", "i"), F.reshape(4, 100, 2)),
                }
            ),
            "posterior_predictive": xr.Dataset({"y": (("chain", "draw", "i"), F.reshape(4, 100, 2))}),
            "log_likelihood": xr.Dataset({"y": (("chain", "draw"), -(by_chain[..., 0] ** 2))}),
        }
    )


def test_variables_of_a_posterior_are_functions():
    data, expected = posterior(), ss.thin(X, 20, functions=F)
    small, result = ss.arviz.thin(data, 20, functions=["y_hat"], return_result=True)
    assert result.names == ("mu", "theta[0]", "theta[1]")
    assert result.indices.tolist() == expected.indices.tolist()
    attributes = small["posterior"].attrs
    assert (
        attributes["supersample_functions_error"] == result.functions_error
        and attributes["supersample_cdf"] == result.cdf
    )
    found = ss.arviz.evaluate(data, small, functions=["y_hat"])
    assert (found.functions_error, found.mmd) == pytest.approx((result.functions_error, result.mmd), rel=1e-9)
    assert ss.arviz.evaluate(data, result, functions="y_hat").functions_error == pytest.approx(
        result.functions_error, rel=1e-9
    )
    names = ["mu", "theta"]
    for functions in (["y"], "posterior_predictive/y", data["posterior"]["y_hat"], F.reshape(4, 100, 2), F):
        _, same = ss.arviz.thin(data, 20, var_names=names, functions=functions, return_result=True)
        assert same.indices.tolist() == expected.indices.tolist()
    _, other = ss.arviz.thin(data, 20, var_names=names, functions="log_likelihood/y", return_result=True)
    one = ss.thin(X, 20, functions=-(X[:, 0] ** 2))
    assert other.indices.tolist() == one.indices.tolist()
    with pytest.raises(ValueError, match="there is no variable 'z' with these draws; there are mu, theta, y_hat, "):
        ss.arviz.thin(data, 20, functions=["z"])
    with pytest.raises(ValueError, match="functions has shape"):
        ss.arviz.thin(data, 20, functions=F[:7])
    herded = ss.arviz.herd(data, 10, functions="y_hat")
    assert herded["posterior"].attrs["supersample_objective"] == "joint MMD + 1 × functions"


def test_the_estimator_matches_parts():
    sampler = ss.SuperSampler(n_samples=20, functions_weight=2.0).fit(X, functions=F)
    assert sampler.sample_indices_.tolist() == ss.thin(X, 20, functions=F, functions_weight=2.0).indices.tolist()
    assert ss.SuperSampler(n_samples=20, marginals=0, moments=0).fit(X).result_.objective == "joint MMD"
    assert ss.SuperSampler(n_samples=20, method="herd").fit(X).result_.objective == "joint MMD"
