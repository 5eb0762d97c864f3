//! Inner loops: distances, kernel and sums in registers, for some rows against panels of sixteen columns.
//!
//! A group of R rows passes over all columns of a tile; for V vectors of columns its R·V distances are accumulated
//! coordinate by coordinate (R·V independent chains, which hides the latency), turned into kernel values, and added to R
//! running row sums and, where the tile is used for both of its sides, to the sums of the columns. Few kernel values are
//! added up in the precision of the lanes before they go into f64: a herder looks for the largest of many scores, and
//! so for the largest of many rounding errors.

use fearless_simd::Simd;
use fearless_simd::prelude::*;

use crate::lanes::{Lane, Vector};
use crate::panels::{COORDINATE_BLOCK, WIDTH};
use crate::profile::{Accumulator, MOST_COLUMNS, Profile};

/// Largest number of columns of a tile.
pub(crate) const TILE: usize = 512;

/// One side of a tile: panels, and the weight of each place in them.
#[derive(Clone, Copy)]
pub(crate) struct Side<'a, T> {
    pub(crate) panels: &'a [T],
    pub(crate) weights: &'a [T],
}

/// Adds the sums over the columns to `row_sums` and, if there are `column_sums`, the sums over the rows to those. There
/// are always weights, 1 for equal ones.
#[inline(always)]
pub(crate) fn tile<S: Simd, T: Lane, P: Profile<T>>(
    simd: S,
    profile: P,
    dim: usize,
    rows: Side<T>,
    columns: Side<T>,
    row_sums: &mut [f64],
    column_sums: Option<&mut [f64]>,
) {
    // Sixteen rows fill the 32 registers of AVX-512 with their distances and sums. The exponential in f64 needs some of them
    // itself, so there eight rows are quicker. Elsewhere there are 16 registers, and kernels of several columns keep several
    // sums a row.
    let is_widest = size_of::<Vector<S, T>>() == 64 && P::COLUMNS == 1;
    if is_widest && P::NORMS {
        // Wide rows: with one vector of columns each multiply-add would load a number, and loads would be the limit.
        in_groups::<S, T, P, 8, 2, 16>(simd, profile, dim, rows, columns, row_sums, column_sums);
    } else if is_widest && size_of::<T>() == size_of::<f32>() {
        in_groups::<S, T, P, 16, 1, 16>(simd, profile, dim, rows, columns, row_sums, column_sums);
    } else if is_widest {
        in_groups::<S, T, P, 8, 1, 8>(simd, profile, dim, rows, columns, row_sums, column_sums);
    } else if P::COLUMNS == 1 && 2 * Vector::<S, T>::LEN <= WIDTH {
        // Two vectors of columns: four chains of sums alone would wait for each other.
        in_groups::<S, T, P, 4, 2, 8>(simd, profile, dim, rows, columns, row_sums, column_sums);
    } else {
        in_groups::<S, T, P, 4, 1, 4>(simd, profile, dim, rows, columns, row_sums, column_sums);
    }
}

/// The tile in groups of R rows and V vectors of columns, N = R·V in all.
#[inline(always)]
fn in_groups<S: Simd, T: Lane, P: Profile<T>, const R: usize, const V: usize, const N: usize>(
    simd: S,
    profile: P,
    dim: usize,
    rows: Side<T>,
    columns: Side<T>,
    row_sums: &mut [f64],
    column_sums: Option<&mut [f64]>,
) {
    match column_sums {
        Some(sums) => both_sides::<S, T, P, R, V, N>(simd, profile, dim, rows, columns, row_sums, sums),
        None => {
            row_groups::<S, T, P, R, V, N, false, false>(simd, profile, dim, rows, columns, row_sums, &mut [])
        }
    }
}

#[inline(always)]
fn both_sides<S: Simd, T: Lane, P: Profile<T>, const R: usize, const V: usize, const N: usize>(
    simd: S,
    profile: P,
    dim: usize,
    rows: Side<T>,
    columns: Side<T>,
    row_sums: &mut [f64],
    column_sums: &mut [f64],
) {
    // To multiply by ones rounds nothing, but takes a twentieth of the time of all pairs where there are few coordinates.
    let are_ones = |weights: &[T]| weights.iter().fold(true, |all, &weight| all & (weight == T::ONE));
    let is_plain = are_ones(columns.weights) && are_ones(rows.weights);
    let groups = rows.panels.chunks(PANELS_IN_LANES * dim * WIDTH);
    let weights = rows.weights.chunks(PANELS_IN_LANES * WIDTH);
    for ((panels, weights), row_sums) in groups.zip(weights).zip(row_sums.chunks_mut(PANELS_IN_LANES * WIDTH))
    {
        let mut sums = [T::ZERO; TILE];
        let rows = Side { panels, weights };
        // Not tested in the inner loop, which would be a tenth slower with two coordinates.
        match is_plain {
            true => row_groups::<S, T, P, R, V, N, true, true>(
                simd, profile, dim, rows, columns, row_sums, &mut sums,
            ),
            false => row_groups::<S, T, P, R, V, N, true, false>(
                simd, profile, dim, rows, columns, row_sums, &mut sums,
            ),
        }
        column_sums.iter_mut().zip(sums).for_each(|(total, sum)| *total += sum.to_f64());
    }
}

/// Panels, of rows or of columns, whose kernel values are added up in the lanes before they go into f64.
const PANELS_IN_LANES: usize = 8;

/// The tile, R rows after R rows; for both of its sides the sums of the columns stay in the lanes. It is plain where all
/// weights are 1.
#[inline(always)]
fn row_groups<
    S: Simd,
    T: Lane,
    P: Profile<T>,
    const R: usize,
    const V: usize,
    const N: usize,
    const BOTH: bool,
    const PLAIN: bool,
>(
    simd: S,
    profile: P,
    dim: usize,
    rows: Side<T>,
    columns: Side<T>,
    row_sums: &mut [f64],
    column_sums: &mut [T],
) {
    let lanes = Vector::<S, T>::LEN;
    let zero = Vector::<S, T>::splat(simd, T::ZERO);
    // Panels that V vectors of columns come from, one or two.
    let abreast = (V * lanes).div_ceil(WIDTH);
    let row_panels = rows.panels.chunks_exact(dim * WIDTH).zip(row_sums.chunks_mut(WIDTH));
    for (row_panel, (row_coordinates, row_sums)) in row_panels.enumerate() {
        let (row_coordinates, norms) = split_norms::<T, P>(row_coordinates, WIDTH);
        for first in (0..WIDTH).step_by(R) {
            let row_norms: &[T; R] = match P::NORMS {
                true => norms[first..].first_chunk().expect("a norm for each place"),
                false => &[T::ZERO; R],
            };
            let mut wide_totals = [[0.0; WIDTH]; R];
            // Known to be R of them before the inner loop, which would look at its bounds at every kernel value else.
            let row_weights: &[T; R] = match BOTH && !PLAIN {
                true => {
                    rows.weights[row_panel * WIDTH + first..].first_chunk().expect("a weight for each place")
                }
                false => &[T::ZERO; R],
            };
            for (group, panels) in columns.panels.chunks(PANELS_IN_LANES * dim * WIDTH).enumerate() {
                let mut totals = [zero; R];
                for (i, panels) in panels.chunks(abreast * dim * WIDTH).enumerate() {
                    let (one, other) = panels.split_at(dim * WIDTH);
                    // A last panel may have no neighbour: then it is taken twice, and counts once.
                    let is_alone = abreast == 1 || other.is_empty();
                    let (coordinates, norms) = split_norms::<T, P>(one, WIDTH);
                    let (others, other_norms) = match is_alone {
                        true => (coordinates, norms),
                        false => split_norms::<T, P>(other, WIDTH),
                    };
                    for lane in (0..WIDTH).step_by(V * lanes) {
                        let distances = distances::<S, T, P, R, V, N>(
                            simd,
                            profile,
                            row_coordinates,
                            first,
                            [coordinates, others],
                            lane,
                        );
                        // A macro: in a loop with a way out the distances go through memory, and wide rows lose the gain.
                        macro_rules! add_values {
                            ($v:expr) => {{
                                let (panel, lane) = panel_and_lane::<S, T>(lane, $v);
                                let place = (group * PANELS_IN_LANES + i * abreast + panel) * WIDTH + lane;
                                let norms = match P::NORMS {
                                    true => {
                                        let norms = if panel == 0 { norms } else { other_norms };
                                        Vector::<S, T>::from_slice(simd, &norms[lane..lane + lanes])
                                    }
                                    false => zero,
                                };
                                let mut down = zero;
                                if PLAIN {
                                    for r in 0..R {
                                        let sum = distances[r * V + $v];
                                        let value = profile.value_with(simd, sum, row_norms[r], norms);
                                        totals[r] += value;
                                        down += value;
                                    }
                                } else {
                                    let weights = &columns.weights[place..place + lanes];
                                    let weights = Vector::<S, T>::from_slice(simd, weights);
                                    for r in 0..R {
                                        let sum = distances[r * V + $v];
                                        let value = profile.value_with(simd, sum, row_norms[r], norms);
                                        totals[r] = value.mul_add(weights, totals[r]);
                                        if BOTH {
                                            let weight = Vector::<S, T>::splat(simd, row_weights[r]);
                                            down = value.mul_add(weight, down);
                                        }
                                    }
                                }
                                if BOTH {
                                    let sums = &mut column_sums[place..place + lanes];
                                    (Vector::<S, T>::from_slice(simd, sums) + down).store_slice(sums);
                                }
                            }};
                        }
                        if abreast == 1 {
                            for v in 0..V {
                                add_values!(v);
                            }
                        } else {
                            add_values!(0);
                            if !is_alone {
                                add_values!(1);
                            }
                        }
                    }
                }
                for (wide, total) in wide_totals.iter_mut().zip(totals) {
                    T::add_to(simd, total, wide);
                }
            }
            // A last panel may hold fewer rows than its places.
            for (sum, wide) in row_sums.iter_mut().skip(first).zip(wide_totals) {
                *sum += wide.iter().sum::<f64>();
            }
        }
    }
}

/// Sums of the profile for R rows and V vectors of columns, row by row; for most kernels minus the distance.
#[inline(always)]
fn distances<S: Simd, T: Lane, P: Profile<T>, const R: usize, const V: usize, const N: usize>(
    simd: S,
    profile: P,
    rows: &[T],
    first: usize,
    columns: [&[T]; 2],
    lane: usize,
) -> [P::Acc<S>; N] {
    let zero = P::Acc::<S>::zero(simd);
    // A macro: a closure that is called twice may not be inlined, and is then compiled without the instruction set
    // around it, each operation a call; and a function made wide points a quarter slower.
    macro_rules! block {
        ($rows:expr, $columns:expr, $others:expr) => {{
            let mut sums = [zero; N];
            let together = WIDTH * P::COLUMNS;
            let columns = $columns.chunks_exact(together).zip($others.chunks_exact(together));
            for (x, (one, other)) in $rows.chunks_exact(together).zip(columns) {
                let mut ys = [[Vector::<S, T>::splat(simd, T::ZERO); MOST_COLUMNS]; V];
                for v in 0..V {
                    let (panel, lane) = panel_and_lane::<S, T>(lane, v);
                    ys[v] = vectors::<S, T, P>(simd, if panel == 0 { one } else { other }, lane);
                }
                let mut columns = [&x[..0]; MOST_COLUMNS];
                for c in 0..P::COLUMNS {
                    columns[c] = &x[c * WIDTH + first..c * WIDTH + first + R];
                }
                for r in 0..R {
                    let mut x = [T::ZERO; MOST_COLUMNS];
                    for c in 0..P::COLUMNS {
                        x[c] = columns[c][r];
                    }
                    for v in 0..V {
                        sums[r * V + v] = profile.accumulate(sums[r * V + v], x, ys[v]);
                    }
                }
            }
            sums
        }};
    }
    let (numbers, [columns, others]) = (block_columns::<T, P>() * WIDTH, columns);
    if rows.len() <= numbers {
        return block!(rows, columns, others);
    }
    let mut sums = [zero; N];
    for (rows, (columns, others)) in
        rows.chunks(numbers).zip(columns.chunks(numbers).zip(others.chunks(numbers)))
    {
        let partial = block!(rows, columns, others);
        for i in 0..N {
            sums[i] = sums[i].plus(partial[i]);
        }
    }
    sums
}

/// Where the vector `v` after a lane begins: in the same panel (0) or the next (1), and at which lane of it.
#[inline(always)]
fn panel_and_lane<S: Simd, T: Lane>(lane: usize, v: usize) -> (usize, usize) {
    let at = lane + v * Vector::<S, T>::LEN;
    (at / WIDTH, at % WIDTH)
}

/// The coordinates of points and, where the profile needs them, their norms, which come last: `width` numbers for each.
#[inline(always)]
fn split_norms<T: Lane, P: Profile<T>>(numbers: &[T], width: usize) -> (&[T], &[T]) {
    numbers.split_at(if P::NORMS { numbers.len() - width } else { numbers.len() })
}

/// Columns summed at once: whole coordinates.
#[inline(always)]
fn block_columns<T: Lane, P: Profile<T>>() -> usize {
    COORDINATE_BLOCK / P::COLUMNS * P::COLUMNS
}

/// One coordinate of a vector of points.
#[inline(always)]
fn vectors<S: Simd, T: Lane, P: Profile<T>>(
    simd: S,
    columns: &[T],
    lane: usize,
) -> [Vector<S, T>; MOST_COLUMNS] {
    let mut vectors = [Vector::<S, T>::splat(simd, T::ZERO); MOST_COLUMNS];
    for (c, vector) in vectors.iter_mut().enumerate().take(P::COLUMNS) {
        let at = c * WIDTH + lane;
        *vector = Vector::<S, T>::from_slice(simd, &columns[at..at + Vector::<S, T>::LEN]);
    }
    vectors
}

/// One kernel row: adds `weight`·k(xᵢ, y) to `sums[i]` for the points x of the panels.
#[inline(always)]
pub(crate) fn add_row<S: Simd, T: Lane, P: Profile<T>>(
    simd: S,
    profile: P,
    panels: &[T],
    y: &[T],
    weight: f64,
    sums: &mut [f64],
) {
    let lanes = Vector::<S, T>::LEN;
    let (full, rest) = sums.as_chunks_mut::<WIDTH>();
    let mut panels = panels.chunks_exact(y.len() * WIDTH);
    for (sums, panel) in full.iter_mut().zip(&mut panels) {
        let values = panel_values::<S, T, P>(simd, profile, panel, y);
        // On vectors by hand: a plain loop over the places may come out as scalars and shuffles.
        for lane in (0..WIDTH).step_by(lanes) {
            let values = Vector::<S, T>::from_slice(simd, &values[lane..lane + lanes]);
            T::add_scaled_to(simd, values, weight, &mut sums[lane..lane + lanes]);
        }
    }
    // A last panel may hold fewer points than its places.
    if let Some(panel) = panels.next() {
        let values = panel_values::<S, T, P>(simd, profile, panel, y);
        rest.iter_mut().zip(values).for_each(|(sum, value)| *sum += weight * value.to_f64());
    }
}

/// One kernel row: k(xᵢ, y) for the points x of the panels, written, or added with a factor.
#[inline(always)]
pub(crate) fn fill_row<S: Simd, T: Lane, P: Profile<T>>(
    simd: S,
    profile: P,
    panels: &[T],
    y: &[T],
    added: Option<T>,
    row: &mut [T],
) {
    for (row, panel) in row.chunks_mut(WIDTH).zip(panels.chunks_exact(y.len() * WIDTH)) {
        let values = panel_values::<S, T, P>(simd, profile, panel, y);
        // The last panel may have fewer points; the others are full, so that vectors can be used.
        match row.first_chunk_mut::<WIDTH>() {
            Some(row) => put(added, &values, row),
            None => put(added, &values[..row.len()], row),
        }
    }
}

/// Writes the values, or adds them with a factor.
#[inline(always)]
fn put<T: Lane>(added: Option<T>, values: &[T], row: &mut [T]) {
    match added {
        None => row.copy_from_slice(values),
        Some(factor) => row.iter_mut().zip(values).for_each(|(sum, &value)| *sum += factor * value),
    }
}

/// k(x, y) for the points x of one panel.
#[inline(always)]
fn panel_values<S: Simd, T: Lane, P: Profile<T>>(simd: S, profile: P, panel: &[T], y: &[T]) -> [T; WIDTH] {
    let lanes = Vector::<S, T>::LEN;
    let mut values = [T::ZERO; WIDTH];
    let (panel, norms) = split_norms::<T, P>(panel, WIDTH);
    let (y, norm) = split_norms::<T, P>(y, 1);
    for lane in (0..WIDTH).step_by(lanes) {
        let block = block_columns::<T, P>();
        let distance = if y.len() <= block {
            block_distance::<S, T, P>(simd, profile, panel, y, lane)
        } else {
            let mut sum = P::Acc::<S>::zero(simd);
            for (x, y) in panel.chunks(block * WIDTH).zip(y.chunks(block)) {
                sum = sum.plus(block_distance::<S, T, P>(simd, profile, x, y, lane));
            }
            sum
        };
        let value = match P::NORMS {
            true => {
                let norms = Vector::<S, T>::from_slice(simd, &norms[lane..lane + lanes]);
                profile.value_with(simd, distance, norm[0], norms)
            }
            false => profile.value(simd, distance),
        };
        value.store_slice(&mut values[lane..lane + lanes]);
    }
    values
}

/// Sums of the profile over one block of coordinates of a vector of points and y. A function, because a closure that is
/// called twice may not be inlined, and is then compiled without the instruction set around it.
#[inline(always)]
fn block_distance<S: Simd, T: Lane, P: Profile<T>>(
    simd: S,
    profile: P,
    panel: &[T],
    y: &[T],
    lane: usize,
) -> P::Acc<S> {
    let mut sum = P::Acc::<S>::zero(simd);
    for (x, y) in panel.chunks_exact(WIDTH * P::COLUMNS).zip(y.chunks_exact(P::COLUMNS)) {
        let mut one = [T::ZERO; MOST_COLUMNS];
        one.iter_mut().zip(y).for_each(|(one, &y)| *one = y);
        sum = profile.accumulate(sum, one, vectors::<S, T, P>(simd, x, lane));
    }
    sum
}

/// The largest of factor·μᵢ + sumᵢ + offsetᵢ; −∞ of nothing.
#[inline(always)]
pub(crate) fn largest(factor: f64, mu: &[f64], sums: &[f64], offsets: Option<&[f64]>) -> f64 {
    // Eight running maxima are one vector of f64 and no chain of dependent comparisons.
    const LANES: usize = 8;
    let mut best = [f64::NEG_INFINITY; LANES];
    let raise = |best: &mut f64, score: f64| *best = if score > *best { score } else { *best };
    let (mu, mu_rest) = mu.as_chunks::<LANES>();
    let (sums, sums_rest) = sums.as_chunks::<LANES>();
    match offsets {
        None => {
            for (mu, sums) in mu.iter().zip(sums) {
                for lane in 0..LANES {
                    raise(&mut best[lane], factor * mu[lane] + sums[lane]);
                }
            }
            for (mu, sum) in mu_rest.iter().zip(sums_rest) {
                raise(&mut best[0], factor * mu + sum);
            }
        }
        Some(offsets) => {
            let (offsets, offsets_rest) = offsets.as_chunks::<LANES>();
            for ((mu, sums), offsets) in mu.iter().zip(sums).zip(offsets) {
                for lane in 0..LANES {
                    raise(&mut best[lane], factor * mu[lane] + sums[lane] + offsets[lane]);
                }
            }
            for ((mu, sum), offset) in mu_rest.iter().zip(sums_rest).zip(offsets_rest) {
                raise(&mut best[0], factor * mu + sum + offset);
            }
        }
    }
    best.into_iter().fold(f64::NEG_INFINITY, f64::max)
}
