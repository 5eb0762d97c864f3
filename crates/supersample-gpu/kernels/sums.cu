// Everything that depends on the kernel, for one shape: nvcc -DSHAPE=Gaussian -DMIXED=1 -DSMOOTH=1 (see build.sh). MIXED: f32 may be
// asked for; SMOOTH: products may.
#include "rows.cuh"
#include "tensor.cuh"
#include "visits.cuh"

#define PAIR_SUMS(T, NAME, BLOCKS)                                                                                           \
  extern "C" __global__ __launch_bounds__(256, BLOCKS) void pair_sums_##NAME(                                                \
      const T *x, long long x_stride, const T *x_weights, const T *y, long long y_stride, const T *y_weights, int dim,       \
      int y_tiles, int first_tile, int own, unsigned long long *rows, long long rows_stride, unsigned long long *columns,    \
      long long columns_stride, double scale, const T *factors, int factor_count) {                                         \
    pair_sums<SHAPE, T>(x, x_stride, x_weights, y, y_stride, y_weights, dim, y_tiles, first_tile, own,                       \
                        FixedSums<T>{rows, rows_stride, scale}, FixedSums<T>{columns, columns_stride, scale},                \
                        Factors<T>{factors, factor_count});                                                                  \
  }
PAIR_SUMS(double, f64, 2)
#if MIXED
PAIR_SUMS(float, f32, 2)
#endif

#define FEW_COORDINATE_SUMS(D)                                                                                               \
  extern "C" __global__ __launch_bounds__(256, 2) void few_coordinate_sums_##D(                                              \
      const float *x, long long x_stride, const float *x_weights, const float *y, long long y_stride,                        \
      const float *y_weights, int dim, int y_tiles, int first_tile, int own, unsigned long long *rows,                       \
      long long rows_stride, unsigned long long *columns, long long columns_stride, double scale, const float *factors,      \
      int factor_count) {                                                                                                    \
    few_coordinate_sums<SHAPE, D>(x, x_stride, x_weights, y, y_stride, y_weights, dim, y_tiles, first_tile, own,             \
                                  FixedSums<float>{rows, rows_stride, scale},                                                \
                                  FixedSums<float>{columns, columns_stride, scale}, Factors<float>{factors, factor_count});  \
  }
#if MIXED
FEW_COORDINATE_SUMS(2)
FEW_COORDINATE_SUMS(3)
FEW_COORDINATE_SUMS(5)
#endif

#if SMOOTH
#define PRODUCT_SUMS(NAME, KC, RESIDENT, BLOCKS)                                                                             \
  extern "C" __global__ __launch_bounds__(256, BLOCKS) void product_sums_##NAME(                                             \
      const half *x_high, const half *x_low, const float *x_weight, const float *x_factor, const half *y_high,              \
      const half *y_low, const float *y_weight, const float *y_factor, int width, int y_tiles, int first_tile, int own,      \
      unsigned long long *rows, unsigned long long *columns, double scale, const float *factors, int factor_count) {         \
    product_sums<SHAPE, KC, RESIDENT>(Halves{x_high, x_low, x_weight, x_factor}, Halves{y_high, y_low, y_weight, y_factor},  \
                                      width, y_tiles, first_tile, own, FixedSums<float>{rows, 0, scale},                     \
                                      FixedSums<float>{columns, 0, scale}, Factors<float>{factors, factor_count});           \
  }
PRODUCT_SUMS(16, 1, true, 2)
PRODUCT_SUMS(32, 2, true, 2)
PRODUCT_SUMS(64, 4, true, 2)
PRODUCT_SUMS(any, 4, false, 1)
#endif

#define ROWS(T, NAME)                                                                                                        \
  extern "C" __global__ __launch_bounds__(256) void choose_step_##NAME(                                                      \
      const T *x, long long stride, int dim, long long n, double weight, double *sums, const double *mu,                     \
      const double *offsets, double factor, const Candidate *pending, int many, Candidate *pick, int unique,                 \
      Candidate *found, const T *factors, int factor_count) {                                                                \
    choose_step<SHAPE, T>(x, stride, dim, n, weight, sums, mu, offsets, factor, pending, many, pick, unique, found,          \
                          Factors<T>{factors, factor_count});                                                                \
  }                                                                                                                          \
  extern "C" __global__ __launch_bounds__(1024) void visits_##NAME(                                                          \
      const T *x, long long stride, int dim, long long n, const T *factors, int factor_count, const PartView *parts,         \
      int part_count, int stages, const Step *steps, int many, T *rows, long long row_stride, double *sums, unsigned *times, \
      int repeats, long long *chosen, const float *noise, Seat *seats, double *fits, Outcome *outcomes) {                    \
    extern __shared__ double staged[];                                                                                       \
    const Factors<T> all{factors, factor_count};                                                                             \
    visits(Summed<SHAPE, T>{x, stride, dim, all, parts, part_count, stages ? (T *)staged : nullptr}, n, steps, many, rows,   \
           row_stride, sums, times, repeats, chosen, noise, seats, fits, outcomes);                                          \
  }
ROWS(double, f64)
#if MIXED
ROWS(float, f32)
#endif
