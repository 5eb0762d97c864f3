//! Columns of gathered rows that are functions of interest instead of coordinates.

use super::{Columns, Gathered};
use crate::scale::Moments;
use crate::words::Opt;
use crate::{Error, Points, Result};

/// Functions of the drawn rows, with their moments over all rows.
#[derive(Clone, Debug)]
pub(in crate::task) struct GatheredFunctions {
    pub(in crate::task) values: Points,
    pub(in crate::task) moments: Vec<Option<Moments>>,
}

impl Gathered {
    /// Treats the last `count` columns as functions whose means over all rows are matched. At least one column must be
    /// left.
    ///
    /// ```
    /// use supersample::task::stream::Gatherer;
    /// use supersample::task::{Choose, Problem, RowWeights};
    /// let mut gatherer = Gatherer::new(3, 500, 0)?;
    /// let rows: Vec<f64> = (0..3000).map(|i| (f64::from(i) * 0.7).sin()).collect();
    /// gatherer.update(&rows, RowWeights::Equal)?;
    /// let gathered = gatherer.finish()?.with_functions(1)?;
    /// assert_eq!(gathered.pool().dim(), 2);
    /// let problem = Problem::of_gathered(gathered, Choose::thin(10)?)?;
    /// assert_eq!(problem.functions().unwrap().0.count(), 1);
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn with_functions(self, count: usize) -> Result<Gathered> {
        if count == 0 {
            return Ok(self);
        }
        let dim = self.pool.dim();
        if count >= dim {
            let advice = "at least one of the columns is a function, and one is not";
            let value = count as f64;
            return Err(Error::BadOption { option: Opt::FunctionCount, value, advice });
        }
        let columns = |points: &Points, columns: std::ops::Range<usize>| {
            let width = columns.len();
            let values = points.rows().flat_map(|row| &row[columns.clone()]).copied().collect();
            Points::from_vec(values, width)
        };
        let left = dim - count;
        let Columns { mut moments, mut firsts } = self.columns;
        let functions =
            GatheredFunctions { values: columns(&self.pool, left..dim)?, moments: moments.split_off(left) };
        firsts.truncate(left);
        Ok(Gathered {
            pool: columns(&self.pool, 0..left)?,
            controls: columns(&self.controls, 0..left)?,
            columns: Columns { moments, firsts },
            functions: Some(functions),
            ..self
        })
    }
}
