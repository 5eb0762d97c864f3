#!/bin/sh
# Makes the PTX files of this folder from the CUDA sources beside it, with the nvcc on the PATH or in $NVCC.
# Each begins with a hash of the sources, by which a test knows whether it is current.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-nvcc}
hash=$(cat common.cu sums.cu differences.cuh fixed.cuh profiles.cuh rows.cuh tensor.cuh build.sh | sha256sum | cut -c1-64)

# PTX of this version is understood by every driver from CUDA 12.0 on; newer compilers write a newer number there although
# nothing in these files needs it, which the assembler confirms.
finish() {
    { echo "// made by build.sh from sources with the hash $hash"; grep -v '^//' "$1.raw" | sed 's/^\.version .*/.version 8.0/'; } > "$1"
    rm "$1.raw"
    "${PTXAS:-ptxas}" -arch=sm_80 -o /dev/null "$1"
}

compile() { "$nvcc" -ptx -std=c++17 -O3 -arch=compute_80 ${NVCC_FLAGS:-} "$@"; }

compile -o common.ptx.raw common.cu
finish common.ptx
for shape in Gaussian:1 Gaussians:1 Laplace:0 Matern12:0 Matern32:1 Matern52:1 Imq:1 Linear:0 Energy:0 Manhattan:0; do
    name=$(echo "${shape%:*}" | tr '[:upper:]' '[:lower:]')
    compile -DSHAPE="${shape%:*}" -DSMOOTH="${shape#*:}" -o "$name.ptx.raw" sums.cu
    finish "$name.ptx"
done
