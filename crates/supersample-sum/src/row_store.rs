//! Memory for kernel rows: few large pieces of up to 8 MiB, each requested at once by all threads.
//!
//! A thousand rows of 100,000 points are 400 MB. If each row is an allocation, the system provides it page by page,
//! each time through a fault, and that takes longer than computing the values. At A (`bench-ours thin`,
//! `herding_seconds`, 400 MB of rows, two cores with AVX2) herding inside the refinement took 0.40 s with an allocation
//! for each row, 0.21 s with pieces, and 0.09 s without kept rows (`--memory 0`), after which the sweeps take three
//! times as long. Pages of 2 MiB took 0.15 s where the memory had just been used, and more than 1 s on a virtual
//! machine that had returned it to its host, so they are not used.

#[cfg(target_os = "linux")]
use memmap2::{Advice, MmapMut};
#[cfg(target_os = "linux")]
use rayon::prelude::*;

use crate::kernel_row::{KernelRow, KernelRowMut};
use crate::lanes::Lane;
use crate::launch::ByLane;
use crate::packed::Packed;
use crate::panels::WIDTH;

/// Kernel rows over the same packed points, numbered as they are added.
#[derive(Clone, Debug)]
pub struct KernelRows(ByLane<Store<f32>, Store<f64>>);

impl Packed {
    /// Empty store of kernel rows over these points.
    pub fn no_rows(&self) -> KernelRows {
        KernelRows(match &*self.panels {
            ByLane::Mixed(panels) => ByLane::Mixed(Store::new(panels.len)),
            ByLane::Double(panels) => ByLane::Double(Store::new(panels.len)),
        })
    }

    /// Bytes that a row takes.
    pub fn row_bytes(&self) -> usize {
        match &*self.panels {
            ByLane::Mixed(panels) => panels.len * size_of::<f32>(),
            ByLane::Double(panels) => panels.len * size_of::<f64>(),
        }
    }
}

impl KernelRows {
    /// Empty store of rows of `len` doubles.
    pub fn in_double(len: usize) -> KernelRows {
        KernelRows(ByLane::Double(Store::new(len)))
    }

    /// Adds a row, whose values are undefined until it is filled; returns its number.
    pub fn add(&mut self) -> usize {
        match &mut self.0 {
            ByLane::Mixed(store) => store.add(),
            ByLane::Double(store) => store.add(),
        }
    }

    /// Forgets all rows; their memory is reused.
    pub fn clear(&mut self) {
        match &mut self.0 {
            ByLane::Mixed(store) => store.rows = 0,
            ByLane::Double(store) => store.rows = 0,
        }
    }

    /// The row of this number.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row(&self, number: usize) -> KernelRow<'_> {
        KernelRow(match &self.0 {
            ByLane::Mixed(store) => ByLane::Mixed(store.row(number)),
            ByLane::Double(store) => ByLane::Double(store.row(number)),
        })
    }

    /// The row of this number, to be filled.
    ///
    /// # Panics
    /// If there is no such row.
    pub fn row_mut(&mut self, number: usize) -> KernelRowMut<'_> {
        KernelRowMut(match &mut self.0 {
            ByLane::Mixed(store) => ByLane::Mixed(store.row_mut(number)),
            ByLane::Double(store) => ByLane::Double(store.row_mut(number)),
        })
    }
}

/// Rows of `len` numbers in pieces of several rows.
#[derive(Debug)]
struct Store<T> {
    len: usize,
    rows: usize,
    /// The piece of each row there is room for, and its first number in it.
    places: Vec<(usize, usize)>,
    pieces: Vec<Piece<T>>,
}

impl<T: Lane> Store<T> {
    /// Largest size of a piece in bytes, unless one row is larger; unused memory is less than this.
    const LARGEST: usize = 8 << 20;

    fn new(len: usize) -> Store<T> {
        Store { len, rows: 0, places: Vec::new(), pieces: Vec::new() }
    }

    fn add(&mut self) -> usize {
        if self.rows == self.places.len() {
            // Rows begin where vectors do.
            let stride = self.len.next_multiple_of(WIDTH);
            let most = Self::LARGEST / (stride * size_of::<T>()).max(1);
            // A quarter more each time, so that little memory is unused.
            let rows = (self.places.len() / 4).min(most).max(1);
            self.places.extend((0..rows).map(|row| (self.pieces.len(), row * stride)));
            self.pieces.push(Piece::new(rows * stride));
        }
        self.rows += 1;
        self.rows - 1
    }

    fn place(&self, number: usize) -> (usize, std::ops::Range<usize>) {
        assert!(number < self.rows, "there are {} rows, not {number}", self.rows);
        let (piece, first) = self.places[number];
        (piece, first..first + self.len)
    }

    fn row(&self, number: usize) -> &[T] {
        let (piece, range) = self.place(number);
        &self.pieces[piece].numbers()[range]
    }

    fn row_mut(&mut self, number: usize) -> &mut [T] {
        let (piece, range) = self.place(number);
        &mut self.pieces[piece].numbers_mut()[range]
    }
}

/// Copies only the rows: copying unused room would take up its memory.
impl<T: Lane> Clone for Store<T> {
    fn clone(&self) -> Store<T> {
        let mut copy = Store::new(self.len);
        for number in 0..self.rows {
            copy.add();
            copy.row_mut(number).copy_from_slice(self.row(number));
        }
        copy
    }
}

/// Numbers side by side, zeros at first.
#[derive(Debug)]
enum Piece<T> {
    Small(Vec<T>),
    #[cfg(target_os = "linux")]
    Large(MmapMut),
}

impl<T: Lane> Piece<T> {
    fn new(len: usize) -> Piece<T> {
        #[cfg(target_os = "linux")]
        if let Some(large) = asked_for_at_once(len * size_of::<T>()) {
            return Piece::Large(large);
        }
        Piece::Small(vec![T::ZERO; len])
    }

    fn numbers(&self) -> &[T] {
        match self {
            Piece::Small(numbers) => numbers,
            #[cfg(target_os = "linux")]
            Piece::Large(bytes) => bytemuck::cast_slice(bytes),
        }
    }

    fn numbers_mut(&mut self) -> &mut [T] {
        match self {
            Piece::Small(numbers) => numbers,
            #[cfg(target_os = "linux")]
            Piece::Large(bytes) => bytemuck::cast_slice_mut(bytes),
        }
    }
}

/// Allocates zeroed bytes that are already in memory; `None` if that does not pay or is not possible, and ordinary
/// memory is used.
#[cfg(target_os = "linux")]
fn asked_for_at_once(bytes: usize) -> Option<MmapMut> {
    /// Bytes from which it pays.
    const WORTH: usize = 1 << 20;
    /// Bytes that one thread asks for, a whole number of pages of any size.
    const STEP: usize = 1 << 20;
    if bytes < WORTH {
        return None;
    }
    let mapped = MmapMut::map_anon(bytes).ok()?;
    (0..bytes.div_ceil(STEP)).into_par_iter().for_each(|step| {
        let (start, end) = (step * STEP, bytes.min((step + 1) * STEP));
        // Not known before Linux 5.14: there the pages come one by one.
        let _ = mapped.advise_range(Advice::PopulateWrite, start, end - start);
    });
    Some(mapped)
}
