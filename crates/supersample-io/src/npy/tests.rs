//! Arrays of every shape, order and type, against the table they should be.

use std::io::Write;

use super::*;
use crate::{Draws, Format, OutputFormat, Selection};

fn file(descr: &str, fortran: bool, shape: &[usize], bytes: &[u8]) -> tempfile::NamedTempFile {
    let mut head = header(descr, shape);
    if fortran {
        let at = head.windows(5).position(|word| word == b"False").unwrap();
        head.splice(at..at + 5, *b"True ");
    }
    let mut file = tempfile::NamedTempFile::with_suffix(".npy").unwrap();
    file.write_all(&[&head[..], bytes].concat()).unwrap();
    file
}

fn doubles(values: impl IntoIterator<Item = usize>) -> Vec<u8> {
    values.into_iter().flat_map(|value| (value as f64).to_le_bytes()).collect()
}

fn read_as(file: &tempfile::NamedTempFile, shape: Option<Shape>) -> Draws {
    Draws::read(&[file.path()], &Reading { shape, ..Reading::default() }).unwrap()
}

/// Every shape in both orders: the entry at (i, j, k) is 100·i + 10·j + k wherever it lies in the file.
#[test]
fn axes_are_chains_draws_and_parameters_as_asked() {
    let (a, b, c) = (2, 3, 2);
    let c_order = (0..a * b * c).map(|at| 100 * (at / (b * c)) + 10 * (at / c % b) + at % c);
    let f_order = (0..a * b * c).map(|at| 100 * (at % a) + 10 * (at / a % b) + at / (a * b));
    for file in [
        file("'<f8'", false, &[a, b, c], &doubles(c_order)),
        file("'<f8'", true, &[a, b, c], &doubles(f_order)),
    ] {
        let guessed = read_as(&file, None);
        assert_eq!(guessed.notes(), [Note::Axes { shape: Shape::ChainDraw, sizes: vec![2, 3, 2] }]);
        for draws in [guessed, read_as(&file, Some(Shape::ChainDraw))] {
            assert_eq!((draws.len(), draws.dim(), draws.chains()), (6, 2, 2));
            assert_eq!(draws.values(), [0., 1., 10., 11., 20., 21., 100., 101., 110., 111., 120., 121.]);
            assert_eq!(draws.chain_and_draw(4), (2, 2));
        }
        let draws = read_as(&file, Some(Shape::DrawChain));
        assert_eq!((draws.len(), draws.chains(), draws.notes()), (6, 3, &[][..]));
        assert_eq!(draws.values(), [0., 1., 100., 101., 10., 11., 110., 111., 20., 21., 120., 121.]);
        let draws = read_as(&file, Some(Shape::Rows));
        assert_eq!(draws.parameter_names(), ["x1.1", "x1.2", "x2.1", "x2.2", "x3.1", "x3.2"]);
        assert_eq!(draws.values()[6..], [100., 101., 110., 111., 120., 121.]);
        let cells = draws.frame(&[1]).unwrap();
        assert_eq!(cells.columns[3].1.number(0), Some(111.0));
    }
}

#[test]
fn fewer_rows_than_columns_are_noted() {
    let wide = file("'<f8'", false, &[2, 3], &doubles(0..6));
    assert_eq!(read_as(&wide, None).notes(), [Note::Axes { shape: Shape::Rows, sizes: vec![2, 3] }]);
    assert_eq!(read_as(&wide, Some(Shape::Rows)).notes(), []);
    let chains = read_as(&wide, Some(Shape::ChainDraw));
    assert_eq!((chains.len(), chains.parameter_names(), chains.chains()), (6, vec!["x1"], 2));
    let tall = file("'<f8'", false, &[3, 2], &doubles(0..6));
    assert_eq!(read_as(&tall, None).notes(), []);
    let line = file("'<f8'", false, &[3], &doubles(0..3));
    let error = Draws::read(&[line.path()], &Reading { shape: Some(Shape::ChainDraw), ..Reading::default() });
    assert!(error.unwrap_err().to_string().contains("too few axes for chain,draw"));
}

#[test]
fn single_precision_is_foreseen_where_all_used_columns_have_it() {
    let is_single = |file: &tempfile::NamedTempFile, reading: &Reading<'_>| {
        let size = Draws::expected_size(&[file.path()], reading).unwrap();
        assert_eq!(size.rows, 6);
        size.is_single
    };
    for (descr, size, expected) in
        [("'<f4'", 4, true), ("'>f4'", 4, true), ("'<f2'", 2, true), ("'<f8'", 8, false), ("'<i4'", 4, false)]
    {
        let array = file(descr, false, &[6, 2], &vec![0; 12 * size]);
        assert_eq!(is_single(&array, &Reading::default()), expected, "{descr}");
    }
    let fields = file("[('mu', '<f4'), ('tau', '<f8'), ('chain', '<i8')]", false, &[6], &[0; 6 * 20]);
    assert!(!is_single(&fields, &Reading::default()));
    let only = Reading { selection: Selection::Only(vec!["mu".to_string()]), ..Reading::default() };
    assert!(is_single(&fields, &only));
}

#[test]
fn arrays_of_fields_have_a_column_for_each() {
    let descr = "[('mu', '<f4'), ('', '|V4'), ('n', '<i8'), ('theta', '<f8', (2,)), ('who', '<U2'), ('day', '<M8[D]')]";
    let mut bytes = Vec::new();
    for i in 0..4_i64 {
        bytes.extend((i as f32 * 0.5).to_le_bytes());
        bytes.extend([0; 4]);
        bytes.extend((i + (1 << 60)).to_le_bytes());
        bytes.extend((i as f64).to_le_bytes().into_iter().chain((-i as f64).to_le_bytes()));
        bytes.extend([97, 0, 0, 0, 0, 0, 0, 0]);
        bytes.extend(i.to_le_bytes());
    }
    let file = file(descr, false, &[4], &bytes);
    let draws = read_as(&file, None);
    assert_eq!(draws.parameter_names(), ["mu", "n", "theta.1", "theta.2"]);
    assert_eq!(draws.unused_names(), ["who", "day"]);
    assert_eq!(draws.values()[8..12], [1.0, (1_u64 << 60) as f64, 2.0, -2.0]);
    let mut out = Vec::new();
    draws.write_rows(&[3], None, OutputFormat::plain(Format::Text), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text, "mu,n,theta.1,theta.2,who,chain,draw,row\n1.5,1152921504606846979,3.0,-3.0,a,1,4,3\n");
    let notes = draws.check_output(OutputFormat::plain(Format::Text)).unwrap();
    assert_eq!(notes, [Note::NotWritten { columns: vec!["day".to_string()], format: Format::Text }]);
}

#[test]
fn rows_go_out_in_the_type_they_came_in() {
    let big: Vec<u8> = (0..6_i64).flat_map(|i| ((1_i64 << 60) + i).to_be_bytes()).collect();
    for fortran in [false, true] {
        let file = file("'>i8'", fortran, &[3, 2], &big);
        let mut out = Vec::new();
        read_as(&file, None).write_rows(&[2, 0], None, OutputFormat::plain(Format::Npy), &mut out).unwrap();
        let head = Header::read(&mut &out[..]).unwrap();
        assert_eq!((head.descr.as_str(), &head.shape[..]), ("'>i8'", &[2, 2][..]));
        let cells: Vec<i64> = out[head.start..]
            .chunks_exact(8)
            .map(|cell| i64::from_be_bytes(cell.try_into().unwrap()) - (1 << 60))
            .collect();
        assert_eq!(cells, if fortran { [2, 5, 0, 3] } else { [4, 5, 0, 1] });
    }
    // Half precision is read, and stays what it is.
    let halves = file("'<f2'", false, &[2], &[0x00, 0x3c, 0x00, 0xc0]);
    assert_eq!(read_as(&halves, None).values(), [1.0, -2.0]);
}

/// Blocks of any size give what the whole gives, wherever the cells lie.
#[test]
fn blocks_of_rows_give_the_whole_array() {
    struct Rows(Vec<f64>, Vec<f64>);
    impl Sink for Rows {
        fn begin(&mut self, _: &Choice) -> Result<()> {
            Ok(())
        }

        fn take(&mut self, values: &[f64], weights: &[f64], part: f64) -> Result<()> {
            assert!(!values.is_empty() && (0.0..=1.0).contains(&part));
            self.0.extend_from_slice(values);
            self.1.extend_from_slice(weights);
            Ok(())
        }
    }
    let (a, b, c) = (5, 7, 3);
    let numbers = || doubles((0..a * b * c).map(|at| at * 37 % 101));
    for fortran in [false, true] {
        let file = file("'<f8'", fortran, &[a, b, c], &numbers());
        for shape in [Shape::Rows, Shape::ChainDraw, Shape::DrawChain] {
            let reading = Reading { shape: Some(shape), ..Reading::default() };
            let whole = Draws::read(&[file.path()], &reading).unwrap();
            let weight = whole.names()[1].clone();
            let weighted = Reading { weight_column: Some(&weight), ..reading.clone() };
            let with_weights = Draws::read(&[file.path()], &weighted).unwrap();
            for bytes in [1, 8, 60, 200, 1 << 20] {
                for limit in [0, 1 << 20] {
                    let blocks = Blocks { bytes, whole: limit };
                    let read = |reading: &Reading<'_>| {
                        let (origin, mut rows) = (Origin::open(file.path()).unwrap(), Rows(vec![], vec![]));
                        read_in_blocks(origin, reading, Missing::Refused, &mut rows, blocks).unwrap();
                        rows
                    };
                    assert_eq!(read(&reading).0, whole.values(), "{fortran} {shape} {bytes} {limit}");
                    let Rows(values, weights) = read(&weighted);
                    assert_eq!(
                        (&values[..], Some(&weights[..])),
                        (with_weights.values(), with_weights.weights())
                    );
                }
            }
        }
    }
}
