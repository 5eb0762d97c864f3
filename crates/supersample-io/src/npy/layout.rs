//! Layout of NumPy arrays: which axes count chains and draws, and where in the bytes each cell of the table lies.

use std::fmt;
use std::str::FromStr;

use super::header::{Entry, Header};

/// Meaning of the first axes of an array; the other axes are the entries of one draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Shape {
    /// The first axis counts rows.
    Rows,
    /// The first axis counts chains and the second draws, as in ArviZ, PyMC, NumPyro and CmdStanPy.
    ChainDraw,
    /// The first axis counts draws and the second chains or walkers, as in emcee and R.
    DrawChain,
}

impl Shape {
    /// Names that [`FromStr`] accepts.
    pub const NAMES: [&'static str; 3] = ["rows", "chain,draw", "draw,chain"];
    const ALL: [Shape; 3] = [Shape::Rows, Shape::ChainDraw, Shape::DrawChain];

    /// How many axes it speaks of.
    pub(crate) fn axes(self) -> usize {
        if self == Shape::Rows { 1 } else { 2 }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(Shape::NAMES[*self as usize])
    }
}

impl FromStr for Shape {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Shape, Self::Err> {
        let found = Shape::ALL.into_iter().find(|shape| Shape::NAMES[*shape as usize] == text);
        found.ok_or("the shapes are rows, chain,draw and draw,chain")
    }
}

/// One column of the table an array is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) name: String,
    pub(crate) entry: Entry,
    /// Bytes from the start of the row.
    pub(crate) offset: usize,
}

/// Where each cell lies. Rows go by chains, and within them by draws.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Layout {
    pub(crate) slots: Vec<Slot>,
    pub(crate) chains: usize,
    pub(crate) draws: usize,
    chain_stride: usize,
    draw_stride: usize,
    /// Entries of one row, each with all fields.
    width: usize,
    /// Bytes of a row where it is in one piece.
    row_bytes: usize,
}

impl Layout {
    /// `None` if the array has too few axes, or no entries. The name is that of the array; one without has columns x1, x2, ….
    pub(crate) fn new(header: &Header, name: Option<&str>, shape: Shape) -> Option<Layout> {
        if header.shape.len() < shape.axes() || header.shape.contains(&0) || header.size == 0 {
            return None;
        }
        let (sizes, size) = (&header.shape, header.size);
        // Bytes from one entry to the next, for each axis.
        let mut strides = vec![size; sizes.len()];
        match header.fortran_order {
            true => (1..sizes.len()).for_each(|i| strides[i] = strides[i - 1] * sizes[i - 1]),
            false => (1..sizes.len()).rev().for_each(|i| strides[i - 1] = strides[i] * sizes[i]),
        }
        let (chains, chain_stride, draw_axis) = match shape {
            Shape::Rows => (1, 0, 0),
            Shape::ChainDraw => (sizes[0], strides[0], 1),
            Shape::DrawChain => (sizes[1], strides[1], 0),
        };
        let (draws, draw_stride) = (sizes[draw_axis], strides[draw_axis]);
        let (rest, rest_strides) = (&sizes[shape.axes()..], &strides[shape.axes()..]);
        let width = rest.iter().product::<usize>();
        let mut slots = Vec::new();
        for j in 0..width {
            let indices = indices_of(j, rest);
            let at: usize = indices.iter().zip(rest_strides).map(|(index, stride)| index * stride).sum();
            for field in &header.fields {
                for k in 0..field.shape.iter().product::<usize>() {
                    let inner = indices_of(k, &field.shape);
                    slots.push(Slot {
                        name: column_name(name, &field.name, &indices, &inner),
                        entry: field.entry,
                        offset: at + field.offset + k * field.entry.size,
                    });
                }
            }
        }
        if slots.is_empty() {
            return None;
        }
        Some(Layout { slots, chains, draws, chain_stride, draw_stride, width, row_bytes: width * size })
    }

    pub(crate) fn rows(&self) -> usize {
        self.chains * self.draws
    }

    /// How many entries of the array are one row.
    pub(crate) fn width(&self) -> usize {
        self.width
    }

    /// Where a row starts.
    pub(crate) fn start(&self, row: usize) -> usize {
        row / self.draws * self.chain_stride + row % self.draws * self.draw_stride
    }

    /// Whether all rows lie one behind the other.
    pub(crate) fn is_in_one_piece(&self) -> bool {
        self.draw_stride == self.row_bytes
            && (self.chains <= 1 || self.chain_stride == self.draws * self.draw_stride)
    }

    /// Bytes of the entries of one row.
    pub(crate) fn row_bytes(&self) -> usize {
        self.row_bytes
    }

    /// Bytes from one draw of a chain to the next.
    pub(crate) fn draw_stride(&self) -> usize {
        self.draw_stride
    }

    /// A cell among the bytes from the start of its row on.
    pub(crate) fn cell<'a>(&self, slot: usize, from_row: &'a [u8]) -> &'a [u8] {
        let slot = &self.slots[slot];
        &from_row[slot.offset..slot.offset + slot.entry.size]
    }

    /// Where the bytes of a cell are.
    pub(crate) fn place(&self, row: usize, slot: usize) -> usize {
        self.start(row) + self.slots[slot].offset
    }
}

/// The indices of entry `j`, counted in C order.
fn indices_of(j: usize, shape: &[usize]) -> Vec<usize> {
    let (mut rest, mut indices) = (j, vec![0; shape.len()]);
    for (index, &n) in indices.iter_mut().zip(shape).rev() {
        (*index, rest) = (rest % n, rest / n);
    }
    indices
}

/// `theta.2.1` as CmdStan has it, `x3` where there is no name.
fn column_name(array: Option<&str>, field: &str, indices: &[usize], inner: &[usize]) -> String {
    let numbers: Vec<String> = indices.iter().chain(inner).map(|index| (index + 1).to_string()).collect();
    let base = match (array, field) {
        (None, "") => {
            let numbers = if numbers.is_empty() { vec!["1".to_string()] } else { numbers };
            return format!("x{}", numbers.join("."));
        }
        (None, field) => field.to_string(),
        (Some(array), "") => array.to_string(),
        (Some(array), field) => format!("{array}.{field}"),
    };
    std::iter::once(base).chain(numbers).collect::<Vec<_>>().join(".")
}
