//! A folder for each test, and the command run inside it.
#![allow(dead_code, reason = "each test file uses its part of this")]

mod required;

use std::fs;
use std::path::PathBuf;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use assert_cmd::cargo::{cargo_bin, cargo_bin_cmd};
use tempfile::TempDir;

pub(crate) use self::required::skipped;

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
        command.current_dir(self.0.path()).args(words.split_whitespace()).output().unwrap()
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

pub(crate) fn spawn(desk: &Desk, words: &str) -> Child {
    let mut command = Command::new(cargo_bin!("supersample"));
    command.current_dir(desk.folder()).args(words.split(' '));
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
}

pub(crate) fn signal(child: &Child, name: &str) {
    assert!(Command::new("kill").args([name, &child.id().to_string()]).status().unwrap().success());
}

pub(crate) fn wait_for(what: &str, mut is_there: impl FnMut() -> bool) {
    let start = Instant::now();
    while !is_there() {
        assert!(start.elapsed() < Duration::from_secs(120), "waited for {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
