//! Points packed for sums under one kernel, and the sums.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::chunks::{over_chunks, row_value};
use crate::lanes::Lane;
use crate::launch::{AnyPanels, ByLane, Task, launch};
use crate::level::{dispatch, level};
use crate::means::{Means, OwnMeans, add_row};
use crate::panels::{Coordinates, Panels, WIDTH};
use crate::profile::Profile;
use crate::rows::Rows;
use crate::scores::{Scores, best_of};
use crate::shape::Shape;
use crate::tally::{Tally, Watch};
use crate::tile;

/// Precision of kernel values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Precision {
    /// Kernel values in f32, sums in f64. Mean embeddings have an error below 1e-6, E_T below 0.1 % if it is above
    /// 1e-5. Everything is f64 below [`MIXED_FROM`](Precision::MIXED_FROM) samples, and if the points are spread so
    /// widely that the error of a kernel value could exceed 1e-5.
    #[default]
    Mixed,
    /// Everything in f64; about a third of the speed.
    Double,
}

crate::words!(Precision, "a precision": Mixed "mixed", Double "double");

impl Precision {
    /// Smallest number of samples for f32; below, f64 takes a fraction of a second.
    pub const MIXED_FROM: usize = 16_384;
}

/// Points packed for sums under one kernel. Clones share the packing.
#[derive(Clone, Debug)]
pub struct Packed {
    pub(crate) coordinates: Arc<Coordinates>,
    pub(crate) panels: Arc<AnyPanels>,
}

impl Packed {
    /// Packs points in their own coordinates, in f32 if asked for and safe.
    pub fn new(kernel: Shape, points: Rows<'_>, precision: Precision) -> Packed {
        let coordinates = Coordinates::new(kernel, points);
        let panels = match precision {
            Precision::Mixed if coordinates.allow_mixed(points) => {
                ByLane::Mixed(Panels::new(points, &coordinates))
            }
            _ => ByLane::Double(Panels::new(points, &coordinates)),
        };
        Packed { coordinates: coordinates.into(), panels: panels.into() }
    }

    /// Packs points in their own coordinates in f32, for squared distances as ‖x‖² + ‖y‖² − 2x·y, where that is faster and
    /// safe for the mean over these weighted points; `None` elsewhere.
    pub fn by_products(kernel: Shape, points: Rows<'_>, weights: Option<&[f64]>) -> Option<Packed> {
        let coordinates = Coordinates::new(kernel, points);
        let is_safe = coordinates.allow_mixed(points) && coordinates.allow_products(points, weights);
        let coordinates = is_safe.then(|| Arc::new(coordinates.by_products()))?;
        Some(Packed::in_coordinates(coordinates, points, Precision::Mixed))
    }

    /// Packs points in their own coordinates and in exactly this precision; in f64 under kernels without loops in f32.
    pub fn forced(kernel: Shape, points: Rows<'_>, precision: Precision) -> Packed {
        Packed::in_coordinates(Arc::new(Coordinates::new(kernel, points)), points, precision)
    }

    /// Packs points in these coordinates and this precision, for any spread; in f64 under kernels without loops in f32.
    pub fn in_coordinates(coordinates: Arc<Coordinates>, points: Rows<'_>, precision: Precision) -> Packed {
        let panels = match precision {
            Precision::Mixed if coordinates.kernel().is_double_only() => {
                ByLane::Double(Panels::new(points, &coordinates))
            }
            Precision::Mixed => ByLane::Mixed(Panels::new(points, &coordinates)),
            Precision::Double => ByLane::Double(Panels::new(points, &coordinates)),
        };
        Packed { coordinates, panels: panels.into() }
    }

    /// The coordinates of the points.
    pub fn coordinates(&self) -> &Arc<Coordinates> {
        &self.coordinates
    }

    /// Packs other points in the coordinates and precision of these, so that sums between both are possible and a point
    /// in both is rounded alike. `None` if the other points are spread too widely for the precision.
    pub fn beside(&self, points: Rows<'_>) -> Option<Packed> {
        let panels = match *self.panels {
            ByLane::Mixed(_) if !self.coordinates.allow_mixed(points) => return None,
            ByLane::Mixed(_) => ByLane::Mixed(Panels::new(points, &self.coordinates)),
            ByLane::Double(_) => ByLane::Double(Panels::new(points, &self.coordinates)),
        };
        Some(Packed { coordinates: self.coordinates.clone(), panels: panels.into() })
    }

    /// Packs some of these points, or similar ones, in the coordinates and precision of these, for any spread.
    pub fn forced_beside(&self, points: Rows<'_>) -> Packed {
        Packed::in_coordinates(self.coordinates.clone(), points, self.precision())
    }

    /// Empty packing in the coordinates and precision of these; for [`push`](Self::push).
    pub fn none_beside(&self) -> Packed {
        self.forced_beside(Rows::new(&[], self.coordinates.dim()))
    }

    /// Adds a point, rounded as among these.
    pub fn push(&mut self, point: &[f64]) {
        match Arc::make_mut(&mut self.panels) {
            ByLane::Mixed(panels) => panels.push(point, &self.coordinates),
            ByLane::Double(panels) => panels.push(point, &self.coordinates),
        }
    }

    /// These points, as they have been rounded, for sums in f64.
    pub fn widened(&self) -> Packed {
        let ByLane::Mixed(panels) = &*self.panels else { return self.clone() };
        Packed { panels: Arc::new(ByLane::Double(panels.widened())), ..self.clone() }
    }

    /// The points as they have been rounded, row by row in their own units; packed again in the same coordinates
    /// they give the same numbers.
    pub fn rounded(&self) -> Vec<f64> {
        match &*self.panels {
            ByLane::Mixed(panels) => panels.unpacked(&self.coordinates),
            ByLane::Double(panels) => panels.unpacked(&self.coordinates),
        }
    }

    /// The precision the points are packed in.
    pub fn precision(&self) -> Precision {
        match *self.panels {
            ByLane::Mixed(_) => Precision::Mixed,
            ByLane::Double(_) => Precision::Double,
        }
    }

    /// `out[i]` = Σⱼ wⱼ k(xᵢ, yⱼ) over the samples y, with equal weights 1/n if none are given.
    ///
    /// # Panics
    /// If the two were not packed in equal coordinates, under one kernel, and in one precision.
    pub fn mean_into(&self, samples: &Packed, weights: Option<&[f64]>, out: &mut [f64]) {
        assert!(self.coordinates == samples.coordinates, "points packed in different coordinates");
        self.launch(Means { level: level(), samples: &samples.panels, weights, out });
    }

    /// `out[i]` = Σⱼ wⱼ k(xᵢ, xⱼ) over the points themselves: k(x, y) = k(y, x) saves half of the work.
    pub fn own_mean_into(&self, weights: Option<&[f64]>, out: &mut [f64]) {
        let _ = self.own_mean_watched(weights, out, None);
    }

    /// [`own_mean_into`](Self::own_mean_into), watched; after a break `out` is undefined.
    pub fn own_mean_watched(
        &self,
        weights: Option<&[f64]>,
        out: &mut [f64],
        watch: Option<Watch<'_>>,
    ) -> ControlFlow<()> {
        let pairs = |n: usize| (n as u64 * (n as u64 + 1)) / 2;
        let tally = Tally::new(watch, pairs(out.len()));
        self.launch(OwnMeans { level: level(), weights, out, tally: &tally });
        tally.outcome()
    }

    /// Adds `weight`·k(xᵢ, y) to `sums[i]`.
    pub fn add_row(&self, y: &[f64], weight: f64, sums: &mut [f64]) {
        self.launch(AddRow { coordinates: &self.coordinates, y, weight, sums });
    }

    /// Σᵢ k(xᵢ, y) over all points x.
    pub fn row_sum(&self, y: &[f64]) -> f64 {
        let mut values = vec![0.0; self.len()];
        self.add_row(y, 1.0, &mut values);
        values.iter().sum()
    }

    fn len(&self) -> usize {
        match &*self.panels {
            ByLane::Mixed(panels) => panels.len,
            ByLane::Double(panels) => panels.len,
        }
    }

    /// [`add_row`](Self::add_row), and the largest of factor·μᵢ + sumᵢ + offsetᵢ afterwards with the lowest index that
    /// has it: one pass over the points for each pick. `None` if every score is −∞.
    pub fn add_row_and_argmax(
        &self,
        y: &[f64],
        weight: f64,
        sums: &mut [f64],
        scores: Scores<'_>,
    ) -> Option<(usize, f64)> {
        let row = AddRow { coordinates: &self.coordinates, y, weight, sums };
        self.launch(AddRowAndArgmax { row, scores })
    }

    /// Runs the task with the panels and the profile of these points.
    pub(crate) fn launch<K: Task>(&self, task: K) -> K::Output {
        launch(self.coordinates.kernel(), &self.panels, task)
    }
}

struct AddRow<'a> {
    coordinates: &'a Coordinates,
    y: &'a [f64],
    weight: f64,
    sums: &'a mut [f64],
}

impl Task for AddRow<'_> {
    type Output = ();

    fn run<T: Lane, P: Profile<T>>(self, profile: P, panels: &Panels<T>) {
        assert_eq!(self.sums.len(), panels.len);
        let y = &panels.point(self.y, self.coordinates)[..];
        let weight = self.weight;
        over_chunks(self.sums, &panels.data, y.len(), row_value(y.len()), &|_, sums, panels| {
            add_row(level(), profile, panels, y, weight, sums);
        });
    }
}

struct AddRowAndArgmax<'a> {
    row: AddRow<'a>,
    scores: Scores<'a>,
}

impl Task for AddRowAndArgmax<'_> {
    type Output = Option<(usize, f64)>;

    fn run<T: Lane, P: Profile<T>>(self, profile: P, panels: &Panels<T>) -> Option<(usize, f64)> {
        let AddRowAndArgmax { row: AddRow { coordinates, y, weight, sums }, scores } = self;
        assert_eq!(sums.len(), panels.len);
        let y = &panels.point(y, coordinates)[..];
        let best = over_chunks(sums, &panels.data, y.len(), row_value(y.len()), &|start, sums, panels| {
            dispatch!(level(), simd => {
                scores.search(start, sums, |range, sums| {
                    let places = range.start * y.len()..range.end.next_multiple_of(WIDTH) * y.len();
                    tile::add_row(simd, profile, &panels[places], y, weight, sums);
                })
            })
        });
        best_of(best)
    }
}
