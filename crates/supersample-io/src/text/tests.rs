//! Text files as users bring them: what is read, what is refused with which words, and how rows come back.

use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;

use super::endless;
use super::records::End;
use crate::{
    Draws, Error, ExpectedSize, Format, Note, OutputFormat, Packing, Reading, Result, Selection, Use,
};

fn read_with(bytes: &[u8], reading: &Reading<'_>) -> Result<Draws> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(bytes).unwrap();
    // The draws go back to the file, so it must outlive them; the system clears its temporary folder.
    let path = file.into_temp_path().keep().unwrap();
    let draws = Draws::read(&[&path], reading);
    match draws {
        Err(Error::InFile { error, .. }) => {
            std::fs::remove_file(path).unwrap();
            Err(*error)
        }
        other => other,
    }
}

fn read(text: &str) -> Result<Draws> {
    read_with(text.as_bytes(), &Reading::default())
}

fn refused(text: &str) -> String {
    read(text).unwrap_err().to_string()
}

/// The rows as written, without the ids that are added behind them.
fn written(draws: &Draws, rows: &[usize]) -> String {
    let mut out = Vec::new();
    draws.write_rows(rows, None, OutputFormat::plain(Format::Text), &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    let separator = if text.contains('\t') { "\t" } else { "," };
    let ids: Vec<String> = rows
        .iter()
        .map(|&row| {
            let (chain, draw) = draws.chain_and_draw(row);
            [chain, draw, row].map(|id| format!("{separator}{id}")).concat()
        })
        .collect();
    let mut text =
        text.replacen(&["chain", "draw", "row"].map(|id| format!("{separator}{id}")).concat(), "", 1);
    for id in ids {
        text = text.replacen(&id, "", 1);
    }
    text
}

#[test]
fn rows_come_back_verbatim_in_any_order() {
    let text = "\"theta[1,2]\", tau ,note\n 0.50,\"1e3\",\"a,\"\"b\nc\"\n+.5,-2. ,x\n";
    let reading = Reading { selection: Selection::Except(vec!["note".to_string()]), ..Reading::default() };
    let draws = read_with(text.as_bytes(), &reading).unwrap();
    assert_eq!(draws.parameter_names(), ["theta[1,2]", "tau"]);
    assert_eq!(draws.unused_names(), ["note"]);
    assert_eq!((draws.len(), draws.dim(), draws.values()), (2, 2, &[0.5, 1000.0, 0.5, -2.0][..]));
    assert_eq!(written(&draws, &[0, 1]), text);
    assert_eq!(
        written(&draws, &[1, 0, 1]),
        "\"theta[1,2]\", tau ,note\n+.5,-2. ,x\n 0.50,\"1e3\",\"a,\"\"b\nc\"\n+.5,-2. ,x\n"
    );
}

#[test]
fn ids_are_added_only_where_the_file_has_none() {
    let header = |text: &str| {
        let mut out = Vec::new();
        read(text)
            .unwrap()
            .write_rows(&[0], Some(&[0.5]), OutputFormat::plain(Format::Text), &mut out)
            .unwrap();
        String::from_utf8(out).unwrap()
    };
    assert_eq!(header("mu\n1\n"), "mu,chain,draw,row,weight\n1,1,1,0,0.5\n");
    assert_eq!(header(".chain;.iteration;mu\n1;7;2\n"), ".chain;.iteration;mu;row;weight\n1;7;2;0;0.5\n");
    assert_eq!(
        header("mu,weight,Row\n3,1,4\n"),
        "mu,weight,Row,chain,draw,supersample_weight\n3,1,4,1,1,0.5\n"
    );
}

#[test]
fn line_ends_blank_lines_and_byte_order_marks_do_not_matter() {
    for text in
        ["a,b\r\n1,2\r\n3,4\r\n", "\u{feff}a,b\r\n1,2\r\n\r\n3,4", "\r\n\r\na,b\r\n1,2\r\n3,4\r\n\r\n"]
    {
        let draws = read(text).unwrap();
        assert_eq!(draws.values(), [1.0, 2.0, 3.0, 4.0], "{text:?}");
        assert_eq!(written(&draws, &[1, 0]), "a,b\r\n3,4\r\n1,2\r\n", "{text:?}");
    }
    assert_eq!(written(&read("a\n1\n2").unwrap(), &[1]), "a\n2\n");
    assert_eq!(written(&read("a\r1\r2\r").unwrap(), &[1]), "a\r2\r");
}

#[test]
fn the_separator_is_found_or_given() {
    for text in ["a\tb\n1\t2\n", "a;b\n1;2\n", "a|b\n1|2\n", "a b\n1 2\n", "a,b\n1,2\n"] {
        let draws = read(text).unwrap();
        assert_eq!((draws.parameter_names(), draws.values()), (vec!["a", "b"], &[1.0, 2.0][..]), "{text:?}");
    }
    // The names have commas, the rows do not.
    assert_eq!(read("z[1,1];z[1,2]\n1;2\n").unwrap().parameter_names(), ["z[1,1]", "z[1,2]"]);
    assert_eq!(read("posterior mean\n1\n").unwrap().parameter_names(), ["posterior mean"]);
    let reading = Reading { separator: Some(b':'), ..Reading::default() };
    assert_eq!(read_with(b"a:b\n1:2\n", &reading).unwrap().values(), [1.0, 2.0]);
}

#[test]
fn bad_cells_are_named_by_row_line_and_column() {
    let text = "mu,tau\n1,2\n\n\"3\n\",4\n5,";
    assert_eq!(
        refused(&format!("{text}x7\n")),
        "row 3 (line 6), column 'tau' is 'x7', not a number; fix it, or leave the column out with --exclude tau"
    );
    assert_eq!(
        refused(&format!("{text} \n")),
        "row 3 (line 6), column 'tau' is empty; fill it in, leave such rows out with --drop-na, or the column with \
         --exclude tau"
    );
    assert!(refused(&format!("{text}NA\n")).contains("column 'tau' is 'NA', a missing value;"));
    for word in ["nan", "NaN", "-inf", "Infinity", "1e999"] {
        let message = refused(&format!("{text}{word}\n"));
        assert!(
            message.starts_with(&format!("row 3 (line 6), column 'tau' is {word}; every value")),
            "{message}"
        );
    }
    assert_eq!(
        refused("mu,tau\n1,2\n3\n"),
        "row 2 (line 3) has 1 fields, but the header has 2; fix that line or quote fields that contain the separator"
    );
}

#[test]
fn files_that_are_no_tables_are_refused() {
    assert!(matches!(read("").unwrap_err(), Error::Empty));
    assert!(matches!(read("\u{feff}\n\n").unwrap_err(), Error::Empty));
    assert!(matches!(read("# nothing\n").unwrap_err(), Error::Empty));
    assert!(matches!(read("a,b\n").unwrap_err(), Error::NoRows));
    assert!(matches!(read("a,b").unwrap_err(), Error::NoRows));
    assert!(refused("a,b, a\n1,2,3\n").starts_with("two columns are named 'a'"));
    assert!(refused("0.31,0.2\n0.5,0.7\n").starts_with("the first line holds numbers ('0.31', …)"));
    assert_eq!(read("0,1\n0.5,0.7\n").unwrap().parameter_names(), ["0", "1"]);
    assert_eq!(read("1,2,3\n4,5,6\n").unwrap().parameter_names(), ["1", "2", "3"]);
    // Whole numbers that do not count are the first draw of a file without names.
    for text in ["7,3\n3,4\n", "1,1.0\n2,3\n", "0,2\n2,3\n", "2,3\n3,4\n", "01,02\n3,4\n"] {
        assert!(refused(text).starts_with("the first line holds numbers ('"), "{text:?}");
    }
    assert!(matches!(
        read("a,row\n1,2\n3,\"4\n5,6\n").unwrap_err(),
        Error::UnclosedQuote { row: 2, line: 3 }
    ));
    assert_eq!(read("a,row\n1,2\n3,5\"\n").unwrap().len(), 2);
    let latin = read_with(b"a\n1\n\xe9\n", &Reading::default()).unwrap_err();
    assert!(matches!(latin, Error::NotUtf8 { line: 3 }));
    assert!(matches!(read_with(b"\0\x01a,b\n", &Reading::default()), Err(Error::NotUtf8 { line: 1 })));
}

#[test]
fn a_file_of_text_is_told_apart_from_a_stray_word() {
    assert_eq!(
        refused("a,b\nx,y\nz,w\n"),
        "no column is left to use: no cell is a number (the first of column 'a' is 'x'); a table of draws \
         has one number in each cell"
    );
    assert!(refused("a;b\n0,5;1,5\n").ends_with("decimal commas are not read: write points"));
    assert!(
        refused("a:b\n1:2\n")
            .ends_with("if another character separates the columns, name it with --separator")
    );
    assert!(
        refused("a;b\n1;1\n0,5;2\n").ends_with("--exclude a (decimal commas are not read: write points)")
    );
    assert!(refused("a,b\nx,y\n1,w\n").starts_with("row 1 (line 2), column 'a' is 'x'"));
    assert!(refused("a,chain\n1,x\ny,2\n").starts_with("row 2 (line 3), column 'a' is 'y'"));
}

#[test]
fn columns_of_text_are_carried_along_unless_named() {
    let draws = read("mu,who,none\n1,x,\n2,NA,NA\n").unwrap();
    assert_eq!((draws.parameter_names(), draws.unused_names()), (vec!["mu"], vec!["who", "none"]));
    assert_eq!(draws.uses()[1..], [Use::Text, Use::Empty]);
    assert_eq!(written(&draws, &[1]), "mu,who,none\n2,NA,NA\n");
    let named = Reading { selection: Selection::Only(vec!["who".to_string()]), ..Reading::default() };
    let error = read_with(b"mu,who\n1,x\n", &named).unwrap_err().to_string();
    assert!(error.starts_with("row 1 (line 2), column 'who' is 'x', not a number"), "{error}");
}

#[test]
fn rows_with_missing_values_can_be_left_out() {
    let text = "mu,tau,note\n1,NA,a\n2,3,\n,4,b\n5,6,c\nnan,7,d\n8,9,e\n";
    let reading = Reading { drop_na: true, ..Reading::default() };
    let draws = read_with(text.as_bytes(), &reading).unwrap();
    assert_eq!(draws.values(), [2.0, 3.0, 5.0, 6.0, 8.0, 9.0]);
    assert_eq!((draws.len(), draws.dropped_na()), (3, 3));
    assert!(draws.notes().contains(&Note::MissingRows { rows: 3, of: 6 }));
    // Row numbers and draws count the rows of the file.
    let mut out = Vec::new();
    draws.write_rows(&[2, 0], None, OutputFormat::plain(Format::Text), &mut out).unwrap();
    assert_eq!(out, b"mu,tau,note,chain,draw,row\n8,9,e,1,6,5\n2,3,,1,2,1\n");
    assert_eq!((draws.row_number(1), draws.row_of_number(3), draws.row_of_number(2)), (3, Some(1), None));
    assert_eq!(draws.row_of_number(6), None);
    assert!(
        matches!(read_with(b"mu,tau\n1,NA\nNA,2\n", &reading), Err(error) if error.to_string().contains("all 2 rows have a missing value"))
    );
    // A word or an infinity is not a missing value.
    assert!(read_with(b"mu\n1\nx\n", &reading).is_err());
    assert!(read_with(b"mu\n1\ninf\n", &reading).is_err());
}

#[test]
fn messages_are_short_and_keep_the_terminal_as_it_is() {
    let error = refused("mu\n1\n\u{1b}[2J\n");
    assert!(error.contains("is '\\u{1b}[2J', not a number"), "{error}");
    let error = refused(&format!("mu\n1\n{}\n", "x".repeat(5_000_000)));
    assert!(error.len() < 200, "{}", error.len());
    let error = refused("\"m\nu\",b\n1,1\nx,2\n");
    assert!(error.contains("column 'm\\nu' is 'x'"), "{error}");
}

#[test]
fn json_is_told_from_a_table() {
    for text in ["{\"mu\": [1, 2]}", " [{\"mu\": 1}]\n", "[[1,2],[3,4]]\n"] {
        assert!(refused(text).starts_with("this is JSON; write it as CSV"), "{text}");
    }
}

#[test]
fn weights_are_read_beside_the_parameters() {
    let reading = Reading { weight_column: Some("w"), ..Reading::default() };
    let draws = read_with(b"w,mu\n-700,1\n-701.5,2\n", &reading).unwrap();
    assert_eq!((draws.values(), draws.weights()), (&[1.0, 2.0][..], Some(&[-700.0, -701.5][..])));
    // The logarithm of no weight, as R, NumPy and others write it.
    let draws = read_with(b"w,mu\n-inf,1\n-Inf,2\n-INFINITY,3\n0,4\n", &reading).unwrap();
    let none = f64::NEG_INFINITY;
    assert_eq!(draws.weights(), Some(&[none, none, none, 0.0][..]));
    for bad in ["inf", "NaN", "x", ""] {
        assert_eq!(
            read_with(format!("w,mu\n{bad},1\n").as_bytes(), &reading).unwrap_err().to_string(),
            format!(
                "row 1 (line 2), column 'w': the weight is '{bad}'; every weight must be a finite number (a log-weight may \
                 also be -inf: weight 0)"
            )
        );
    }
    assert!(read_with(b"mu\n-inf\n", &Reading::default()).is_err());
    assert!(matches!(read_with(b"mu\n1\n", &reading), Err(Error::UnknownColumn { .. })));
    assert!(
        matches!(read_with(b"w\n1\n", &reading), Err(error) if error.to_string().contains("holds the weights"))
    );
    let both = Reading { selection: Selection::Only(vec!["w".to_string()]), ..reading };
    assert!(
        matches!(read_with(b"w,mu\n1,1\n", &both), Err(error) if error.to_string().contains("cannot be a parameter as well"))
    );
}

#[test]
fn functions_are_read_beside_the_parameters_and_dropped_with_them() {
    let functions = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let reading = Reading {
        functions: functions(&["y*"]),
        weight_column: Some("w"),
        drop_na: true,
        ..Reading::default()
    };
    let text = b"y1,mu,w,y2,tau\n1,10,1,2,100\n3,11,1,NA,101\n5,12,1,6,102\n7,,1,8,103\n";
    let draws = read_with(text, &reading).unwrap();
    assert_eq!((draws.parameter_names(), draws.function_names()), (vec!["mu", "tau"], vec!["y1", "y2"]));
    assert_eq!((draws.len(), draws.dim(), draws.dropped_na()), (2, 2, 2));
    assert_eq!(draws.values(), [10.0, 100.0, 12.0, 102.0]);
    assert_eq!(draws.functions(), [1.0, 2.0, 5.0, 6.0]);
    assert_eq!((draws.row_number(1), draws.weights()), (2, Some(&[1.0, 1.0][..])));
    let strict = Reading { drop_na: false, ..reading };
    assert_eq!(
        read_with(text, &strict).unwrap_err().to_string(),
        "row 2 (line 3), column 'y2' is 'NA', a missing value; fill it in, leave such rows out with --drop-na, or the \
         column with --exclude y2"
    );
    let weights = Reading { functions: functions(&["w"]), ..strict };
    assert!(
        matches!(read_with(text, &weights), Err(error) if error.to_string().contains("cannot be a function as well"))
    );
}

/// Remarks of more than a block, and a line without an end: the words are true of both.
#[test]
fn long_remarks_are_passed_over_and_long_lines_named() {
    let remarks = "# words that nobody reads\n".repeat((5 << 20) / 26);
    assert_eq!(read(&format!("{remarks}a,b\n1,2\n")).unwrap().values(), [1.0, 2.0]);
    // As it is found after 256 MiB without an end.
    let told = |end: End| endless(end, 2, 3).to_string();
    assert!(told(End::Beyond).starts_with("line 3 is longer than 256 MiB"));
    assert!(told(End::InQuote).contains("opens a quote that is never closed"));
}

/// Many blocks and pieces, quoted and not, must give what one small piece gives.
#[test]
fn long_files_are_read_in_pieces_without_a_seam() {
    for quoted in [false, true] {
        let mut text = String::from("mu,note,tau\n");
        let rows = 400_000;
        for i in 0..rows {
            let note = if quoted && i % 7 == 0 { "\"a,\nb\"" } else { "plain words that take some room" };
            text += &format!("{},{note},{}\n", i, -(i as f64) / 8.0);
        }
        assert!(text.len() > 17 << 20 || quoted, "{}", text.len());
        let reading =
            Reading { selection: Selection::Except(vec!["note".to_string()]), ..Reading::default() };
        let draws = read_with(text.as_bytes(), &reading).unwrap();
        assert_eq!(draws.len(), rows);
        let exact = |(i, pair): (usize, &[f64])| pair == [i as f64, -(i as f64) / 8.0];
        assert!(draws.values().chunks_exact(2).enumerate().all(exact));
        let wanted = [399_999, 7, 0, 65_536, 7, 63, 64, 200_001];
        let mut out = Vec::new();
        draws.write_rows(&wanted, None, OutputFormat::plain(Format::Text), &mut out).unwrap();
        let out = String::from_utf8(out).unwrap();
        for row in wanted {
            assert!(out.contains(&format!("\n{row},")), "{row}");
            assert!(out.contains(&format!(",{},1,{},{row}\n", -(row as f64) / 8.0, row + 1)), "{row}");
        }
        // An error far down still knows its row and line.
        let cut = text.replacen("399990,", "x,", 1);
        let message = read_with(cut.as_bytes(), &reading).unwrap_err().to_string();
        assert!(message.starts_with("row 399991 (line "), "{message}");
    }
}

#[test]
fn packed_text_is_text() {
    let text = "a,b\n1,2\n3,4\n5,6\n";
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(text.as_bytes()).unwrap();
    let draws = read_with(&packed.finish().unwrap(), &Reading::default()).unwrap();
    assert_eq!(draws.values(), [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    assert_eq!(written(&draws, &[2, 0]), "a,b\n5,6\n1,2\n");
    for packing in [Packing::Gzip, Packing::Zstd] {
        let mut again = Vec::new();
        let output = OutputFormat { packing: Some(packing), ..OutputFormat::plain(Format::Text) };
        draws.write_rows(&[1, 2], None, output, &mut again).unwrap();
        assert_ne!(again[0], b'a');
        let draws = read_with(&again, &Reading::default()).unwrap();
        assert_eq!(draws.values(), [3.0, 4.0, 5.0, 6.0]);
        assert_eq!(written(&draws, &[1]), "a,b\n5,6,1,3,2\n");
    }
}

#[test]
fn a_hundred_thousand_columns_are_read() {
    let columns = 100_000;
    let names: Vec<String> = (0..columns).map(|j| format!("theta.{j}")).collect();
    let row = |i: usize| (0..columns).map(|j| format!("{}", i * j)).collect::<Vec<_>>().join(",");
    let text = format!("{}\n{}\n{}\n{}\n", names.join(","), row(1), row(2), row(3));
    let draws = read(&text).unwrap();
    assert_eq!((draws.len(), draws.dim(), draws.values()[columns + 7]), (3, columns, 14.0));
    let some = Selection::Only(names[5..50_000].to_vec());
    let draws = read_with(text.as_bytes(), &Reading { selection: some, ..Reading::default() }).unwrap();
    assert_eq!(draws.dim(), 49_995);
}

#[test]
fn the_size_is_foreseen() {
    let mut file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
    file.write_all(format!("a,b,chain\n{}", "1.25,2.5,1\n".repeat(5000)).as_bytes()).unwrap();
    let size = Some(ExpectedSize { rows: 10_000, columns: 2, is_single: false, block_bytes: 0 });
    assert_eq!(Draws::expected_size(&[file.path(), file.path()], &Reading::default()), size);
    // Lines longer than half of a look, the last of them without its end.
    let names: Vec<String> = (0..40_000).map(|j| format!("x{j}")).collect();
    let rows = format!("\n{}", vec!["0.5"; 40_000].join(",")).repeat(60);
    let mut file = tempfile::NamedTempFile::with_suffix(".csv").unwrap();
    file.write_all(format!("{}{rows}", names.join(",")).as_bytes()).unwrap();
    let size = Some(ExpectedSize { rows: 60, columns: 40_000, is_single: false, block_bytes: 0 });
    assert_eq!(Draws::expected_size(&[file.path()], &Reading::default()), size);
    assert_eq!(Draws::expected_size(&["-"], &Reading::default()), None);
    assert_eq!(Draws::expected_size(&["none.csv"], &Reading::default()), None);
}

const STAN: &str = include_str!("../../tests/data/cmdstan.csv");

#[test]
fn a_cmdstan_file_is_read_as_it_is_written() {
    let draws = read(STAN).unwrap();
    assert_eq!(draws.parameter_names(), ["mu", "tau", "theta.1.1", "theta.1.2"]);
    assert_eq!(draws.unused_names()[..2], ["lp__", "accept_stat__"]);
    assert_eq!((draws.len(), draws.warmup(), draws.has_warmup()), (4, 3, true));
    assert_eq!(draws.values()[..4], [1.0, 2.5, -0.5, 0.25]);
    let mut out = Vec::new();
    draws.write_rows(&[3, 0], None, OutputFormat::plain(Format::Text), &mut out).unwrap();
    let out = String::from_utf8(out).unwrap();
    assert_eq!(out.lines().count(), 3, "{out}");
    assert!(out.lines().nth(1).unwrap().ends_with(",4,5.5,-0.8,0.55,1,4,3"), "{out}");

    let all = read_with(STAN.as_bytes(), &Reading { keep_warmup: true, ..Reading::default() }).unwrap();
    assert_eq!((all.len(), all.warmup(), all.values()[0]), (7, 0, -9.0));
}

#[test]
fn the_mean_above_the_draws_of_a_variational_run_is_no_draw() {
    let text = include_str!("../../tests/data/variational.csv");
    // The settings tell, or the columns and the zeros in that row where the settings are lost.
    let bare: String =
        text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect();
    for text in [text, &bare] {
        for keep_warmup in [false, true] {
            let reading = Reading { keep_warmup, ..Reading::default() };
            let draws = read_with(text.as_bytes(), &reading).unwrap();
            assert_eq!((draws.len(), draws.mean_rows(), draws.warmup()), (4, 1, 0));
            assert_eq!(draws.values()[..3], [0.25, 1.5, -0.5]);
            assert!(written(&draws, &[0]).ends_with("\n0,-3.25,-0.5,0.25,1.5,-0.5\n"));
        }
    }
    let cut: String = bare.lines().take(2).map(|line| format!("{line}\n")).collect();
    assert!(matches!(read(&cut).unwrap_err(), Error::NoRows));
    let sampled = text.replace("= variational", "= pathfinder");
    assert_eq!(read(&sampled).unwrap().len(), 5);
    assert_eq!(read(STAN).unwrap().mean_rows(), 0);
}

#[test]
fn a_cmdstan_run_that_was_stopped_is_noticed() {
    let cut = STAN.find("-6.4").unwrap();
    assert!(
        refused(&STAN[..cut + 12]).contains("fields, but the header has"),
        "{}",
        refused(&STAN[..cut + 12])
    );
    let row_end = STAN[cut..].find('\n').unwrap() + cut;
    assert!(read(&STAN[..row_end]).unwrap_err().to_string().contains("the file ends in the middle of line"));
    let warmup_only = &STAN[..STAN.find("# Adaptation").unwrap()];
    assert!(read(warmup_only).unwrap_err().to_string().contains("all 3 rows are warm-up"));
}

#[test]
fn missing_files_and_directories_are_named() {
    let directory = tempfile::tempdir().unwrap();
    let refused = |path: &std::path::Path| Draws::read(&[path], &Reading::default()).unwrap_err().to_string();
    let path = directory.path().join("none.csv");
    assert!(refused(&path).starts_with(&format!("{}: the file cannot be read: ", path.display())));
    assert!(refused(directory.path()).ends_with(": this is a directory; name a file in it"));
}
