//! Bytes as a Zarr store of one array: its JSON up to the first zero byte, then its first chunk.
#![no_main]

use supersample_io::{Draws, Format, OutputFormat, Reading, Survey};

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| {
    let folder = tempfile::tempdir().expect("a folder");
    let store = folder.path().join("x.zarr");
    let (json, chunk) = bytes.split_at(bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len()));
    std::fs::create_dir_all(store.join("x")).expect("a folder");
    for (name, bytes) in [
        (".zgroup", &b"{\"zarr_format\": 2}"[..]),
        ("x/.zarray", json),
        ("x/.zattrs", b"{\"_ARRAY_DIMENSIONS\": [\"chain\", \"draw\"]}"),
        ("x/0.0", chunk.get(1..).unwrap_or_default()),
    ] {
        std::fs::write(store.join(name), bytes).expect("a few bytes");
    }
    let _ = Survey::read(&[&store], &Reading::default());
    let Ok(draws) = Draws::read(&[&store], &Reading::default()) else { return };
    assert!(draws.values().iter().all(|value| value.is_finite()));
    for output in [Format::Text, Format::NetCdf, Format::Zarr].map(OutputFormat::plain) {
        let _ = draws.check_output(output);
        let _ = draws.write_rows(&[draws.len() - 1, 0], None, output, &mut Vec::new());
    }
});
