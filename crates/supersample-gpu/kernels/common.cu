// Everything that does not depend on the kernel: packing, totals, and the best of what was found.
#include <cuda_fp16.h>
#include "fixed.cuh"
#include "rows.cuh"

// Points that come as rows of doubles go to [dim][stride] as (x - centre) * unit, cut at +-far; `first` is where they begin.
extern "C" __global__ void pack_f64(const double *rows, long long many, int dim, const double *centre, double unit, double far,
                                    double *x, long long stride, long long first) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= many) return;
  for (int c = 0; c < dim; c++) {
    const double v = (rows[i * dim + c] - centre[c]) * unit;
    x[c * stride + first + i] = fmin(fmax(v, -far), far);
  }
}

// Points that come as rows of coordinates go to [dim][stride]; `first` is where they begin.
extern "C" __global__ void transpose_rows(const float *rows, long long many, int dim, float *x, long long stride, long long first) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= many) return;
  for (int c = 0; c < dim; c++) x[c * stride + first + i] = rows[i * dim + c];
}

// Floats as doubles.
extern "C" __global__ void widen(const float *x, long long many, double *out) {
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < many; i += (long long)gridDim.x * blockDim.x)
    out[i] = x[i];
}

// Packed floats as two halves each, larger by sqrt 2, and the norm |x|^2/2 of what the halves add up to.
extern "C" __global__ void pack_halves(const float *x, long long stride, long long padded, int dim, int width, half *high, half *low,
                                       float *norms) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= padded) return;
  double norm = 0;
  for (int c = 0; c < width; c++) {
    const float v = c < dim ? x[c * stride + i] * 1.41421356f : 0.0f;
    const half h = __float2half_rn(v), l = __float2half_rn(v - __half2float(h));
    high[i * width + c] = h;
    low[i * width + c] = l;
    const double rounded = (double)__half2float(h) + (double)__half2float(l);
    norm += rounded * rounded;
  }
  norms[i] = (float)(0.5 * norm);
}

// 2^-norm, and that times the weight: what product_sums multiplies a Gaussian by.
extern "C" __global__ void gaussian_factors(const float *norms, const float *weights, long long padded, float *factor, float *weight) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= padded) return;
  factor[i] = exp2f(-norms[i]);
  weight[i] = weights[i] * factor[i];
}

// Fixed-point totals as numbers: (high + low / 2^40) * unit / divisor.
extern "C" __global__ void totals(const long long *limbs, long long stride, int two_limbs, long long n, double unit, double divisor,
                                  double *out) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const double low = two_limbs ? (double)limbs[stride + i] / LOW_LIMB : 0.0;
  out[i] = ((double)limbs[i] + low) * unit / divisor;
}

// The best of all candidates.
extern "C" __global__ __launch_bounds__(256) void best_candidate(const Candidate *found, int many, Candidate *pick) {
  const Candidate best = best_of_many(found, many);
  if (threadIdx.x == 0) *pick = best;
}
