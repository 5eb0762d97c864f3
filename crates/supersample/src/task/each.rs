//! Many sets at once: one independent choice for every group of rows, in parallel over the groups.

use std::sync::atomic::{AtomicUsize, Ordering};

use rayon::prelude::*;

use super::{Choose, Chosen, Method, Problem, Rows};
use crate::points::{expect_rows, normalised};
use crate::words::Opt;
use crate::{Error, Points, Progress, Refined, Result, Search, Watch};

/// Sweeps of each search at least: the first bring most of the gain.
const FEWEST_SWEEPS: usize = 3;

/// The choice from one group of rows.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct ChosenOf {
    /// Number of rows in the group.
    pub rows: usize,
    /// The choice, its rows numbered among all rows.
    pub chosen: Chosen,
}

/// Chooses rows from every group, each as if its rows were all there are: scale, bandwidth and errors are its own. The search
/// of all groups together is as long as that of one choice from all rows, unless its sweeps are given.
///
/// `groups` has the group of each row, from 0. The result has one choice for each group, in their order. A group without rows is an
/// error, and so is one whose rows are refused ([`Error::InGroup`]).
///
/// ```
/// use supersample::task::{Choose, Rows, choose_each};
/// use supersample::{Points, unwatched};
/// let rows: Vec<f64> = (0..600).map(|i| (i as f64 * 0.7).sin() + (i % 3) as f64).collect();
/// let groups: Vec<usize> = (0..600).map(|i| i % 3).collect();
/// let found = choose_each(&Rows::new(Points::from_vec(rows, 1)?), &groups, &Choose::thin(10)?, &unwatched)?;
/// assert!(found.iter().all(|group| group.rows == 200 && group.chosen.rows.len() == 10));
/// assert!(found[2].chosen.rows.iter().all(|row| row % 3 == 2));
/// # Ok::<(), supersample::Error>(())
/// ```
pub fn choose_each(rows: &Rows, groups: &[usize], choose: &Choose, watch: Watch) -> Result<Vec<ChosenOf>> {
    expect_rows("the groups", groups.len(), rows.points.len())?;
    check(rows, choose)?;
    let count = groups.iter().max().map_or(0, |last| last + 1);
    let mut members: Vec<Vec<usize>> = vec![Vec::new(); count];
    groups.iter().enumerate().for_each(|(row, &group)| members[group].push(row));
    let choose = &with_one_budget(choose.clone().diagnosis(false), &rows.points);
    let done = AtomicUsize::new(0);
    let of_group = |(group, members): (usize, &Vec<usize>)| -> Result<ChosenOf> {
        // Of the group itself only the end is watched: progress is in groups.
        let inner =
            |_: Progress| watch(Progress::Herding { chosen: done.load(Ordering::Relaxed), size: count });
        let found = choose_from(rows, members, choose, &inner).map_err(|error| match error {
            Error::Interrupted => error,
            error => Error::InGroup { group, error: Box::new(error) },
        })?;
        done.fetch_add(1, Ordering::Relaxed);
        if inner(Progress::Herding { chosen: 0, size: count }).is_break() {
            return Err(Error::Interrupted);
        }
        Ok(ChosenOf { rows: members.len(), chosen: found })
    };
    // The first error in the order of the groups, on any number of threads.
    let found: Vec<Result<ChosenOf>> = members.par_iter().enumerate().map(of_group).collect();
    found.into_iter().collect()
}

/// Sets the default length of the search to that for a set of all rows: its time is that of one choice, however many there are.
fn with_one_budget(mut choose: Choose, rows: &Points) -> Choose {
    if let (Method::Thin(refine), Some(size)) = (&mut choose.method, choose.stop.number)
        && let Some(search) = &mut refine.search
    {
        // That of very many rows is none, because of landmarks, which a group of few rows does not have.
        let sweeps = || Search::sweeps_for(rows.len(), size, rows.dim()).max(FEWEST_SWEEPS);
        search.sweeps.get_or_insert_with(sweeps);
    }
    choose
}

/// Refuses what refers to all rows together.
fn check(rows: &Rows, choose: &Choose) -> Result<()> {
    choose.check()?;
    let refused = [
        (rows.other.is_some(), Opt::Match),
        (rows.summary.is_some(), Opt::MatchSummary),
        (rows.scores.is_some(), Opt::Scores),
        (rows.gram.is_some(), Opt::Embedding),
        (choose.method.is_constrained(), Opt::Include),
    ];
    if let Some((_, option)) = refused.into_iter().find(|(is_given, _)| *is_given) {
        let advice = "every group has a set of its own; leave it out";
        return Err(Error::NotTogether { option, with: "a set for each group", advice });
    }
    if choose.stop.add.is_some() {
        let advice = "give a number of rows";
        return Err(Error::AutoSize { what: "a set for each group", advice });
    }
    Ok(())
}

fn choose_from(rows: &Rows, members: &[usize], choose: &Choose, watch: Watch) -> Result<Chosen> {
    if members.is_empty() {
        return Err(Error::NoPoints);
    }
    let mut own = Rows::new(rows.points.select(members)?);
    if let Some(shares) = &rows.shares {
        let weights: Vec<f64> = members.iter().map(|&row| shares[row]).collect();
        own.shares = Some(normalised(&weights, "rows", members.len())?);
    }
    if let Some(functions) = &rows.functions {
        own.functions = Some(functions.select(members)?);
    }
    let problem = Problem::new(own, choose.clone())?;
    let mut chosen = problem.prepare(watch)?.choose(watch)?;
    chosen.rows.iter_mut().for_each(|row| *row = members[*row]);
    chosen.trace.iter_mut().for_each(|pick| pick.index = pick.index.map(|row| members[row]));
    chosen.refined =
        chosen.refined.map(|set| Refined { rows: set.rows.iter().map(|&row| members[row]).collect(), ..set });
    Ok(chosen)
}
