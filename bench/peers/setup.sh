#!/bin/sh
# Makes bench/peers/.venv with the peers at pinned versions. Needs python3 and a C compiler (goodpoints is Cython).
set -eu
cd "$(dirname "$0")"
python3 -m venv .venv
.venv/bin/pip install --quiet --requirement requirements.txt
