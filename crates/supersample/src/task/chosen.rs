//! Chosen rows, how good they are and why choosing ended.

use super::{Advice, Ended, Errors, Measure};
use crate::weights::OptimalWeights;
use crate::{Pick, Refined};

/// What was chosen, and why it ended.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Chosen {
    /// The numbers of the rows in the order of choice, among all rows; empty in space.
    pub rows: Vec<usize>,
    /// The picks, with the error after each of them.
    pub trace: Vec<Pick>,
    /// Why choosing ended.
    pub ended: Ended,
    /// What the swaps and the search have done, where there were any.
    pub refined: Option<Refined>,
    /// The errors of the rows with their weights: MMD, equivalent draws, distribution functions, functions of interest. An
    /// [`Evaluation`](super::Evaluation) has the others.
    pub errors: Errors,
    /// The standard error of the MMD, where ‖μ‖² is an estimate.
    pub standard_error: Option<f64>,
    /// The weights of the rows; `None` for equal ones.
    pub weights: Option<OptimalWeights>,
    /// What to know of this choice before believing it.
    pub advice: Vec<Advice>,
    /// How many rows, drawn at random, it was chosen from; `None` where all rows could be chosen.
    pub sampled_from: Option<usize>,
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
        }
    }

    /// The MMD of all that was chosen, with equal weights; `None` where ‖μ‖² is not known.
    pub fn error(&self) -> Option<f64> {
        self.trace.last().and_then(|pick| pick.error)
    }

    /// The points one after the other, in the units of the domain that they were chosen in.
    pub fn points(&self) -> Vec<f64> {
        self.trace.iter().flat_map(|pick| pick.point.iter().copied()).collect()
    }

    /// The rows, with their weights, in ascending order in place of the order of choice.
    pub fn sorted(mut self) -> Chosen {
        let mut order: Vec<usize> = (0..self.rows.len()).collect();
        order.sort_by_key(|&at| self.rows[at]);
        if let Some(found) = &mut self.weights {
            found.weights = order.iter().map(|&at| found.weights[at]).collect();
        }
        self.rows.sort_unstable();
        self
    }

    /// The MMD with the weights that the rows have.
    pub fn mmd(&self) -> Option<f64> {
        self.errors.get(Measure::Mmd)
    }
}
