//! Names and cells in messages: made safe for a terminal, and cut to a length one can read.

use strsim::osa_distance;

/// Number of column names that a message lists.
const NAMES_LISTED: usize = 20;
/// Number of characters of a name or a cell that a message shows.
const CHARACTERS_SHOWN: usize = 40;

/// A name or a cell for a message: control characters written out, and no more than its first characters.
pub(crate) fn shown(text: &str) -> String {
    let mut shown = String::new();
    for (count, character) in text.chars().enumerate() {
        if count == CHARACTERS_SHOWN {
            shown.push('…');
            break;
        }
        // Marks that turn the direction of writing can make a message say something else.
        let turns =
            matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        match character.is_control() || turns {
            true => shown.extend(character.escape_default()),
            false => shown.push(character),
        }
    }
    shown
}

/// Names with commas between them, the first twenty.
pub(crate) fn listed(names: &[String]) -> String {
    let some: Vec<String> = names.iter().take(NAMES_LISTED).map(|name| shown(name)).collect();
    match names.len() > NAMES_LISTED {
        false => some.join(", "),
        true => format!("{} and {} more", some.join(", "), names.len() - NAMES_LISTED),
    }
}

/// The name among these that was probably meant: equal but for capitals, or else the one fewest letters away, where those
/// are few.
pub(crate) fn meant<'a>(name: &str, known: &'a [String]) -> Option<&'a str> {
    let lower = name.to_lowercase();
    if let Some(same) = known.iter().find(|other| other.to_lowercase() == lower) {
        return Some(same);
    }
    // Long lists of long names would take long, and a name of one letter is one letter away from every other.
    let allowed = lower.chars().count() / 3;
    let near = known.iter().take(10_000).filter(|other| other.chars().count() <= 64);
    let near = near.map(|other| (osa_distance(&lower, &other.to_lowercase()), other));
    near.filter(|&(distance, _)| distance <= allowed.min(2))
        .min_by_key(|&(distance, _)| distance)
        .map(|(_, other)| other.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_list_of_names_is_cut_short() {
        let names: Vec<String> = (0..23).map(|i| format!("x{i}")).collect();
        assert!(listed(&names).ends_with("x18, x19 and 3 more"));
        assert_eq!(listed(&names[..2]), "x0, x1");
    }

    #[test]
    fn what_would_reach_the_terminal_raw_is_written_out() {
        assert_eq!(shown("\u{1b}[31mred\n"), "\\u{1b}[31mred\\n");
        assert_eq!(shown("a\u{202e}b"), "a\\u{202e}b");
        assert_eq!(shown("µ, §"), "µ, §");
        assert_eq!(shown(&"9".repeat(5_000_000)), format!("{}…", "9".repeat(40)));
    }

    #[test]
    fn slips_of_the_pen_are_understood() {
        let known: Vec<String> = ["mu", "theta", "tau", "x1"].map(String::from).to_vec();
        for (typed, wanted) in [
            ("MU", Some("mu")),
            ("thta", Some("theta")),
            ("thtea", Some("theta")),
            ("Teta", Some("theta")),
            ("x", None),
            ("sigma", None),
        ] {
            assert_eq!(meant(typed, &known), wanted, "{typed}");
        }
    }
}
