//! Numbers and lists in text: three significant digits, commas between thousands, up to twelve names.

/// Formats a number to three significant digits: `0.00712`, `3.98`, `9,800`; with a power of ten if there would be many
/// zeros.
///
/// ```
/// use supersample::words::{counted, in_units, listed, significant};
/// assert_eq!(significant(0.0071234), "0.00712");
/// assert_eq!(counted(4000, "row"), "4,000 rows");
/// assert_eq!(in_units(3 << 29), "1.50 GiB");
/// assert_eq!(listed(&["mu", "tau"]), "mu, tau");
/// ```
pub fn significant(value: f64) -> String {
    if value == 0.0 {
        // Also of the negative zero.
        return "0".to_string();
    }
    if !value.is_finite() {
        return value.to_string();
    }
    // Rounded first, so that 999.7 is seen as 1,000.
    let scientific = format!("{value:.2e}");
    let exponent = exponent(&scientific);
    match exponent {
        -4..=8 => {
            fixed(scientific.parse().expect("a formatted number parses"), (2 - exponent).max(0) as usize)
        }
        _ => scientific,
    }
}

/// Formats all digits of a number: `0.1`, `1e300`.
pub fn exact(value: f64) -> String {
    let (plain, scientific) = (value.to_string(), format!("{value:e}"));
    if plain.len() > scientific.len() + 3 { scientific } else { plain }
}

/// Formats a mean to three significant digits and its spread to as many decimals: `0.0702 ± 0.0046`.
pub fn with_spread(mean: f64, spread: f64) -> String {
    let shown = significant(mean);
    if shown.contains('e') || !mean.is_finite() || mean == 0.0 {
        return format!("{shown} ± {}", significant(spread));
    }
    let decimals = shown.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    format!("{shown} ± {}", fixed(spread, decimals))
}

/// Formats a number to three significant digits and its standard error to as many decimals, or to one digit if these
/// would not show it: `0.00533 ± 0.00003`, `0.00222 ± 1e-6`.
pub fn with_error(value: f64, error: f64) -> String {
    let shown = with_spread(value, error);
    let (number, spread) = shown.split_once(" ± ").expect("as it was made");
    match spread.parse() {
        Ok(0.0) if error > 0.0 => format!("{number} ± {error:.0e}"),
        _ => shown,
    }
}

/// Formats a number with as many decimals as three significant digits of `unit` have.
pub fn to_unit(value: f64, unit: f64) -> String {
    let scientific = format!("{unit:.2e}");
    let decimals = 2 - if unit > 0.0 && unit.is_finite() { exponent(&scientific) } else { 0 };
    match decimals {
        0..=8 if value.abs() < 1e9 => fixed(value, decimals as usize),
        ..0 if value.abs() < 1e9 => fixed(value, 0),
        // As many digits as the number has above the unit.
        _ if value == 0.0 => "0".to_string(),
        _ => {
            let above = exponent(&format!("{value:.2e}")) + decimals;
            format!("{value:.*e}", above.clamp(0, 15) as usize)
        }
    }
}

/// Formats a count with commas between thousands: `4,000`.
pub fn count(value: usize) -> String {
    grouped(&value.to_string())
}

/// `1 row`, `4,000 rows`.
pub fn counted(number: usize, noun: &str) -> String {
    format!("{} {noun}{}", count(number), if number == 1 { "" } else { "s" })
}

/// Number of names in a list, and of characters in each.
const NAMES_LISTED: usize = 12;
const CHARACTERS_SHOWN: usize = 40;

/// Lists the first twelve names and the number of others: `a, b, c and 148 more`. An empty name is shown as such.
pub fn listed(names: &[impl AsRef<str>]) -> String {
    let one = |name: &str| match name {
        "" => "(no name)".to_string(),
        name if name.chars().count() > CHARACTERS_SHOWN => {
            name.chars().take(CHARACTERS_SHOWN).collect::<String>() + "…"
        }
        name => name.to_string(),
    };
    let shown: Vec<String> = names.iter().take(NAMES_LISTED).map(|name| one(name.as_ref())).collect();
    match names.len() - shown.len() {
        0 => shown.join(", "),
        more => format!("{} and {} more", shown.join(", "), count(more)),
    }
}

/// The names with each vector of at least four entries as its first, `…` and its last: `mu, theta.1, …, theta.8`.
pub fn folded(names: &[impl AsRef<str>]) -> Vec<String> {
    const SHORTEST: usize = 4;
    let mut shown = Vec::new();
    for run in names
        .chunk_by(|a, b| vector_of(a.as_ref()).is_some() && vector_of(a.as_ref()) == vector_of(b.as_ref()))
    {
        let ends = [run.first(), run.last()].map(|name| name.map_or("", AsRef::as_ref).to_string());
        match (run.len() < SHORTEST, ends) {
            (true, _) => shown.extend(run.iter().map(|name| name.as_ref().to_string())),
            (false, [first, last]) => shown.extend([first, "…".to_string(), last]),
        }
    }
    shown
}

/// The name of the vector that an entry is of: `theta` for `theta.1`, `theta[1,2]` and `theta3`.
fn vector_of(name: &str) -> Option<&str> {
    if !name.ends_with(|c: char| c.is_ascii_digit() || c == ']') {
        return None;
    }
    let stem = match name.split_once(['.', '[']) {
        Some((stem, _)) => stem,
        None => name.trim_end_matches(|c: char| c.is_ascii_digit()),
    };
    Some(stem).filter(|stem| !stem.is_empty())
}

/// Escapes control characters and marks of writing direction, so that a terminal shows the text as it is.
pub fn printable(text: &str) -> String {
    let turns =
        |c: char| matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let mut shown = String::with_capacity(text.len());
    for character in text.chars() {
        match character.is_control() || turns(character) {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    shown
}

/// `is` for one, `are` for more.
pub fn are(number: usize) -> &'static str {
    if number == 1 { "is" } else { "are" }
}

/// `1st`, `2nd`, `3rd`, `4th`, …
pub fn ordinal(value: usize) -> String {
    let ending = match (value % 100, value % 10) {
        (11..=13, _) => "th",
        (_, 1) => "st",
        (_, 2) => "nd",
        (_, 3) => "rd",
        _ => "th",
    };
    count(value) + ending
}

/// `1.5 GiB`.
pub fn in_units(bytes: u64) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
    let power =
        (0..units.len() - 1).find(|&power| bytes < 1 << (10 * (power + 1))).unwrap_or(units.len() - 1);
    format!("{} {}", significant(bytes as f64 / (1_u64 << (10 * power)) as f64), units[power])
}

/// `1.5 GiB`, rounded up, so that the amount as printed is enough.
pub fn in_units_above(bytes: u64) -> String {
    let size = bytes.max(1).ilog2() / 10 * 10;
    // The next amount of three digits.
    let digits = (bytes as f64 / (1_u64 << size) as f64).log10().floor();
    let step = 10_f64.powf(digits - 2.0) * (1_u64 << size) as f64;
    in_units(((bytes as f64 / step).ceil() * step) as u64)
}

fn exponent(scientific: &str) -> i32 {
    let (_, exponent) = scientific.split_once('e').expect("scientific notation has an e");
    exponent.parse().expect("an exponent is a whole number")
}

fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.split_once('.') {
        Some((whole, decimals)) => format!("{}.{decimals}", grouped(whole)),
        None => grouped(&text),
    }
}

fn grouped(whole: &str) -> String {
    let (sign, digits) = whole.strip_prefix('-').map_or(("", whole), |digits| ("-", digits));
    let mut text = sign.to_string();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_shown_as_it_is_typed() {
        let cases =
            [(-1.0, "-1"), (0.1, "0.1"), (1e300, "1e300"), (2.5e-12, "2.5e-12"), (100_000.0, "100000")];
        cases.iter().for_each(|(value, text)| assert_eq!(exact(*value), *text));
        assert_eq!((exact(f64::NAN), exact(f64::NEG_INFINITY)), ("NaN".to_string(), "-inf".to_string()));
    }

    #[test]
    fn a_standard_error_is_told_however_small() {
        assert_eq!(with_error(0.005_328, 3.2e-5), "0.00533 ± 0.00003");
        assert_eq!(with_error(0.002_219, 1.1e-6), "0.00222 ± 1e-6");
        assert_eq!(with_error(0.002_219, 0.0), "0.00222 ± 0.00000");
    }

    #[test]
    fn numbers_have_the_decimals_that_their_spread_leaves() {
        let cases = [
            (4.4123, 3.2, "4.41"),
            (-1234.5678, 250.0, "-1,235"),
            (0.0123456, 0.000_321, "0.012346"),
            (1_234_567.8, 1e5, "1,234,568"),
            (1.234_567_89e-12, 1e-13, "1.235e-12"),
            (0.0, 1e-13, "0"),
            (5e20, 1e18, "5.0000e20"),
            (2.5, 0.0, "2.50"),
        ];
        for (value, unit, text) in cases {
            assert_eq!(to_unit(value, unit), text);
        }
    }

    #[test]
    fn three_digits_at_every_size() {
        let cases = [
            (0.0, "0"),
            (0.007_123, "0.00712"),
            (0.07, "0.0700"),
            (3.984, "3.98"),
            (99.96, "100"),
            (999.7, "1,000"),
            (9_804.0, "9,800"),
            (-12_345.6, "-12,300"),
            (123_456_789.0, "123,000,000"),
            (1.5e15, "1.50e15"),
            (0.000_123_4, "0.000123"),
            (0.000_012_34, "1.23e-5"),
            (f64::INFINITY, "inf"),
        ];
        cases.iter().for_each(|(value, text)| assert_eq!(significant(*value), *text));
    }

    #[test]
    fn a_spread_has_the_decimals_of_its_mean() {
        assert_eq!(with_spread(0.070_21, 0.004_58), "0.0702 ± 0.0046");
        assert_eq!(with_spread(1234.0, 56.7), "1,230 ± 57");
        assert_eq!(with_spread(1.234e-9, 5.67e-10), "1.23e-9 ± 5.67e-10");
    }

    #[test]
    fn names_are_listed_by_the_dozen_and_made_safe() {
        let names: Vec<String> = (1..=160).map(|j| format!("x{j}")).collect();
        assert_eq!(listed(&names[..2]), "x1, x2");
        assert!(listed(&names[..12]).ends_with(", x12"), "{}", listed(&names[..12]));
        assert!(listed(&names).ends_with("x11, x12 and 148 more"), "{}", listed(&names));
        assert_eq!((counted(1, "row"), counted(4000, "row")), ("1 row".into(), "4,000 rows".into()));
        assert_eq!(listed(&["", "y"]), "(no name), y");
        assert_eq!(listed(&["z".repeat(41)]), "z".repeat(40) + "…");
        assert_eq!(printable("a\u{1b}[31m\n\u{202e}b"), "a\\u{1b}[31m\\n\\u{202e}b");
    }

    #[test]
    fn vectors_are_folded() {
        let shown = |names: &[&str]| folded(names).join(", ");
        assert_eq!(shown(&["mu", "theta.1", "theta.2", "theta.3", "theta.4"]), "mu, theta.1, …, theta.4");
        assert_eq!(shown(&["theta.1", "theta.2", "theta.3", "mu"]), "theta.1, theta.2, theta.3, mu");
        assert_eq!(shown(&["x1", "x2", "x3", "x10", "y1"]), "x1, …, x10, y1");
        assert_eq!(shown(&["L[1,1]", "L[1,2]", "L[2,1]", "L[2,2]", "Lx"]), "L[1,1], …, L[2,2], Lx");
        assert_eq!(shown(&["1", "2", "3", "4", ""]), "1, 2, 3, 4, ");
        assert_eq!(shown(&["a.b", "a.c", "a.d", "a.e"]), "a.b, a.c, a.d, a.e");
    }

    #[test]
    fn counts_and_ordinals() {
        assert_eq!(
            (count(999), count(4000), count(1_234_567)),
            ("999".into(), "4,000".into(), "1,234,567".into())
        );
        let ordinals: Vec<String> = [1, 2, 3, 4, 11, 12, 13, 21, 40, 101, 112, 4000].map(ordinal).into();
        let expected =
            ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "40th", "101st", "112th", "4,000th"];
        assert_eq!(ordinals, expected);
    }
}
