//! What every target does: reads the bytes as a file of one format and asks for some of its rows.

use std::io::Write;

use supersample_io::{Draws, Format, Reading, Target};

pub fn read(bytes: &[u8], format: Format) {
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("a few bytes");
    let reading = Reading { format: Some(format), ..Reading::default() };
    let Ok(draws) = Draws::read(&[file.path()], &reading) else { return };
    assert!(draws.values().iter().all(|value| value.is_finite()));
    let rows = [draws.len() - 1, 0];
    let _ = draws.frame(&rows);
    let _ = draws.write_rows(&rows, None, Target::plain(format), &mut Vec::new());
}
