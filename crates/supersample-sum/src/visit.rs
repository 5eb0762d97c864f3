//! Visits to a position of a set of chosen points, and their outcomes, on the CPU and on a GPU.

/// One visit to a position: the point with the largest fit plus `scale`·noise replaces the point there if that is more
/// than `threshold` above its fit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// The position.
    pub position: usize,
    /// Start in the noise, and its scale; without noise the best fit wins.
    pub noise: Option<(usize, f64)>,
    /// Smallest gain.
    pub threshold: f64,
    /// If set, the visit is made only if this point may be chosen and fits better by more than the threshold.
    pub rival: Option<usize>,
}

/// Outcome of a visit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The other point that fits best; `None` if no other is open.
    pub best: Option<usize>,
    /// The point that was there.
    pub here: usize,
    /// The fit of the best, without noise.
    pub fit: f64,
    /// The fit of the point that was there.
    pub fit_here: f64,
    /// Whether the best took the place.
    pub taken: bool,
}
