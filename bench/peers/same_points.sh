#!/bin/sh
# Herds the same data with coreax, with goodpoints and with the Python package: the points must be the same.
# Uses the environment that setup.sh makes (it is made if it is missing) and puts a fresh wheel into it.
set -eu
cd "$(dirname "$0")/../.."
venv=${VENV:-bench/peers/.venv}
[ -x "$venv/bin/python" ] || bench/peers/setup.sh
grep -E '^(maturin|pytest)==' python/tests/requirements.txt | xargs "$venv/bin/pip" install --quiet
wheels=${CARGO_TARGET_DIR:-target}/peers-wheel
rm -rf "$wheels"
"$venv/bin/maturin" build --quiet --locked --profile dev --out "$wheels"
"$venv/bin/pip" install --quiet --no-deps --force-reinstall "$wheels"/supersample-*.whl
"$venv/bin/python" -m pytest -rs --verbose python/tests/test_peers.py
