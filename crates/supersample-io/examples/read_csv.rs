//! Reads a file and prints its shape and the sum of its last row: what `bench/read_csv.py` measures.

use supersample_io::{Draws, Reading};

fn main() {
    let path = std::env::args().nth(1).expect("name a file");
    match Draws::read(&[path], &Reading::default()) {
        Ok(draws) => {
            let last = &draws.values()[(draws.len() - 1) * draws.dim()..];
            println!("({}, {}) {}", draws.len(), draws.dim(), last.iter().sum::<f64>());
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(2);
        }
    }
}
