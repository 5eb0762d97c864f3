"""The estimator behaves as scikit-learn's do."""

import numpy as np
import pandas as pd
import pytest
import supersample as ss
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator
from supersample import SuperSampler

X, Y = load_iris(return_X_y=True)


@pytest.mark.filterwarnings("ignore::supersample.SupersampleWarning", "ignore::sklearn.exceptions.SkipTestWarning")
@pytest.mark.parametrize(
    "estimator",
    [SuperSampler(), SuperSampler(n_samples=5, method="herd"), SuperSampler(0.5, weights="simplex", scale="pca")],
)
def test_the_checks_of_scikit_learn_pass(estimator):
    # Every check that applies to an estimator with fit alone; none is expected to fail.
    results = check_estimator(estimator, on_fail=None)
    failed = {r["check_name"]: r["exception"] for r in results if r["status"] == "failed"}
    assert not failed, failed
    assert sum(r["status"] == "passed" for r in results) > 25


def test_parameters_clone_and_grid():
    sampler = SuperSampler(n_samples=7, kernel=ss.IMQ(1.0), method="herd")
    assert sampler.get_params()["kernel"] == ss.IMQ(1.0)
    again = clone(sampler.fit(X))
    assert again.get_params() == sampler.get_params() and not hasattr(again, "sample_indices_")
    sizes = [len(clone(sampler).set_params(**p).fit(X).sample_indices_) for p in ParameterGrid({"n_samples": [3, 0.1]})]
    assert sizes == [3, 15]


def test_rows_are_those_of_the_functions():
    assert SuperSampler(9).fit(X).sample_indices_.tolist() == ss.thin(X, 9).indices.tolist()
    herded = SuperSampler(9, method="herd").fit(X)
    assert herded.sample_indices_.tolist() == ss.herd(X, 9, unique=True).indices.tolist()
    assert herded.mmd_ == herded.result_.mmd and herded.weights_.tolist() == [1 / 9] * 9
    weights = np.arange(1.0, 151)
    assert SuperSampler(9).fit(X, sample_weight=weights).sample_indices_.tolist() == (
        ss.thin(X, 9, sample_weight=weights).indices.tolist()
    )


def test_classes_in_proportion():
    few, classes = SuperSampler(12, stratify=True).fit_resample(X, Y)
    assert few.shape == (12, 4) and np.bincount(classes).tolist() == [4, 4, 4]
    frame = pd.DataFrame(X, columns=list("abcd"))
    few, classes = SuperSampler(10).fit_resample(frame, pd.Series(Y))
    assert isinstance(few, pd.DataFrame) and isinstance(classes, pd.Series) and (few.index == classes.index).all()
    with pytest.raises(ValueError, match="stratify needs y"):
        SuperSampler(10, stratify=True).fit(X)
    with pytest.raises(ValueError, match="no effect on method='herd'"):
        SuperSampler(10, stratify=True, method="herd").fit(X, Y)


def test_quotas_rows_and_logarithms_of_weights():
    _, classes = SuperSampler(quotas={0: 1, 2: 4}).fit_resample(X, Y)
    assert np.bincount(classes).tolist() == [1, 0, 4]
    assert np.bincount(SuperSampler(quotas=2).fit_resample(X, Y)[1]).tolist() == [2, 2, 2]
    chosen = SuperSampler(5).fit(X, include=[7], exclude=np.arange(150) > 20).sample_indices_
    assert 7 in chosen and chosen.max() <= 20
    # The weights in units of the largest, to the last bit: rows of iris are tied.
    logs = np.log(np.arange(1.0, 151)) - 2000
    assert SuperSampler(9).fit(X, log_weight=logs).sample_indices_.tolist() == (
        ss.thin(X, 9, sample_weight=np.exp(logs - logs.max())).indices.tolist()
    )
    with pytest.raises(ValueError, match="include has no effect on method='herd'"):
        SuperSampler(9, method="herd").fit(X, include=[3])
    with pytest.raises(ValueError, match="quotas has no effect on method='herd'"):
        SuperSampler(quotas=3, method="herd").fit(X, Y)


def test_the_words_are_those_of_scikit_learn(capfd):
    rows = lambda **options: SuperSampler(12, **options).fit(X).sample_indices_.tolist()
    assert rows(random_state=3) == ss.thin(X, 12, seed=3).indices.tolist()
    assert rows(random_state=np.random.RandomState(1)) == rows(random_state=np.random.RandomState(1))
    assert len(rows(random_state=None)) == 12
    assert rows(n_jobs=-1) == rows(n_jobs=2) == rows(n_jobs=-1000) == rows()
    for wrong in (0, 1.5):
        with pytest.raises((TypeError, ValueError), match=f"n_jobs is {wrong}"):
            rows(n_jobs=wrong)
    assert capfd.readouterr().err == ""
    rows(verbose=1)
    assert "done" in capfd.readouterr().err
    assert len(SuperSampler(1.0).fit(X).sample_indices_) == 150
    frame = pd.DataFrame(X, columns=list("abcd"))
    assert SuperSampler(5).fit(frame).get_feature_names_out().tolist() == list("abcd")


def test_a_grid_search_compares_scores():
    few, many = SuperSampler(3).fit(X[::2]), SuperSampler(40).fit(X[::2])
    assert few.score(X[1::2]) < many.score(X[1::2]) < 0
    assert many.score(X[1::2]) == -ss.mmd(X[1::2], many.result_.points)
    best = SuperSampler(10, weights="simplex").fit(X)
    assert best.score(X) == pytest.approx(-best.mmd_, rel=1e-6)
    search = GridSearchCV(SuperSampler(), {"n_samples": [2, 30]}, cv=3).fit(X)
    assert search.best_params_ == {"n_samples": 30}


def test_it_is_a_step_of_pipelines_that_resample():
    imblearn = pytest.importorskip("imblearn.pipeline")
    from sklearn.neighbors import KNeighborsClassifier

    pipeline = imblearn.make_pipeline(StandardScaler(), SuperSampler(quotas=5), KNeighborsClassifier(1)).fit(X, Y)
    assert pipeline[-1].n_samples_fit_ == 15 and pipeline.score(X, Y) > 0.8


def test_it_ends_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), SuperSampler(10, scale="none")).fit(X)
    assert len(pipeline[-1].sample_indices_) == 10
    assert pipeline.set_params(supersampler__n_samples=5).fit(X)[-1].sample_indices_.shape == (5,)


def test_bad_parameters_are_refused_when_fitted():
    for parameters, words in [
        ({"n_samples": 0}, "n_samples is 0"),
        ({"n_samples": 1.5}, "n_samples is 1.5"),
        ({"method": "random"}, "choose 'thin' or 'herd'"),
        ({"kernel": "rbf"}, "not a kernel; choose gaussian"),
    ]:
        with pytest.raises(ValueError, match=words):
            SuperSampler(**parameters).fit(X)


@pytest.mark.parametrize("kind", ["full", "tied", "diag", "spherical"])
@pytest.mark.parametrize("model", [GaussianMixture, BayesianGaussianMixture])
def test_fitted_mixtures_have_the_same_density(kind, model):
    fitted = model(n_components=3, covariance_type=kind, random_state=0).fit(X)
    mixture = ss.GaussianMixture.from_sklearn(fitted)
    if model is GaussianMixture:
        np.testing.assert_allclose(mixture.density(X), np.exp(fitted.score_samples(X)), rtol=1e-6)
    assert ss.sample(fitted, 5).points.shape == (5, 4)
    with pytest.raises(ValueError, match="fit it first"):
        ss.GaussianMixture.from_sklearn(model(n_components=3))


def test_frames_have_the_columns_that_thin_sees():
    x = np.random.default_rng(4).normal(size=(200, 3))
    weights = np.exp(x[:, 0])
    frame = pd.DataFrame(x, columns=["a", "b", "c"]).assign(chain=np.arange(200) // 50, lp__=x[:, 0], w=weights)
    sampler = SuperSampler(10, columns=["a", "b", "c"]).fit(frame, sample_weight="w")
    expected = ss.thin(x, 10, sample_weight=weights)
    assert sampler.sample_indices_.tolist() == expected.indices.tolist()
    assert sampler.result_.names == ("a", "b", "c") and list(sampler.result_.to_frame().columns) == ["a", "b", "c"]
    assert sampler.score(frame[::2]) == -ss.mmd(x[::2], expected.points)
    ids = SuperSampler(10).fit(frame.drop(columns="w"))
    assert ids.sample_indices_.tolist() == ss.thin(x, 10).indices.tolist()
    assert ids.score(frame.drop(columns="w")) == pytest.approx(-ss.thin(x, 10).mmd, rel=1e-6)
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert ids.score(frame.drop(columns="w").to_numpy()) == ids.score(frame.drop(columns="w"))
    named = SuperSampler(10).fit(frame.drop(columns="w"), functions=["c"])
    assert named.sample_indices_.tolist() == ss.thin(x[:, :2], 10, functions=x[:, 2]).indices.tolist()
    assert list(named.feature_names_in_) == ["a", "b", "c", "chain", "lp__"]
    holes = frame.drop(columns="w").assign(b=np.where(np.arange(200) == 7, np.nan, x[:, 1]))
    for rows in (holes, holes[["a", "b", "c"]].to_numpy()):
        dropping = SuperSampler(10, nan="drop").fit(rows)
        assert dropping.result_.dropped == 1 and 7 not in dropping.sample_indices_
        assert dropping.resample(frame).shape == (10, 6) and np.isfinite(dropping.score(rows))
    with pytest.raises(ValueError, match="NaN"):
        SuperSampler(10).fit(holes)


def test_nothing_is_lost_on_the_way_in():
    x = np.random.default_rng(4).normal(size=(60, 3))
    bad = np.ma.masked_greater(x, 2)
    row = int(np.argwhere(x > 2)[0][0])
    for rows in (bad, list(bad)):
        with pytest.raises(ValueError, match=f"X is masked at row {row}"):
            SuperSampler(5).fit(rows)
        with pytest.raises(ValueError, match=f"X is masked at row {row}"):
            SuperSampler(5).fit(x).score(rows)
    with pytest.raises(TypeError, match="X is a result"):
        SuperSampler(5).fit(ss.thin(x, 9, weights="simplex"))
    for rows in ({"a": x[:, 0]}, "draws.csv"):
        with pytest.raises(TypeError, match="give an array or a frame"):
            SuperSampler(5).fit(rows)
    with pytest.raises(ValueError, match="n_samples is True"):
        SuperSampler(True).fit(x)


def test_fewer_rows_than_asked_are_told():
    with pytest.warns(ss.SupersampleWarning, match="1,000 rows were asked for, but there are only 50 rows"):
        assert len(SuperSampler(1000).fit(np.random.default_rng(0).normal(size=(50, 2))).sample_indices_) == 50
    with pytest.raises(ValueError, match="quotas needs y"):
        SuperSampler(quotas=3).fit(np.zeros((5, 2)))
