//! A set for every group of rows, from Python.

use numpy::{PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use supersample::task::{Advice, Measure, choose_each as choose_each_of};

use crate::advice::AdviceList;
use crate::arrays::{Column, RowNumbers, counted};
use crate::options::Options;
use crate::work::run;

/// What was chosen for each group, one group after the other.
#[pyclass(frozen, get_all, module = "supersample._native")]
pub(crate) struct ChosenEach {
    rows: RowNumbers,
    /// How many rows each group has, and how many were chosen of each.
    group_rows: RowNumbers,
    sizes: RowNumbers,
    /// `None` where they are equal.
    weights: Option<Column>,
    /// NaN where one is not known.
    mmd: Column,
    equivalent_draws: Column,
    cdf: Column,
    /// One of each kind.
    advice: AdviceList,
}

/// Chooses rows of every group of an array.
#[pyfunction]
pub(crate) fn choose_each(
    py: Python<'_>,
    x: PyReadonlyArray2<'_, f64>,
    groups: PyReadonlyArray1<'_, i64>,
    options: Options<'_>,
) -> PyResult<ChosenEach> {
    let choose = options.choose()?;
    let (rows, groups) = (options.rows(py, &x)?, counted(&groups));
    // Always with a look at signals: many small sets take long.
    let found = run(py, options.threads, f64::INFINITY, options.progress.as_ref(), |watch| {
        choose_each_of(&rows, &groups, &choose, watch)
    })?;
    let of = |measure: Measure| {
        Column(found.iter().map(|group| group.chosen.errors.get(measure).unwrap_or(f64::NAN)).collect())
    };
    let mut advice: Vec<Advice> = Vec::new();
    for one in found.iter().flat_map(|group| &group.chosen.advice) {
        if !advice.iter().any(|known| std::mem::discriminant(known) == std::mem::discriminant(one)) {
            advice.push(one.clone());
        }
    }
    let weights = choose.weights.map(|_| {
        let all = found.iter().flat_map(|group| match &group.chosen.weights {
            Some(found) => found.weights.clone(),
            None => vec![1.0 / group.chosen.rows.len() as f64; group.chosen.rows.len()],
        });
        Column(all.collect())
    });
    Ok(ChosenEach {
        group_rows: RowNumbers(found.iter().map(|group| group.rows).collect()),
        sizes: RowNumbers(found.iter().map(|group| group.chosen.rows.len()).collect()),
        weights,
        mmd: of(Measure::Mmd),
        equivalent_draws: of(Measure::EquivalentDraws),
        cdf: of(Measure::Cdf),
        rows: RowNumbers(found.into_iter().flat_map(|group| group.chosen.rows).collect()),
        advice: AdviceList(advice),
    })
}
