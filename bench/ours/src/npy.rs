//! Reads a .npy file of f64 in row order straight into the vector that the points take over: no second copy in memory.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use supersample::Points;

/// The points in a file, or the first `rows` of them.
pub(crate) fn read(path: &Path, rows: Option<usize>) -> Result<Points> {
    let file = File::open(path).with_context(|| format!("{} cannot be opened", path.display()))?;
    read_from(BufReader::new(file), rows).with_context(|| format!("{} cannot be read", path.display()))
}

fn read_from(mut file: impl Read, rows: Option<usize>) -> Result<Points> {
    let mut start = [0; 8];
    file.read_exact(&mut start)?;
    ensure!(start.starts_with(b"\x93NUMPY"), "it does not begin as a .npy file does");
    // Version 1 has a header length of two bytes, later ones of four.
    let mut length = [0; 4];
    let digits = if start[6] == 1 { 2 } else { 4 };
    file.read_exact(&mut length[..digits])?;
    let mut header = vec![0; u32::from_le_bytes(length) as usize];
    file.read_exact(&mut header)?;
    let header = String::from_utf8(header)?;
    ensure!(header.contains("'<f8'"), "its numbers are not little-endian f64: {header}");
    ensure!(header.contains("'fortran_order': False"), "its numbers are not in row order: {header}");
    let (len, dim) = shape(&header).with_context(|| format!("it is not two-dimensional: {header}"))?;
    let Some(len) = Some(rows.unwrap_or(len)).filter(|wanted| *wanted <= len) else {
        bail!("it has {len} rows");
    };

    let mut data = Vec::with_capacity(len * dim);
    let mut number = [0; 8];
    for _ in 0..len * dim {
        file.read_exact(&mut number)?;
        data.push(f64::from_le_bytes(number));
    }
    Ok(Points::from_vec(data, dim)?)
}

/// The two numbers in `'shape': (n, d)`.
fn shape(header: &str) -> Option<(usize, usize)> {
    let (_, after) = header.split_once("'shape': (")?;
    let (inside, _) = after.split_once(')')?;
    let (len, dim) = inside.split_once(',')?;
    Some((len.trim().parse().ok()?, dim.trim().parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(header: &str, numbers: &[f64]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.bytes());
        numbers.iter().for_each(|number| bytes.extend(number.to_le_bytes()));
        bytes
    }

    #[test]
    fn rows_come_out_as_they_went_in() {
        let bytes =
            file("{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n", &[1., 2., 3., 4., 5., 6.]);
        assert_eq!(read_from(&bytes[..], None).unwrap().row(1), [4.0, 5.0, 6.0]);
        assert_eq!(read_from(&bytes[..], Some(1)).unwrap().len(), 1);
        assert!(read_from(&bytes[..], Some(3)).is_err());
        assert!(read_from(&bytes[..bytes.len() - 1], None).is_err());
    }

    #[test]
    fn other_files_are_refused() {
        for header in [
            "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }",
            "{'descr': '<f8', 'fortran_order': True, 'shape': (1, 1), }",
            "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }",
        ] {
            assert!(read_from(&file(header, &[1.0])[..], None).is_err(), "{header}");
        }
        assert!(read_from(&b"x,y\n1.0,2.0\n"[..], None).is_err());
    }
}
