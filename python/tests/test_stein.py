"""supersample.stein: the rows of stein_thinning, the KSD of the formula, points anywhere, and scores that are wrong."""

import importlib.util
import json
import pathlib
import sys
import threading
import time

import numpy as np
import pytest
import supersample as ss

DATA = pathlib.Path(__file__).parent / "data"
sys.path.insert(0, str(DATA))
from stein_rows import case  # noqa: E402


def stein_kernel(x, scores, gamma_inverse, base="imq"):
    """k(x, y) of all pairs, written out."""
    delta = x[:, None] - x[None]
    pd = delta @ gamma_inverse
    u = (delta * pd).sum(-1)
    if base == "imq":
        f, f1, f2 = (1 + u) ** -0.5, -0.5 * (1 + u) ** -1.5, 0.75 * (1 + u) ** -2.5
    else:
        f = np.exp(-u / 2)
        f1, f2 = -f / 2, f / 4
    divergence = -4 * f2 * (pd**2).sum(-1) - 2 * f1 * np.trace(gamma_inverse)
    crossed = 2 * f1 * (pd * (scores[None] - scores[:, None])).sum(-1)
    return divergence + crossed + f * (scores @ scores.T)


def parts_at(ours, theirs):
    return next((t for t, (a, b) in enumerate(zip(ours, theirs)) if a != b), None)


# Scores at random are no scores of the rows, which is told of and does not matter here.
@pytest.mark.filterwarnings("ignore::supersample.SupersampleWarning")
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("preconditioner", ["id", "med", "sclmed", "smpcov", "2.5"])
def test_the_rows_are_those_of_stein_thinning(preconditioner, standardize):
    known = json.loads((DATA / "stein_rows.json").read_text())[f"{preconditioner} {standardize}"]
    # A number is the length squared there.
    ours = np.sqrt(2.5) if preconditioner == "2.5" else preconditioner
    for seed, theirs in enumerate(known):
        x, scores = case(seed)
        result = ss.stein.herd(x, scores, len(theirs), preconditioner=ours, scale="aad" if standardize else "none")
        assert result.indices.tolist() == theirs, (seed, parts_at(result.indices, theirs))


def test_an_installed_stein_thinning_agrees():
    thinning = pytest.importorskip("stein_thinning.thinning", reason="stein_thinning is not installed")
    x, scores = case(3)
    assert ss.stein.herd(x, scores, 40).indices.tolist() == thinning.thin(x, scores, 40).tolist()


@pytest.mark.parametrize("base", ["imq", "gaussian"])
def test_the_ksd_is_that_of_the_formula(base):
    rng = np.random.default_rng(1)
    x = rng.normal(size=(120, 3)) * [1, 10, 0.1]
    scores = -x / np.square([1, 10, 0.1]) + 0.1
    unit = np.abs(x - x.mean(0)).mean(0)
    scaled, of_scaled = x / unit, scores * unit
    distances = np.sqrt(((scaled[:, None] - scaled[None]) ** 2).sum(-1))[np.triu_indices(120, 1)]
    squared = np.median(distances) ** 2
    for preconditioner, inverse in (
        ("identity", np.eye(3)),
        ("median", np.eye(3) / squared),
        ("scaled-median", np.eye(3) / squared * np.log(120)),
        ("covariance", np.linalg.inv(np.cov(scaled, rowvar=False))),
        (0.5, np.eye(3) / 0.25),
    ):
        gram = stein_kernel(scaled, of_scaled, inverse, base)
        options = {"kernel": base, "preconditioner": preconditioner}
        assert ss.stein.ksd(x, scores, **options) == pytest.approx(np.sqrt(gram.mean()), rel=1e-9)
        some = [3, 1, 4, 1, 59]
        want = np.sqrt(gram[np.ix_(some, some)].mean())
        assert ss.stein.ksd(x, scores, some, **options) == pytest.approx(want, rel=1e-9)
        w = np.array([0.5, -0.1, 0.2, 0.3, 0.1])
        want = np.sqrt(w @ gram[np.ix_(some, some)] @ w)
        assert ss.stein.ksd(x, scores, some, subset_weight=w, **options) == pytest.approx(want, rel=1e-9)
        chosen = ss.stein.thin(x, scores, 10, **options)
        rows = chosen.indices
        assert chosen.mmd == pytest.approx(np.sqrt(gram[np.ix_(rows, rows)].mean()), rel=1e-9)
        assert chosen.equivalent_draws == pytest.approx(np.diag(gram).mean() / chosen.mmd**2, rel=1e-9)
        assert chosen.mmd < ss.stein.herd(x, scores, 10, unique=True, **options).mmd
        weighted = ss.stein.thin(x, scores, 10, weights="simplex", **options)
        assert weighted.mmd < chosen.mmd
        assert weighted.mmd == pytest.approx(ss.stein.ksd(x, scores, weighted, **options), rel=1e-6)


def test_a_burn_in_is_left_out_where_plain_thinning_keeps_it():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1000, 2))
    x[:200] += np.linspace(8, 2, 200)[:, None]
    plain, by_score = ss.thin(x, 40), ss.stein.thin(x, -x, 40)
    assert (plain.indices < 200).sum() >= 4
    assert (by_score.indices < 100).sum() == 0
    assert np.abs(by_score.points.mean(0)).max() < 0.1 < np.abs(plain.points.mean(0)).max()


def test_regularised_thinning_tells_modes_of_different_mass_apart():
    rng = np.random.default_rng(3)
    mass = 0.9
    x = np.where(rng.random((2000, 1)) < mass, rng.normal(size=(2000, 1)), rng.normal(size=(2000, 1)) + 10)
    # Half of the rows in each mode, whatever its mass.
    x = np.concatenate([x[x[:, 0] < 5][:190], x[x[:, 0] > 5][:190]])
    first, second = mass * np.exp(-(x**2) / 2), (1 - mass) * np.exp(-((x - 10) ** 2) / 2)
    scores = (-x * first - (x - 10) * second) / (first + second)
    log_density = np.log(first + second)[:, 0]
    plain = ss.stein.thin(x, scores, 40, scale="none")
    assert 15 <= (plain.points > 5).sum() <= 25
    regularised = ss.stein.thin(x, scores, 40, scale="none", log_density=log_density, regularise=0.5)
    assert (regularised.points > 5).sum() < 10
    assert regularised.objective == "KSD, regularised"
    assert regularised.mmd == pytest.approx(ss.stein.ksd(x, scores, regularised, scale="none"), rel=1e-9)
    # A point of low density where the score vanishes is chosen without second derivatives and not with them.
    x = np.concatenate([rng.normal(size=(100, 1)) - 3, rng.normal(size=(100, 1)) + 3, np.zeros((5, 1))])
    first, second = np.exp(-((x + 3) ** 2) / 2), np.exp(-((x - 3) ** 2) / 2)
    scores = (-(x + 3) * first - (x - 3) * second) / (first + second)
    share = first / (first + second)
    curved = share * ((x + 3) ** 2 - 1) + (1 - share) * ((x - 3) ** 2 - 1) - scores**2
    options = {"scale": "none", "log_density": np.log(first + second)[:, 0], "regularise": 1e-9}
    assert (ss.stein.herd(x, scores, 30, **options).indices >= 200).any()
    assert not (ss.stein.herd(x, scores, 30, second_derivatives=curved, **options).indices >= 200).any()


def test_points_anywhere_have_a_lower_ksd_than_rows():
    starts = np.random.default_rng(4).uniform(-3, 3, size=(100, 2))
    precision = np.array([[2.0, 0.6], [0.6, 1.0]])
    told = []
    result = ss.stein.sample(
        lambda x: -precision @ x, 25, starts, scale="none", progress=lambda *news: told.append(news)
    )
    scores = -result.points @ precision
    gram = stein_kernel(result.points, scores, np.eye(2))
    assert result.mmd == pytest.approx(np.sqrt(gram.mean()), rel=1e-6)
    assert result.mmd < ss.stein.thin(starts, -starts @ precision, 25, scale="none").mmd
    assert told[-1][0] == "done" and result.indices is None
    # Scaled starts give points in their own units.
    wide = ss.stein.sample(lambda x: -(precision @ (x / [100, 1])) / [100, 1], 10, starts * [100, 1])
    assert np.allclose(wide.points[0], 0, atol=0.05) and wide.points[:, 0].std() > 20
    half = ss.stein.sample(lambda x: -x, 10, starts, log_density=lambda x: 0.0 if x[0] > 0 else -np.inf)
    assert (half.points[:, 0] > 0).all()
    with pytest.raises(ValueError, match="give starts where the density is"):
        ss.stein.sample(lambda x: -x, 10, starts, log_density=lambda x: -np.inf)
    with pytest.warns(ss.SupersampleWarning, match="the score was evaluated"):
        ss.stein.sample(lambda x: -x, 10, starts, max_evaluations=50)


def test_an_exception_of_the_score_is_raised():
    def broken(x):
        if abs(x[0]) < 1e-3:
            raise RuntimeError("no score here")
        return -x

    starts = np.random.default_rng(5).uniform(-3, 3, size=(50, 2))
    with pytest.raises(RuntimeError, match="no score here"):
        ss.stein.sample(broken, 5, starts)
    with pytest.raises(ValueError, match="score returns 3 numbers for a point of 2"):
        ss.stein.sample(lambda x: np.zeros(3), 5, starts)
    with pytest.raises(TypeError, match="give a function of one point"):
        ss.stein.sample(-starts, 5, starts)


def test_no_score_is_asked_for_after_an_interrupt():
    starts = np.random.default_rng(5).uniform(-3, 3, size=(50, 2))
    calls, is_told = [0], threading.Event()

    def score(x):
        calls[0] += 1
        if calls[0] == 60:
            assert is_told.wait(60)
        if is_told.is_set():
            time.sleep(0.01)  # so that a busy machine has time to hear of it
        return -x

    def interrupt(phase, done, total):
        if calls[0] >= 60:
            assert (phase, done, total) == ("choosing", 0, 5)
            is_told.set()
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ss.stein.sample(score, 5, starts, climbs=50, progress=interrupt)
    # The first point alone takes 688 of them.
    assert 60 <= calls[0] < 300


def test_scores_that_are_wrong_are_named():
    x = np.random.default_rng(6).normal(size=(100, 3))
    bad = -x.copy()
    bad[41, 2] = np.nan
    cases = [
        ({"scores": bad}, ValueError, "the score of row 41, column 2 is NaN"),
        ({"scores": -x[:99]}, ValueError, r"scores has shape \(99, 3\), but x has \(100, 3\)"),
        ({"scores": -x[:, :2]}, ValueError, "give one number for each number of x"),
        ({"kernel": "laplace"}, ValueError, "not the base of a Stein kernel; choose imq or gaussian"),
        ({"kernel": 3}, TypeError, "kernel is 3; choose imq or gaussian"),
        ({"preconditioner": "none"}, ValueError, "'none' is not a preconditioner"),
        ({"preconditioner": -1.0}, ValueError, "preconditioner is -1; give a positive length"),
        ({"preconditioner": True}, TypeError, "give a name such as 'median', or a length"),
        ({"scale": 1}, TypeError, "choose none, sd, mad, aad or pca"),
        ({"regularise": 0.1}, ValueError, "regularise has no effect without log_density"),
        ({"second_derivatives": x}, ValueError, "second_derivatives has no effect without log_density"),
        ({"log_density": np.zeros(5)}, ValueError, "the log-densities"),
        ({"n": None, "tol": 0.1, "log_density": np.zeros(100)}, ValueError, "give the weight of the log-density"),
    ]
    for given, kind, message in cases:
        options = {"scores": -x, "n": 5, **given}
        with pytest.raises(kind, match=message):
            ss.stein.thin(x, options.pop("scores"), options.pop("n"), **options)
    with pytest.raises(ValueError, match="indices has the row 100"):
        ss.stein.ksd(x, -x, [100])
    with pytest.warns(ss.SupersampleWarning, match="the scores of columns 0, 1, 2 point away from the rows"):
        ss.stein.herd(x, x, 5)


def test_names_of_columns_put_scores_in_order():
    pd = pytest.importorskip("pandas")
    x = pd.DataFrame(np.random.default_rng(7).normal(size=(100, 2)), columns=["a", "b"])
    x["b"] *= 3
    scores = pd.DataFrame({"b": -x["b"] / 9, "a": -x["a"]})
    numbers = scores[["a", "b"]].to_numpy()
    want = ss.stein.herd(x.to_numpy(), numbers, 10).indices.tolist()
    by_name = {"a": x["a"].to_numpy(), "b": x["b"].to_numpy()}, {"b": numbers[:, 1], "a": numbers[:, 0]}
    with_another = scores.assign(c=1.0, lp__=0.0)
    for given, of_given in ((x, scores), (x, with_another), (x, numbers), (x.to_numpy(), numbers), by_name):
        assert ss.stein.herd(given, of_given, 10).indices.tolist() == want
    assert ss.stein.ksd(x, scores) == ss.stein.ksd(x.to_numpy(), numbers)
    for of_x, message in (
        (scores.add_prefix("g_"), "scores has no column 'a'; its columns are g_b, g_a"),
        (scores[["a"]], "scores has no column 'b'"),
        (scores.sample(frac=1, random_state=1), "another order than that of x; give scores.loc"),
        (scores[:99], r"scores has shape \(99, 2\), but x has \(100, 2\)"),
    ):
        with pytest.raises(ValueError, match=message):
            ss.stein.thin(x, of_x, 5)
        with pytest.raises(ValueError, match=message):
            ss.stein.ksd(x, of_x)
    # An index that says nothing of the order is no matter.
    shifted = scores.set_index(np.arange(1000, 1100))
    assert ss.stein.herd(x, shifted, 10).indices.tolist() == want


def test_odd_rows_and_scores_are_taken_or_told_of():
    rng = np.random.default_rng(9)
    sd = np.array([1.0, 10.0, 0.1])
    x = rng.normal(size=(200, 3)) * sd
    scores = -x / sd**2
    want = ss.stein.thin(x, scores, 6).indices.tolist()
    assert ss.stein.thin(x.astype(np.float32), scores.astype(np.float32), 6).indices.tolist() == want
    assert ss.stein.thin(np.asfortranarray(x), scores[::-1][::-1], 6).indices.tolist() == want
    whole = np.round(x[:, :2] * 10).astype(int)
    assert len(ss.stein.thin(whole, -whole, 6)) == 6
    assert ss.stein.thin(x[:1], scores[:1], 1).indices.tolist() == [0]
    doubled = ss.stein.thin(np.repeat(x, 2, axis=0), np.repeat(scores, 2, axis=0), 6)
    assert sorted(doubled.indices // 2) == sorted(want) or doubled.mmd <= ss.stein.ksd(x, scores, want) + 1e-9
    huge = ss.stein.thin(x * 1e200, scores / 1e200, 6)
    assert huge.indices.tolist() == want and np.isfinite(huge.mmd)
    with pytest.raises(ValueError, match="too large to be summed"):
        ss.stein.thin(x, scores * 1e155, 6)
    with pytest.raises(ValueError, match=r"scores has shape \(3, 200\), .*; is it transposed\?"):
        ss.stein.thin(x, scores.T, 6)
    with pytest.raises(TypeError, match="scores is a function; give its values"):
        ss.stein.thin(x, lambda x: -x, 6)
    for of_x, columns in (
        (0 * x, "columns 0, 1, 2"),
        (scores[:, [0, 2, 1]], "column 2"),
        (scores * [1, 0, 1], "column 1"),
    ):
        with pytest.warns(ss.SupersampleWarning, match=f"the scores of {columns} are unrelated to the rows"):
            ss.stein.thin(x, of_x, 6)
    with pytest.warns(ss.SupersampleWarning, match="300 rows were asked for, but there are only 200 rows"):
        assert len(ss.stein.thin(x, scores, 300)) == 200
    with pytest.warns(ss.SupersampleWarning, match="a KSD of 1e-9 was not reached with 6 points"):
        ss.stein.thin(x, scores, 6, tol=1e-9)
    with pytest.warns(ss.SupersampleWarning, match="the scores of columns 0, 1, 2 point away"):
        ss.stein.sample(lambda z: z / sd**2, 2, x)
    with pytest.raises(TypeError, match="score returns numbers of dtype <U"):
        ss.stein.sample(lambda z: "up", 2, x)


def test_results_of_scores_are_not_measured_without_them():
    x = np.random.default_rng(10).normal(size=(200, 2))
    chosen = ss.stein.thin(x, -x, 10)
    assert chosen._of_scores == "" and "<th" in chosen._repr_html_() and "KSD" in chosen._repr_html_()
    for measure in (ss.mmd, ss.evaluate):
        with pytest.raises(ValueError, match="a Stein kernel needs the scores"):
            measure(x, chosen)
        assert measure(x, chosen, kernel="gaussian")
    with pytest.raises(ValueError, match="chosen from 200 rows, but x has 100"):
        ss.stein.ksd(x[:100], -x[:100], chosen)
    placed = ss.stein.sample(lambda z: -z, 3, x)
    with pytest.raises(ValueError, match="not rows of x; their KSD is the mmd of the result"):
        ss.stein.ksd(x, -x, placed)
    x[:40] += 9
    burnt = ss.stein.thin(x, -x, 10)
    for text in (repr(burnt), burnt._repr_html_()):
        assert "the rows are not draws of the density: the mean of the Stein kernel over pairs of rows is" in text


def test_weights_of_a_frame_are_refused_beside_scores():
    class Chains:
        """What a getdist chain looks like."""

        samples = np.random.default_rng(11).normal(size=(50, 2))
        weights = np.ones(50)

        def getParamNames(self):
            return type("Names", (), {"list": lambda _: ["a", "b"]})()

    chains = Chains()
    assert len(ss.stein.thin(chains, -chains.samples, 5)) == 5
    chains.weights = np.arange(1.0, 51.0)
    with pytest.raises(ValueError, match="x has weights, which cannot be used with scores"):
        ss.stein.thin(chains, -chains.samples, 5)


def cells(text):
    """The numbers of a table by the names of its lines."""
    lines = [[cell.strip() for cell in line.strip("| ").split("|")] for line in text.strip().splitlines()[2:]]
    return {name: np.array([float(number) for number in numbers]) for name, *numbers in lines}


def test_the_tables_of_the_page_are_those_of_the_command():
    example = pathlib.Path(__file__).resolve().parents[2] / "examples/stein_cases.py"
    spec = importlib.util.spec_from_file_location("stein_cases", example)
    cases = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(cases)
    page, made = cases.PAGE.read_text(encoding="utf-8"), cases.tables()
    shown = {name: cells(page[slice(*cases.place(page, name))]) for name in made}
    found = {name: cells(table) for name, table in made.items()}
    for name in found:
        assert list(found[name]) == list(shown[name])
        if name != "modes":
            # The last digits are other ones on other machines.
            for line, numbers in found[name].items():
                np.testing.assert_allclose(numbers, shown[name][line], rtol=0.1, atol=0.03)
    for name, at in (("burn-in", slice(1, None)), ("temperature", slice(None))):
        whole, _, plain, by_score = (numbers[at] for numbers in found[name].values())
        assert (by_score < 0.4 * plain).all() and (plain[:2] > 0.9 * whole[:2]).all()
    assert found["burn-in"]["40 rows of `ss.stein.thin`"][0] < 0.05
    _, random, plain, by_score = found["good draws"].values()
    assert plain[0] < 0.5 * random[0] and plain[1] < 0.8 * by_score[1] and by_score[2] < plain[2]
    modes = found["modes"]
    np.testing.assert_allclose(modes["`ss.thin`"], [0.2, 0.5], atol=0.03)
    for right in ("`ss.thin`, `log_weight`", "`ss.stein.thin`, `groups`, `quotas`"):
        np.testing.assert_allclose(modes[right], 0.2, atol=0.03)
    for wrong in ("`ss.stein.herd`", "`ss.stein.thin`", "`ss.stein.thin`, `log_density`"):
        assert np.abs(modes[wrong] - 0.2).max() > 0.1, wrong


def test_a_posterior_is_thinned_by_its_scores():
    xr = pytest.importorskip("xarray")
    rng = np.random.default_rng(8)
    mu, theta = rng.normal(size=(2, 300)), rng.normal(size=(2, 300, 2))
    mu[0, :100] += 10
    data = xr.Dataset({"mu": (("chain", "draw"), mu), "theta": (("chain", "draw", "k"), theta)})
    flat = np.concatenate([mu.reshape(600, 1), theta.reshape(600, 2)], axis=1)
    want = ss.stein.thin(flat, -flat, 20)
    for scores in (-data, -flat, -flat.reshape(2, 300, 3)):
        small, result = ss.arviz.thin(data, 20, scores=scores, target="density", return_result=True)
        assert result.indices.tolist() == want.indices.tolist()
        assert dict(small.sizes)["draw"] == 20 and small.attrs["supersample_kernel"] == "stein-imq"
    assert not ((want.indices < 100).any())
    _, result = ss.arviz.herd(data, 10, scores=-data, target="density", return_result=True)
    assert result.indices.tolist() == ss.stein.herd(flat, -flat, 10, unique=True).indices.tolist()
    # A log-density comes as ArviZ has it.
    log_density = -0.5 * (flat**2).sum(1)
    options = {"log_density": log_density, "second_derivatives": flat**2 - 1}
    want = ss.stein.thin(flat, -flat, 20, **options).indices.tolist()
    by_chain = {"log_density": data["mu"].copy(data=log_density.reshape(2, 300)), "second_derivatives": data**2 - 1}
    _, result = ss.arviz.thin(data, 20, scores=-data, target="density", return_result=True, **by_chain)
    assert result.indices.tolist() == want and result.objective == "KSD, regularised"
    with pytest.raises(ValueError, match="log_density has the dimensions"):
        ss.arviz.thin(data, 20, scores=-data, target="density", log_density=data["theta"])
    with pytest.raises(ValueError, match="functions cannot be used with target='density'"):
        ss.arviz.thin(data, 20, scores=-data, target="density", functions=["mu"])
