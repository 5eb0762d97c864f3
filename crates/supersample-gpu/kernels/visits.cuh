// Visits to the positions of a set of chosen points, as many as there are in one launch.
//
// Every point belongs to one thread, which alone reads and writes its sum, its kernel values and how often it is chosen. All
// threads of the device are there at once (a cooperative launch) and go through the same steps; blocks meet once a visit, to agree on
// the best point. Whatever is decided is decided by every block for itself from the same numbers.
#pragma once
#include "rows.cuh"

// What is to be done at a position. BEGIN: make the kernel row of the point there and take it from the sums. PUT: put `point`
// there. VISIT: look for the point that fits best, and put it there if its score is more than `threshold` above the fit of
// the one there; where `point` is not -1, only if that one is more than `threshold` better by now. `noise` is where in the
// noise the look begins, -1 for none.
struct Step {
  long long kind, position, point, noise;
  double scale, threshold;
};
enum StepKind : long long { BEGIN, PUT, VISIT };

// What came of a step: the best point with its fit, and that of the one that was there.
struct Outcome {
  double fit, fit_here;
  long long index, verdict;
};
enum Verdict : long long { STAYED, TAKEN, PASSED_OVER };

// What is matched beside the joint distribution: points of the same number and stride, the kernel and what it is multiplied by.
struct PartView {
  const void *x;
  long long dim, is_linear;
  double factor;
};

// Where blocks meet: what each of them has found, and the number of the last meeting it has come to.
struct Seat {
  double score, fit;
  long long index, meeting;
};

// Times a point is chosen; the highest bit closes it for good.
__device__ __forceinline__ bool is_open(unsigned times, int repeats) { return repeats ? !(times >> 31) : !times; }

template <class Profile, class T> struct Summed {
  const T *x;
  long long stride;
  int dim;
  Factors<T> factors;
  const PartView *parts;
  int part_count;
  T *staged;  // coordinates of one point and its views, in shared memory; null where they do not fit

  // Makes the point y the one that values are of.
  __device__ __forceinline__ void stage(long long y) const {
    if (!staged) return;
    __syncthreads();
    for (int c = threadIdx.x; c < dim; c += blockDim.x) staged[c] = x[c * stride + y];
    T *to = staged + dim;
    for (int p = 0; p < part_count; p++) {
      const T *views = (const T *)parts[p].x;
      const int many = (int)parts[p].dim;
      for (int c = threadIdx.x; c < many; c += blockDim.x) to[c] = views[c * stride + y];
      to += many;
    }
    __syncthreads();
  }

  template <class Kernel> __device__ __forceinline__ T accumulated(const T *at, int many, long long i, const T *y, long long y_stride) const {
    T acc = 0;
#pragma unroll 4
    for (int c = 0; c < many; c++) acc = Kernel::add(acc, at[c * stride + i], y[c * y_stride]);
    return acc;
  }

  // The sum of the kernels between the point i and the staged one, y.
  __device__ __forceinline__ T value(long long i, long long y) const {
    const T *from = staged ? staged : x + y;
    const long long y_stride = staged ? 1 : stride;
    const T acc = accumulated<Profile>(x, dim, i, from, y_stride);
    const int many = Profile::many(factors);
    T value = Profile::value(acc, Profile::factor(factors, 0));
    for (int f = 1; f < many; f++) value += Profile::value(acc, Profile::factor(factors, f));
    if (many > 1) value /= T(many);
    from += dim;
    for (int p = 0; p < part_count; p++) {
      const T *views = (const T *)parts[p].x;
      const int count = (int)parts[p].dim;
      if (!staged) from = views + y;
      const T of_part = parts[p].is_linear ? accumulated<Linear>(views, count, i, from, y_stride)
                                           : accumulated<Manhattan>(views, count, i, from, y_stride);
      value = fma((T)parts[p].factor, of_part, value);
      from += count;
    }
    return value;
  }
};

// Waits until all blocks have come to this meeting, and gives the best of what they have brought. What a block has written before
// is seen by all after it. There are two rows of seats, in turn: nobody takes a seat for the next meeting but one
// before all have left this one.
__device__ __forceinline__ Candidate meet(Seat *seats, long long meeting, Candidate brought) {
  seats += (meeting & 1) * gridDim.x;
  __syncthreads();
  if (threadIdx.x == 0) {
    Seat *own = seats + blockIdx.x;
    own->score = brought.score;
    own->fit = brought.sum;
    own->index = brought.index;
    __threadfence();
    asm volatile("st.release.gpu.global.s64 [%0], %1;" ::"l"(&own->meeting), "l"(meeting) : "memory");
  }
  Candidate best = no_candidate();
  for (int block = threadIdx.x; block < (int)gridDim.x; block += blockDim.x) {
    const Seat *seat = seats + block;
    long long there;
    do {
      asm volatile("ld.acquire.gpu.global.s64 %0, [%1];" : "=l"(there) : "l"(&seat->meeting) : "memory");
    } while (there != meeting);
    best = better(best, Candidate{__ldcg(&seat->score), __ldcg(&seat->fit), __ldcg(&seat->index)});
  }
  return best_of_block(best);
}

// Makes these steps one after the other. `rows` has the kernel row of each position, or of the one that is visited where
// row_stride is 0. `fits` has two places, in turn, for the fit of the point at the position.
template <class Profile, class T>
__device__ __forceinline__ void visits(Summed<Profile, T> summed, long long n, const Step *steps, int many, T *rows,
                                       long long row_stride, double *sums, unsigned *times, int repeats, long long *chosen,
                                       const float *noise, Seat *seats, double *fits, Outcome *outcomes) {
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x, stride = (long long)gridDim.x * blockDim.x;
  const bool leads = first == 0;
  long long meeting = 0, last_position = -1, last_point = -1;
  // Whether sums have changed since the last meeting, so that those of others cannot be looked at yet.
  bool changed = false;
  for (int v = 0; v < many; v++) {
    const Step step = steps[v];
    T *row = rows + step.position * row_stride;
    // What the last step has put there is seen by others from the next meeting on.
    const long long here = step.position == last_position ? last_point : __ldcg(chosen + step.position);
    if (step.kind == BEGIN || row_stride == 0) {
      summed.stage(here);
      for (long long i = first; i < n; i += stride) row[i] = summed.value(i, here);
    }
    if (step.kind == BEGIN) {
      for (long long i = first; i < n; i += stride) sums[i] = __dsub_rn(sums[i], (double)row[i]);
      changed = true;
      continue;
    }
    Candidate best = no_candidate();
    if (step.kind == PUT) {
      best = Candidate{INFINITY, 0.0, step.point};
      if (leads) fits[meeting & 1] = 0.0;
    } else {
      if (step.point >= 0) {
        if (changed) meet(seats, ++meeting, best);
        changed = false;
        // A row that is not kept is made anew by whoever is at the next step already.
        const auto value_at = [&](long long i) { return row_stride ? __ldcg(row + i) : summed.value(i, here); };
        const long long rival = step.point;
        const double fit = __dadd_rn(__ldcg(sums + rival), (double)value_at(rival));
        const double fit_here = __dadd_rn(__ldcg(sums + here), (double)value_at(here));
        const bool is_better = __dsub_rn(fit, fit_here) > step.threshold;
        if (rival == here || !is_open(__ldcg(times + rival), repeats) || !is_better) {
          if (leads) outcomes[v] = Outcome{0.0, 0.0, -1, PASSED_OVER};
          continue;
        }
      }
      const float *from = step.noise < 0 ? nullptr : noise + step.noise;
      const T *next = rows + (v + 1 < many ? steps[v + 1].position : step.position) * row_stride;
      for (long long i = first; i < n; i += stride) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(next + i));
        const double fit = __dadd_rn(sums[i], (double)row[i]);
        if (i == here) fits[meeting & 1] = fit;
        if (i == here || !is_open(times[i], repeats)) continue;
        const double score = from ? __dadd_rn(fit, __dmul_rn(step.scale, (double)from[i])) : fit;
        if (score > best.score) best = Candidate{score, fit, i};
      }
      best = best_of_block(best);
    }
    const double *fit_here = fits + (meeting & 1);
    best = meet(seats, ++meeting, best);
    const double before = __ldcg(fit_here);
    const bool taken = best.index >= 0 && best.score > __dadd_rn(before, step.threshold);
    if (leads) {
      outcomes[v] = Outcome{best.sum, before, best.index, taken ? TAKEN : STAYED};
      if (taken) chosen[step.position] = best.index;
    }
    last_position = step.position;
    last_point = taken ? best.index : here;
    changed = taken;
    if (!taken) continue;
    summed.stage(best.index);
    for (long long i = first; i < n; i += stride) {
      const T value = summed.value(i, best.index);
      sums[i] = __dadd_rn(sums[i], __dsub_rn((double)row[i], (double)value));
      row[i] = value;
      if (i == here) times[i] -= 1;
      if (i == best.index) times[i] += 1;
    }
  }
}
