//! Checkpoint: a run saved in a file, so that it can continue later: μ on the pool, which takes most of the time, and
//! the rows so far. A fingerprint of points, weights, kernel and options ties it to its run.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};

use crate::plan::followed;
use crate::terminal::interrupt;
use crate::terminal::output::{Output, sweep};

/// How often a checkpoint is renewed.
const EVERY: Duration = Duration::from_secs(5);
/// The first bytes of the file, with the version of what follows.
const MAGIC: &[u8; 16] = b"supersample ck2\n";

const OF_ANOTHER_RUN: &str = "the checkpoint belongs to other data, another kernel or other options";
const OUT_OF_THE_WAY: &str = "name another file, or remove this one";

/// Content of the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Checkpoint {
    /// Of the data, the kernel and the options: only a run with the same fingerprint may continue.
    pub(super) fingerprint: u64,
    pub(super) mu: Vec<f64>,
    pub(super) rows: Vec<usize>,
}

impl Checkpoint {
    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend(self.fingerprint.to_le_bytes());
        bytes.extend((self.mu.len() as u64).to_le_bytes());
        bytes.extend((self.rows.len() as u64).to_le_bytes());
        self.mu.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
        self.rows.iter().for_each(|&row| bytes.extend((row as u64).to_le_bytes()));
        let mut check = Fingerprint::new();
        check.bytes(&bytes);
        bytes.extend(check.finish().to_le_bytes());
        bytes
    }

    fn of_bytes(bytes: &[u8]) -> Option<Checkpoint> {
        let body = bytes.len().checked_sub(8).filter(|&body| body >= MAGIC.len() + 24)?;
        let word =
            |at: usize| bytes.get(at..at + 8).map(|eight| <[u8; 8]>::try_from(eight).expect("eight bytes"));
        let number = |at: usize| word(at).map(u64::from_le_bytes);
        let mut check = Fingerprint::new();
        check.bytes(&bytes[..body]);
        if !bytes.starts_with(MAGIC) || number(body)? != check.finish() {
            return None;
        }
        let start = MAGIC.len();
        let (count, rows) = (number(start + 8)? as usize, number(start + 16)? as usize);
        let words: Vec<u64> = bytes[start + 24..body]
            .chunks_exact(8)
            .map(|c| u64::from_le_bytes(c.try_into().expect("eight bytes")))
            .collect();
        if count.checked_add(rows)? != words.len() {
            return None;
        }
        Some(Checkpoint {
            fingerprint: number(start)?,
            mu: words[..count].iter().map(|&bits| f64::from_bits(bits)).collect(),
            rows: words[count..].iter().map(|&row| row as usize).collect(),
        })
    }

    /// Reads the file of an earlier run and makes sure that it belongs to this one.
    pub(super) fn read(path: &Path, fingerprint: u64) -> Result<Checkpoint> {
        Checkpoint::of_bytes(&contents(path)?).with_context(|| {
            format!("{}: this is not a complete checkpoint; start again without --resume", path.display())
        })?
        .of_run(fingerprint)
        .with_context(|| {
            format!(
                "{}: {OF_ANOTHER_RUN}; name the files and flags of that run, or start again without --resume",
                path.display()
            )
        })
    }

    /// Reads the checkpoint that an earlier run left in the output file, if any: this run continues from it, and never
    /// overwrites it with less.
    pub(super) fn left(path: &Path, fingerprint: u64) -> Result<Option<Checkpoint>> {
        let bytes = if path.exists() { contents(path)? } else { Vec::new() };
        if bytes.is_empty() {
            return Ok(None);
        }
        let Some(left) = Checkpoint::of_bytes(&bytes) else {
            bail!("{}: this is not a complete checkpoint of this version; {OUT_OF_THE_WAY}", path.display())
        };
        let Some(left) = left.of_run(fingerprint) else {
            bail!("{}: {OF_ANOTHER_RUN}; {OUT_OF_THE_WAY}", path.display())
        };
        Ok(Some(left))
    }

    fn of_run(self, fingerprint: u64) -> Option<Checkpoint> {
        (self.fingerprint == fingerprint).then_some(self)
    }
}

fn contents(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("{}: the checkpoint cannot be read", path.display()))
}

/// The right to write a checkpoint, which no other run has meanwhile.
#[derive(Debug)]
pub(super) struct Claim {
    path: PathBuf,
    lock_path: PathBuf,
    _lock: File,
}

impl Claim {
    /// Claims the file before the work starts; nothing is written yet. `inputs` are not swept away.
    pub(super) fn new(path: &Path, inputs: &[PathBuf]) -> Result<Claim> {
        let cannot = || format!("{} cannot be written", path.display());
        let lock_path = lock_path(path);
        let claim = || {
            let open = File::options().create(true).write(true).truncate(false).open(&lock_path);
            let lock = open.with_context(cannot)?;
            ensure!(
                lock.metadata().with_context(cannot)?.len() == 0,
                "{}: {} is in the way, which no run has made; remove it, or name another file",
                path.display(),
                lock_path.display()
            );
            if lock.try_lock().is_err() {
                bail!(
                    "{}: another run is using this checkpoint; wait for it, or name another file",
                    path.display()
                );
            }
            Ok(lock)
        };
        let lock = interrupt::unfinished(claim, |_| lock_path.clone())?;
        sweep(path, inputs);
        let claim = Claim { path: path.to_path_buf(), lock_path, _lock: lock };
        // Refused before the draws are read; whose checkpoint it is shows only after that.
        let mut start = Vec::new();
        if let Ok(file) = File::open(path) {
            file.take(MAGIC.len() as u64).read_to_end(&mut start).with_context(cannot)?;
        }
        ensure!(
            start.is_empty() || start.starts_with(b"supersample ck"),
            "{}: this file is not a checkpoint; {OUT_OF_THE_WAY}",
            path.display()
        );
        Ok(claim)
    }
}

/// The lock of a checkpoint: an empty file in its folder, with a name that no user gives.
fn lock_path(path: &Path) -> PathBuf {
    let path = followed(path);
    let mut print = Fingerprint::new();
    print.bytes(path.file_name().unwrap_or_default().as_encoded_bytes());
    path.with_file_name(format!(".supersample-lock-{:016x}", print.finish()))
}

impl Drop for Claim {
    fn drop(&mut self) {
        // Another run may have opened it in the meantime and then holds a lock on a file without a name, which is
        // harmless: the next one makes its own.
        let _ = fs::remove_file(&self.lock_path);
    }
}

/// Renews a checkpoint during a run. A file that cannot be written does not end the run: it is tried again, and
/// [`finish`](Keeper::finish) returns the result of the last try.
#[derive(Debug)]
pub(super) struct Keeper {
    claim: Claim,
    state: Checkpoint,
    /// How many choices were seen; those of an earlier run come again.
    seen: usize,
    /// When it was last written.
    saved: Instant,
    outcome: Result<()>,
    /// Whether no more rows will come.
    is_herded: bool,
}

impl Keeper {
    /// Writes at once: μ has taken all the time.
    pub(super) fn new(claim: Claim, state: Checkpoint) -> Keeper {
        let saved = Instant::now();
        let mut keeper = Keeper { claim, state, seen: 0, saved, outcome: Ok(()), is_herded: false };
        keeper.save();
        keeper
    }

    /// Called after each choice; writes when it is time.
    pub(super) fn saw(&mut self, row: Option<usize>) {
        self.seen += 1;
        if self.seen > self.state.rows.len() {
            self.state.rows.extend(row);
        }
        if self.saved.elapsed() >= EVERY {
            self.save();
        }
    }

    /// All rows are herded: from here on nothing new is to be kept.
    pub(super) fn herded(&mut self) {
        if !std::mem::replace(&mut self.is_herded, true) {
            self.save();
        }
    }

    /// Writes what is not written yet.
    pub(super) fn finish(mut self) -> Result<()> {
        if !self.is_herded || self.outcome.is_err() {
            self.save();
        }
        self.outcome
    }

    fn save(&mut self) {
        let bytes = self.state.to_bytes();
        self.outcome = Output::create(&self.claim.path).and_then(|mut output| {
            output.fill(|out| Ok(out.write_all(&bytes)?))?;
            output.finish(false).map(drop)
        });
        self.saved = Instant::now();
    }
}

/// A hash that is the same on every machine and in every version: FNV-1a over words, stirred at the end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fingerprint(u64);

impl Fingerprint {
    pub(super) fn new() -> Fingerprint {
        Fingerprint(0xcbf2_9ce4_8422_2325)
    }

    pub(super) fn word(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01b3).rotate_left(23);
    }

    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        self.word(bytes.len() as u64);
        for eight in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..eight.len()].copy_from_slice(eight);
            self.word(u64::from_le_bytes(word));
        }
    }

    pub(super) fn numbers(&mut self, numbers: &[f64]) {
        self.word(numbers.len() as u64);
        numbers.iter().for_each(|number| self.word(number.to_bits()));
    }

    pub(super) fn finish(self) -> u64 {
        let stirred = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        stirred ^ (stirred >> 33)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Checkpoint {
        Checkpoint { fingerprint: 7, mu: vec![0.5, 0.125, -1e-300], rows: vec![2, 0, 2] }
    }

    #[test]
    fn what_is_kept_comes_back_and_damage_is_seen() {
        let bytes = example().to_bytes();
        assert_eq!(Checkpoint::of_bytes(&bytes), Some(example()));
        for cut in 0..bytes.len() {
            assert_eq!(Checkpoint::of_bytes(&bytes[..cut]), None, "{cut}");
        }
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 0x10;
            assert_eq!(Checkpoint::of_bytes(&damaged), None, "{at}");
        }
    }

    #[test]
    fn a_checkpoint_is_used_by_one_run_and_for_its_own_data() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ck");
        let claim = Claim::new(&path, &[]).unwrap();
        assert!(
            Claim::new(&path, &[]).unwrap_err().to_string().contains("another run is using this checkpoint")
        );
        let mut keeper = Keeper::new(claim, example());
        // The three that are known come again, and then one more.
        [2, 0, 2, 1].into_iter().for_each(|row| keeper.saw(Some(row)));
        keeper.finish().unwrap();
        assert_eq!(Checkpoint::read(&path, 7).unwrap().rows, [2, 0, 2, 1]);
        assert_eq!(Checkpoint::left(&path, 7).unwrap().unwrap().rows, [2, 0, 2, 1]);
        assert!(Checkpoint::left(&path, 8).unwrap_err().to_string().ends_with(OUT_OF_THE_WAY));
        assert!(Checkpoint::read(&path, 8).unwrap_err().to_string().contains("belongs to other data"));
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        drop(Claim::new(&path, &[]).unwrap());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        // A file with contents is somebody's.
        fs::write(lock_path(&path), "precious").unwrap();
        assert!(Claim::new(&path, &[]).unwrap_err().to_string().contains("is in the way"));
        assert_eq!(fs::read(lock_path(&path)).unwrap(), b"precious");
    }
}
