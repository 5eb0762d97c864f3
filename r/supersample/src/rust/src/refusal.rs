//! What R gets in place of a result: a kind and a sentence, of which R makes a condition.

use extendr_api::prelude::*;
use supersample::Error;
use supersample::words::{Names, Style};

/// Why there is no result.
pub(crate) enum Refusal {
    /// An error of the library, whose sentence may still need names.
    Library(Error),
    /// A sentence.
    Words(String),
    /// The user has interrupted.
    Interrupted,
}

pub(crate) type Result<T> = std::result::Result<T, Refusal>;

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        match error {
            Error::Interrupted => Refusal::Interrupted,
            error => Refusal::Library(error),
        }
    }
}

/// The result, or a list with the fields `kind` and `refused`.
pub(crate) fn answered(result: Result<List>, names: &Names<'_>) -> Robj {
    let refused = |kind: &str, sentence: String| list!(kind = kind, refused = sentence).into();
    match result {
        Ok(found) => found.into(),
        Err(Refusal::Interrupted) => refused("interrupted", "interrupted".to_string()),
        Err(Refusal::Words(sentence)) => refused("input", sentence),
        Err(Refusal::Library(error)) => refused("input", error.sentence(Style::R, names)),
    }
}
