//! A folder for each test, and the command run inside it.
#![allow(dead_code, reason = "each test file uses its part of this")]

mod required;

use std::fs;
use std::ops::{Deref, DerefMut};
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

use assert_cmd::cargo::{cargo_bin, cargo_bin_cmd};
use tempfile::TempDir;

pub(crate) use self::required::skipped;

/// No test waits longer than this for a process or a file.
pub(crate) const LIMIT: Duration = Duration::from_secs(240);

/// A folder of its own for each test; commands run inside it, so that messages name files without their path.
pub(crate) struct Desk(TempDir);

impl Desk {
    pub(crate) fn new() -> Desk {
        Desk(TempDir::new().unwrap())
    }

    /// A desk with `draws.csv`: 60 rows of two spirals, with ids and a column that is not numbers.
    pub(crate) fn with_draws() -> Desk {
        let mut text = String::from(".chain,draw,mu,tau,\"no,te\",lp__\n");
        for i in 0..60 {
            let (radius, angle) = (1.0 + i as f64 / 60.0, i as f64 * 2.399_963);
            let (x, y) = (radius * angle.cos(), 3.0 + 0.1 * radius * angle.sin());
            text += &format!("{},{},{x:.4}, {y},\"row \"\"{i}\"\"\",-{i}\n", i % 2, i / 2);
        }
        let desk = Desk::new();
        desk.write("draws.csv", text);
        desk
    }

    pub(crate) fn folder(&self) -> &std::path::Path {
        self.0.path()
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        fs::write(self.path(name), contents).unwrap();
    }

    pub(crate) fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    pub(crate) fn files(&self) -> Vec<String> {
        let entries = fs::read_dir(self.0.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The command with these words, with the folder as its own.
    pub(crate) fn run(&self, words: &str) -> Output {
        let mut command = cargo_bin_cmd!("supersample");
        command.timeout(LIMIT).current_dir(self.0.path()).args(words.split_whitespace()).output().unwrap()
    }

    pub(crate) fn herd(&self, words: &str) -> Output {
        self.run(&format!("herd {words}"))
    }

    /// Standard output and standard error of any verb that must succeed.
    #[track_caller]
    pub(crate) fn ran(&self, words: &str) -> (Vec<u8>, String) {
        let Output { status, stdout, stderr } = self.run(words);
        let stderr = String::from_utf8(stderr).unwrap();
        assert!(status.success(), "{words}: {stderr}");
        (stdout, stderr)
    }

    /// Standard output and standard error of a run that must succeed.
    #[track_caller]
    pub(crate) fn done(&self, words: &str) -> (String, String) {
        let Output { status, stdout, stderr } = self.herd(words);
        let (stdout, stderr) = (String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap());
        assert!(status.success(), "{words}: {stderr}");
        (stdout, stderr)
    }

    /// The complaint of a run that must fail, without the name of the program and the end of line.
    #[track_caller]
    pub(crate) fn refused(&self, words: &str) -> String {
        let Output { status, stdout, stderr } = self.herd(words);
        let stderr = String::from_utf8(stderr).unwrap();
        assert_eq!((status.code(), stdout.len()), (Some(2), 0), "{words}: {stderr}");
        let message = stderr.strip_prefix("supersample: ").unwrap_or_else(|| panic!("{words}: {stderr}"));
        message.trim_end().to_string()
    }

    /// The complaint about a file of these contents.
    #[track_caller]
    pub(crate) fn refused_file(&self, contents: impl AsRef<[u8]>) -> String {
        self.write("bad.csv", contents);
        self.refused("bad.csv -n 1")
    }
}

pub(crate) fn numbers(text: &str) -> Vec<usize> {
    text.lines().map(|line| line.parse().unwrap()).collect()
}

pub(crate) fn json(desk: &Desk, name: &str) -> serde_json::Value {
    serde_json::from_str(&desk.read(name)).unwrap()
}

/// `n` rows of four parameters that hang together, with fixed numbers.
pub(crate) fn posterior(n: usize) -> String {
    let mut text = String::from("mu,tau,theta.1,theta.2\n");
    for i in 0..n {
        let (a, b) = ((i as f64 * 0.754_877).fract(), (i as f64 * 0.569_840).fract());
        let (x, y) = ((-2.0 * (a + 1e-9).ln()).sqrt(), std::f64::consts::TAU * b);
        let (x, y) = (x * y.cos(), x * y.sin());
        text += &format!("{x},{},{},{}\n", y.exp(), 0.5 * x + y, x * y);
    }
    text
}

/// A process that is killed with its test, and after [`LIMIT`], so that no wait for it or for its words is endless.
pub(crate) struct Running {
    /// None once it has been waited for.
    child: Option<Child>,
    /// Dropped, it ends the watch over the process.
    _watch: Sender<()>,
}

impl Running {
    /// Starts it. Signals that this process ignores, as the shell's background jobs do, are not ignored by the child.
    pub(crate) fn start(command: &mut Command) -> Running {
        #[cfg(target_os = "linux")]
        heed_signals();
        let child = command.spawn().unwrap();
        let (watch, ended) = channel();
        let process = child.id().to_string();
        std::thread::spawn(move || {
            if ended.recv_timeout(LIMIT) == Err(RecvTimeoutError::Timeout) {
                eprintln!("killed after {LIMIT:?}: process {process}");
                let _ = Command::new("kill").args(["-KILL", &process]).status();
            }
        });
        Running { child: Some(child), _watch: watch }
    }

    /// Waits for the end, with all that was said.
    pub(crate) fn wait_with_output(mut self) -> std::io::Result<Output> {
        self.child.take().expect("it is waited for once").wait_with_output()
    }
}

impl Deref for Running {
    type Target = Child;

    fn deref(&self) -> &Child {
        self.child.as_ref().expect("it has not ended")
    }
}

impl DerefMut for Running {
    fn deref_mut(&mut self) -> &mut Child {
        self.child.as_mut().expect("it has not ended")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// What a command of any kind says, within [`LIMIT`].
pub(crate) fn output(command: &mut Command) -> Output {
    Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped())).wait_with_output().unwrap()
}

/// Puts a handler in the place of ignored signals: a new program starts with the default where there was a handler.
#[cfg(target_os = "linux")]
fn heed_signals() {
    use std::sync::{Arc, Once};

    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let status = fs::read_to_string("/proc/self/status").unwrap();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:")).unwrap();
        let mask = u64::from_str_radix(mask.trim(), 16).unwrap();
        for signal in [SIGHUP, SIGINT, SIGTERM] {
            if mask >> (signal - 1) & 1 == 1 {
                signal_hook::flag::register(signal, Arc::default()).unwrap();
            }
        }
    });
}

pub(crate) fn spawn(desk: &Desk, words: &str) -> Running {
    let mut command = Command::new(cargo_bin!("supersample"));
    command.current_dir(desk.folder()).args(words.split(' '));
    Running::start(command.stdout(Stdio::piped()).stderr(Stdio::piped()))
}

pub(crate) fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

pub(crate) fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < LIMIT, "waited for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
