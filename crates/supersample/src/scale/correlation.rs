//! Correlations of all pairs of columns.

use rayon::prelude::*;
use supersample_sum::{ABREAST, PanelProduct, add_products};

use super::Moments;

/// Rows that are standardised at a time, so that no second copy of the data is needed.
const BLOCK: usize = 256;

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
    let mut scaled = vec![0.0; panels * ABREAST * BLOCK];
    let mut products: Vec<Vec<PanelProduct>> =
        (1..=panels).map(|count| vec![[[0.0; ABREAST]; ABREAST]; count]).collect();
    for (block, rows) in values.chunks(dim * BLOCK).enumerate() {
        // Columns in panels, each cell times the root of its share, so that products carry the whole share.
        let (count, size) = (rows.len() / dim, rows.len() / dim * ABREAST);
        let scaled = &mut scaled[..panels * size];
        scaled.par_chunks_mut(size).enumerate().for_each(|(panel, cells)| {
            cells.fill(0.0);
            for (i, cells) in cells.chunks_exact_mut(ABREAST).enumerate() {
                let share = shares.map_or(equal, |shares| shares[block * BLOCK + i]);
                if share <= 0.0 {
                    continue;
                }
                let root = share.sqrt();
                let columns = panel * ABREAST..dim.min((panel + 1) * ABREAST);
                let row = &rows[i * dim..(i + 1) * dim];
                for (cell, (x, moments)) in
                    cells.iter_mut().zip(row[columns.clone()].iter().zip(&moments[columns]))
                {
                    if let Some(Moments { mean, sd }) = moments {
                        *cell = (x * 0.5 - mean * 0.5) / sd * 2.0 * root;
                    }
                }
            }
        });
        let scaled = &*scaled;
        products.par_iter_mut().enumerate().for_each(|(panel, products)| {
            let left = &scaled[panel * size..(panel + 1) * size];
            add_products(left, &scaled[..(panel + 1) * size], count, products);
        });
    }
    for (a, sums) in sums.iter_mut().enumerate() {
        let line = |b: usize| products[a / ABREAST][b / ABREAST][a % ABREAST][b % ABREAST];
        sums.iter_mut().enumerate().for_each(|(b, sum)| *sum = line(b));
    }
    sums
}
