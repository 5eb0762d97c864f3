//! SUPERSAMPLE_ISA: an instruction set of this machine is used, any other name is refused before anything is done.

use assert_cmd::Command;
use assert_cmd::cargo::cargo_bin;

use crate::desk::LIMIT;

fn version_with(isa: &str) -> assert_cmd::assert::Assert {
    let mut command = Command::new(cargo_bin!("supersample"));
    command.timeout(LIMIT).env("SUPERSAMPLE_ISA", isa).arg("--version").assert()
}

#[test]
fn the_set_that_is_named_is_the_one_in_use() {
    let best = supersample::instruction_set();
    let said = String::from_utf8(version_with(best).success().get_output().stdout.clone()).unwrap();
    assert!(said.ends_with(&format!("({best})\n")), "{said}");
    // Every x86-64 has sse2, and hardly any machine has it as its best.
    if cfg!(target_arch = "x86_64") {
        let said = String::from_utf8(version_with("sse2").success().get_output().stdout.clone()).unwrap();
        assert!(said.ends_with("(sse2)\n"), "{said}");
    }
    // Set to nothing is not set.
    version_with("").success();
}

#[test]
fn a_misspelt_set_is_refused_with_what_there_is() {
    let refused = version_with("avx51").code(2);
    let output = refused.get_output();
    let said = String::from_utf8(output.stderr.clone()).unwrap();
    assert!(output.stdout.is_empty());
    assert!(
        said.starts_with("supersample: SUPERSAMPLE_ISA is avx51, and this machine has no such"),
        "{said}"
    );
    assert!(said.contains(supersample::instruction_set()), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
}
