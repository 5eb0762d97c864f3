//! Constraints on a set: quotas by group, included rows, excluded rows.

use super::RefineOptions;
use crate::{Error, Result};

/// Constraints on one set of `size` rows, checked to be possible.
pub(super) struct Constraints {
    size: usize,
    repeats: bool,
    is_excluded: Option<Vec<bool>>,
    include: Vec<usize>,
    groups: Option<Grouped>,
}

struct Grouped {
    of_row: Vec<usize>,
    quotas: Vec<usize>,
}

/// Constraints as the user states them, for a pool of `len` rows.
pub(super) struct ConstraintsAsked<'a> {
    pub(super) options: &'a RefineOptions,
    pub(super) len: usize,
    /// Masses that give the default quotas; `None` for equal ones.
    pub(super) masses: Option<&'a [f64]>,
}

impl RefineOptions {
    /// Checks that some set of `size` of `rows` rows can fulfil the constraints.
    ///
    /// `None` is the smallest set that reaches an error. Front ends call this before rows are compared.
    ///
    /// ```
    /// use supersample::{Error, RefineOptions};
    /// let options = RefineOptions::default().include(&[3]).exclude(&[3, 4]);
    /// assert_eq!(options.check(10, Some(5)), Err(Error::IncludedAndExcluded { index: 3 }));
    /// assert!(options.include(&[1]).check(10, Some(8)).is_ok());
    /// ```
    pub fn check(&self, rows: usize, size: Option<usize>) -> Result<()> {
        self.check_asked(size)?;
        let asked = ConstraintsAsked { options: self, len: rows, masses: None };
        asked.check()?;
        asked.for_size(size.unwrap_or(self.include.len().max(1))).map(drop)
    }
}

impl ConstraintsAsked<'_> {
    /// Checks all that does not depend on the size of the set.
    pub(super) fn check(&self) -> Result<()> {
        let mut is_included = vec![false; self.len];
        for &index in self.options.include.iter().chain(&self.options.exclude) {
            if index >= self.len {
                return Err(Error::NoSuchRow { index, len: self.len });
            }
        }
        for &index in &self.options.include {
            if std::mem::replace(&mut is_included[index], true) && !self.options.repeats {
                return Err(Error::RepeatedRow { index });
            }
        }
        if let Some(&index) = self.options.exclude.iter().find(|&&index| is_included[index]) {
            return Err(Error::IncludedAndExcluded { index });
        }
        if let Some(groups) = &self.options.groups {
            if groups.len() != self.len {
                return Err(Error::GroupCount { found: groups.len(), expected: self.len });
            }
            let (expected, found) = (count_of(groups), self.options.quotas.as_ref().map_or(0, Vec::len));
            if self.options.quotas.is_some() && found != expected {
                return Err(Error::QuotaCount { found, expected });
            }
        } else if let Some(quotas) = &self.options.quotas {
            return Err(Error::QuotaCount { found: quotas.len(), expected: 0 });
        }
        Ok(())
    }

    /// The constraints for a set of this size.
    pub(super) fn for_size(&self, size: usize) -> Result<Constraints> {
        if size == 0 {
            return Err(Error::EmptySet);
        }
        if self.options.include.len() > size {
            return Err(Error::TooManyIncluded { included: self.options.include.len(), asked: size });
        }
        let is_excluded = (!self.options.exclude.is_empty()).then(|| {
            let mut is_excluded = vec![false; self.len];
            self.options.exclude.iter().for_each(|&row| is_excluded[row] = true);
            is_excluded
        });
        let is_open = |row: usize| is_excluded.as_ref().is_none_or(|out| !out[row]);
        let available = (0..self.len).filter(|&row| is_open(row)).count();
        if available == 0 || (!self.options.repeats && available < size) {
            return Err(Error::TooFewRows { asked: size, available });
        }
        let groups = match &self.options.groups {
            None => None,
            Some(of_row) => {
                let quotas = self.quotas_for(size, of_row, is_open)?;
                Some(Grouped { of_row: of_row.to_vec(), quotas })
            }
        };
        Ok(Constraints {
            size,
            repeats: self.options.repeats,
            is_excluded,
            include: self.options.include.to_vec(),
            groups,
        })
    }

    fn quotas_for(
        &self,
        size: usize,
        of_row: &[usize],
        is_open: impl Fn(usize) -> bool,
    ) -> Result<Vec<usize>> {
        let count = count_of(of_row);
        let (mut room, mut included, mut masses) = (vec![0; count], vec![0; count], vec![0.0; count]);
        for (row, &group) in of_row.iter().enumerate() {
            room[group] += usize::from(is_open(row));
            masses[group] += self.masses.map_or(1.0, |masses| masses[row]);
        }
        if self.options.repeats {
            room.iter_mut().filter(|room| **room > 0).for_each(|room| *room = usize::MAX);
        }
        self.options.include.iter().for_each(|&row| included[of_row[row]] += 1);
        self.options.check_asked(Some(size))?;
        let quotas = match &self.options.quotas {
            Some(quotas) => quotas.clone(),
            None => proportional(size, &masses, &room, &included),
        };
        for (group, &quota) in quotas.iter().enumerate() {
            if quota > room[group] {
                return Err(Error::QuotaTooLarge { group, quota, available: room[group] });
            }
            if quota < included[group] {
                return Err(Error::QuotaTooSmall { group, quota, included: included[group] });
            }
        }
        Ok(quotas)
    }
}

/// Distributes places by mass with largest remainders, within the room of each group and after the included rows.
fn proportional(size: usize, masses: &[f64], room: &[usize], included: &[usize]) -> Vec<usize> {
    let total: f64 = masses.iter().sum();
    let mut quotas = included.to_vec();
    for _ in included.iter().sum()..size {
        let lack = |group: usize| size as f64 * masses[group] / total - quotas[group] as f64;
        let open = (0..masses.len()).filter(|&group| quotas[group] < room[group]);
        // Ties go to the group of the lowest number.
        let next = open.reduce(|a, b| if lack(b) > lack(a) { b } else { a });
        quotas[next.expect("the pool has at least `size` open rows")] += 1;
    }
    quotas
}

fn count_of(groups: &[usize]) -> usize {
    groups.iter().max().map_or(0, |last| last + 1)
}

impl Constraints {
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// The group of each row, where there are groups: quotas are kept by replacing a row only with one of its own group.
    pub(super) fn groups(&self) -> Option<&[usize]> {
        self.groups.as_ref().map(|groups| &*groups.of_row)
    }

    /// Rows that must be in; they take the first positions.
    pub(super) fn include(&self) -> &[usize] {
        &self.include
    }

    /// Whether the group of row `i` has a place left.
    pub(super) fn has_place(&self, i: usize, left: &[usize]) -> bool {
        self.groups.as_ref().is_none_or(|groups| left[groups.of_row[i]] > 0)
    }

    fn is_open(&self, i: usize, times: u32) -> bool {
        (self.repeats || times == 0) && self.is_excluded.as_ref().is_none_or(|out| !out[i])
    }

    /// The places left by group after these rows; `None` without groups.
    pub(super) fn places_left(&self, chosen: &[usize]) -> Option<Vec<usize>> {
        let groups = self.groups.as_ref()?;
        let mut left = groups.quotas.clone();
        chosen.iter().for_each(|&row| left[groups.of_row[row]] = left[groups.of_row[row]].saturating_sub(1));
        Some(left)
    }

    /// Checks that these rows fulfil the constraints.
    pub(super) fn check(&self, rows: &[usize], len: usize) -> Result<()> {
        let mut times = vec![0; len];
        for &index in rows {
            if index >= len {
                return Err(Error::NoSuchRow { index, len });
            }
            if !self.is_open(index, times[index]) {
                return Err(if times[index] > 0 {
                    Error::RepeatedRow { index }
                } else {
                    Error::ExcludedRow { index }
                });
            }
            times[index] += 1;
        }
        if let Some(groups) = &self.groups {
            let mut counts = vec![0; groups.quotas.len()];
            rows.iter().for_each(|&row| counts[groups.of_row[row]] += 1);
            for (group, (&found, &quota)) in counts.iter().zip(&groups.quotas).enumerate() {
                if found != quota {
                    return Err(Error::QuotaNotKept { group, quota, found });
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_shared_by_largest_remainder_within_the_room() {
        let free = [usize::MAX; 3];
        assert_eq!(proportional(10, &[1.0, 1.0, 1.0], &free, &[0, 0, 0]), [4, 3, 3]);
        assert_eq!(proportional(10, &[5.0, 3.0, 2.0], &free, &[0, 0, 0]), [5, 3, 2]);
        assert_eq!(proportional(7, &[0.52, 0.28, 0.2], &free, &[0, 0, 0]), [4, 2, 1]);
        assert_eq!(proportional(10, &[0.9, 0.05, 0.05], &free, &[0, 0, 0]), [9, 1, 0]);
        assert_eq!(proportional(10, &[5.0, 3.0, 2.0], &[2, 100, 100], &[0, 0, 0]), [2, 5, 3]);
        assert_eq!(proportional(4, &[1.0, 0.0, 0.0], &free, &[0, 0, 2]), [2, 0, 2]);
    }
}
