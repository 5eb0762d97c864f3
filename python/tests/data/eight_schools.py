"""Makes eight_schools.nc: a posterior of the eight-schools model by NumPyro's NUTS, with all the groups ArviZ knows.

    pip install numpyro 'arviz<1' h5netcdf && python eight_schools.py

The data are the eight coaching effects of Rubin (1981).
"""

from pathlib import Path

import arviz as az
import jax
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import MCMC, NUTS, Predictive

EFFECT = np.array([28.0, 8.0, -3.0, 7.0, -1.0, 1.0, 18.0, 12.0])
ERROR = np.array([15.0, 10.0, 16.0, 11.0, 9.0, 11.0, 10.0, 18.0])
SCHOOLS = ["A", "B", "C", "D", "E", "F", "G", "H"]


def model(error, effect=None):
    mu = numpyro.sample("mu", dist.Normal(0, 5))
    tau = numpyro.sample("tau", dist.HalfCauchy(5))
    with numpyro.plate("school", len(error)):
        standard = numpyro.sample("standard", dist.Normal(0, 1))
        theta = numpyro.deterministic("theta", mu + tau * standard)
        numpyro.sample("y", dist.Normal(theta, error), obs=effect)


def main():
    numpyro.set_host_device_count(4)
    mcmc = MCMC(NUTS(model), num_warmup=500, num_samples=180, num_chains=4, progress_bar=False)
    mcmc.run(jax.random.PRNGKey(0), ERROR, EFFECT)
    predictive = Predictive(model, mcmc.get_samples(), return_sites=["y"])(jax.random.PRNGKey(1), ERROR)
    prior = Predictive(model, num_samples=100)(jax.random.PRNGKey(2), ERROR)
    data = az.from_numpyro(
        mcmc,
        posterior_predictive=predictive,
        prior=prior,
        coords={"school": SCHOOLS},
        dims={name: ["school"] for name in ("theta", "standard", "y")},
    )

    def small(group):
        """Without the helper variable, and in the single precision that NumPyro computes in."""
        group = group.drop_vars("standard", errors="ignore")
        return group.assign({name: v.astype("f4") for name, v in group.data_vars.items() if v.dtype.kind == "f"})

    data = az.InferenceData(attrs=data.attrs, **{name: small(data[name]) for name in data.groups()})
    path = Path(__file__).with_suffix(".nc")
    data.to_netcdf(str(path), engine="h5netcdf", compress=True)
    print(f"{path}: {path.stat().st_size} bytes, groups {data.groups()}")


if __name__ == "__main__":
    main()
