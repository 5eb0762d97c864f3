//! Pool on the GPU: the running scores and swaps of [`PoolScores`] for rows on the device.
//!
//! Herding uses the same calls as on the CPU. Swaps are *visits*: a look and a decision made on the device, so that a
//! search sends hundreds of them and reads their outcomes together. The host also knows the chosen and the closed rows,
//! so the state on the GPU is built from them when first needed, and a clone builds its own.

use std::any::Any;

use super::{Pool, PoolScores};
use crate::device::Choosing;
use crate::sum::{self, Outcome, Visit};

/// The scores of a pool that is on the GPU.
pub(super) struct OnGpu(Box<dyn Choosing>);

/// Random numbers for visits, on the device of the scores.
pub(crate) enum Noise {
    Here(Vec<f32>),
    There(Box<dyn Any + Send + Sync>),
}

impl Noise {
    /// The numbers; empty if they are on the GPU.
    pub(super) fn here(&self) -> &[f32] {
        match self {
            Noise::Here(numbers) => numbers,
            Noise::There(_) => &[],
        }
    }
}

/// Visits of a GPU between two calls of a watch: a few milliseconds.
const VISITS_AT_ONCE: usize = 512;

impl Clone for OnGpu {
    fn clone(&self) -> OnGpu {
        OnGpu(self.0.afresh())
    }
}

impl Pool {
    /// Whether its rows are on a GPU.
    pub(crate) fn is_on_gpu(&self) -> bool {
        self.0.packed.gpu().is_some()
    }

    /// The scores of this pool on the GPU, if its rows are there.
    pub(super) fn on_gpu(&self) -> Option<OnGpu> {
        let joint = self.0.packed.gpu()?;
        Some(OnGpu(joint.choosing(&self.parts_on_gpu().collect::<Vec<_>>())))
    }
}

impl PoolScores {
    /// The state on the GPU in herding, with the rows chosen so far.
    fn herding(&mut self) -> Option<&mut dyn Choosing> {
        let OnGpu(choice) = self.gpu.as_mut()?;
        if !choice.is_herding() {
            choice.herd(self.pool.sum_values(), self.offsets.as_deref(), &self.closed, !self.repeats);
            self.chosen.iter().for_each(|&row| choice.choose(row));
        }
        Some(&mut **choice)
    }

    /// The state on the GPU with the number of rows settled.
    fn settled(&mut self) -> Option<&mut dyn Choosing> {
        let OnGpu(choice) = self.gpu.as_mut()?;
        if !choice.is_settled() {
            let mut start = vec![0.0; self.pool.points().len()];
            sum::add_scaled(self.pool.sum_values(), self.chosen.len() as f64, &mut start);
            if let Some(offsets) = &self.offsets {
                sum::add_scaled(offsets, 1.0, &mut start);
            }
            choice.settle(&start, &self.chosen, &self.closed, self.repeats);
            self.kernel_rows += self.chosen.len() as u64;
        }
        Some(&mut **choice)
    }

    /// [`best`](Self::best) on the GPU.
    pub(super) fn best_on_gpu(&mut self, factor: f64) -> Option<(usize, f64)> {
        self.herding()?.best(factor)
    }

    /// The running sum of a row on the GPU.
    pub(super) fn sum_on_gpu(&mut self, row: usize) -> f64 {
        self.herding().map_or(0.0, |choice| choice.sum(row))
    }

    /// Chooses a row on the GPU, and on the host.
    pub(super) fn choose_on_gpu(&mut self, row: usize) {
        if let Some(choice) = self.herding() {
            choice.choose(row);
        }
        self.chosen.push(row);
        self.kernel_rows += 1;
    }

    /// Number of [visits](Self::visit) made together: one on the CPU, many on a GPU.
    pub(crate) fn visits_at_once(&self) -> usize {
        if self.gpu.is_some() { VISITS_AT_ONCE } else { 1 }
    }

    /// Noise for visits.
    pub(crate) fn noise(&self, numbers: Vec<f32>) -> Noise {
        match &self.gpu {
            Some(OnGpu(choice)) => Noise::There(choice.noise(&numbers)),
            None => Noise::Here(numbers),
        }
    }

    /// [`visit`](Self::visit) on the GPU.
    pub(super) fn visit_on_gpu(&mut self, visits: &[Visit], noise: Option<&Noise>) -> Vec<Option<Outcome>> {
        self.settled();
        let Some(OnGpu(choice)) = &mut self.gpu else { return Vec::new() };
        let noise = noise.and_then(|noise| match noise {
            Noise::There(numbers) => Some(&**numbers as &dyn Any),
            Noise::Here(_) => None,
        });
        let outcomes = choice.visit(visits, noise);
        for (visit, outcome) in visits.iter().zip(&outcomes) {
            if let Some(Outcome { best: Some(best), taken: true, .. }) = *outcome {
                self.chosen[visit.position] = best;
                self.kernel_rows += 1;
            }
        }
        outcomes
    }

    /// Puts these rows instead of the present ones, on the GPU.
    pub(super) fn become_rows_on_gpu(&mut self, rows: &[usize]) {
        let chosen = self.chosen.iter().zip(rows).enumerate();
        let places: Vec<(usize, usize)> =
            chosen.filter(|(_, (chosen, row))| chosen != row).map(|(at, (_, &row))| (at, row)).collect();
        if let Some(choice) = self.settled() {
            choice.put(&places);
        }
        self.kernel_rows += places.len() as u64;
        self.chosen.copy_from_slice(rows);
    }
}
