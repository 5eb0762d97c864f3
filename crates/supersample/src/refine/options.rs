//! Options of refinement: constraints, groups, and the length of the search.

use crate::{Error, Result};

/// Options for choosing, refining and ordering a set of rows.
///
/// ```
/// use supersample::RefineOptions;
/// let plain = RefineOptions::default();
/// assert!(!plain.repeats && plain.search.is_none());
/// let thorough = RefineOptions::default().search(40, 1).exclude(&[0, 1]);
/// assert_eq!(thorough.search.unwrap().sweeps, Some(40));
/// ```
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct RefineOptions {
    /// Whether a row may be chosen more than once. Off by default.
    pub repeats: bool,
    /// Largest number of sweeps; 0 leaves the herded set as it is. Default 100; 3 to 15 are usual.
    pub max_sweeps: usize,
    /// The search beyond the local optimum. Off by default.
    pub search: Option<Search>,
    /// Whether the rows are put in greedy order, so that every prefix is a good smaller set. On by default; otherwise
    /// they keep the order of the sweeps.
    pub ordered: bool,
    /// Rows that must be in the set.
    pub include: Vec<usize>,
    /// Rows that must not be in the set.
    pub exclude: Vec<usize>,
    /// The group of each row of the pool, numbered from 0: a chain, a class. None by default.
    pub groups: Option<Vec<usize>>,
    /// Number of rows from each group; by default in proportion to the mass of the group.
    pub quotas: Option<Vec<usize>>,
    /// Memory in bytes for keeping kernel rows of chosen points, which are then not computed again. Default 512 MiB. It
    /// changes the time, and the result only by rounding.
    pub memory: usize,
}

/// Seeded search that leaves the local optimum by annealing and returns the best set it has met.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Search {
    /// Annealed sweeps in each round; `None` for [`sweeps_for`](Self::sweeps_for) of the set.
    pub sweeps: Option<usize>,
    /// Rounds, each from the best set so far. Default 1: one long round does better than several short ones.
    pub rounds: usize,
    /// The seed of its random numbers; the same seed gives the same set.
    pub seed: u64,
}

impl Search {
    /// Default number of annealed sweeps for a set of `size` of `n` rows with `dim` coordinates.
    ///
    /// It is 400 where that takes a second or two, and smaller for larger sets, but at least 3, because the first
    /// sweeps bring most of the gain. For small sets it is larger, up to 4,000, as long as that takes a tenth of a second.
    /// Above 100,000 rows it is 0 where it would be below 10: there the sweeps take longer than everything else and gain
    /// less than twice the landmarks do.
    ///
    /// ```
    /// use supersample::Search;
    /// assert_eq!(Search::sweeps_for(60, 6, 3), 4000);
    /// assert_eq!(Search::sweeps_for(2000, 50, 5), 769);
    /// assert_eq!(Search::sweeps_for(10_000, 156, 5), 400);
    /// assert_eq!(Search::sweeps_for(100_000, 100, 5), 76);
    /// assert_eq!(Search::sweeps_for(100_000, 5000, 5), 3);
    /// assert_eq!(Search::sweeps_for(200_000, 100, 5), 38);
    /// assert_eq!(Search::sweeps_for(200_000, 512, 5), 0);
    /// ```
    pub fn sweeps_for(n: usize, size: usize, dim: usize) -> usize {
        // A visit looks at every row and computes one kernel row. A kernel value costs as much as eight more
        // coordinates.
        const STEPS: usize = 10_000_000_000;
        const STEPS_OF_SMALL: usize = 1_000_000_000;
        let of_sweep = n.saturating_mul(size).saturating_mul(dim.saturating_add(8));
        match STEPS / of_sweep.max(1) {
            0..10 if n > 100_000 => 0,
            sweeps => sweeps.clamp(3, 400).max((STEPS_OF_SMALL / of_sweep.max(1)).min(4000)),
        }
    }
}

impl Default for RefineOptions {
    fn default() -> RefineOptions {
        RefineOptions {
            repeats: false,
            max_sweeps: 100,
            search: None,
            ordered: true,
            include: Vec::new(),
            exclude: Vec::new(),
            groups: None,
            quotas: None,
            memory: 512 << 20,
        }
    }
}

impl RefineOptions {
    /// Allows rows to be chosen more than once, or forbids it.
    pub fn repeats(self, repeats: bool) -> RefineOptions {
        RefineOptions { repeats, ..self }
    }

    /// Sets the largest number of sweeps.
    pub fn max_sweeps(self, max_sweeps: usize) -> RefineOptions {
        RefineOptions { max_sweeps, ..self }
    }

    /// Adds a search of one round of `sweeps` annealed sweeps.
    pub fn search(self, sweeps: usize, seed: u64) -> RefineOptions {
        RefineOptions { search: Some(Search { sweeps: Some(sweeps), rounds: 1, seed }), ..self }
    }

    /// Adds a search that is as long as the size of the set allows ([`Search::sweeps_for`]).
    pub fn search_by_size(self, seed: u64) -> RefineOptions {
        RefineOptions { search: Some(Search { sweeps: None, rounds: 1, seed }), ..self }
    }

    /// Adds the search of a front end's option: `sweeps` of them, none for 0, and by size for `None`.
    pub fn search_asked(self, sweeps: Option<usize>, seed: u64) -> RefineOptions {
        match sweeps {
            Some(0) => self,
            Some(sweeps) => self.search(sweeps, seed),
            None => self.search_by_size(seed),
        }
    }

    /// Sets the number of rounds of the search; no effect without a search.
    pub fn rounds(self, rounds: usize) -> RefineOptions {
        RefineOptions { search: self.search.map(|search| Search { rounds, ..search }), ..self }
    }

    /// Puts the rows in greedy order, or leaves them as the sweeps do.
    pub fn ordered(self, ordered: bool) -> RefineOptions {
        RefineOptions { ordered, ..self }
    }

    /// Sets the rows that must be in the set.
    pub fn include(self, rows: &[usize]) -> RefineOptions {
        RefineOptions { include: rows.to_vec(), ..self }
    }

    /// Sets the rows that must not be in the set.
    pub fn exclude(self, rows: &[usize]) -> RefineOptions {
        RefineOptions { exclude: rows.to_vec(), ..self }
    }

    /// Stratifies the set: the group of each row, and the number of rows from each group (by default in proportion to
    /// its mass).
    pub fn groups(self, groups: &[usize], quotas: Option<&[usize]>) -> RefineOptions {
        RefineOptions { groups: Some(groups.to_vec()), quotas: quotas.map(<[usize]>::to_vec), ..self }
    }

    /// Sets the memory in bytes for kept kernel rows.
    pub fn memory(self, bytes: usize) -> RefineOptions {
        RefineOptions { memory: bytes, ..self }
    }

    /// Checks what does not depend on the rows, for a set of `size` rows or (`None`) the smallest that reaches a goal: quotas
    /// must add up to the size, and the smallest set takes none. [`Choose::check`](crate::task::Choose::check) calls it.
    ///
    /// ```
    /// use supersample::task::Choose;
    /// use supersample::{Error, RefineOptions};
    /// let halves = RefineOptions::default().groups(&[0, 1, 1], Some(&[1, 1]));
    /// assert_eq!(Choose::thin(5)?.refine(halves).check(), Err(Error::QuotaTotal { total: 2, asked: 5 }));
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn check_asked(&self, size: Option<usize>) -> Result<()> {
        let Some(quotas) = &self.quotas else { return Ok(()) };
        let (total, asked) = (quotas.iter().sum(), size.ok_or(Error::FixedQuotas)?);
        if total == asked { Ok(()) } else { Err(Error::QuotaTotal { total, asked }) }
    }
}
