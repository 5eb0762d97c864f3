//! Visits: what is asked at a position of a set of chosen points, and what comes of it, on the CPU and on a GPU.

/// One visit to a position: the point that fits best there, by its fit plus `scale`·noise, takes the place if that is more than
/// `threshold` above the fit of the point there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// Whose place.
    pub position: usize,
    /// Where in the noise it begins, and its scale; without noise the best fit wins.
    pub noise: Option<(usize, f64)>,
    /// How much better it must be.
    pub threshold: f64,
    /// The visit is made only where this point may take the place and fits better there by more than the threshold.
    pub rival: Option<usize>,
}

/// What came of a visit that was made.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// The point besides the one there that fits best; `None` where no other is open.
    pub best: Option<usize>,
    /// The point that was there.
    pub here: usize,
    /// The fit of the best, noise not counted.
    pub fit: f64,
    /// The fit of the point that was there.
    pub fit_here: f64,
    /// Whether the best took the place.
    pub taken: bool,
}
