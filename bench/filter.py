"""The figures of docs/guide/resampling.md: a filter that keeps 50 of 1,000 predicted particles, the bootstrap filter with
50 and SQMC with 50, all with 50 likelihoods in each step, against the Kalman filter.

    pip install particles==0.4 && python bench/filter.py --runs 40
"""

import argparse
import importlib.util
import pathlib

import numpy as np

EXAMPLE = pathlib.Path(__file__).resolve().parents[1] / "examples/particle_filter.py"
spec = importlib.util.spec_from_file_location("particle_filter", EXAMPLE)
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)


def sqmc(model, observations, count, seed):
    """Sequential quasi-Monte Carlo, of the package particles; None where it is not installed."""
    # Its Hilbert curve is written for NumPy before 1.24.
    if "int" not in vars(np):
        np.int = int
    try:
        import particles
        from particles import collectors, distributions, state_space_models
    except ImportError:
        return None

    def normal(mean):
        # The package has a class of its own for one dimension.
        if model.dim == 1:
            return distributions.Normal(loc=mean)
        return distributions.MvNormal(loc=mean, cov=np.eye(model.dim))

    class Gaussian(state_space_models.StateSpaceModel):
        def PX0(self):
            return normal(0.0 if model.dim == 1 else np.zeros(model.dim))

        def PX(self, t, xp):
            return normal(xp * model.transition[0, 0] if model.dim == 1 else xp @ model.transition.T)

        def PY(self, t, xp, x):
            return normal(x)

    np.random.seed(seed)
    filtering = state_space_models.Bootstrap(
        ssm=Gaussian(), data=list(observations[:, 0] if model.dim == 1 else observations[:, None, :])
    )
    run = particles.SMC(fk=filtering, N=count, qmc=True, collect=[collectors.Moments()])
    run.run()
    return np.array([moments["mean"] for moments in run.summaries.moments]).reshape(observations.shape)


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--runs", type=int, default=40)
    options.add_argument("--first-seed", type=int, default=0, help="runs have this seed, the next one, …")
    options.add_argument("--dims", type=int, nargs="+", default=[1, 2, 4])
    given = options.parse_args()
    kept = example.KEPT
    print(f"rms error of the filter mean over {given.runs} runs, over that of the bootstrap filter with {kept}")
    print("dim   bootstrap 100   bootstrap 200   SQMC   herding")
    for dim in given.dims:
        model = example.Model(dim)
        errors = {name: [] for name in ("plain", "100", "200", "sqmc", "herding")}
        for seed in range(given.first_seed, given.first_seed + given.runs):
            observations = model.observed(seed)
            truth = example.kalman(model, observations)
            means = {
                "plain": example.bootstrap(model, observations, kept, seed),
                "100": example.bootstrap(model, observations, 2 * kept, seed),
                "200": example.bootstrap(model, observations, 4 * kept, seed),
                "sqmc": sqmc(model, observations, kept, seed),
                "herding": example.herding(model, observations, seed),
            }
            for name, found in means.items():
                if found is not None:
                    errors[name].append(example.rms(found, truth))
        size = {name: np.sqrt(np.mean(np.square(found))) if found else np.nan for name, found in errors.items()}
        shown = [size[name] / size["plain"] for name in ("100", "200", "sqmc", "herding")]
        print(f"{dim:3}   " + "   ".join(f"{value:.3f}" for value in shown))


if __name__ == "__main__":
    main()
