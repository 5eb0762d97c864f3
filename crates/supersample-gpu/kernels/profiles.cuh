// Profiles: the kernels, one pair at a time. How a coordinate adds to what is kept of a pair, and the kernel's value from that.
//
// Coordinates are in the unit of the kernel (`unit` in supersample-sum), in which the exponentials are powers of two; the
// distance is accumulated with a minus sign, because that is what the exponential wants. One shape is compiled at a
// time: SHAPE is its name (see build.sh).
#pragma once

// 16 bytes from memory to an array in registers, and back.
__device__ __forceinline__ void load_16_bytes(float *to, const float *from) {
  const float4 v = *(const float4 *)from;
  to[0] = v.x, to[1] = v.y, to[2] = v.z, to[3] = v.w;
}
__device__ __forceinline__ void load_16_bytes(double *to, const double *from) {
  const double2 v = *(const double2 *)from;
  to[0] = v.x, to[1] = v.y;
}
__device__ __forceinline__ void store_16_bytes(float *to, const float *from) {
  *(float4 *)to = float4{from[0], from[1], from[2], from[3]};
}
__device__ __forceinline__ void store_16_bytes(double *to, const double *from) { *(double2 *)to = double2{from[0], from[1]}; }

template <class T> __device__ __forceinline__ T exp2_of(T x);

// Off by at most two units in the last place; subnormal results are zero.
template <> __device__ __forceinline__ float exp2_of(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// The polynomial of supersample-sum's lanes.rs: relative error 5e-16. Below 2^-1021 the result stays there.
template <> __device__ __forceinline__ double exp2_of(double x) {
  const double rounder = 6755399441055744.0;
  x = fmax(x, -1021.0);
  double rounded = x + rounder;
  double f = x - (rounded - rounder);
  double p = 4.078071929588337e-10;
  p = fma(p, f, 7.072570412814423e-9);
  p = fma(p, f, 1.0180647659234139e-7);
  p = fma(p, f, 1.3215442675329822e-6);
  p = fma(p, f, 1.5252727385193868e-5);
  p = fma(p, f, 0.0001540353044157213);
  p = fma(p, f, 0.0013333558153439965);
  p = fma(p, f, 0.009618129107607002);
  p = fma(p, f, 0.05550410866479039);
  p = fma(p, f, 0.24022650695910098);
  p = fma(p, f, 0.6931471805599457);
  p = fma(p, f, 1.0);
  return __hiloint2double(__double2hiint(p) + (__double2loint(rounded) << 20), __double2loint(p));
}

__device__ __forceinline__ float root_of(float s) {
  float r;
  asm("sqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(s));
  return r;
}
__device__ __forceinline__ double root_of(double s) { return sqrt(s); }

__device__ __forceinline__ float inverse_root_of(float s) {
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(s));
  return r;
}
__device__ __forceinline__ double inverse_root_of(double s) { return 1.0 / sqrt(s); }

// (l1/li)^2 of several Gaussians, whose values are added up: the host divides the sum by their number. Others have none, and
// one value.
template <class T> struct Factors {
  const T *values;
  int count;
};

// minus the squared Euclidean distance
struct MinusSquare {
  template <class T> static __device__ __forceinline__ T add(T acc, T x, T y) {
    T z = x - y;
    return fma(z, -z, acc);
  }
};
// minus the sum of absolute differences
struct MinusManhattan {
  template <class T> static __device__ __forceinline__ T add(T acc, T x, T y) { return acc - fabs(x - y); }
};

// A profile has: add (above); many, how many values there are to add up; factor and value, the
// i-th of them; whether it is a smooth function of the squared distance, so that the squared
// distance may come from products, whose rounding a square root at zero would magnify; whether it is the Gaussian,
// whose value is a product of what belongs to x, what belongs to y and 2^(x.y).
struct One {
  template <class T> static __device__ __forceinline__ int many(Factors<T>) { return 1; }
  template <class T> static __device__ __forceinline__ T factor(Factors<T>, int) { return T(1); }
};
struct Gaussian : MinusSquare, One {
  static constexpr bool smooth = true, gaussian = true;
  template <class T> static __device__ __forceinline__ T value(T acc, T) { return exp2_of(acc); }
};
struct Gaussians : MinusSquare {
  static constexpr bool smooth = true, gaussian = false;
  template <class T> static __device__ __forceinline__ int many(Factors<T> factors) { return factors.count; }
  template <class T> static __device__ __forceinline__ T factor(Factors<T> factors, int i) { return factors.values[i]; }
  template <class T> static __device__ __forceinline__ T value(T acc, T factor) { return exp2_of(acc * factor); }
};
struct Laplace : MinusManhattan, One {
  static constexpr bool smooth = false, gaussian = false;
  template <class T> static __device__ __forceinline__ T value(T acc, T) { return exp2_of(acc); }
};
template <int DEGREE> struct Matern : MinusSquare, One {
  static constexpr bool smooth = DEGREE > 0, gaussian = false;
  template <class T> static __device__ __forceinline__ T value(T acc, T) {
    const T ln2 = T(0.6931471805599453);
    T u = root_of(-acc), decay = exp2_of(-u);
    // Beyond the range of the exponential u is cut, so that the polynomial does not blow the tail up again.
    u = u < T(sizeof(T) == 4 ? 125 : 1021) ? u : T(sizeof(T) == 4 ? 125 : 1021);
    if (DEGREE == 0) return decay;
    if (DEGREE == 1) return fma(u, ln2, T(1)) * decay;
    return fma(u, fma(u, ln2 * ln2 / T(3), ln2), T(1)) * decay;
  }
};
using Matern12 = Matern<0>;
using Matern32 = Matern<1>;
using Matern52 = Matern<2>;
struct Imq : MinusSquare, One {
  static constexpr bool smooth = true, gaussian = false;
  template <class T> static __device__ __forceinline__ T value(T acc, T) { return inverse_root_of(T(1) - acc); }
};
struct Linear : One {
  static constexpr bool smooth = false, gaussian = false;
  template <class T> static __device__ __forceinline__ T add(T acc, T x, T y) { return fma(x, y, acc); }
  template <class T> static __device__ __forceinline__ T value(T acc, T) { return acc; }
};
struct Energy : MinusSquare, One {
  static constexpr bool smooth = false, gaussian = false;
  template <class T> static __device__ __forceinline__ T value(T acc, T) { return -root_of(-acc); }
};
struct Manhattan : MinusManhattan, One {
  static constexpr bool smooth = false, gaussian = false;
  template <class T> static __device__ __forceinline__ T value(T acc, T) { return acc; }
};
