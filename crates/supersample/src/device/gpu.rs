//! One GPU: calls the crate `supersample-gpu` with this library's points, and keeps its first failure.

use std::any::Any;
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use supersample_gpu::{self as there, Plan};
use supersample_sum::{Coordinates, Outcome, Precision, Rows, Shape, Visit, Watch};

use super::{Backend, Choosing, Packing, Side};
use crate::{Error, Points, Result};

/// The first GPU, and its first failure. Clones share both.
#[derive(Clone, Debug)]
pub(super) struct Gpu {
    device: there::Device,
    failure: Arc<Mutex<Option<there::Error>>>,
}

impl From<there::Error> for Error {
    fn from(error: there::Error) -> Error {
        let advice = match error {
            there::Error::OutOfMemory { .. } => "use landmarks, or the device cpu",
            there::Error::NoDriver | there::Error::NoDevice { .. } | there::Error::TooOld { .. } => {
                "use the device cpu"
            }
            _ => "run again, or use the device cpu",
        };
        Error::Device { reason: format!("{error}; {advice}") }
    }
}

impl Gpu {
    pub(super) fn open() -> Result<Gpu> {
        Ok(Gpu { device: there::Device::open()?, failure: Arc::default() })
    }

    /// Runs work on the device; `None` if it fails or has failed before.
    fn kept<T>(&self, work: impl FnOnce(&there::Device) -> there::Result<T>) -> Option<T> {
        self.check().ok()?;
        work(&self.device).map_err(|error| self.fail(error)).ok()
    }

    fn fail(&self, error: there::Error) {
        self.failure.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
    }
}

impl Backend for Gpu {
    fn name(&self) -> &str {
        self.device.name()
    }

    fn check(&self) -> Result<()> {
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner);
        failure.clone().map_or(Ok(()), |error| Err(error.into()))
    }

    fn pack(&self, kernel: Shape, points: &Points, precision: Precision) -> Arc<dyn Packing> {
        Packed::planned(self, Plan::new(kernel, points.view(), precision), points)
    }

    fn pack_in(
        &self,
        coordinates: &Arc<Coordinates>,
        points: &Points,
        precision: Precision,
    ) -> Arc<dyn Packing> {
        Packed::planned(self, Plan::forced(coordinates.clone(), precision), points)
    }
}

/// Points for long sums, in the coordinates of one kernel: on the GPU, or sent there in pieces if they exceed its
/// memory.
#[derive(Clone, Debug)]
struct Packed {
    gpu: Gpu,
    points: Points,
    plan: Plan,
    there: Option<there::Points>,
}

/// Downcasts another packing of this device.
fn packed(packing: &dyn Packing) -> &Packed {
    (packing as &dyn Any).downcast_ref().expect("packed on a GPU")
}

impl Side<'_> {
    fn rows(&self) -> Rows<'_> {
        match self {
            Side::There(packing) => packed(*packing).points.view(),
            Side::Here(points) => points.view(),
        }
    }

    fn sent(&self, device: &there::Device, plan: &Plan) -> there::Result<Option<there::Points>> {
        match self {
            Side::There(packing) => Ok(packed(*packing).there.clone()),
            Side::Here(points) => there::Points::planned(device, plan, points.view()).map(Some),
        }
    }
}

impl Packed {
    fn planned(gpu: &Gpu, plan: Plan, points: &Points) -> Arc<dyn Packing> {
        let there = gpu.kept(|device| match there::Points::planned(device, &plan, points.view()) {
            // They are then sent in pieces.
            Err(there::Error::OutOfMemory { .. }) => Ok(None),
            sent => sent.map(Some),
        });
        Arc::new(Packed { gpu: gpu.clone(), points: points.clone(), plan, there: there.flatten() })
    }

    /// The points as they have been rounded, in their own units.
    fn rounded(&self) -> Points {
        if self.precision() == Precision::Double {
            return self.points.clone();
        }
        let (centre, unit) = (self.coordinates().centre(), self.coordinates().unit());
        let rows = self.points.rows().flat_map(|row| row.iter().zip(centre));
        let rounded = rows.map(|(x, c)| f64::from(((x - c) * unit) as f32) / unit + c).collect();
        Points::from_vec(rounded, self.points.dim()).expect("points that could be packed in f32")
    }

    /// The points on the GPU; a failure if they do not fit.
    fn resident(&self) -> Option<there::Points> {
        self.gpu.kept(|device| match &self.there {
            Some(points) => Ok(points.clone()),
            None => there::Points::planned(device, &self.plan, self.points.view()),
        })
    }
}

impl Packing for Packed {
    fn some(&self, points: &Points) -> Arc<dyn Packing> {
        Packed::planned(&self.gpu, self.plan.clone(), points)
    }

    fn precision(&self) -> Precision {
        self.plan.precision()
    }

    fn coordinates(&self) -> &Arc<Coordinates> {
        self.plan.coordinates()
    }

    fn widened(&self) -> Arc<dyn Packing> {
        let plan = Plan::forced(self.plan.coordinates().clone(), Precision::Double);
        let there = self.there.as_ref();
        let wide = self.gpu.kept(|_| match there.map(there::Points::widened) {
            Some(Err(there::Error::OutOfMemory { .. })) | None => Ok(None),
            Some(sent) => sent.map(Some),
        });
        match wide.flatten() {
            Some(wide) => Arc::new(Packed {
                gpu: self.gpu.clone(),
                points: self.points.clone(),
                plan,
                there: Some(wide),
            }),
            None => Packed::planned(&self.gpu, plan, &self.rounded()),
        }
    }

    fn own_mean(
        &self,
        weights: Option<&[f64]>,
        out: &mut [f64],
        watch: Option<Watch<'_>>,
    ) -> ControlFlow<()> {
        let done = self.gpu.kept(|device| match &self.there {
            Some(points) => match points.own_mean(weights, watch)? {
                ControlFlow::Continue(mean) => mean.read_into(out).map(ControlFlow::Continue),
                ControlFlow::Break(()) => Ok(ControlFlow::Break(())),
            },
            None => device.own_mean(&self.plan, self.points.view(), weights, out, watch),
        });
        done.unwrap_or(ControlFlow::Continue(()))
    }

    fn mean(
        &self,
        (at, samples): (Side<'_>, Side<'_>),
        weights: Option<&[f64]>,
        out: &mut [f64],
        watch: Option<Watch<'_>>,
    ) -> ControlFlow<()> {
        let plan = Plan::forced(self.coordinates().clone(), self.precision());
        let done = self.gpu.kept(|device| {
            let (Some(x), Some(y)) = (at.sent(device, &plan)?, samples.sent(device, &plan)?) else {
                return device.mean(&plan, at.rows(), samples.rows(), weights, out, watch);
            };
            match x.mean_over(&y, weights, watch)? {
                ControlFlow::Continue(mean) => mean.read_into(out).map(ControlFlow::Continue),
                ControlFlow::Break(()) => Ok(ControlFlow::Break(())),
            }
        });
        done.unwrap_or(ControlFlow::Continue(()))
    }

    fn choosing(&self, parts: &[(&dyn Packing, f64)]) -> Box<dyn Choosing> {
        let rows = self.resident().and_then(|points| {
            let part = |&(views, factor): &(&dyn Packing, f64)| {
                Some(there::Part { views: packed(views).resident()?, factor })
            };
            Some((points, parts.iter().map(part).collect::<Option<Vec<_>>>()?))
        });
        Box::new(ChosenOnGpu { gpu: self.gpu.clone(), rows, state: State::Nothing, found: None })
    }
}

/// The scores of a pool on the GPU and, once their number is settled, the set of its chosen rows.
struct ChosenOnGpu {
    gpu: Gpu,
    rows: Option<(there::Points, Vec<there::Part>)>,
    state: State,
    /// Row found by the last search, and its sum.
    found: Option<(usize, f64)>,
}

enum State {
    Nothing,
    Herding(Box<there::Scores>),
    Settled(Box<there::Set>),
}

/// Random numbers on the GPU.
struct Noise(Option<there::Noise>);

impl Choosing for ChosenOnGpu {
    fn afresh(&self) -> Box<dyn Choosing> {
        Box::new(ChosenOnGpu {
            gpu: self.gpu.clone(),
            rows: self.rows.clone(),
            state: State::Nothing,
            found: None,
        })
    }

    fn is_herding(&self) -> bool {
        matches!(self.state, State::Herding(_))
    }

    fn is_settled(&self) -> bool {
        matches!(self.state, State::Settled(_))
    }

    fn herd(&mut self, mu: &[f64], offsets: Option<&[f64]>, closed: &[usize], unique: bool) {
        let Some((points, parts)) = self.rows.clone() else { return };
        let scores = self.gpu.kept(|_| {
            let mut scores = there::Scores::new(points, parts, mu, offsets, unique)?;
            if !closed.is_empty() {
                let mut sums = vec![0.0; mu.len()];
                closed.iter().for_each(|&row| sums[row] = f64::NEG_INFINITY);
                scores.set_sums(&sums)?;
            }
            Ok(scores)
        });
        self.state = scores.map_or(State::Nothing, |scores| State::Herding(Box::new(scores)));
        self.found = None;
    }

    fn best(&mut self, factor: f64) -> Option<(usize, f64)> {
        let State::Herding(scores) = &mut self.state else { return None };
        let pick = self.gpu.kept(|_| scores.best(factor)).flatten();
        self.found = pick.map(|pick| (pick.index, pick.sum));
        pick.map(|pick| (pick.index, pick.score))
    }

    fn sum(&mut self, row: usize) -> f64 {
        match (&mut self.state, self.found) {
            (_, Some((found, sum))) if found == row => sum,
            (State::Herding(scores), _) => self.gpu.kept(|_| scores.sum(row)).unwrap_or_default(),
            _ => 0.0,
        }
    }

    fn choose(&mut self, row: usize) {
        let State::Herding(scores) = &mut self.state else { return };
        match self.found.take() {
            Some((found, _)) if found == row => scores.choose_found(),
            _ => self.gpu.kept(|_| scores.choose(row)).unwrap_or_default(),
        }
    }

    fn settle(&mut self, start: &[f64], chosen: &[usize], closed: &[usize], repeats: bool) {
        self.state = State::Nothing;
        let Some((points, parts)) = self.rows.clone() else { return };
        let set = self.gpu.kept(|_| there::Set::new(points, parts, start, chosen, closed, repeats));
        self.state = set.map_or(State::Nothing, |set| State::Settled(Box::new(set)));
    }

    fn noise(&self, numbers: &[f32]) -> Box<dyn Any + Send + Sync> {
        Box::new(Noise(self.gpu.kept(|device| there::Noise::new(device, numbers))))
    }

    fn visit(&mut self, visits: &[Visit], noise: Option<&dyn Any>) -> Vec<Option<Outcome>> {
        let State::Settled(set) = &mut self.state else { return Vec::new() };
        let noise = match noise.map(|noise| noise.downcast_ref().expect("noise of a GPU")) {
            Some(Noise(None)) => return Vec::new(),
            Some(Noise(numbers)) => numbers.as_ref(),
            None => None,
        };
        self.gpu.kept(|_| set.visit(visits, noise)).unwrap_or_default()
    }

    fn put(&mut self, places: &[(usize, usize)]) {
        if let State::Settled(set) = &mut self.state {
            self.gpu.kept(|_| set.put(places));
        }
    }
}
