//! A pipe that ends when Ctrl-C is pressed: its bytes come over from a thread, which may wait for them for ever.

use std::io::{self, BufRead, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::time::Duration;

use crate::terminal::interrupt;

/// Most bytes that are taken over at once.
const BLOCK: usize = 1 << 16;

/// Most blocks that wait to be used.
const WAITING: usize = 4;

/// Time between two looks for Ctrl-C.
const PATIENCE: Duration = Duration::from_millis(50);

/// Bytes of a pipe, up to its end or to Ctrl-C.
pub(super) struct Pipe {
    blocks: Receiver<io::Result<Vec<u8>>>,
    block: Vec<u8>,
    used: usize,
}

impl Pipe {
    pub(super) fn new(mut from: impl Read + Send + 'static) -> Pipe {
        let (sender, blocks) = sync_channel(WAITING);
        std::thread::spawn(move || {
            loop {
                let mut block = vec![0; BLOCK];
                let read = match from.read(&mut block) {
                    Ok(0) => return,
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Ok(length) => {
                        block.truncate(length);
                        Ok(block)
                    }
                    Err(error) => Err(error),
                };
                let has_failed = read.is_err();
                if sender.send(read).is_err() || has_failed {
                    return;
                }
            }
        });
        Pipe { blocks, block: Vec::new(), used: 0 }
    }
}

impl BufRead for Pipe {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.used == self.block.len() {
            if interrupt::requested() {
                return Ok(&[]);
            }
            match self.blocks.recv_timeout(PATIENCE) {
                Ok(block) => (self.block, self.used) = (block?, 0),
                Err(RecvTimeoutError::Timeout) => (),
                Err(RecvTimeoutError::Disconnected) => return Ok(&[]),
            }
        }
        Ok(&self.block[self.used..])
    }

    fn consume(&mut self, count: usize) {
        self.used += count;
    }
}

impl Read for Pipe {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let found = self.fill_buf()?;
        let count = found.len().min(into.len());
        into[..count].copy_from_slice(&found[..count]);
        self.consume(count);
        Ok(count)
    }
}
