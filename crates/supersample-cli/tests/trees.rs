//! NetCDF and Zarr through the command: dimensions, outputs that are folders, and flags without effect.

use std::fs;
use std::path::{Path, PathBuf};

use crate::desk::Desk;

fn tree(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../supersample-io/tests/trees").join(name)
}

/// A desk with these files.
fn desk(names: &[&str]) -> Desk {
    let desk = Desk::new();
    names.iter().for_each(|name| _ = fs::copy(tree(name), desk.path(name)).unwrap());
    desk
}

#[test]
fn every_output_has_the_same_rows() {
    let desk = desk(&["arviz.nc"]);
    desk.done("arviz.nc -n 4 -q -o out.csv --indices i.txt");
    let rows = desk.read("i.txt");
    let table = desk.read("out.csv");
    assert!(
        table.starts_with(
            "mu,theta[A],theta[B],theta[Ç],count,flag,single[0.5],single[1e-05],chain,draw,row\n"
        )
    );
    desk.done("arviz.nc -n 4 -q -o out.nc --indices j.txt");
    desk.done("arviz.nc -n 4 -q -o out.zarr --indices k.txt");
    assert_eq!((desk.read("j.txt"), desk.read("k.txt")), (rows.clone(), rows));
    // Both come back as the rows in their order.
    let first = |text: &str| text.lines().skip(1).map(|line| line[..10].to_string()).collect::<Vec<_>>();
    for name in ["out.nc", "out.zarr"] {
        desk.done(&format!("{name} -n 4 --columns mu -q -o again.csv --indices n.txt"));
        let numbers: Vec<usize> = desk.read("n.txt").lines().map(|line| line.parse().unwrap()).collect();
        let at =
            desk.read("again.csv").lines().next().unwrap().split(',').position(|name| name == "mu").unwrap();
        let again = desk.read("again.csv");
        let mu: Vec<&str> = again.lines().skip(1).map(|line| line.split(',').nth(at).unwrap()).collect();
        for (mu, number) in mu.iter().zip(numbers) {
            assert!(mu.starts_with(&first(&table)[number]), "{name}");
        }
    }
}

#[test]
fn a_store_appears_whole_and_is_not_replaced() {
    let desk = desk(&["datatree.nc"]);
    desk.done("datatree.nc -n 3 -q -o out.zarr");
    assert!(desk.path("out.zarr/.zmetadata").is_file() && desk.path("out.zarr/posterior/mu/0.0").is_file());
    let names = || {
        let entries = fs::read_dir(desk.path("")).unwrap();
        let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let message = desk.refused("datatree.nc -n 3 -o out.zarr");
    assert!(
        message.contains("out.zarr cannot be written: it exists, and a Zarr store is not replaced"),
        "{message}"
    );
    assert_eq!(names(), before);
    // Without room nothing is left behind, and the input is not blamed.
    #[cfg(unix)]
    for out in ["big.nc", "big.zarr"] {
        let line = format!("ulimit -f 1; exec \"$0\" thin datatree.nc -n 3 -q -o {out}");
        let mut shell = std::process::Command::new("bash");
        let shell = shell.args(["-c", &line]).arg(assert_cmd::cargo::cargo_bin("supersample"));
        let output = crate::desk::output(shell.current_dir(desk.folder()));
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{text}");
        assert_eq!(text, format!("supersample: {out} cannot be written: File too large (os error 27)\n"));
        assert_eq!(names(), before);
    }
    // A store of version 3 stays one.
    let store = tree("v3.zarr");
    desk.done(&format!("{} -n 3 -q -o three.zarr", store.display()));
    assert!(desk.path("three.zarr/zarr.json").is_file());
}

#[test]
fn the_dimension_of_the_draws_can_be_named() {
    let desk = desk(&["packed.nc", "classic.nc", "emcee.h5"]);
    desk.done("packed.nc --sample-dims time -n 3 -q -o a.csv --indices i.txt");
    desk.done("classic.nc --sample-dims time -n 3 -q -o b.csv --columns level,depth,whole --indices j.txt");
    assert_eq!(desk.read("i.txt"), desk.read("j.txt"));
    // Of the ten steps, six were written.
    desk.done("emcee.h5 -n 24 --unique -q -o c.csv");
    assert_eq!(desk.read("c.csv").lines().count(), 25);
    let message = desk.refused("packed.nc -n 3");
    assert!(message.contains("name those that count the draws with --sample-dims"), "{message}");
    let message = desk.refused("packed.nc -n 3 --sample-dims a,b,c");
    assert!(
        message.contains("--sample-dims names the dimension of the draws, or that of the chains"),
        "{message}"
    );
    let message = desk.refused("a.csv -n 2 --sample-dims time");
    assert!(message.contains("--sample-dims has no effect on csv files"), "{message}");
    let message = desk.refused("packed.nc -n 3 --sample-dims time --shape rows");
    assert!(message.contains("--shape has no effect on netcdf files"), "{message}");
}

#[test]
fn batches_choose_as_many_rows_from_a_tree() {
    let desk = desk(&["emcee.h5"]);
    desk.done("emcee.h5 -n 5 --pool-rows 24 -q -o out.nc --indices i.txt");
    assert_eq!(desk.read("i.txt").lines().count(), 5);
    assert!(desk.path("out.nc").is_file());
}
