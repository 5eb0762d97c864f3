"""Landmarks in place of all pairs: the same choice nearly, with an error bar that is true."""

import pickle
import warnings

import numpy as np
import pytest
import supersample as ss

X = np.random.default_rng(5).normal(size=(3000, 3))


@pytest.mark.parametrize("choose", [ss.herd, ss.thin])
def test_the_mmd_has_its_standard_error(choose):
    result = choose(X, 30, embedding="landmarks", landmarks=200)
    exact = choose(X, 30, embedding="exact")
    assert (result.landmarks, exact.landmarks, exact.mmd_error) == (200, None, None)
    assert 0 < result.mmd_error < 0.05 * result.mmd
    assert abs(ss.mmd(X, result) - result.mmd) < 5 * result.mmd_error
    assert ss.mmd(X, result) < 1.1 * ss.mmd(X, exact)
    assert " ± " in repr(result) and "(200 landmarks)" in repr(result) and " ± " not in repr(exact)


def test_weights_and_few_rows_and_defaults():
    weights = np.random.default_rng(6).exponential(size=3000)
    result = ss.herd(X, 20, embedding="landmarks", sample_weight=weights, weights="simplex")
    assert result.landmarks == 500 and result.mmd_error > 0
    assert ss.herd(X, 5).landmarks is None
    # As many landmarks as rows: nothing is left to approximate, and the rows are compared with each other.
    assert ss.herd(X[:40], 5, landmarks=1000).landmarks is None


def test_very_uneven_weights_leave_few_landmarks():
    # Three rows have nearly all weight, and the rows at the ends of the columns are more.
    weights = np.full(3000, 1e-9)
    weights[::1000] = 1
    with pytest.warns(ss.SupersampleWarning, match="very uneven"):
        result = ss.thin(X, 3, embedding="landmarks", sample_weight=weights)
    assert sorted(result.indices.tolist()) == [0, 1000, 2000] and 3 < result.landmarks < 20
    exact = ss.mmd(X, X[::1000], sample_weight=weights)
    assert abs(result.mmd - exact) < 1e-4
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ss.SupersampleWarning)
        herder = ss.Herder(X, embedding="landmarks", sample_weight=weights)
        herder.run(5)
        again = pickle.loads(pickle.dumps(herder))
        again.run(5)
        herder.run(5)
        assert np.array_equal(again.indices, herder.indices) and again.result().mmd == herder.result().mmd
        streamed = ss.Stream(3, pool_rows=500).update(X, sample_weight=weights).thin()
        batches = ss.thin(lambda: iter([(X, weights)]), 3, pool_rows=500)
    assert streamed.mmd < 1 and batches.mmd < 1


def test_evaluations_have_it_too():
    result = ss.herd(X, 30, landmarks=200)
    found = ss.evaluate(X, result, landmarks=200)
    assert found.landmarks == 200 and found.mmd_error > 0 and " ± " in repr(found).splitlines()[1]
    assert found.mmd == pytest.approx(result.mmd, rel=0.02)
    assert ss.evaluate(X, result).mmd_error is None


def test_a_herder_on_landmarks_is_pickled_with_them():
    herder = ss.Herder(X, landmarks=150)
    herder.run(10)
    again = pickle.loads(pickle.dumps(herder))
    again.run(5)
    herder.run(5)
    assert np.array_equal(again.indices, herder.indices)
    assert herder.result().mmd_error == again.result().mmd_error > 0
    assert np.array_equal(herder.indices, ss.herd(X, 15, landmarks=150).indices)
    assert herder.result().mmd == pytest.approx(ss.herd(X, 15, landmarks=150).mmd, rel=1e-9)


def test_a_seed_says_which_landmarks():
    # More rows than are all control rows (4,472).
    x = np.random.default_rng(1).normal(size=(6000, 2))
    one, other = (ss.thin(x, 10, landmarks=50, seed=seed, search=0) for seed in (1, 2))
    assert one.mmd_error != other.mmd_error
    same = ss.thin(x, 10, landmarks=50, seed=1, search=0, threads=1)
    assert np.array_equal(one.indices, same.indices) and one.mmd_error == same.mmd_error


def test_phases_are_told():
    phases = []
    ss.herd(X, 5, landmarks=100, progress=lambda phase, done, total: phases.append(phase))
    assert set(phases) <= {"landmarks", "comparing", "projecting", "choosing", "measuring", "done"}


def test_too_few_landmarks_are_warned_of():
    with pytest.warns(
        ss.SupersampleWarning,
        match="5 landmarks are too few: .* of the mean embedding .* try more landmarks, .* embedding='exact'",
    ):
        ss.herd(X, 200, bandwidth=0.5, landmarks=5, unique=True)


def test_what_has_no_effect_is_refused():
    with pytest.raises(ValueError, match="landmarks is 5; an exact embedding has none"):
        ss.herd(X, 2, embedding="exact", landmarks=5)
    with pytest.raises(ValueError, match="'nystrom' is not an embedding; choose auto, exact or landmarks"):
        ss.herd(X, 2, embedding="nystrom")
    with pytest.raises(TypeError, match="embedding is 3; choose"):
        ss.herd(X, 2, embedding=3)
    with pytest.raises(ValueError, match="landmarks"):
        ss.herd(X, 2, landmarks=0)
