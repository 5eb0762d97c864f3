//! Real posteriors through the command, the table's MMD against an independent double sum. Skipped where the files, which
//! are not part of the repository, are absent.

use std::fs;
use std::path::Path;

use crate::desk::{Desk, skipped};

/// The MMD by its definition: every pair, in double precision, one after the other.
fn double_sum(rows: &[Vec<f64>], chosen: &[usize], bandwidth: f64) -> f64 {
    let dim = rows[0].len();
    let n = rows.len() as f64;
    let mut scaled = rows.to_vec();
    for j in 0..dim {
        let mean = rows.iter().map(|row| row[j]).sum::<f64>() / n;
        let sd = (rows.iter().map(|row| (row[j] - mean).powi(2)).sum::<f64>() / n).sqrt();
        scaled.iter_mut().for_each(|row| row[j] = (row[j] - mean) / sd);
    }
    let kernel = |a: &[f64], b: &[f64]| {
        let squared: f64 = a.iter().zip(b).map(|(a, b)| (a - b) * (a - b)).sum();
        (-squared / (2.0 * bandwidth * bandwidth)).exp()
    };
    let sum = |x: &[f64], others: &[Vec<f64>]| others.iter().map(|y| kernel(x, y)).sum::<f64>();
    // Both orders of a pair at once.
    let within = |all: &[Vec<f64>]| -> f64 {
        let earlier: f64 = (0..all.len()).map(|i| sum(&all[i], &all[..i])).sum();
        (2.0 * earlier + all.len() as f64) / (all.len() * all.len()) as f64
    };
    let subset: Vec<Vec<f64>> = chosen.iter().map(|&row| scaled[row].clone()).collect();
    let across = scaled.iter().map(|x| sum(x, &subset)).sum::<f64>() / (n * subset.len() as f64);
    (within(&scaled) - 2.0 * across + within(&subset)).sqrt()
}

#[test]
fn the_reported_mmd_is_the_double_sum() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/posteriordb");
    let Ok(entries) = fs::read_dir(&folder) else {
        return skipped("files", format!("there is no {}", folder.display()));
    };
    let desk = Desk::new();
    let mut checked = 0;
    for path in
        entries.map(|entry| entry.unwrap().path()).filter(|path| path.extension().is_some_and(|e| e == "csv"))
    {
        // Every fifth draw of every chain: the double sum of all of them takes minutes.
        let text = fs::read_to_string(&path).unwrap();
        let (header, draws) = text.split_once('\n').unwrap();
        let draws: Vec<&str> = draws.lines().step_by(5).collect();
        desk.write("d.csv", format!("{header}\n{}\n", draws.join("\n")));
        desk.ran("herd d.csv -n 100 -q --indices i.txt --json s.json -o o.csv");
        let report: serde_json::Value = serde_json::from_str(&desk.read("s.json")).unwrap();
        let parameters = report["input"]["parameters"].as_array().unwrap().len();
        let header = desk.read("d.csv").lines().next().unwrap().to_string();
        let used: Vec<usize> = header
            .split(',')
            .enumerate()
            .filter(|(_, name)| {
                report["input"]["parameters"].as_array().unwrap().iter().any(|p| p == name.trim_matches('"'))
            })
            .map(|(j, _)| j)
            .collect();
        assert_eq!(used.len(), parameters, "{header}");
        let text = desk.read("d.csv");
        let row = |line: &str| {
            let cells: Vec<&str> = line.split(',').collect();
            used.iter().map(|&j| cells[j].parse::<f64>().unwrap()).collect::<Vec<f64>>()
        };
        let rows: Vec<Vec<f64>> = text.lines().skip(1).map(row).collect();
        let chosen: Vec<usize> = desk.read("i.txt").lines().map(|line| line.parse().unwrap()).collect();
        let (mmd, bandwidth) =
            (report["result"]["mmd"].as_f64().unwrap(), report["kernel"]["bandwidth"].as_f64().unwrap());
        let direct = double_sum(&rows, &chosen, bandwidth);
        assert!((mmd - direct).abs() < 1e-6, "{}: {mmd} and {direct}", path.display());
        println!("{}: {mmd:.8}, by the double sum {direct:.8}", path.file_name().unwrap().display());
        checked += 1;
    }
    assert!(checked > 0, "no files in {}", folder.display());
}
