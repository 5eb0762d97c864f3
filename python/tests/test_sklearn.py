"""The estimator behaves as scikit-learn's do."""

import numpy as np
import pandas as pd
import pytest
import supersample as ss
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.model_selection import ParameterGrid
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


def test_it_ends_a_pipeline():
    pipeline = make_pipeline(StandardScaler(), SuperSampler(10, scale="none")).fit(X)
    assert len(pipeline[-1].sample_indices_) == 10
    assert pipeline.set_params(supersampler__n_samples=5).fit(X)[-1].sample_indices_.shape == (5,)


def test_bad_parameters_are_refused_when_fitted():
    for parameters, words in [
        ({"n_samples": 0}, "n_samples is 0"),
        ({"n_samples": 1.5}, "n_samples is 1.5"),
        ({"method": "random"}, "choose 'thin' or 'herd'"),
        ({"kernel": "rbf"}, "choose one of"),
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
