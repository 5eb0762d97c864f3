//! Values as they are typed after a flag, and what to say of others.

/// A whole number, `1e3` too. The parser of the standard library says "invalid digit found in string", which helps nobody.
pub(super) fn whole_number(text: &str) -> Result<usize, &'static str> {
    // Beyond this not every whole number is one of the doubles.
    const EXACT: f64 = 9.0e15;
    let scientific = || {
        let value = text.parse::<f64>().ok().filter(|_| text.contains(['e', 'E']))?;
        (value.fract() == 0.0 && (0.0..=EXACT).contains(&value)).then_some(value as usize)
    };
    text.parse().ok().or_else(scientific).ok_or("write a whole number of at least 1")
}

/// How many rows: a number, or the word `auto`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Count {
    Number(usize),
    /// As few as add little to the errors of the draws.
    Auto,
}

pub(super) fn count(text: &str) -> Result<Count, &'static str> {
    match text {
        "auto" => Ok(Count::Auto),
        number => {
            whole_number(number).map(Count::Number).map_err(|_| "write a whole number of at least 1, or auto")
        }
    }
}

/// Any number, with a word on percentages.
pub(super) fn number(text: &str) -> Result<f64, &'static str> {
    text.trim().parse().map_err(|_| match text.ends_with('%') {
        true => "write a number without %, as in 0.02",
        false => "write a number, as in 0.02",
    })
}

pub(super) fn separator(text: &str) -> Result<u8, &'static str> {
    match (text, text.as_bytes()) {
        ("tab" | "\\t", _) => Ok(b'\t'),
        (_, [b'"' | b'\n' | b'\r']) => Err("quotes and line breaks cannot separate fields"),
        (_, [byte]) if byte.is_ascii() => Ok(*byte),
        _ => Err("write one character, or the word tab"),
    }
}

/// `500M`, `2G`, `1.5GiB`, or a plain number of bytes; powers of 1024.
pub(super) fn memory_size(text: &str) -> Result<u64, &'static str> {
    let advice = "write a number with K, M, G or T behind it, as in 500M or 2G";
    let lower = text.trim().to_ascii_lowercase();
    let bare = lower.trim_end_matches("ib").trim_end_matches('b');
    let (number, unit) = match bare.char_indices().next_back() {
        Some((at, unit @ ('k' | 'm' | 'g' | 't'))) => (&bare[..at], unit),
        _ => (bare, ' '),
    };
    let power = [' ', 'k', 'm', 'g', 't'].iter().position(|&known| known == unit).expect("one of these");
    let bytes = number.trim().parse::<f64>().map_err(|_| advice)? * 1024_f64.powi(power as i32);
    if bytes.is_finite() && bytes >= 1.0 { Ok(bytes as u64) } else { Err(advice) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_as_people_write_them() {
        assert_eq!(
            (whole_number("1000"), whole_number("1e3"), whole_number("2.5E3")),
            (Ok(1000), Ok(1000), Ok(2500))
        );
        for bad in ["1.5", "1e-3", "-4", "1e300", "e", "4.0", "nan", ""] {
            assert!(whole_number(bad).is_err(), "{bad}");
        }
        assert_eq!(number("2e-2"), Ok(0.02));
        assert_eq!(number("2%"), Err("write a number without %, as in 0.02"));
        assert_eq!(number("two"), Err("write a number, as in 0.02"));
    }

    #[test]
    fn sizes_are_read_in_powers_of_1024() {
        assert_eq!(memory_size("500M"), Ok(500 << 20));
        assert_eq!(memory_size("1.5 GiB"), Ok(3 << 29));
        assert_eq!(memory_size("4096"), Ok(4096));
        assert!(memory_size("much").is_err() && memory_size("0").is_err() && memory_size("M").is_err());
        assert_eq!((separator("tab"), separator(";")), (Ok(b'\t'), Ok(b';')));
        assert!(separator("\"").is_err() && separator(";;").is_err() && separator("").is_err());
    }
}
