// Fixed-point sums: whole numbers add up to the same total in any order, so blocks may add to them as they finish.
//
// A number v goes in as v * scale, where scale is a power of two chosen by the host so that no total reaches 2^62: its whole
// part into one 64-bit sum and, where T is double, the next 40 bits into a second one behind the first.
#pragma once

constexpr double LOW_LIMB = 1099511627776.0;  // 2^40

template <class T> struct FixedSums {
  unsigned long long *limbs;  // [1 or 2][stride]
  long long stride;
  double scale;

  __device__ __forceinline__ void add(long long i, T v) const {
    if (sizeof(T) == 4) {
      atomicAdd(limbs + i, (unsigned long long)__float2ll_rn((float)v * (float)scale));
    } else {
      double scaled = (double)v * scale, whole = floor(scaled);
      atomicAdd(limbs + i, (unsigned long long)__double2ll_rn(whole));
      atomicAdd(limbs + stride + i, (unsigned long long)__double2ll_rn((scaled - whole) * LOW_LIMB));
    }
  }
};

// Adds up 8 lanes (those that differ in bits 2, 3 and 4) column by column. Every lane comes with C columns, C = 4 or 8, and
// leaves with the total of one: the column of its bits 4, 3, 2 (C = 8) or 4, 3 (C = 4, where two lanes have the same).
template <class T, int C> __device__ __forceinline__ T add_up_columns(T (&v)[C], int lane) {
#pragma unroll
  for (int half = C / 2, bit = 16; half >= 1; half /= 2, bit /= 2) {
    bool upper = lane & bit;
#pragma unroll
    for (int i = 0; i < half; i++) {
      T sent = upper ? v[i] : v[i + half], kept = upper ? v[i + half] : v[i];
      v[i] = kept + __shfl_xor_sync(~0u, sent, bit);
    }
  }
  if (C == 4) v[0] += __shfl_xor_sync(~0u, v[0], 4);
  return v[0];
}

// Adds up 4 lanes (those that differ in bits 0 and 1) row by row. Every lane comes with R rows and leaves with the totals of
// R/4 of them in the first places: those that begin with lane % 4 * R/4.
template <class T, int R> __device__ __forceinline__ void add_up_rows(T (&v)[R], int lane) {
#pragma unroll
  for (int half = R / 2, bit = 2; bit >= 1; half /= 2, bit /= 2) {
    bool upper = lane & bit;
#pragma unroll
    for (int i = 0; i < half; i++) {
      T sent = upper ? v[i] : v[i + half], kept = upper ? v[i + half] : v[i];
      v[i] = kept + __shfl_xor_sync(~0u, sent, bit);
    }
  }
}
