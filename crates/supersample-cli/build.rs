//! Passes on for which machine the command is built, so that `--version` can say so.

fn main() {
    let target = std::env::var("TARGET").expect("cargo sets the target");
    println!("cargo::rustc-env=SUPERSAMPLE_TARGET={target}");
    println!("cargo::rerun-if-changed=build.rs");
}
