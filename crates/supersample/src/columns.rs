//! Columns of row-major numbers, extracted several at a time and processed one by one.
//!
//! A row of hundreds of numbers fills many cache lines, and a walk down one column fetches a line for every row. So
//! columns that share cache lines are extracted together, once, and each is then contiguous.

use rayon::prelude::*;

/// Number of columns extracted at once, if memory allows it: those of a cache line.
const AT_ONCE: usize = 8;

/// Memory in bytes for columns beyond one for each thread.
const BYTES: usize = 64 << 20;

/// Rows processed at once: they stay in the second-level cache.
const ROWS: usize = 1024;

/// Number of columns in memory at once, for a number of rows and threads.
pub(crate) fn at_once(rows: usize, dim: usize, threads: usize) -> usize {
    threads.max(AT_ONCE.min(BYTES / 8 / rows.max(1))).min(dim)
}

/// Applies `work` to each column of rows of `dim` numbers, after `take` of each number.
pub(crate) fn for_columns<T: Copy + Default + Send, R: Send>(
    values: &[f64],
    dim: usize,
    take: impl Fn(f64) -> T + Sync,
    work: impl Fn(usize, &mut [T]) -> R + Sync,
) -> Vec<R> {
    let mut results = Vec::with_capacity(dim);
    by_blocks(values, dim, take, work, |some| results.extend(some));
    results
}

/// [`for_columns`], whose results are used, in order, as soon as there are some of them.
pub(crate) fn by_blocks<T: Copy + Default + Send, R: Send>(
    values: &[f64],
    dim: usize,
    take: impl Fn(f64) -> T + Sync,
    work: impl Fn(usize, &mut [T]) -> R + Sync,
    mut then: impl FnMut(Vec<R>),
) {
    let count = values.len() / dim;
    let at_once = at_once(count, dim, rayon::current_num_threads());
    // One buffer for all: allocating takes longer than filling it.
    let mut memory = vec![T::default(); at_once * count];
    for first in (0..dim).step_by(at_once) {
        let columns = first..dim.min(first + at_once);
        let memory = &mut memory[..columns.len() * count];
        // By some rows, a piece of each column.
        let mut pieces: Vec<Vec<&mut [T]>> = Vec::new();
        pieces.resize_with(count.div_ceil(ROWS), || Vec::with_capacity(columns.len()));
        for column in memory.chunks_mut(count) {
            pieces.iter_mut().zip(column.chunks_mut(ROWS)).for_each(|(some, piece)| some.push(piece));
        }
        pieces.into_par_iter().zip(values.par_chunks(ROWS * dim)).for_each(|(mut pieces, rows)| {
            for (i, row) in rows.chunks_exact(dim).enumerate() {
                pieces.iter_mut().zip(&row[columns.clone()]).for_each(|(piece, x)| piece[i] = take(*x));
            }
        });
        let worked = memory.par_chunks_mut(count).zip(columns).map(|(column, index)| work(index, column));
        then(worked.collect());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_is_worked_on_once_in_order() {
        for (rows, dim) in [(1, 1), (3, 2), (1025, 9), (2048, 17), (5, 40)] {
            let values: Vec<f64> = (0..rows * dim).map(|i| i as f64).collect();
            let found = for_columns(&values, dim, |x| x + 0.5, |index, column| (index, column.to_vec()));
            assert_eq!(found.len(), dim);
            for (j, (index, column)) in found.into_iter().enumerate() {
                let wanted = values.iter().skip(j).step_by(dim).map(|x| x + 0.5);
                assert!(index == j && column.into_iter().eq(wanted), "{rows} × {dim}: {j}");
            }
        }
    }

    #[test]
    fn few_columns_of_many_rows_are_in_memory() {
        assert_eq!(at_once(1000, 3, 2), 3);
        assert_eq!(at_once(1000, 57, 2), 8);
        assert_eq!(at_once(1000, 57, 16), 16);
        assert_eq!(at_once(100_000_000, 57, 2), 2);
    }
}
