//! Words of the command: the library's, with options spelled as flags.

pub(crate) use supersample::words::*;

/// All that an error says, from the outermost on, with the library's refusals in the words of the flags.
pub(crate) fn said(error: &anyhow::Error) -> String {
    let one = |cause: &(dyn std::error::Error + 'static)| match cause.downcast_ref::<supersample::Error>() {
        Some(refusal) => refusal.sentence(Style::Command, &Names::default()),
        None => cause.to_string(),
    };
    error.chain().map(one).collect::<Vec<_>>().join(": ")
}

/// A refusal of the library in the words of the flags, with the names of what it numbers.
pub(crate) fn refused(error: supersample::Error, names: &Names<'_>) -> anyhow::Error {
    match error {
        // The program ends in another way than by a refusal.
        supersample::Error::Interrupted => error.into(),
        error => anyhow::anyhow!(error.sentence(Style::Command, names)),
    }
}
