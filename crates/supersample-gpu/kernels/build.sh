#!/bin/sh
# Makes the PTX of this folder, packed by gzip, from the CUDA sources beside it, with the nvcc on the PATH or in $NVCC.
# Each begins with a hash of the sources, by which a test knows whether it is current.
set -eu
cd "$(dirname "$0")"
nvcc=${NVCC:-nvcc}
hash=$(cat common.cu sums.cu differences.cuh fixed.cuh profiles.cuh rows.cuh tensor.cuh visits.cuh build.sh | sha256sum | cut -c1-64)

# PTX of this version is understood by every driver from CUDA 12.0 on; newer compilers write a newer number there although
# nothing in these files needs it, which the assembler confirms.
finish() {
    { echo "// made by build.sh from sources with the hash $hash"; sed '/^[[:space:]]*\/\//d; /^$/d; s/^[[:space:]]*//; s/^\.version .*/.version 8.0/' "$1.raw"; } > "$1"
    rm "$1.raw"
    "${PTXAS:-ptxas}" -arch=sm_80 -o /dev/null "$1"
    gzip -9nf "$1"
}

compile() { "$nvcc" -ptx -std=c++17 -O3 -arch=compute_80 ${NVCC_FLAGS:-} "$@"; }

compile -o common.ptx.raw common.cu
finish common.ptx
# Name, whether it is ever asked for in f32, whether it is smooth in the squared distance.
while read -r shape mixed smooth; do
    name=$(echo "$shape" | tr '[:upper:]' '[:lower:]')
    compile -DSHAPE="$shape" -DMIXED="$mixed" -DSMOOTH="$smooth" -o "$name.ptx.raw" sums.cu
    finish "$name.ptx"
done <<END
Gaussian 1 1
Gaussians 1 1
Laplace 1 0
Matern12 1 0
Matern32 1 1
Matern52 1 1
Imq 1 1
Linear 1 0
Energy 0 0
Manhattan 1 0
END
