//! Draws from a CSV file, scaled.

use std::error::Error;

use supersample::Points;

/// The columns that are not ids, each to mean 0 and variance 1; a constant column stays at 0.
pub(crate) fn scaled(path: &str) -> Result<Points, Box<dyn Error>> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{path}: {error}"))?;
    let mut lines = text.lines();
    let header = lines.next().ok_or("the file is empty")?.split(',');
    let kept: Vec<bool> = header.map(|name| !matches!(name.trim(), "chain" | "draw")).collect();
    let dim = kept.iter().filter(|keep| **keep).count();
    let mut numbers = Vec::new();
    for line in lines {
        for (field, _) in line.split(',').zip(&kept).filter(|(_, keep)| **keep) {
            numbers.push(field.trim().parse::<f64>()?);
        }
    }
    let n = (numbers.len() / dim) as f64;
    for column in 0..dim {
        let values = || numbers[column..].iter().step_by(dim);
        let mean = values().sum::<f64>() / n;
        let sd = (values().map(|x| (x - mean).powi(2)).sum::<f64>() / n).sqrt();
        let divisor = if sd > 0.0 { sd } else { 1.0 };
        numbers[column..].iter_mut().step_by(dim).for_each(|x| *x = (*x - mean) / divisor);
    }
    Ok(Points::from_vec(numbers, dim)?)
}
