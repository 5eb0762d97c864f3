//! A pool on the GPU: the running scores and the swaps of [`PoolScores`] where the rows are there.
//!
//! What is chosen and what is closed is known on the host as well. So the state on the GPU can be made anew at any
//! time from what is known here: it is begun when first needed, and a clone begins its own.

use super::{Pool, PoolScores};
use crate::device::gpu::{Choice, Noise};
use crate::device::{Outcome, Visit};
use crate::sum;

/// The scores of a pool that is on the GPU.
pub(super) struct OnGpu(Choice);

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

    /// The scores of this pool on the GPU, where its rows are there.
    pub(super) fn on_gpu(&self) -> Option<OnGpu> {
        let joint = self.0.packed.gpu()?;
        Some(OnGpu(Choice::new(joint, self.parts_on_gpu())))
    }
}

impl PoolScores {
    /// The state on the GPU, herding, with all that is chosen so far.
    fn herding(&mut self) -> Option<&mut Choice> {
        let OnGpu(choice) = self.gpu.as_mut()?;
        if !choice.is_herding() {
            choice.herd(self.pool.sum_values(), self.offsets.as_deref(), &self.closed, !self.repeats);
            self.chosen.iter().for_each(|&row| choice.choose(row));
        }
        Some(choice)
    }

    /// The state on the GPU with the number of rows settled.
    fn settled(&mut self) -> Option<&mut Choice> {
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
        Some(choice)
    }

    /// Forgets what is on the GPU.
    pub(super) fn forget_on_gpu(&mut self) {
        if let Some(gpu) = &mut self.gpu {
            *gpu = gpu.clone();
        }
    }

    /// [`best`](Self::best) on the GPU.
    pub(super) fn best_on_gpu(&mut self, factor: f64) -> Option<(usize, f64)> {
        self.herding()?.best(factor)
    }

    /// The running sum of a row on the GPU.
    pub(super) fn sum_on_gpu(&mut self, row: usize) -> f64 {
        self.herding().map_or(0.0, |choice| choice.sum(row))
    }

    /// Chooses a row on the GPU; it is among the chosen of the host afterwards.
    pub(super) fn choose_on_gpu(&mut self, row: usize) {
        if let Some(choice) = self.herding() {
            choice.choose(row);
        }
        self.kernel_rows += 1;
    }

    /// Whether the scores are on a GPU, which makes [visits](Self::visit_on_gpu) and nothing smaller.
    pub(crate) fn is_on_gpu(&self) -> bool {
        self.gpu.is_some()
    }

    /// Noise for visits.
    pub(crate) fn noise_on_gpu(&self, numbers: &[f32]) -> Option<Noise> {
        self.gpu.as_ref().map(|OnGpu(choice)| choice.noise(numbers))
    }

    /// Makes visits one after the other; `None` for those that were not worth it. Fewer outcomes come back where the GPU has
    /// failed.
    pub(crate) fn visit_on_gpu(&mut self, visits: &[Visit], noise: Option<&Noise>) -> Vec<Option<Outcome>> {
        let Some(choice) = self.settled() else { return Vec::new() };
        let outcomes = choice.visit(visits, noise);
        for (visit, outcome) in visits.iter().zip(&outcomes) {
            if let Some(Outcome { best: Some(row), taken: true, .. }) = *outcome {
                self.note_swap(visit.position, row);
            }
        }
        outcomes
    }

    /// Puts these rows in place of the present ones, on the GPU.
    pub(super) fn become_rows_on_gpu(&mut self, rows: &[usize]) {
        let chosen = self.chosen.iter().zip(rows).enumerate();
        let places: Vec<(usize, usize)> =
            chosen.filter(|(_, (chosen, row))| chosen != row).map(|(at, (_, &row))| (at, row)).collect();
        if let Some(choice) = self.settled() {
            choice.put(&places);
        }
        places.into_iter().for_each(|(position, row)| self.note_swap(position, row));
    }

    fn note_swap(&mut self, position: usize, row: usize) {
        self.chosen[position] = row;
        self.kernel_rows += 1;
    }
}
