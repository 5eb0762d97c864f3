//! Numbers in text, and what columns are by their names.

use extendr_api::prelude::*;
use supersample::words::{self, ColumnNote, ColumnRole, Counting, Style};

/// What columns of these names are: parameter, id or weight.
#[extendr]
fn native_roles(names: Strings) -> Vec<&'static str> {
    let role = |name: &Rstr| match ColumnRole::of(name.as_ref()) {
        ColumnRole::Id => "id",
        ColumnRole::OwnWeight => "weight",
        _ => "parameter",
    };
    names.iter().map(role).collect()
}

/// Which columns of a transposed matrix count its rows, from the first one or from each row after `starts`.
#[extendr]
fn native_counting(x: Robj, starts: &[f64]) -> Vec<bool> {
    let (values, dim) = (x.as_real_slice().unwrap_or_default(), x.nrows());
    let mut counting = Counting::default();
    counting.see(values, dim.max(1));
    let columns = counting.columns(|row| row == 0 || starts.contains(&(row as f64)));
    (0..dim).map(|column| columns.contains(&column)).collect()
}

/// Notes about columns of these names, each with whether it is used as a coordinate and whether it counts rows.
#[extendr]
fn native_notes(names: Strings, used: Logicals, counts: Logicals) -> Vec<String> {
    let flags = used.iter().zip(counts.iter()).map(|(used, counts)| (used.is_true(), counts.is_true()));
    let columns = names.iter().zip(flags).map(|(name, (used, counts))| (name.as_ref(), used, counts));
    ColumnNote::about(columns).iter().map(|note| note.sentence(Style::R)).collect()
}

/// The number of cores that this process may use.
#[extendr]
fn native_cores() -> f64 {
    std::thread::available_parallelism().map_or(1.0, |cores| cores.get() as f64)
}

/// Three significant digits: 0.00712, 3.98, 9,800.
#[extendr]
fn native_significant(values: &[f64]) -> Vec<String> {
    values.iter().map(|&value| words::significant(value)).collect()
}

/// The mean to three significant digits, the spread to as many decimals: 0.0702 ± 0.0046.
#[extendr]
fn native_with_spread(mean: f64, spread: f64) -> String {
    words::with_spread(mean, spread)
}

/// 1 row, 4,000 rows.
#[extendr]
fn native_counted(number: f64, noun: &str) -> String {
    words::counted(number as usize, noun)
}

/// The vector instructions of this machine; an error where the sums cannot run.
#[extendr]
fn native_instruction_set() -> Robj {
    match supersample::check_instruction_set() {
        Ok(_) => supersample::instruction_set().into(),
        Err(error) => list!(kind = "machine", refused = error.to_string()).into(),
    }
}

extendr_module! {
    mod words;
    fn native_roles;
    fn native_counting;
    fn native_notes;
    fn native_cores;
    fn native_significant;
    fn native_with_spread;
    fn native_counted;
    fn native_instruction_set;
}
