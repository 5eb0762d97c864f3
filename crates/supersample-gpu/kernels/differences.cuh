// Sums over pairs by differences of coordinates: right whatever the spread, and the faster way where coordinates are few.
//
// A block has one tile of rows x and goes through a chunk of tiles of columns y. A thread has R x R pairs of a tile: their
// distances in registers, coordinate after coordinate from shared memory, to which the next coordinates come meanwhile. Rows
// are added up in registers for several tiles, columns (where the pair counts for both) once a tile.
#pragma once
#include "fixed.cuh"
#include "profiles.cuh"

__device__ __forceinline__ void copy_16_bytes(void *shared, const void *global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(shared)), "l"(global));
}
__device__ __forceinline__ void commit_copies() { asm volatile("cp.async.commit_group;"); }
__device__ __forceinline__ void wait_for_copies() { asm volatile("cp.async.wait_group 0;"); }

constexpr int CHUNK_TILES = 64;  // tiles of columns that a block goes through
constexpr int FLUSH_TILES = 8;   // after so many tiles the sums of the rows go out of the registers

template <class T> struct Tiling;
template <> struct Tiling<float> {
  static constexpr int R = 8, TILE = 128, COORDINATES = 16;
};
template <> struct Tiling<double> {
  static constexpr int R = 4, TILE = 64, COORDINATES = 16;
};

// x, y: [dim][stride], weights: 0 in the padding. Rows first_tile + blockIdx.x, chunk of columns blockIdx.y.
// own: x and y are the same points, each pair of different tiles is visited once. columns.limbs may be null: rows only.
template <class Profile, class T>
__device__ __forceinline__ void pair_sums(const T *x, long long x_stride, const T *x_weights, const T *y, long long y_stride,
                                          const T *y_weights, int dim, int y_tiles, int first_tile, int own, FixedSums<T> rows,
                                          FixedSums<T> columns, Factors<T> factors) {
  constexpr int R = Tiling<T>::R, TILE = Tiling<T>::TILE, DC = Tiling<T>::COORDINATES, V = 16 / sizeof(T);
  __shared__ __align__(16) T xs[2][DC][TILE], ys[2][DC][TILE], ws[2][TILE];
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  const int tile = first_tile + blockIdx.x;
  const int first_row = (warp >> 2) * (8 * R) + (lane >> 2) * V, first_column = (warp & 3) * (4 * R) + (lane & 3) * V;
  const int begin = own ? max((int)blockIdx.y * CHUNK_TILES, tile) : blockIdx.y * CHUNK_TILES;
  const int end = min(y_tiles, (int)(blockIdx.y + 1) * CHUNK_TILES);
  if (begin >= end) return;
  const int length = end - begin, parts = (dim + DC - 1) / DC;
  // Blocks begin at different tiles, so that they do not add to the same columns at once.
  const int start = begin + tile % length;
  int load_tile = start, load_part = 0;
  const auto load = [&](int s) {
    const int many = min(DC, dim - load_part * DC);
    constexpr int PIECES = TILE / V;
    for (int q = t; q < many * PIECES; q += 256) {
      const int c = q / PIECES, piece = q % PIECES * V;
      const long long coordinate = load_part * DC + c;
      copy_16_bytes(&xs[s][c][piece], x + coordinate * x_stride + (long long)tile * TILE + piece);
      copy_16_bytes(&ys[s][c][piece], y + coordinate * y_stride + (long long)load_tile * TILE + piece);
    }
    if (load_part == parts - 1 && t < PIECES) copy_16_bytes(&ws[s][t * V], y_weights + (long long)load_tile * TILE + t * V);
    commit_copies();
    if (++load_part == parts) {
      load_part = 0;
      load_tile = load_tile + 1 == end ? begin : load_tile + 1;
    }
  };
  // Which of the tile's rows or columns is the thread's i-th: groups of V side by side.
  const auto place = [&](int first, int i, int lanes) { return first + i / V * (lanes * V) + i % V; };

  T x_weight[R];
#pragma unroll
  for (int i = 0; i < R; i++) x_weight[i] = x_weights[(long long)tile * TILE + place(first_row, i, 8)];
  T sums[R] = {}, acc[R][R];
  load(0);
  for (int s = 0, part = 0, step = 0, j = start; step < length; s ^= 1) {
    wait_for_copies();
    __syncthreads();
    if (part + 1 < parts || step + 1 < length) load(s ^ 1);
    if (part == 0) {
#pragma unroll
      for (int i = 0; i < R; i++)
#pragma unroll
        for (int k = 0; k < R; k++) acc[i][k] = 0;
    }
    const int many = min(DC, dim - part * DC);
#pragma unroll 1
    for (int c = 0; c < many; c++) {
      T a[R], b[R];
#pragma unroll
      for (int i = 0; i < R; i += V) {
        load_16_bytes(&a[i], &xs[s][c][place(first_row, i, 8)]);
        load_16_bytes(&b[i], &ys[s][c][place(first_column, i, 4)]);
      }
#pragma unroll
      for (int i = 0; i < R; i++)
#pragma unroll
        for (int k = 0; k < R; k++) acc[i][k] = Profile::add(acc[i][k], a[i], b[k]);
    }
    if (++part != parts) continue;
    part = 0;
    T weight[R], down[R] = {};
#pragma unroll
    for (int i = 0; i < R; i += V) load_16_bytes(&weight[i], &ws[s][place(first_column, i, 4)]);
#pragma unroll 1
    for (int f = 0; f < Profile::many(factors); f++) {
      const T factor = Profile::factor(factors, f);
#pragma unroll
      for (int i = 0; i < R; i++)
#pragma unroll
        for (int k = 0; k < R; k++) {
          const T value = Profile::value(acc[i][k], factor);
          sums[i] = fma(value, weight[k], sums[i]);
          down[k] = fma(value, x_weight[i], down[k]);
        }
    }
    if (columns.limbs && !(own && j == tile)) {
      const T total = add_up_columns<T, R>(down, lane);
      const int mine = lane >> (R == 8 ? 2 : 3);
      if (R == 8 || !(lane & 4)) columns.add((long long)j * TILE + place(first_column, mine, 4), total);
    }
    if (step % FLUSH_TILES == FLUSH_TILES - 1 || step == length - 1) {
      add_up_rows<T, R>(sums, lane);
#pragma unroll
      for (int i = 0; i < R / 4; i++)
        rows.add((long long)tile * TILE + place(first_row, lane % 4 * (R / 4) + i, 8), sums[i]);
#pragma unroll
      for (int i = 0; i < R; i++) sums[i] = 0;
    }
    step++;
    j = j + 1 == end ? begin : j + 1;
  }
}

// pair_sums for up to D coordinates, few enough to stay in registers: the distance of a pair and its value come right after
// each other, so that additions and exponentials of different pairs go on side by side; several tiles between two barriers.
template <class Profile, int D>
__device__ __forceinline__ void few_coordinate_sums(const float *x, long long x_stride, const float *x_weights, const float *y,
                                                    long long y_stride, const float *y_weights, int dim, int y_tiles,
                                                    int first_tile, int own, FixedSums<float> rows, FixedSums<float> columns,
                                                    Factors<float> factors) {
  constexpr int R = 8, TILE = 128, GROUP = 4, V = 4, WIDE = GROUP * TILE;
  __shared__ __align__(16) float ys[2][D][WIDE], ws[2][WIDE];
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  const int tile = first_tile + blockIdx.x;
  const int first_row = (warp >> 2) * 64 + (lane >> 2) * V, first_column = (warp & 3) * 32 + (lane & 3) * V;
  const int begin = own ? max((int)blockIdx.y * CHUNK_TILES, tile) : blockIdx.y * CHUNK_TILES;
  const int end = min(y_tiles, (int)(blockIdx.y + 1) * CHUNK_TILES);
  if (begin >= end) return;
  const int groups = (end - begin + GROUP - 1) / GROUP;
  int group = tile % groups;
  const auto place = [&](int first, int i, int lanes) { return first + i / V * (lanes * V) + i % V; };
  const auto load = [&](int g, int s) {
    const int first = begin + g * GROUP, many = min(GROUP, end - first) * (TILE / V);
    for (int q = t; q < WIDE / V; q += 256) {
      if (q >= many) break;
      for (int c = 0; c < D; c++)
        if (c < dim) copy_16_bytes(&ys[s][c][q * V], y + c * y_stride + (long long)first * TILE + q * V);
      copy_16_bytes(&ws[s][q * V], y_weights + (long long)first * TILE + q * V);
    }
    commit_copies();
  };
  for (int c = 0; c < D; c++)
    if (c >= dim)
      for (int q = t; q < 2 * WIDE; q += 256) ys[q / WIDE][c][q % WIDE] = 0;
  load(group, 0);
  float own_x[R][D], x_weight[R], sums[R] = {};
#pragma unroll
  for (int i = 0; i < R; i++) {
    const long long row = (long long)tile * TILE + place(first_row, i, 8);
    x_weight[i] = x_weights[row];
#pragma unroll
    for (int c = 0; c < D; c++) own_x[i][c] = c < dim ? x[c * x_stride + row] : 0;
  }
  for (int step = 0, s = 0; step < groups; step++, s ^= 1) {
    const int first = begin + group * GROUP, many = min(GROUP, end - first);
    group = group + 1 == groups ? 0 : group + 1;
    wait_for_copies();
    __syncthreads();
    if (step + 1 < groups) load(group, s ^ 1);
#pragma unroll 1
    for (int g = 0; g < many; g++) {
      float down[R];
#pragma unroll
      for (int part = 0; part < R; part += V) {
        const int column = g * TILE + place(first_column, part, 4);
        float b[D][V], weight[V];
#pragma unroll
        for (int c = 0; c < D; c++) load_16_bytes(b[c], &ys[s][c][column]);
        load_16_bytes(weight, &ws[s][column]);
#pragma unroll
        for (int k = 0; k < V; k++) {
          float total = 0, acc[R];
#pragma unroll
          for (int i = 0; i < R; i++) {
            acc[i] = 0;
#pragma unroll
            for (int c = 0; c < D; c++) acc[i] = Profile::add(acc[i], own_x[i][c], b[c][k]);
          }
#pragma unroll 1
          for (int f = 0; f < Profile::many(factors); f++) {
            const float factor = Profile::factor(factors, f);
#pragma unroll
            for (int i = 0; i < R; i++) {
              const float value = Profile::value(acc[i], factor);
              sums[i] = fmaf(value, weight[k], sums[i]);
              total = fmaf(value, x_weight[i], total);
            }
          }
          down[part + k] = total;
        }
      }
      const int j = first + g;
      if (columns.limbs && !(own && j == tile)) {
        const float total = add_up_columns<float, R>(down, lane);
        columns.add((long long)j * TILE + place(first_column, lane >> 2, 4), total);
      }
    }
    if (step % 2 == 1 || step == groups - 1) {
      add_up_rows<float, R>(sums, lane);
#pragma unroll
      for (int i = 0; i < R / 4; i++)
        rows.add((long long)tile * TILE + place(first_row, lane % 4 * (R / 4) + i, 8), sums[i]);
#pragma unroll
      for (int i = 0; i < R; i++) sums[i] = 0;
    }
  }
}
