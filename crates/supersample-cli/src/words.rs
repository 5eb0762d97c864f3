//! Words of the command: the library's, with options spelled as flags.

pub(crate) use supersample::words::*;

/// Text of an error, from the outermost on, with options of the library spelled as flags.
pub(crate) fn said(error: &anyhow::Error) -> String {
    let one = |cause: &(dyn std::error::Error + 'static)| match cause.downcast_ref::<supersample::Error>() {
        Some(refusal) => refusal.sentence(Style::Command, &Names::default()),
        None => cause.to_string(),
    };
    error.chain().map(one).collect::<Vec<_>>().join(": ")
}

/// Error of the library with options spelled as flags, and with the names of rows, columns, functions and groups.
pub(crate) fn refused(error: supersample::Error, names: &Names<'_>) -> anyhow::Error {
    match error {
        // The program ends in another way than by a refusal.
        supersample::Error::Interrupted => error.into(),
        error => anyhow::anyhow!(error.sentence(Style::Command, names)),
    }
}
