//! Archives as NumPy and others write them: shapes, members, damage, and how rows come back.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use rawzip::{CompressionMethod, Crc32Option, ZipArchiveWriter};

use super::*;
use crate::{Draws, Format};

fn read(bytes: &[u8]) -> Result<Draws> {
    read_as(bytes, None)
}

fn read_as(bytes: &[u8], shape: Option<Shape>) -> Result<Draws> {
    let mut file = tempfile::NamedTempFile::with_suffix(".npz").unwrap();
    file.write_all(bytes).unwrap();
    Draws::read(&[file.path()], &Reading { shape, ..Reading::default() })
}

/// An archive of one deflated member, as `numpy.savez_compressed` writes it.
fn deflated(name: &str, contents: &[u8], crc: Crc32Option) -> Vec<u8> {
    let mut zip = ZipArchiveWriter::new(Vec::new());
    let entry = zip.new_file(name).compression_method(CompressionMethod::DEFLATE).crc32(crc);
    let (mut entry, config) = entry.start().unwrap();
    let mut writer = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
    writer.write_all(contents).unwrap();
    let (encoder, descriptor) = writer.finish().unwrap();
    encoder.finish().unwrap();
    entry.finish(descriptor).unwrap();
    zip.finish().unwrap()
}

#[test]
fn a_flipped_bit_is_noticed_stored_or_deflated() {
    let array = array_of(&Column::doubles((0..50).map(f64::from)));
    let mut bytes = archive([("mu.npy".to_string(), array.clone())]);
    assert_eq!(read(&bytes).unwrap().len(), 50);
    // In the low bits of a number: all else about the file is sound.
    bytes[300] ^= 1;
    let error = read(&bytes).unwrap_err().to_string();
    assert!(error.contains("not a valid npz file: 'mu' is damaged"), "{error}");

    assert_eq!(read(&deflated("mu.npy", &array, Crc32Option::Calculate)).unwrap().len(), 50);
    let error = read(&deflated("mu.npy", &array, Crc32Option::Custom(1))).unwrap_err().to_string();
    assert!(error.contains("'mu' is damaged"), "{error}");
}

#[test]
fn names_come_back_as_they_were() {
    let names = ["mu", "theta[1,2]", "a/../b", "µ σ", "x\\y"];
    let array = array_of(&Column::integers(0..3));
    let bytes = archive(names.map(|name| (format!("{name}.npy"), array.clone())));
    assert_eq!(read(&bytes).unwrap().names(), names);
}

fn archive_of(arrays: &[(&str, &str, &[usize], Vec<u8>)]) -> Vec<u8> {
    let array = |(name, descr, shape, bytes): &(&str, &str, &[usize], Vec<u8>)| {
        (format!("{name}.npy"), [npy::header(descr, shape), bytes.clone()].concat())
    };
    archive(arrays.iter().map(array))
}

fn doubles(values: impl IntoIterator<Item = usize>) -> Vec<u8> {
    values.into_iter().flat_map(|value| (value as f64).to_le_bytes()).collect()
}

#[test]
fn arrays_of_chains_by_draws_are_told_from_rows() {
    let chains = archive_of(&[
        ("mu", "'<f8'", &[2, 3], doubles(3..9)),
        ("theta", "'<f8'", &[2, 3, 2], doubles(10..22)),
        ("obs", "'<f8'", &[8], doubles(0..8)),
    ]);
    let draws = read(&chains).unwrap();
    assert_eq!(
        (draws.len(), draws.chains(), draws.parameter_names()),
        (6, 2, vec!["mu", "theta.1", "theta.2"])
    );
    assert_eq!(draws.values()[9..12], [6.0, 16.0, 17.0]);
    assert_eq!(draws.chain_and_draw(3), (2, 1));
    assert_eq!(
        draws.notes(),
        [
            Note::Axes { shape: Shape::ChainDraw, sizes: vec![2, 3, 2] },
            Note::MembersLeftOut { members: vec!["obs".to_string()], rows: 6 },
        ]
    );
    // As rows where that is asked for, and draws before chains.
    let rows = read_as(&chains, Some(Shape::Rows)).unwrap();
    assert_eq!((rows.len(), rows.dim()), (2, 9));
    let draws = read_as(&chains, Some(Shape::DrawChain)).unwrap();
    assert_eq!((draws.len(), draws.chains(), draws.values()[3..6].to_vec()), (6, 3, vec![6.0, 16.0, 17.0]));

    // One matrix, a vector with matrices, and more rows than columns are rows.
    for (arrays, rows, dim, notes) in [
        (archive_of(&[("arr_0", "'<f8'", &[3, 2], doubles(0..6))]), 3, 2, 0),
        (
            archive_of(&[("mu", "'<f8'", &[3], doubles(0..3)), ("theta", "'<f8'", &[3, 2], doubles(0..6))]),
            3,
            3,
            0,
        ),
        (
            archive_of(&[("mu", "'<f8'", &[3], doubles(0..3)), ("theta", "'<f8'", &[3, 4], doubles(0..12))]),
            3,
            5,
            1,
        ),
        (archive_of(&[("arr_0", "'<f8'", &[2, 3], doubles(0..6))]), 2, 3, 1),
        (
            archive_of(&[("x", "'<f8'", &[3, 2], doubles(0..6)), ("y", "'<f8'", &[3, 2], doubles(0..6))]),
            3,
            4,
            1,
        ),
        (archive_of(&[("sigma", "'<f8'", &[5, 2, 2], doubles(0..20))]), 5, 4, 1),
    ] {
        let draws = read(&arrays).unwrap();
        let axes = draws.notes().iter().filter(|note| matches!(note, Note::Axes { .. })).count();
        assert_eq!((draws.len(), draws.dim(), axes), (rows, dim, notes));
    }
}

#[test]
fn chosen_rows_of_chains_are_written_with_their_types() {
    let bytes = archive_of(&[
        ("theta", "'<f4'", &[2, 3, 2], (0..12_u8).flat_map(|i| f32::from(i).to_le_bytes()).collect()),
        ("n", "'<i8'", &[2, 3], (0..6_i64).flat_map(|i| (i + (1 << 60)).to_le_bytes()).collect()),
        ("day", "'<M8[D]'", &[2, 3], (0..6_i64).flat_map(i64::to_le_bytes).collect()),
    ]);
    let mut file = tempfile::NamedTempFile::with_suffix(".npz").unwrap();
    file.write_all(&bytes).unwrap();
    let draws = Draws::read(&[file.path()], &Reading::default()).unwrap();
    let mut out = Vec::new();
    draws.write_rows(&[4, 1], None, crate::OutputFormat::plain(Format::Npz), &mut out).unwrap();
    let again = read(&out).unwrap();
    assert_eq!(again.names()[..4], ["theta.1", "theta.2", "n", "day"]);
    assert_eq!(again.values()[..2], [8.0, 9.0]);
    let find = |descr: &[u8]| out.windows(descr.len()).any(|window| window == descr);
    assert!(
        find(b"'<f4'") && find(b"'<i8'") && find(b"'<M8[D]'") && find(&((1_i64 << 60) + 4).to_le_bytes())
    );
}

#[test]
fn arrays_without_an_entry_for_each_row_are_left_out() {
    let bytes = archive_of(&[
        ("samples", "'<f8'", &[4, 2], doubles(0..8)),
        ("logwt", "'<f8'", &[4], doubles(0..4)),
        ("logz", "'<f8'", &[], doubles(0..1)),
        ("names", "'<U1'", &[2], vec![97, 0, 0, 0, 98, 0, 0, 0]),
        ("sampler", "'|O'", &[1], vec![1, 2, 3]),
    ]);
    let draws = read(&bytes).unwrap();
    assert_eq!(draws.names(), ["samples.1", "samples.2", "logwt"]);
    let members = ["logz", "names", "sampler"].map(String::from).to_vec();
    assert!(draws.notes().contains(&Note::MembersLeftOut { members, rows: 4 }), "{:?}", draws.notes());
    let error = read(&archive_of(&[("logz", "'<f8'", &[], doubles(0..1))])).unwrap_err();
    assert!(error.to_string().contains("no rows"), "{error}");
}

#[test]
fn archives_of_other_things_are_told_what_they_are() {
    let other = |name: &str| {
        let mut bytes = archive_of(&[("x", "'<f8'", &[1], doubles(0..1))]);
        // Of the same length as x.npy, in both places where the name stands.
        for at in (0..bytes.len() - 5).rev() {
            if &bytes[at..at + 5] == b"x.npy" {
                bytes[at..at + 5].copy_from_slice(name.as_bytes());
            }
        }
        read(&bytes).unwrap_err().to_string()
    };
    assert!(other("x.csv").contains("this is a zip archive without arrays; unpack it"), "{}", other("x.csv"));
    assert!(other("a.txt").contains("this is a zip archive"));
}

#[test]
fn missing_whole_numbers_lose_no_digits() {
    let written = |cells: Vec<Option<i64>>| {
        let header = Header::read(&mut &array_of(&cells.into())[..]).unwrap();
        header.descr
    };
    assert_eq!(written(vec![Some(1), Some(2)]), "'<i8'");
    assert_eq!(written(vec![Some(1), None]), "'<f8'");
    assert_eq!(written(vec![Some((1 << 53) + 1), None]), "'<U16'");
}
