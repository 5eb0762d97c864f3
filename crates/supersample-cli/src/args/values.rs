//! Values as they are typed after a flag, and what to say of others.

/// The parser of the standard library says "invalid digit found in string", which helps nobody.
pub(super) fn whole_number(text: &str) -> Result<usize, &'static str> {
    text.parse().map_err(|_| "write a whole number of at least 1")
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
    fn sizes_are_read_in_powers_of_1024() {
        assert_eq!(memory_size("500M"), Ok(500 << 20));
        assert_eq!(memory_size("1.5 GiB"), Ok(3 << 29));
        assert_eq!(memory_size("4096"), Ok(4096));
        assert!(memory_size("much").is_err() && memory_size("0").is_err() && memory_size("M").is_err());
        assert_eq!((separator("tab"), separator(";")), (Ok(b'\t'), Ok(b';')));
        assert!(separator("\"").is_err() && separator(";;").is_err() && separator("").is_err());
    }
}
