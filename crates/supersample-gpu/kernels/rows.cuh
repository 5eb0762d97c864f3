// Kernel rows, k(x, y) at every point x for one y, and the search for the best point in the same pass.
#pragma once
#include "profiles.cuh"

// A point that may be picked: its score, its sum before its own row is added, and which it is (-1: none).
struct Candidate {
  double score, sum;
  long long index;
};

// The larger score; of equal ones the lower index.
__device__ __forceinline__ Candidate better(Candidate a, Candidate b) {
  const bool second = b.score > a.score || (b.score == a.score && b.index >= 0 && (a.index < 0 || b.index < a.index));
  return second ? b : a;
}
__device__ __forceinline__ Candidate no_candidate() { return Candidate{-INFINITY, 0.0, -1}; }

// The best of a warp, known to all of it.
__device__ __forceinline__ Candidate best_of_warp(Candidate best) {
  for (int bit = 16; bit; bit /= 2) {
    Candidate other;
    other.score = __shfl_xor_sync(~0u, best.score, bit);
    other.sum = __shfl_xor_sync(~0u, best.sum, bit);
    other.index = __shfl_xor_sync(~0u, best.index, bit);
    best = better(best, other);
  }
  return best;
}

// The best of a block of at most 1024 threads, known to all of them.
__device__ __forceinline__ Candidate best_of_block(Candidate best) {
  __shared__ Candidate warps[32], result;
  best = best_of_warp(best);
  __syncthreads();
  if ((threadIdx.x & 31) == 0) warps[threadIdx.x >> 5] = best;
  __syncthreads();
  if (threadIdx.x < 32) {
    best = best_of_warp(threadIdx.x < blockDim.x >> 5 ? warps[threadIdx.x] : no_candidate());
    if (threadIdx.x == 0) result = best;
  }
  __syncthreads();
  return result;
}

// The best of what blocks have found.
__device__ __forceinline__ Candidate best_of_many(const Candidate *found, int many) {
  Candidate best = no_candidate();
  for (int i = threadIdx.x; i < many; i += blockDim.x) best = better(best, found[i]);
  return best_of_block(best);
}

// The kernel's values of y at V points that begin with i, a multiple of V.
template <class Profile, class T, int V>
__device__ __forceinline__ void row_values(T (&value)[V], const T *x, long long stride, int dim, long long i, const T *y,
                                           long long y_stride, Factors<T> factors) {
  T acc[V] = {};
#pragma unroll 4
  for (int c = 0; c < dim; c++) {
    T a[V];
    static_assert(V * sizeof(T) == 16, "one load of 16 bytes");
    load_16_bytes(a, x + c * stride + i);
    const T b = y[c * y_stride];
#pragma unroll
    for (int q = 0; q < V; q++) acc[q] = Profile::add(acc[q], a[q], b);
  }
  const int many = Profile::many(factors);
#pragma unroll
  for (int q = 0; q < V; q++) value[q] = Profile::value(acc[q], Profile::factor(factors, 0));
  for (int f = 1; f < many; f++) {
    const T factor = Profile::factor(factors, f);
#pragma unroll
    for (int q = 0; q < V; q++) value[q] += Profile::value(acc[q], factor);
  }
  if (many > 1) {
#pragma unroll
    for (int q = 0; q < V; q++) value[q] /= T(many);
  }
}

// One step of choosing. Where `pending` is not null the last step's best is looked up in it (`many` candidates), written to
// *pick, and `weight` times its row is added to the sums. Then, where `found` is not null, the best score
// factor * mu + sum + offset is sought: one candidate a block. `unique`: what was picked is closed with -inf.
template <class Profile, class T>
__device__ __forceinline__ void choose_step(const T *x, long long stride, int dim, long long n, double weight, double *sums,
                                            const double *mu, const double *offsets, double factor, const Candidate *pending,
                                            int many, Candidate *pick, int unique, Candidate *found, Factors<T> factors) {
  constexpr int V = 16 / sizeof(T), STAGED = 512;
  __shared__ T staged[STAGED];
  const T *y = nullptr;
  long long y_stride = stride, chosen = -1;
  if (pending) {
    const Candidate last = best_of_many(pending, many);
    if (blockIdx.x == 0 && threadIdx.x == 0 && pick) *pick = last;
    chosen = last.index;
    y = chosen < 0 ? nullptr : x + chosen;
  }
  if (y && dim <= STAGED) {
    for (int c = threadIdx.x; c < dim; c += blockDim.x) staged[c] = y[c * y_stride];
    __syncthreads();
    y = staged;
    y_stride = 1;
  }
  Candidate best = no_candidate();
  for (long long i = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * V; i < n; i += (long long)gridDim.x * blockDim.x * V) {
    T value[V];
    if (y) row_values<Profile, T, V>(value, x, stride, dim, i, y, y_stride, factors);
    double sum[V], mean[V];
#pragma unroll
    for (int q = 0; q < V; q += 2) load_16_bytes(&sum[q], sums + i + q);
    if (y) {
#pragma unroll
      for (int q = 0; q < V; q++) {
        // Rounded twice, as on the CPU.
        sum[q] = __dadd_rn(sum[q], __dmul_rn(weight, (double)value[q]));
        if (unique && i + q == chosen) sum[q] = -INFINITY;
      }
#pragma unroll
      for (int q = 0; q < V; q += 2) store_16_bytes(sums + i + q, &sum[q]);
    }
    if (!found) continue;
#pragma unroll
    for (int q = 0; q < V; q += 2) load_16_bytes(&mean[q], mu + i + q);
#pragma unroll
    for (int q = 0; q < V; q++) {
      double score = __dadd_rn(__dmul_rn(factor, mean[q]), sum[q]);
      if (offsets) score = __dadd_rn(score, offsets[i + q]);
      if (i + q < n && score > best.score) best = Candidate{score, sum[q], i + q};
    }
  }
  if (found) {
    best = best_of_block(best);
    if (threadIdx.x == 0) found[blockIdx.x] = best;
  }
}
