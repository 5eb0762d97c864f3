//! Chosen rows, their errors, and why choosing ended.

use super::{Advice, Ended, Errors, Measure, Overlap, Reached};
use crate::weights::OptimalWeights;
use crate::{Pick, Refined};

/// Chosen rows, their errors, and why choosing ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chosen {
    /// Row numbers among all rows, in the order of choice; empty for points in space.
    pub rows: Vec<usize>,
    /// The picks, with the error after each of them.
    pub trace: Vec<Pick>,
    /// Why choosing ended.
    pub ended: Ended,
    /// Outcome of swaps and search; `None` for a herded sequence.
    pub refined: Option<Refined>,
    /// Errors of the rows with their weights: MMD, equivalent draws, distribution functions, functions of interest. An
    /// [`Evaluation`](super::Evaluation) has the others.
    pub errors: Errors,
    /// The standard error of the MMD, where ‖μ‖² is an estimate.
    pub standard_error: Option<f64>,
    /// The weights of the rows; `None` for equal ones.
    pub weights: Option<OptimalWeights>,
    /// Warnings and notes about this choice.
    pub advice: Vec<Advice>,
    /// Number of candidates drawn at random; `None` if all rows were candidates.
    pub sampled_from: Option<usize>,
    /// How much of the target the rows can reach, where other rows than these are matched.
    pub overlap: Option<Overlap>,
    /// The published numbers that are matched, and what the rows have of them; empty where rows are matched.
    pub published: Vec<Reached>,
}

impl Chosen {
    pub(super) fn new(trace: Vec<Pick>, ended: Ended) -> Chosen {
        let rows = trace.iter().filter_map(|pick| pick.index).collect();
        Chosen {
            rows,
            trace,
            ended,
            refined: None,
            errors: Errors::default(),
            standard_error: None,
            weights: None,
            advice: Vec::new(),
            sampled_from: None,
            overlap: None,
            published: Vec::new(),
        }
    }

    /// MMD of the chosen rows with equal weights; `None` if ‖μ‖² is not known.
    pub fn error(&self) -> Option<f64> {
        self.trace.last().and_then(|pick| pick.error)
    }

    /// Coordinates of all points in row order, in the units of their domain.
    pub fn points(&self) -> Vec<f64> {
        self.trace.iter().flat_map(|pick| pick.point.iter().copied()).collect()
    }

    /// Returns the rows, with their weights, in ascending order instead of the order of choice.
    pub fn sorted(mut self) -> Chosen {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by_key(|&at| self.rows[at]);
        if let Some(found) = &mut self.weights {
            found.weights = order.iter().map(|&at| found.weights[at]).collect();
        }
        self.rows.sort_unstable();
        self
    }

    /// MMD with the weights of the rows.
    pub fn mmd(&self) -> Option<f64> {
        self.errors.get(Measure::Mmd)
    }
}
