//! Kernel of the objective: that of the joint part plus those of the other parts, each times its factor.
//!
//! Times v_joint, the sum D² of `part/` is the squared MMD of one kernel, k + Σ fₚ·kₚ with fₚ = weightₚ·v_joint/vₚ.
//! What each part adds to a kernel row is computed while the row's points are in the cache (`Term`). Without parts the
//! functions of this file are those of the joint kernel.

use std::borrow::Cow;
use std::sync::Arc;

use supersample_sum::Term;

use super::{Pool, Preference, Terms};
use crate::device::Packing;
use crate::embedding::{MeanEmbedding, Values};
use crate::part::{Added, PackedViews};
use crate::points::expect_rows;
use crate::sum::{KernelRowMut, Packed, Precision, Scores};
use crate::{Error, Part, Points, Result};

/// The parts of a pool, packed for kernel rows, and the terms of the sum.
#[derive(Clone)]
pub(super) struct SumOfParts {
    parts: Arc<[PackedPart]>,
    /// v_joint, the unit of the sum.
    unit: f64,
    /// Terms of all parts and of the preference together.
    total: Terms,
    preference: Option<Preference>,
}

struct PackedPart {
    part: Part,
    factor: f64,
    packed: PackedViews,
}

impl SumOfParts {
    /// Parts for a pool of these points, whose joint part has these terms.
    pub(super) fn new(
        parts: Vec<Part>,
        mu: &dyn MeanEmbedding,
        joint: &Terms,
        points: &Points,
        rows: &Packed,
    ) -> Result<SumOfParts> {
        let single_draw = mu.single_draw().ok_or(Error::UnknownNorm)?;
        // Equal rows have no unit; only the parts can distinguish them.
        let unit = if single_draw > 32.0 * f64::EPSILON * joint.largest { single_draw } else { 1.0 };
        let packed = parts.into_iter().map(|part| {
            part.expect_rows(points.len())?;
            let factor = part.weight() * unit / part.single_draw();
            let packed = part.packed_with(rows, points);
            Ok(PackedPart { part, factor, packed })
        });
        let parts: Arc<[PackedPart]> = packed.collect::<Result<_>>()?;
        let total = parts.iter().fold(joint.clone(), |total, part| part.added_to(&total));
        total.check()?;
        Ok(SumOfParts { parts, unit, total, preference: None })
    }

    /// Adds a preference to the mean and to k(x, x) of the sum; it has no kernel.
    pub(super) fn preferring(self, preference: Preference, joint: &Terms) -> Result<SumOfParts> {
        expect_rows("the preference", preference.rewards.len(), joint.values.len())?;
        let mut total = self.parts.iter().fold(joint.clone(), |total, part| part.added_to(&total));
        total.values = total.values.iter().zip(&*preference.rewards).map(|(v, reward)| v + reward).collect();
        if let Some(penalties) = &preference.penalties {
            let half = |row: usize| total.half_diagonal.as_ref().map_or(0.0, |half| half[row]);
            let sum = penalties.iter().enumerate().map(|(row, penalty)| half(row) + penalty).collect();
            let largest = penalties.iter().fold(0.0, |a: f64, penalty| a.max(2.0 * penalty));
            (total.largest, total.usual) = (total.largest + largest, total.usual + largest);
            total.half_diagonal = Some(sum);
        }
        let largest = preference.rewards.iter().fold(0.0, |a: f64, reward| a.max(reward.abs()));
        (total.largest, total.usual) = (total.largest + largest, total.usual + largest);
        total.check()?;
        Ok(SumOfParts { total, preference: Some(preference), ..self })
    }

    /// Replaces the values of the joint part in the sum.
    pub(super) fn joint_is(&mut self, before: &[f64], values: &[f64]) {
        let total = self.total.values.iter().zip(before.iter().zip(values));
        self.total.values = total.map(|(sum, (before, value))| sum - before + value).collect();
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = &Part> {
        self.parts.iter().map(|packed| &packed.part)
    }

    pub(super) fn select(&self, rows: &[usize]) -> Result<SumOfParts> {
        let some = |PackedPart { part, factor, packed }: &PackedPart| {
            let part = part.select(rows)?;
            let packed = match packed {
                PackedViews::Numbers(packed) => packed.of_some(&part.views()?),
                _ => part.packed(Precision::Mixed),
            };
            Ok(PackedPart { packed: PackedViews::Numbers(packed), part, factor: *factor })
        };
        let parts = self.parts.iter().map(some).collect::<Result<_>>()?;
        let preference = self.preference.as_ref().map(|preference| preference.select(rows));
        Ok(SumOfParts { parts, unit: self.unit, total: self.total.select(rows), preference })
    }

    /// The parts packed for other rows.
    pub(super) fn packed_with(&self, rows: &Packed, points: &Points) -> SumOfParts {
        let again = |PackedPart { part, factor, .. }: &PackedPart| PackedPart {
            part: part.clone(),
            factor: *factor,
            packed: part.packed_with(rows, points),
        };
        SumOfParts { parts: self.parts.iter().map(again).collect(), ..self.clone() }
    }
}

impl PackedPart {
    /// The terms of a sum with this part in it.
    fn added_to(&self, total: &Terms) -> Terms {
        let PackedPart { part, factor, .. } = self;
        let values = match part.means() {
            None => total.values.clone(),
            Some(means) => {
                total.values.iter().zip(means).map(|(value, mean)| value + factor * mean).collect()
            }
        };
        // Kernels of parts without a varying k(x, x) are distances on the unit interval.
        let (half_diagonal, largest) = match part.diagonal() {
            None => (total.half_diagonal.clone(), 1.0),
            Some(diagonal) => {
                let own: Vec<f64> = diagonal.iter().map(|diagonal| factor * diagonal / 2.0).collect();
                let largest = own.iter().fold(1.0, |a: f64, half| a.max(2.0 * half / factor));
                let of_row = |row: usize| total.half_diagonal.as_ref().map_or(0.0, |half| half[row]);
                let sum = own.iter().enumerate().map(|(row, half)| half + of_row(row)).collect();
                (Some(sum), largest)
            }
        };
        Terms {
            values,
            half_diagonal,
            largest: total.largest + factor * largest,
            usual: total.usual + factor * largest.sqrt(),
            squared_norm: total.squared_norm.map(|norm| norm + factor * part.squared_norm()),
        }
    }

    fn view(&self, row: usize) -> Cow<'_, [f64]> {
        self.part.view(row)
    }
}

/// The sum, over rows of the pool.
impl Pool {
    /// Whether there are parts other than the joint distribution.
    pub(crate) fn has_parts(&self) -> bool {
        self.0.parts.is_some()
    }

    /// Source of single values of the joint kernel.
    pub(super) fn joint_kernel(&self) -> Values<'_> {
        Values::of(&**self.embedding())
    }

    fn terms(&self) -> &Terms {
        self.0.parts.as_ref().map_or(&self.0.joint, |parts| &parts.total)
    }

    fn packed_parts(&self) -> &[PackedPart] {
        self.0.parts.as_ref().map_or(&[], |parts| &parts.parts)
    }

    /// Each part with the factor of its kernel in the sum.
    pub(crate) fn factored_parts(&self) -> impl Iterator<Item = (&Part, f64)> {
        self.packed_parts().iter().map(|PackedPart { part, factor, .. }| (part, *factor))
    }

    /// The mean of the objective, at each row.
    pub(super) fn sum_values(&self) -> &[f64] {
        &self.terms().values
    }

    /// Half of the sum's k(x, x), if it varies.
    pub(super) fn sum_half_diagonals(&self) -> Option<&[f64]> {
        self.terms().half_diagonal.as_deref()
    }

    pub(super) fn sum_half_diagonal(&self, row: usize) -> f64 {
        self.sum_half_diagonals().map_or(0.0, |half| half[row])
    }

    /// The squared norm of the mean of the objective.
    pub(crate) fn sum_squared_norm(&self) -> Option<f64> {
        self.terms().squared_norm
    }

    /// The rounding of a sum of `size` kernel values over the pool.
    pub(crate) fn rounding(&self, size: f64) -> f64 {
        32.0 * f64::EPSILON * size * self.terms().largest
    }

    /// The rounding of a sum of kernel values with `size` ordinary rows in f32, each of which errs in its own direction.
    pub(crate) fn single_rounding(&self, size: f64) -> f64 {
        f64::from(f32::EPSILON) * size.sqrt() * self.terms().usual
    }

    /// The sum's kernel between two rows, in f64.
    pub(super) fn sum_kernel(&self, a: usize, b: usize) -> f64 {
        let points = self.points();
        let joint = self.joint_kernel().value(points.row(a), points.row(b));
        let parts = self.packed_parts().iter();
        parts.fold(joint, |sum, part| {
            sum + part.factor * part.part.kernel().value(&part.view(a), &part.view(b))
        })
    }

    /// The sum's k(x, x).
    pub(super) fn sum_diagonal(&self, row: usize) -> f64 {
        let joint = self.joint_kernel().diagonal(self.points().row(row));
        let parts = self.packed_parts().iter();
        parts.fold(joint, |sum, part| sum + part.factor * part.part.kernel().diagonal(&part.view(row)))
    }

    /// Σₜ k(x, xₜ) of the sum over all of these rows at each of them.
    pub(super) fn sums_among(&self, rows: &[usize]) -> Result<Vec<f64>> {
        if self.packed_parts().iter().any(|part| part.packed.numbers().is_none()) {
            return self.row_sums_among(rows);
        }
        let mut sums = self.joint_sums_among(rows)?;
        let mut own = vec![0.0; rows.len()];
        for PackedPart { part, factor, packed } in self.packed_parts() {
            packed.numbers().expect("numbers").of_some(&part.views_of(rows)?).own_mean_into(None, &mut own);
            let factor = factor * rows.len() as f64;
            sums.iter_mut().zip(&own).for_each(|(sum, own)| *sum += factor * own);
        }
        Ok(sums)
    }

    /// [`sums_among`](Self::sums_among) by kernel rows, as the scores of these rows are sums of them.
    fn row_sums_among(&self, rows: &[usize]) -> Result<Vec<f64>> {
        let points = self.points().select(rows)?;
        let joint = self.0.packed.of_some(&points);
        let among = |PackedPart { part, factor, packed }: &PackedPart| -> Result<PackedPart> {
            let part = part.select_as_is(rows, self.points(), &points)?;
            let packed = match packed {
                PackedViews::Numbers(packed) => PackedViews::Numbers(packed.of_some(&part.views()?)),
                _ => part.packed_with(&joint, &points),
            };
            Ok(PackedPart { part, factor: *factor, packed })
        };
        let parts: Vec<PackedPart> = self.packed_parts().iter().map(among).collect::<Result<_>>()?;
        let (mut kept, mut sums) = (joint.no_rows(), vec![0.0; rows.len()]);
        let row = kept.add();
        for (at, y) in points.rows().enumerate() {
            with_terms(&parts, at, &joint, |terms| joint.fill_row(y, terms, &mut kept.row_mut(row)));
            kept.row(row).add_to(1.0, &mut sums);
        }
        Ok(sums)
    }

    /// T²(D² − ‖μ‖²) of the sum for T rows, from that of the joint part. The parts need no pairs.
    pub(crate) fn energy_from(&self, rows: &[usize], joint_energy: f64) -> f64 {
        if !self.has_parts() {
            return joint_energy;
        }
        let size = rows.len() as f64;
        let equal = vec![1.0 / size; rows.len()];
        let joint_energy = joint_energy + size * size * self.preferred(rows);
        self.packed_parts().iter().fold(joint_energy, |sum, PackedPart { part, factor, .. }| {
            sum + factor * size * size * (part.squared_distance(rows, &equal) - part.squared_norm())
        })
    }

    /// Term of the preference in the squared error of these rows.
    fn preferred(&self, rows: &[usize]) -> f64 {
        let preference = self.0.parts.as_ref().and_then(|parts| parts.preference.as_ref());
        preference.map_or(0.0, |preference| preference.added(rows))
    }

    /// D² of rows with this squared MMD; `None` without parts.
    pub(crate) fn squared_distance(&self, rows: &[usize], squared_error: f64) -> Option<f64> {
        let parts = self.0.parts.as_ref()?;
        let equal = vec![1.0 / rows.len() as f64; rows.len()];
        let others = parts
            .parts
            .iter()
            .map(|PackedPart { part, factor, .. }| factor * part.squared_distance(rows, &equal));
        Some((squared_error.max(0.0) + others.sum::<f64>() + self.preferred(rows)) / parts.unit)
    }

    /// The parts on the GPU, with their factors, if the pool is there.
    pub(super) fn parts_on_gpu(&self) -> impl Iterator<Item = (&dyn Packing, f64)> {
        self.packed_parts().iter().filter_map(|part| Some((part.packed.numbers()?.gpu()?, part.factor)))
    }

    /// Writes the kernel row of `row`.
    pub(super) fn fill_row(&self, row: usize, values: &mut KernelRowMut<'_>) {
        let (joint, y) = (&self.0.packed, self.points().row(row));
        with_terms(self.packed_parts(), row, joint, |terms| joint.fill_row(y, terms, values));
    }

    /// [`fill_row`](Self::fill_row), then the row taken from `sums`, and the largest score afterwards.
    pub(super) fn keep_row_and_argmax(
        &self,
        row: usize,
        values: &mut KernelRowMut<'_>,
        sums: &mut [f64],
        scores: Scores<'_>,
    ) -> Option<(usize, f64)> {
        let (joint, y) = (&self.0.packed, self.points().row(row));
        with_terms(self.packed_parts(), row, joint, |terms| {
            joint.keep_row_and_argmax(y, terms, values, -1.0, sums, scores)
        })
    }
}

/// Calls `work` with what the parts add to the kernel row of `row`.
fn with_terms<R>(parts: &[PackedPart], row: usize, joint: &Packed, work: impl FnOnce(&[Term<'_>]) -> R) -> R {
    let added: Vec<Added<'_>> =
        parts.iter().map(|part| part.part.added(&part.packed, row, part.factor, joint)).collect();
    let terms: Vec<Term<'_>> =
        parts.iter().zip(&added).map(|(part, added)| part.packed.term(added)).collect();
    work(&terms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scale::{Scale, Scaling};
    use crate::{ColumnMoments, Empirical, Functions, Kernel, Marginals, Points};

    #[test]
    fn rounding_and_energy_are_those_of_the_sum_of_all_parts() {
        let points = Points::from_vec((0..40).map(|i| (f64::from(i) * 0.7).sin()).collect(), 2).unwrap();
        // One row is far from the others in its function.
        let seen: Vec<f64> = (0..20).map(|i| if i == 7 { 9.0 } else { f64::from(i) * 0.01 }).collect();
        let mean = seen.iter().sum::<f64>() / 20.0;
        let variance = seen.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 20.0;
        let furthest = (9.0 - mean).powi(2) / variance;
        let seen = Points::from_vec(seen, 1).unwrap();
        let marginals = Marginals::new(&points, None).unwrap().unwrap();
        let functions = Functions::new(&seen, None).unwrap();
        let mu = Empirical::new(Kernel::gaussian(0.5).unwrap(), points.clone()).unwrap();
        let unit = mu.single_draw().unwrap();
        let of_marginals = Part::marginals(&marginals, &points, 0.4).unwrap();
        let of_functions = Part::functions(&functions, &seen, 1.7).unwrap();
        assert!(of_marginals.squared_norm() < -0.1);
        let plain = Pool::new(mu, points).unwrap();
        let with = |parts: &[&Part]| plain.clone().with_parts(parts.iter().copied().cloned().collect());
        let both = with(&[&of_marginals, &of_functions]).unwrap();
        let log_density: Vec<f64> = (0..20).map(|i| f64::from(i) * -0.5).collect();
        let laplacian: Vec<f64> = (0..20).map(|i| f64::from(i) - 4.0).collect();
        let preference = Preference::for_density(&log_density, 0.6, Some(&laplacian)).unwrap();
        let preferring = both.clone().with_preference(preference.clone()).unwrap();
        let alone = plain.clone().with_preference(preference).unwrap();
        let factors = [0.4 * unit / of_marginals.single_draw(), 1.7 * unit / of_functions.single_draw()];
        let beside = |furthest: f64| factors[0] + factors[1] * furthest;
        // The largest penalty in k(x, x), max(19 − 4, 0), and the largest reward, 0.3·9.5.
        let preferred = 15.0 + 2.85;
        for (pool, has_parts, preferred) in
            [(&plain, 0.0, 0.0), (&both, 1.0, 0.0), (&preferring, 1.0, preferred), (&alone, 0.0, preferred)]
        {
            let largest = |furthest: f64| 1.0 + has_parts * beside(furthest) + preferred;
            let is = |got: f64, want: f64| assert!((got / want - 1.0).abs() < 1e-12, "{got} {want}");
            is(pool.rounding(7.0), 32.0 * f64::EPSILON * 7.0 * largest(furthest));
            let single = f64::from(f32::EPSILON) * 7f64.sqrt() * largest(furthest.sqrt());
            is(pool.single_rounding(7.0), single);
            // T²(D² − ‖μ‖²) with the ‖μ‖² of the sum, in which that of the marginals is not 0.
            let rows = [0, 3, 3, 9, 14];
            let joint_energy = pool.joint_energy(&rows).unwrap();
            let squared_error = plain.squared_norm().unwrap() + joint_energy / 25.0;
            let distance = pool.squared_distance(&rows, squared_error).map_or(squared_error, |d| d * unit);
            let energy = pool.energy_from(&rows, joint_energy);
            is(energy / 25.0 + pool.sum_squared_norm().unwrap(), distance);
        }
    }

    #[test]
    fn better_means_of_the_joint_part_take_the_place_of_its_own_in_the_sum() {
        let points = Points::from_vec((0..30).map(|i| (f64::from(i) * 0.9).cos()).collect(), 1).unwrap();
        let marginals = Marginals::new(&points, None).unwrap().unwrap();
        let part = Part::functions(&Functions::new(&points, None).unwrap(), &points, 0.8).unwrap();
        let parts = vec![Part::marginals(&marginals, &points, 0.4).unwrap(), part];
        let mu = Empirical::new(Kernel::linear(), points.clone()).unwrap();
        let pool = Pool::new(mu, points).unwrap().with_parts(parts).unwrap();
        let (rows, means) = ([4, 7, 22], [0.31, -0.12, 0.05]);
        let chosen = pool.select(&rows).unwrap().measured(&means);
        assert_eq!(chosen.values(), means);
        for ((sum, mean), row) in chosen.sum_values().iter().zip(means).zip(rows) {
            let of_parts = pool.sum_values()[row] - pool.values()[row];
            assert!((sum - (of_parts + mean)).abs() < 1e-14, "{sum}");
        }
    }

    /// Very many numbers, of which whole levels and a quadratic function take the place.
    #[test]
    fn compact_views_give_the_kernel_of_the_sum() {
        let (rows, dim) = (16_500, 256);
        let value = |i: usize, j: usize| ((i * (j + 3)) as f64 * 0.618).sin() + (i as f64 * 0.37).cos();
        let raw = (0..rows).flat_map(|i| (0..dim).map(move |j| value(i, j))).collect();
        let raw = Points::from_vec(raw, dim).unwrap();
        let scaling = Scaling::fit(Scale::Aad, raw.as_slice(), dim, None).unwrap();
        let points = Points::from_vec(scaling.apply(raw.as_slice()), dim).unwrap();
        let moments = ColumnMoments::new(&raw, None).unwrap().unwrap();
        let marginals = || Part::own_marginals(&raw, None, None, 0.3).unwrap().unwrap();
        let scaled = Part::moments(&moments.scaled_by(&scaling).unwrap(), &points, 0.2).unwrap();
        let in_raw_units = Part::moments(&moments, &raw, 0.2).unwrap();
        let functions: Vec<f64> = (0..rows).map(|i| value(i, 300)).collect();
        let functions = Points::from_vec(functions, 1).unwrap();
        let functions = Part::functions(&Functions::new(&functions, None).unwrap(), &functions, 0.4).unwrap();
        let mu = Empirical::new(Kernel::gaussian(20.0).unwrap(), points.clone()).unwrap();
        let alone = Pool::new(mu, points).unwrap();
        let with =
            |moments: Part| alone.clone().with_parts(vec![marginals(), moments, functions.clone()]).unwrap();
        let (compact, plain) = (with(scaled), with(in_raw_units));
        let kinds = |pool: &Pool| -> Vec<bool> {
            pool.packed_parts().iter().map(|part| part.packed.numbers().is_some()).collect()
        };
        assert_eq!(kinds(&compact), [false, false, true]);
        assert_eq!(kinds(&plain), [false, true, true]);
        let mut kept = compact.0.packed.no_rows();
        let number = kept.add();
        let some: Vec<usize> = (0..rows).step_by(397).collect();
        let mut sums = vec![0.0; some.len()];
        for &row in &some {
            compact.fill_row(row, &mut kept.row_mut(number));
            for (sum, &other) in sums.iter_mut().zip(&some) {
                let (got, want) = (kept.row(number).get(other), plain.sum_kernel(other, row));
                assert!((got - want).abs() < 2e-5, "{row} {other}: {got} {want}");
                assert!((compact.sum_kernel(other, row) - want).abs() < 1e-12);
                *sum += got;
            }
        }
        // Among rows of the set, the numbers are those of the rows over the pool.
        let among = compact.sums_among(&some).unwrap();
        assert!(among.iter().zip(&sums).all(|(a, b)| (a - b).abs() < 1e-12), "{among:?} {sums:?}");
        // Fewer rows have views of numbers again.
        let chosen = compact.select(&some).unwrap();
        assert_eq!(kinds(&chosen), [true; 3]);
        let again = chosen.sums_among(&(0..some.len()).collect::<Vec<_>>()).unwrap();
        assert!(again.iter().zip(&sums).all(|(a, b)| (a - b).abs() < 1e-3), "{again:?} {sums:?}");
    }
}
