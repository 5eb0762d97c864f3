//! No GPU: what stands in the place of one where the library is built without the feature `gpu`. None of it can come to be.

use std::ops::ControlFlow;
use std::sync::Arc;

use supersample_sum::{Coordinates, Precision, Shape};

use super::{Outcome, Visit};
use crate::{Error, Points, Result};

#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Gpu {}

pub(crate) type Watch<'a> = supersample_sum::Watch<'a>;

impl Gpu {
    pub(crate) fn open() -> Result<Gpu> {
        let reason =
            "no GPU: this build has no support for one (the feature `gpu`); the device cpu needs none";
        Err(Error::Device { reason: reason.to_string() })
    }

    pub(crate) fn name(&self) -> &str {
        match *self {}
    }

    pub(crate) fn check(&self) -> Result<()> {
        match *self {}
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Packed(Gpu);

#[expect(dead_code, reason = "made for a GPU alone")]
pub(crate) enum Side<'a> {
    There(&'a Packed),
    Here(Points),
}

impl Packed {
    pub(crate) fn new(gpu: &Gpu, _: Shape, _: &Points, _: Precision) -> Packed {
        match *gpu {}
    }

    pub(crate) fn in_coordinates(gpu: &Gpu, _: &Arc<Coordinates>, _: &Points, _: Precision) -> Packed {
        match *gpu {}
    }

    pub(crate) fn some(&self, _: &Points) -> Packed {
        match self.0 {}
    }

    pub(crate) fn precision(&self) -> Precision {
        match self.0 {}
    }

    pub(crate) fn coordinates(&self) -> &Arc<Coordinates> {
        match self.0 {}
    }

    pub(crate) fn widened(&self) -> Packed {
        match self.0 {}
    }

    pub(crate) fn own_mean(&self, _: Option<&[f64]>, _: &mut [f64], _: Option<Watch<'_>>) -> ControlFlow<()> {
        match self.0 {}
    }

    pub(crate) fn mean(
        &self,
        _: (Side<'_>, Side<'_>),
        _: Option<&[f64]>,
        _: &mut [f64],
        _: Option<Watch<'_>>,
    ) -> ControlFlow<()> {
        match self.0 {}
    }
}

pub(crate) struct Choice(Gpu);

pub(crate) struct Noise;

impl Choice {
    pub(crate) fn new<'a>(points: &Packed, _: impl Iterator<Item = (&'a Packed, f64)>) -> Choice {
        match points.0 {}
    }

    pub(crate) fn afresh(&self) -> Choice {
        match self.0 {}
    }

    pub(crate) fn is_herding(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn is_settled(&self) -> bool {
        match self.0 {}
    }

    pub(crate) fn herd(&mut self, _: &[f64], _: Option<&[f64]>, _: &[usize], _: bool) {
        match self.0 {}
    }

    pub(crate) fn best(&mut self, _: f64) -> Option<(usize, f64)> {
        match self.0 {}
    }

    pub(crate) fn sum(&mut self, _: usize) -> f64 {
        match self.0 {}
    }

    pub(crate) fn choose(&mut self, _: usize) {
        match self.0 {}
    }

    pub(crate) fn settle(&mut self, _: &[f64], _: &[usize], _: &[usize], _: bool) {
        match self.0 {}
    }

    pub(crate) fn noise(&self, _: &[f32]) -> Noise {
        match self.0 {}
    }

    pub(crate) fn visit(&mut self, _: &[Visit], _: Option<&Noise>) -> Vec<Option<Outcome>> {
        match self.0 {}
    }

    pub(crate) fn put(&mut self, _: &[(usize, usize)]) {
        match self.0 {}
    }
}
