//! Bytes read as a file of one format, and everything asked of it that can be: what every target does.

use std::io::Write;
use std::sync::Once;

use supersample_io::{Draws, Format, OutputFormat, Reading, Survey};

/// The hook of the fuzzer ends the process at any panic, also at one of a format's library that the reader catches and
/// tells of as an error. One that nobody catches still ends it.
static CAUGHT_PANICS_PASS: Once = Once::new();

pub fn read(bytes: &[u8], format: Format) {
    CAUGHT_PANICS_PASS.call_once(|| std::panic::set_hook(Box::new(|_| ())));
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("a few bytes");
    let reading = Reading { format: Some(format), ..Reading::default() };
    let _ = Survey::read(&[file.path()], &reading);
    let Ok(draws) = Draws::read(&[file.path()], &reading) else { return };
    assert!(draws.values().iter().all(|value| value.is_finite()));
    let rows = [draws.len() - 1, 0];
    let _ = draws.frame(&rows);
    for output in [Format::Text, Format::Npz, format].map(OutputFormat::plain) {
        let _ = draws.check_output(output);
        let _ = draws.write_rows(&rows, None, output, &mut Vec::new());
    }
}
