// Everything that does not depend on the kernel: packing, totals, and what is looked up in kept rows.
#include <cuda_fp16.h>
#include "fixed.cuh"
#include "rows.cuh"

// Points that come as rows of doubles go to [dim][stride] as (x - centre) * unit, cut at +-far; `first` is where they begin.
template <class T>
__device__ __forceinline__ void pack(const double *rows, long long many, int dim, const double *centre, double unit, double far,
                                     T *x, long long stride, long long first) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= many) return;
  for (int c = 0; c < dim; c++) {
    const double v = (rows[i * dim + c] - centre[c]) * unit;
    x[c * stride + first + i] = (T)fmin(fmax(v, -far), far);
  }
}
#define PACK(T, NAME)                                                                                                        \
  extern "C" __global__ void pack_##NAME(const double *rows, long long many, int dim, const double *centre, double unit,     \
                                         double far, T *x, long long stride, long long first) {                              \
    pack<T>(rows, many, dim, centre, unit, far, x, stride, first);                                                           \
  }
PACK(float, f32)
PACK(double, f64)

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

// sums += weight * row
template <class T> __device__ __forceinline__ void add_row(const T *row, long long n, double weight, double *sums) {
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
    sums[i] = __dadd_rn(sums[i], __dmul_rn(weight, (double)row[i]));
}
// sums += out - into
template <class T> __device__ __forceinline__ void exchange_rows(const T *out, const T *into, long long n, double *sums) {
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x)
    sums[i] = __dadd_rn(sums[i], __dsub_rn((double)out[i], (double)into[i]));
}
// The largest of sums + row, or of sums + row + scale * noise where there is noise: one candidate a block.
template <class T>
__device__ __forceinline__ void best_with_row(const T *row, long long n, const double *sums, const float *noise, double scale,
                                              Candidate *found) {
  Candidate best = no_candidate();
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    double score = __dadd_rn(sums[i], (double)row[i]);
    if (noise) score = __dadd_rn(score, __dmul_rn(scale, (double)noise[i]));
    if (score > best.score) best = Candidate{score, sums[i], i};
  }
  best = best_of_block(best);
  if (threadIdx.x == 0) found[blockIdx.x] = best;
}
// All i with sums + row >= least, in any order, with that sum; *count says how many.
template <class T>
__device__ __forceinline__ void at_least(const T *row, long long n, const double *sums, double least, unsigned long long *count,
                                         long long *index, double *score) {
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += (long long)gridDim.x * blockDim.x) {
    const double v = __dadd_rn(sums[i], (double)row[i]);
    if (v >= least) {
      const unsigned long long place = atomicAdd(count, 1ull);
      index[place] = i;
      score[place] = v;
    }
  }
}
#define KEPT_ROWS(T, NAME)                                                                                                   \
  extern "C" __global__ void add_row_##NAME(const T *row, long long n, double weight, double *sums) {                        \
    add_row<T>(row, n, weight, sums);                                                                                        \
  }                                                                                                                          \
  extern "C" __global__ void exchange_rows_##NAME(const T *out, const T *into, long long n, double *sums) {                  \
    exchange_rows<T>(out, into, n, sums);                                                                                    \
  }                                                                                                                          \
  extern "C" __global__ __launch_bounds__(256) void best_with_row_##NAME(                                                    \
      const T *row, long long n, const double *sums, const float *noise, double scale, Candidate *found) {                   \
    best_with_row<T>(row, n, sums, noise, scale, found);                                                                     \
  }                                                                                                                          \
  extern "C" __global__ void at_least_##NAME(const T *row, long long n, const double *sums, double least,                    \
                                             unsigned long long *count, long long *index, double *score) {                   \
    at_least<T>(row, n, sums, least, count, index, score);                                                                   \
  }
KEPT_ROWS(float, f32)
KEPT_ROWS(double, f64)
