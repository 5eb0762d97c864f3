//! Correlations of all pairs of columns.

use rayon::prelude::*;
use supersample_sum::{ABREAST, PanelProduct, add_products};

use super::Moments;

/// Rows of a block; it fixes the order of the sums.
const BLOCK: usize = 256;

/// Blocks that are standardised at a time, so that no second copy of the data is needed and threads seldom wait for each
/// other.
const BLOCKS: usize = 16;

/// The correlations below the diagonal, 0 where a column has no spread. Shares are not negative.
pub(crate) fn correlations(
    values: &[f64],
    moments: &[Option<Moments>],
    shares: Option<&[f64]>,
) -> Vec<Vec<f64>> {
    let dim = moments.len();
    let mut sums: Vec<Vec<f64>> = (0..dim).map(|a| vec![0.0; a]).collect();
    if moments.iter().flatten().count() < 2 {
        return sums;
    }
    let equal = 1.0 / (values.len() / dim) as f64;
    let panels = dim.div_ceil(ABREAST);
    let mut scaled = vec![0.0; panels * ABREAST * (BLOCK * BLOCKS).min(values.len() / dim)];
    let pairs = (0..panels).flat_map(|a| (0..=a).map(move |b| (a, b)));
    let mut products: Vec<((usize, usize), PanelProduct)> =
        pairs.map(|pair| (pair, [[0.0; ABREAST]; ABREAST])).collect();
    for (round, rows) in values.chunks(dim * BLOCK * BLOCKS).enumerate() {
        let blocks = rows.par_chunks(dim * BLOCK).zip(scaled.par_chunks_mut(panels * ABREAST * BLOCK));
        blocks.enumerate().for_each(|(block, (rows, scaled))| {
            let share =
                |i: usize| shares.map_or(equal, |shares| shares[(round * BLOCKS + block) * BLOCK + i]);
            standardise(rows, moments, share, scaled);
        });
        let scaled = &*scaled;
        products.par_iter_mut().for_each(|((a, b), product)| {
            let blocks = rows.chunks(dim * BLOCK).zip(scaled.chunks(panels * ABREAST * BLOCK));
            for (rows, scaled) in blocks {
                let count = rows.len() / dim;
                let panel = |panel: usize| &scaled[panel * count * ABREAST..(panel + 1) * count * ABREAST];
                add_products(panel(*a), panel(*b), count, std::slice::from_mut(product));
            }
        });
    }
    for ((of_a, of_b), product) in products {
        for (a, sums) in sums.iter_mut().enumerate().skip(of_a * ABREAST).take(ABREAST) {
            let columns = sums.iter_mut().enumerate().skip(of_b * ABREAST).take(ABREAST);
            columns.for_each(|(b, sum)| *sum = product[a % ABREAST][b % ABREAST]);
        }
    }
    sums
}

/// Writes the cells of a block of rows in panels of columns, each times the root of its share, so that products carry the whole
/// share.
fn standardise(rows: &[f64], moments: &[Option<Moments>], share: impl Fn(usize) -> f64, scaled: &mut [f64]) {
    let dim = moments.len();
    let size = rows.len() / dim * ABREAST;
    scaled[..dim.div_ceil(ABREAST) * size].fill(0.0);
    for (i, row) in rows.chunks_exact(dim).enumerate() {
        let share = share(i);
        if share <= 0.0 {
            continue;
        }
        let root = share.sqrt();
        let panels = row.chunks(ABREAST).zip(moments.chunks(ABREAST)).enumerate();
        for (panel, (row, moments)) in panels {
            let cells = &mut scaled[panel * size + i * ABREAST..][..ABREAST];
            for (cell, (x, moments)) in cells.iter_mut().zip(row.iter().zip(moments)) {
                if let Some(Moments { mean, sd }) = moments {
                    *cell = (x * 0.5 - mean * 0.5) / sd * 2.0 * root;
                }
            }
        }
    }
}
