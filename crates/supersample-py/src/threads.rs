//! Thread pools by size, which a forked child creates again.
//!
//! Rayon's global pool is created once for a process, and its threads do not survive a fork: a child that used it would
//! wait forever. Pools here belong to the process that created them. The lock is never waited for, because a fork may
//! leave it locked.

use std::sync::{Arc, Mutex};

use pyo3::PyResult;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use rayon::{ThreadPool, ThreadPoolBuilder};

/// More threads than any machine has cores; beyond some number the system starts to kill us instead of refusing.
const MOST_THREADS: usize = 1024;
/// Largest number of kept pools; for more sizes a new pool is created each time.
const KEPT: usize = 8;

/// The process that made the pools, and each pool with its number of threads.
struct Pools {
    process: u32,
    by_size: Vec<(usize, Arc<ThreadPool>)>,
}

static POOLS: Mutex<Pools> = Mutex::new(Pools { process: 0, by_size: Vec::new() });

/// How many threads that is: all cores where no number is given.
pub(crate) fn checked(threads: Option<usize>) -> PyResult<usize> {
    match threads {
        None => Ok(std::thread::available_parallelism().map_or(1, usize::from)),
        Some(0) => Err(PyValueError::new_err("threads is 0; at least 1 is needed, or None for all cores")),
        Some(many) if many > MOST_THREADS => {
            Err(PyValueError::new_err(format!("threads is {many}; at most {MOST_THREADS} can be started")))
        }
        Some(threads) => Ok(threads),
    }
}

/// The pool of this many threads.
pub(crate) fn pool(threads: usize) -> PyResult<Arc<ThreadPool>> {
    // Not waited for: a fork may have left it locked. Then a pool is created and not kept.
    let Ok(mut pools) = POOLS.try_lock() else { return start(threads) };
    if pools.process != std::process::id() {
        // Not dropped: their threads are not in this process, and one may have held a lock of theirs when it forked.
        std::mem::take(&mut pools.by_size).into_iter().for_each(std::mem::forget);
        pools.process = std::process::id();
    }
    if let Some((_, pool)) = pools.by_size.iter().find(|(size, _)| *size == threads) {
        return Ok(pool.clone());
    }
    let pool = start(threads)?;
    if pools.by_size.len() < KEPT {
        pools.by_size.push((threads, pool.clone()));
    }
    Ok(pool)
}

fn start(threads: usize) -> PyResult<Arc<ThreadPool>> {
    let builder = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("supersample-{i}"));
    let pool = builder.build().map_err(|error| {
        PyRuntimeError::new_err(format!("{threads} threads cannot be started: {error}; ask for fewer"))
    })?;
    Ok(Arc::new(pool))
}
