//! Names of the values of a plain enum: one list for display, parsing and error messages.

use std::fmt;

/// Error: a word is not the name of a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownWord {
    /// Kind of value, with its article.
    pub what: &'static str,
    /// The word as given.
    pub word: String,
    /// The known words.
    pub known: &'static [&'static str],
}

impl fmt::Display for UnknownWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "'{}' is not {}; choose {}", self.word, self.what, either(self.known))
    }
}

impl std::error::Error for UnknownWord {}

/// Lists words in a sentence: a, b or c.
pub fn either<W: AsRef<str>>(words: &[W]) -> String {
    let (mut text, last) = (String::new(), words.len().saturating_sub(1));
    for (i, word) in words.iter().enumerate() {
        text += if i == 0 {
            ""
        } else if i < last {
            ", "
        } else {
            " or "
        };
        text += word.as_ref();
    }
    text
}

/// The words of a plain enum: `ALL`, `NAMES`, `Display` and `FromStr` from one list.
#[macro_export]
macro_rules! words {
    ($choice:ident, $what:literal: $($value:ident $word:literal),+ $(,)?) => {
        impl $choice {
            /// All values, in the order of their names.
            pub const ALL: [$choice; [$($word),+].len()] = [$($choice::$value),+];

            /// Names, which [`FromStr`](std::str::FromStr) reads and [`Display`](std::fmt::Display) writes.
            pub const NAMES: [&'static str; [$($word),+].len()] = [$($word),+];
        }

        impl ::std::convert::From<$choice> for &'static str {
            fn from(choice: $choice) -> &'static str {
                match choice {
                    $($choice::$value => $word,)+
                }
            }
        }

        impl ::std::fmt::Display for $choice {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                f.pad((*self).into())
            }
        }

        impl ::std::str::FromStr for $choice {
            type Err = $crate::UnknownWord;

            fn from_str(word: &str) -> ::std::result::Result<$choice, $crate::UnknownWord> {
                match word {
                    $($word => Ok($choice::$value),)+
                    _ => Err($crate::UnknownWord {
                        what: $what,
                        word: word.to_string(),
                        known: &$choice::NAMES,
                    }),
                }
            }
        }
    };
}

#[cfg(test)]
mod tests {
    use super::either;
    use crate::{Precision, SteinBase};

    #[test]
    fn a_list_ends_with_or() {
        assert_eq!([either::<&str>(&[]), either(&["a"]), either(&["a", "b"])], ["", "a", "a or b"]);
        assert_eq!(either(&["a", "b", "c"]), "a, b or c");
    }

    #[test]
    fn words_survive_a_round_trip_and_others_are_refused() {
        for (value, name) in Precision::ALL.into_iter().zip(Precision::NAMES) {
            assert_eq!((value.to_string().as_str(), name.parse()), (name, Ok(value)));
        }
        for (value, name) in SteinBase::ALL.into_iter().zip(SteinBase::NAMES) {
            assert_eq!((value.to_string().as_str(), name.parse()), (name, Ok(value)));
        }
        let refused = "half".parse::<Precision>().unwrap_err();
        assert_eq!(refused.to_string(), "'half' is not a precision; choose mixed or double");
        assert_eq!(format!("{:>8}", Precision::Mixed), "   mixed");
    }
}
