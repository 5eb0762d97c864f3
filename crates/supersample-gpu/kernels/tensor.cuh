// Sums over pairs by products on tensor cores: half the distance of two points is what their norms leave of x.y.
//
// A coordinate is the sum of two halves, high and low (22 bits together); x.y is high.high + high.low + low.high, added up in
// float. What is lost grows with the square of the spread, not with the spread: the host takes this way only where the
// points are close enough (`products_are_right` in the crate), and only for kernels that are smooth in the squared distance.
//
// A block has one tile of 128 rows, resident in shared memory up to 64 coordinates, and goes through a chunk of tiles of 128
// columns. A warp has 64 x 32 pairs of a tile, a thread 64 of them.
#pragma once
#include <cuda_fp16.h>
#include "differences.cuh"

__device__ __forceinline__ void load_matrices(unsigned (&r)[4], const half *p) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((unsigned)__cvta_generic_to_shared(p)));
}
__device__ __forceinline__ void multiply_add(float (&c)[4], const unsigned (&a)[4], const unsigned *b) {
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

// Points for products: halves [n][width], width a multiple of 16, and for each point
//   Gaussian: factor = 2^-norm, weight = w * factor;   others: factor = norm, weight = w
// with norm = |x|^2/2 in the units of the halves (in which x.y is half of the squared distance's 2x.y: they are larger by sqrt 2).
struct Halves {
  const half *high, *low;
  const float *weight, *factor;
};

// KC: steps of 16 coordinates that are loaded at once. RESIDENT: these are all, and the rows stay where they are.
template <class Profile, int KC, bool RESIDENT>
__device__ __forceinline__ void product_sums(Halves x, Halves y, int width, int y_tiles, int first_tile, int own,
                                             FixedSums<float> rows, FixedSums<float> columns, Factors<float> factors) {
  constexpr int TILE = 128, LD = KC * 16 + 8, SIDE = TILE * LD, PIECES = KC * 2;
  extern __shared__ __align__(16) half shared[];
  // [rows high, rows low] once or twice, then [columns high, columns low] twice
  half *const xs = shared, *const ys = shared + (RESIDENT ? 2 : 4) * SIDE;
  __shared__ __align__(16) float weights[2][TILE], norms[2][TILE];
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5, warp_row = warp >> 2, warp_column = warp & 3;
  const int tile = first_tile + blockIdx.x;
  const int begin = own ? max((int)blockIdx.y * CHUNK_TILES, tile) : blockIdx.y * CHUNK_TILES;
  const int end = min(y_tiles, (int)(blockIdx.y + 1) * CHUNK_TILES);
  if (begin >= end) return;
  const int length = end - begin, parts = RESIDENT ? 1 : (width + KC * 16 - 1) / (KC * 16);
  const int start = begin + tile % length;
  int load_tile = start, load_part = 0;
  const auto load_side = [&](half *to, const Halves &from, int which) {
    const int left = RESIDENT ? PIECES : min(PIECES, (width - load_part * KC * 16) / 8);
#pragma unroll 2
    for (int q = t; q < TILE * PIECES; q += 256) {
      const int r = q / PIECES, piece = q % PIECES;
      const long long place = ((long long)which * TILE + r) * width + load_part * KC * 16 + piece * 8;
      if (piece < left) {
        copy_16_bytes(to + r * LD + piece * 8, from.high + place);
        copy_16_bytes(to + SIDE + r * LD + piece * 8, from.low + place);
      } else {
        *(uint4 *)(to + r * LD + piece * 8) = uint4{0, 0, 0, 0};
        *(uint4 *)(to + SIDE + r * LD + piece * 8) = uint4{0, 0, 0, 0};
      }
    }
  };
  const auto load = [&](int s) {
    if (!RESIDENT) load_side(xs + s * 2 * SIDE, x, tile);
    load_side(ys + s * 2 * SIDE, y, load_tile);
    if (load_part == parts - 1) {
      if (t < TILE / 4) copy_16_bytes(&weights[s][t * 4], y.weight + (long long)load_tile * TILE + t * 4);
      else if (t < TILE / 2) copy_16_bytes(&norms[s][t * 4 - TILE], y.factor + (long long)load_tile * TILE + t * 4 - TILE);
    }
    commit_copies();
    if (++load_part == parts) {
      load_part = 0;
      load_tile = load_tile + 1 == end ? begin : load_tile + 1;
    }
  };
  // A thread's rows: 8 of its warp's 64; its columns: 8 of 32.
  const auto row = [&](int m, int h) { return warp_row * 64 + m * 16 + h * 8 + (lane >> 2); };
  float row_weight[4][2], row_norm[4][2];
#pragma unroll
  for (int m = 0; m < 4; m++)
#pragma unroll
    for (int h = 0; h < 2; h++) {
      row_weight[m][h] = x.weight[(long long)tile * TILE + row(m, h)];
      if (!Profile::gaussian) row_norm[m][h] = x.factor[(long long)tile * TILE + row(m, h)];
    }
  float sums[8] = {}, c[4][4][4];
  if (RESIDENT) load_side(xs, x, tile);
  load(0);
  for (int s = 0, part = 0, step = 0, j = start; step < length; s ^= 1) {
    wait_for_copies();
    __syncthreads();
    if (part + 1 < parts || step + 1 < length) load(s ^ 1);
    if (part == 0) {
#pragma unroll
      for (int m = 0; m < 4; m++)
#pragma unroll
        for (int n = 0; n < 4; n++)
#pragma unroll
          for (int q = 0; q < 4; q++) c[m][n][q] = 0;
    }
    const half *a = (RESIDENT ? xs : xs + s * 2 * SIDE) + (warp_row * 64 + (lane & 15)) * LD + (lane >> 4) * 8;
    const half *b = ys + s * 2 * SIDE + (warp_column * 32 + (lane & 7) + ((lane >> 4) << 3)) * LD + ((lane >> 3) & 1) * 8;
#pragma unroll
    for (int k = 0; k < KC * 16; k += 16) {
      unsigned high[2][4], low[2][4];
#pragma unroll
      for (int n = 0; n < 2; n++) {
        load_matrices(high[n], b + n * 16 * LD + k);
        load_matrices(low[n], b + SIDE + n * 16 * LD + k);
      }
#pragma unroll
      for (int m = 0; m < 4; m++) {
        unsigned row_high[4], row_low[4];
        load_matrices(row_high, a + m * 16 * LD + k);
        load_matrices(row_low, a + SIDE + m * 16 * LD + k);
#pragma unroll
        for (int n = 0; n < 4; n++) multiply_add(c[m][n], row_low, high[n / 2] + n % 2 * 2);
#pragma unroll
        for (int n = 0; n < 4; n++) multiply_add(c[m][n], row_high, low[n / 2] + n % 2 * 2);
#pragma unroll
        for (int n = 0; n < 4; n++) multiply_add(c[m][n], row_high, high[n / 2] + n % 2 * 2);
      }
    }
    if (++part != parts) continue;
    part = 0;
    float down[8] = {};
    // For all but the Gaussian the products become minus the squared distance first: several values may be taken of it.
    if (!Profile::gaussian) {
#pragma unroll
      for (int n = 0; n < 4; n++) {
        const float2 norm = *(const float2 *)&norms[s][warp_column * 32 + n * 8 + (lane & 3) * 2];
#pragma unroll
        for (int m = 0; m < 4; m++)
#pragma unroll
          for (int q = 0; q < 4; q++)
            c[m][n][q] = fminf(c[m][n][q] - row_norm[m][q / 2] - (q % 2 ? norm.y : norm.x), 0.0f);
      }
    }
#pragma unroll 1
    for (int f = 0; f < Profile::many(factors); f++) {
      const float factor = Profile::factor(factors, f);
#pragma unroll
      for (int n = 0; n < 4; n++) {
        const float2 weight = *(const float2 *)&weights[s][warp_column * 32 + n * 8 + (lane & 3) * 2];
#pragma unroll
        for (int m = 0; m < 4; m++)
#pragma unroll
          for (int h = 0; h < 2; h++) {
            const float v0 = Profile::value(c[m][n][h * 2], factor), v1 = Profile::value(c[m][n][h * 2 + 1], factor);
            sums[m * 2 + h] = fmaf(v1, weight.y, fmaf(v0, weight.x, sums[m * 2 + h]));
            down[n * 2] = fmaf(v0, row_weight[m][h], down[n * 2]);
            down[n * 2 + 1] = fmaf(v1, row_weight[m][h], down[n * 2 + 1]);
          }
      }
    }
    if (columns.limbs && !(own && j == tile)) {
      float total = add_up_columns<float, 8>(down, lane);
      const int mine = lane >> 2, column = warp_column * 32 + mine / 2 * 8 + (lane & 3) * 2 + mine % 2;
      if (Profile::gaussian) total *= norms[s][column];
      columns.add((long long)j * TILE + column, total);
    }
    if (step % FLUSH_TILES == FLUSH_TILES - 1 || step == length - 1) {
      add_up_rows<float, 8>(sums, lane);
#pragma unroll
      for (int i = 0; i < 2; i++) {
        const long long place = (long long)tile * TILE + row(lane % 4, i);
        rows.add(place, Profile::gaussian ? sums[i] * x.factor[place] : sums[i]);
      }
#pragma unroll
      for (int i = 0; i < 8; i++) sums[i] = 0;
    }
    step++;
    j = j + 1 == end ? begin : j + 1;
  }
}
