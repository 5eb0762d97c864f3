//! Reads the draws of a tree: blocks of draws, variable after variable, and chosen draws again.

use std::ops::Range;
use std::sync::Arc;

use super::draws::{Decoding, Drawn, Part};
use super::{Cells, Group, Kind, Opened, Store, Variable};
use crate::frame::Frame;
use crate::reading::{Choice, Missing, cell};
use crate::source::{ExpectedSize, FileRead, Sink, Source};
use crate::{Error, Place, Reading, Result};

/// Bytes of the numbers of a block.
const BLOCK: usize = 16 << 20;
/// A variable up to this size is read whole where chosen draws are looked up.
const WHOLE: u64 = 64 << 20;

/// A file after its first pass.
#[derive(Debug)]
pub(crate) struct TreeSource {
    pub(super) opened: Arc<Opened>,
    pub(super) drawn: Drawn,
}

fn choose(drawn: &Drawn, group: &Group, reading: &Reading<'_>) -> Result<Choice> {
    let choice = reading.choose(drawn.names.clone(), &drawn.found)?;
    let mut first = 0;
    for part in &drawn.variables {
        let range = first..first + part.width;
        first = range.end;
        let is_text = group.variables[part.place].kind == Some(Kind::Text);
        if let Some((position, _)) = choice.wanted().find(|(position, _)| is_text && range.contains(position))
        {
            return Err(Error::NotNumbers {
                column: choice.names[position].clone(),
                kind: "text".to_string(),
            });
        }
    }
    Ok(choice)
}

/// Size of the draws.
pub(crate) fn expected(opened: &Opened, reading: &Reading<'_>) -> Result<Option<ExpectedSize>> {
    let drawn = Drawn::find(opened, reading)?;
    let group = drawn.of(&opened.root);
    let choice = choose(&drawn, group, reading)?;
    let wanted = Wanted::new(&drawn, group, &choice);
    let block_bytes = wanted.iter().map(|one| one.variable.chunk_bytes).max().unwrap_or(0);
    let are_coordinates = |one: &&Wanted<'_>| one.columns.iter().any(|column| !column.3);
    let mut coordinates = wanted.iter().filter(are_coordinates);
    let is_single = coordinates.all(|one| one.variable.kind == Some(Kind::F32));
    Ok(Some(ExpectedSize { rows: drawn.rows(), columns: choice.columns.len(), is_single, block_bytes }))
}

/// Reads the draws, chain after chain, a block of draws at a time.
pub(crate) fn read(
    opened: Opened,
    reading: &Reading<'_>,
    missing: Missing,
    sink: &mut dyn Sink,
) -> Result<FileRead> {
    let drawn = Drawn::find(&opened, reading)?;
    let group = drawn.of(&opened.root);
    let choice = choose(&drawn, group, reading)?;
    sink.begin(&choice)?;
    let dim = choice.columns.len();
    sink.expect(drawn.rows().saturating_mul(dim));
    let wanted = Wanted::new(&drawn, group, &choice);
    let widest = wanted.iter().map(|one| one.part.width).sum::<usize>().max(1);
    let step = (BLOCK / 8 / widest).max(1);
    let (mut values, mut weights) = (Vec::new(), Vec::new());
    let mut row = 0;
    while row < drawn.rows() {
        let (chain, draw) = drawn.place(row);
        let count = step.min(drawn.draws() - draw);
        values.clear();
        values.resize(count * dim, 0.0);
        weights.clear();
        weights.resize(if choice.weight.is_some() { count } else { 0 }, 0.0);
        for one in &wanted {
            let cells = block(&*opened.store, one.variable, one.part, &drawn, chain, draw..draw + count)?;
            one.scatter(&cells, &choice, missing, row, dim, &mut values, &mut weights)?;
        }
        row += count;
        sink.take(&values, &weights, row as f64 / drawn.rows() as f64)?;
    }
    let (rows, notes) = (drawn.rows(), drawn.notes.clone());
    let draws_per_chain = (drawn.sizes.len() > 1).then_some(drawn.draws());
    let source = Box::new(TreeSource { opened: Arc::new(opened), drawn });
    Ok(FileRead { draws_per_chain, notes, ..FileRead::plain(choice, rows, source) })
}

/// A variable of which columns are wanted.
struct Wanted<'a> {
    variable: &'a Variable,
    part: &'a Part,
    /// The element, the position of its column, its slot among the values, and whether it is the weight.
    columns: Vec<(usize, usize, usize, bool)>,
}

impl<'a> Wanted<'a> {
    fn new(drawn: &'a Drawn, group: &'a Group, choice: &Choice) -> Vec<Wanted<'a>> {
        let (mut all, mut first) = (Vec::new(), 0);
        let mut places = vec![None; choice.names.len()];
        for (slot, (position, is_weight)) in choice.wanted().enumerate() {
            places[position] = Some((slot, is_weight));
        }
        for part in &drawn.variables {
            let columns: Vec<_> = (0..part.width)
                .filter_map(|element| {
                    let (slot, is_weight) = places[first + element]?;
                    Some((element, first + element, slot, is_weight))
                })
                .collect();
            first += part.width;
            if !columns.is_empty() {
                all.push(Wanted { variable: &group.variables[part.place], part, columns });
            }
        }
        all
    }

    #[expect(clippy::too_many_arguments, reason = "a loop of its caller")]
    fn scatter(
        &self,
        cells: &Cells,
        choice: &Choice,
        missing: Missing,
        first_row: usize,
        dim: usize,
        values: &mut [f64],
        weights: &mut [f64],
    ) -> Result<()> {
        let Cells::Raw(kind, bytes) = cells else { return Err(Error::Changed) };
        let (decoding, size) = (Decoding::of(self.variable), kind.size());
        for (i, row) in bytes.chunks_exact(self.part.width * size).enumerate() {
            for &(element, position, slot, is_weight) in &self.columns {
                let stored = kind.number(&row[element * size..][..size]);
                let value = match &decoding {
                    None => Some(stored),
                    Some(decoding) => decoding.value(stored),
                };
                let value = match value {
                    Some(value) if value.is_finite() => value,
                    value => {
                        let column = choice.names[position].clone();
                        let place = || Place { row: first_row + i + 1, line: None, column };
                        cell(value, missing, is_weight, place)?
                    }
                };
                match is_weight {
                    true => weights[i] = value,
                    false => values[i * dim + slot] = value,
                }
            }
        }
        Ok(())
    }
}

/// The cells of some draws of one chain, draw by draw.
fn block(
    store: &dyn Store,
    variable: &Variable,
    part: &Part,
    drawn: &Drawn,
    chain: usize,
    draws: Range<usize>,
) -> Result<Cells> {
    let mut ranges = variable.whole();
    ranges[part.order[drawn.dims.len() - 1]] = draws;
    if drawn.dims.len() > 1 {
        ranges[part.order[0]] = chain..chain + 1;
    }
    let shape: Vec<usize> = ranges.iter().map(Range::len).collect();
    let cells = store.read(variable, &ranges)?;
    match cells.len() == shape.iter().product::<usize>() {
        true => Ok(cells.transposed(&shape, &part.order)),
        false => Err(Error::Changed),
    }
}

impl TreeSource {
    /// The cells of these rows of a variable, row by row.
    pub(super) fn rows_of(&self, variable: &Variable, part: &Part, rows: &[usize]) -> Result<Cells> {
        let store = &*self.opened.store;
        if variable.bytes().is_some_and(|bytes| bytes <= WHOLE) {
            let cells = store.read(variable, &variable.whole())?;
            if cells.len() != self.drawn.rows() * part.width {
                return Err(Error::Changed);
            }
            let cells = cells.transposed(&variable.shape, &part.order);
            return Ok(cells.runs(part.width, rows.iter().copied()));
        }
        // In the order of the file, so that each part of it is read once.
        let mut order: Vec<usize> = (0..rows.len()).collect();
        order.sort_by_key(|&at| rows[at]);
        let mut found: Option<Cells> = None;
        for &at in &order {
            let (chain, draw) = self.drawn.place(rows[at]);
            let cells = block(store, variable, part, &self.drawn, chain, draw..draw + 1)?;
            match &mut found {
                None => found = Some(cells),
                Some(found) => found.extend(cells),
            }
        }
        let mut places = vec![0; rows.len()];
        order.iter().enumerate().for_each(|(place, &at)| places[at] = place);
        found.map(|found| found.runs(part.width, places)).ok_or(Error::Changed)
    }
}

impl Source for TreeSource {
    fn frame(&self, names: &[String], wanted: &[usize], rows: &[usize]) -> Result<Frame> {
        let group = self.drawn.of(&self.opened.root);
        let (mut columns, mut first) = (Vec::new(), 0);
        for part in &self.drawn.variables {
            let range = first..first + part.width;
            first = range.end;
            let here: Vec<usize> =
                wanted.iter().copied().filter(|position| range.contains(position)).collect();
            if here.is_empty() {
                continue;
            }
            let variable = &group.variables[part.place];
            let cells = self.rows_of(variable, part, rows)?;
            let decoding = Decoding::of(variable);
            for position in here {
                let element = position - range.start;
                let column = cells.runs(1, (0..rows.len()).map(|row| row * part.width + element));
                let column = match &decoding {
                    None => column.column(None),
                    Some(decoding) => column.column(Some(&|x| decoding.value(x))),
                };
                columns.push((names[position].clone(), column));
            }
        }
        Ok(Frame { columns })
    }
}
