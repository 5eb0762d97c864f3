//! Labels of coordinates as Python shows them, so that columns have the names of ArviZ.

use super::{Cells, Kind};

/// The text of each cell.
pub(super) fn labels(cells: &Cells) -> Vec<String> {
    match cells {
        Cells::Text(texts) => texts.clone(),
        Cells::Raw(Kind::Bool, bytes) => {
            bytes.iter().map(|&cell| if cell == 0 { "False" } else { "True" }.to_string()).collect()
        }
        Cells::Raw(Kind::Char, bytes) => bytes.iter().map(|&byte| char::from(byte).to_string()).collect(),
        Cells::Raw(Kind::F64, _) => {
            cells.numbers().into_iter().map(|x| float(x, &format!("{x:e}"))).collect()
        }
        Cells::Raw(Kind::F32, _) => {
            cells.numbers().into_iter().map(|x| float(x, &format!("{:e}", x as f32))).collect()
        }
        Cells::Raw(Kind::I64, bytes) => whole(bytes, i64::from_le_bytes),
        Cells::Raw(Kind::U64, bytes) => whole(bytes, u64::from_le_bytes),
        Cells::Raw(..) => cells.numbers().into_iter().map(|x| (x as i64).to_string()).collect(),
    }
}

fn whole<T: ToString>(bytes: &[u8], of: impl Fn([u8; 8]) -> T) -> Vec<String> {
    bytes.chunks_exact(8).map(|cell| of(cell.try_into().expect("eight bytes")).to_string()).collect()
}

/// A float as Python writes it: with a point, and with an exponent below 1e-4 and from 1e16 on. `shortest` has its digits.
fn float(x: f64, shortest: &str) -> String {
    let (Some((digits, exponent)), true) = (shortest.split_once('e'), x.is_finite()) else {
        return match x {
            x if x.is_nan() => "nan".to_string(),
            x if x > 0.0 => "inf".to_string(),
            _ => "-inf".to_string(),
        };
    };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if x != 0.0 && !(-4..16).contains(&exponent) {
        let sign = if exponent < 0 { '-' } else { '+' };
        return format!("{digits}e{sign}{:02}", exponent.abs());
    }
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |digits| ("-", digits));
    let digits = digits.replace('.', "");
    let point = exponent + 1;
    match usize::try_from(point) {
        Ok(point) if point >= digits.len() => format!("{sign}{digits}{}.0", "0".repeat(point - digits.len())),
        Ok(point) if point > 0 => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
        _ => format!("{sign}0.{}{digits}", "0".repeat(point.unsigned_abs() as usize)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_writes_them() {
        for (x, text) in [
            (0.0, "0.0"),
            (-0.0, "-0.0"),
            (1.0, "1.0"),
            (-2.5, "-2.5"),
            (0.1, "0.1"),
            (0.0001, "0.0001"),
            (1e-5, "1e-05"),
            (1.5e-7, "1.5e-07"),
            (123456.789, "123456.789"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.25e200, "1.25e+200"),
            (f64::NAN, "nan"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(labels(&Cells::doubles([x])), [text]);
        }
        let single = Cells::Raw(Kind::F32, 0.1_f32.to_le_bytes().to_vec());
        assert_eq!(labels(&single), ["0.1"]);
        assert_eq!(labels(&Cells::integers([-3, 12])), ["-3", "12"]);
        assert_eq!(labels(&Cells::Raw(Kind::Bool, vec![0, 1])), ["False", "True"]);
    }
}
