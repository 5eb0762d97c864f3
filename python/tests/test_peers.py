"""coreax and goodpoints herd the same data to the same points. bench/peers/same_points.sh runs this where they are
installed.

Where two rows have scores that agree to the peer's own rounding, either may win, and the sequences differ from there
on: such a tie is accepted where the scores before the first difference agree to 1e-9 (both compute in double here).
"""

import math

import numpy as np
import oracle
import pytest
import supersample as ss

TIE = 1e-9
LENGTH = 0.9


def data(seed):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(256, 3)) @ rng.normal(size=(3, 3))


def the_same_but_for_a_tie(ours, theirs, x):
    """Whether two sequences are the same, or part where two scores tie."""
    ours, theirs = list(map(int, ours)), list(map(int, theirs))
    if ours == theirs:
        return True
    t = next(i for i, (a, b) in enumerate(zip(ours, theirs)) if a != b)
    gram = oracle.KERNELS["gaussian"](x, x, LENGTH)
    score = (t + 1) * gram.mean(1) - gram[:, ours[:t]].sum(1)
    print(f"they part at pick {t}: rows {ours[t]} and {theirs[t]}, scores {score[ours[t]]!r} and {score[theirs[t]]!r}")
    return abs(score[ours[t]] - score[theirs[t]]) < TIE


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_coreax_chooses_the_same_points(seed, unique):
    reason = "coreax is not installed; bench/peers/same_points.sh runs this test"
    jax = pytest.importorskip("jax", reason=reason)
    coreax = pytest.importorskip("coreax", reason=reason)
    jax.config.update("jax_enable_x64", True)
    from coreax.kernels import SquaredExponentialKernel
    from coreax.solvers import KernelHerding

    x = data(seed)
    solver = KernelHerding(64, kernel=SquaredExponentialKernel(length_scale=LENGTH), unique=unique)
    theirs = solver.reduce(coreax.data.Data(jax.numpy.asarray(x)))[0].unweighted_indices
    ours = ss.herd(x, 64, bandwidth=LENGTH, scale="none", unique=unique, precision="double").indices
    assert the_same_but_for_a_tie(ours, np.asarray(theirs), x)


@pytest.mark.parametrize("unique", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_goodpoints_chooses_the_same_points(seed, unique):
    reason = "goodpoints is not installed; bench/peers/same_points.sh runs this test"
    herding = pytest.importorskip("goodpoints.herding", reason=reason)

    def kernel(y, x):
        return np.exp(-0.5 * ((x - y) ** 2).sum(-1) / LENGTH**2)

    x = data(seed)
    # It returns n/2^m points.
    theirs = herding.herding(x, math.log2(len(x) / 64), kernel, unique=unique)
    ours = ss.herd(x, 64, bandwidth=LENGTH, scale="none", unique=unique, precision="double").indices
    assert the_same_but_for_a_tie(ours, theirs, x)
