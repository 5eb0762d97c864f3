//! Every sum against its scalar twin: all kernels, both precisions, every instruction set, awkward sizes.
//!
//! From outside, so that the loops, which take a minute to compile, are not compiled once more for their tests.

use std::process::Command;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use supersample_sum::{
    Rows, Shape, Stein, SteinBase, SteinLayout, check_instruction_set, instruction_set, instruction_sets,
};

mod kept_rows;
mod means;
mod products;
mod rows;
mod scalar;
mod shapes;
mod small_parts;
mod stein;

/// The variable that names an instruction set.
const VARIABLE: &str = "SUPERSAMPLE_ISA";

fn gaussians(lengths: &[f64]) -> Shape {
    Shape::Gaussians { lengths: lengths.to_vec().into() }
}

/// Every kernel, with a name for messages.
fn kernels() -> Vec<(String, Shape)> {
    let kernels = [
        Shape::Gaussian { length: 1.5 },
        gaussians(&[0.7, 1.5, 4.0]),
        gaussians(&[4.0, 0.7]),
        Shape::Laplace { length: 3.0 },
        Shape::Matern12 { length: 2.0 },
        Shape::Matern32 { length: 2.0 },
        Shape::Matern52 { length: 2.0 },
        Shape::Imq { length: 2.0 },
        Shape::Linear,
        Shape::Energy,
        Shape::Manhattan { length: 60.0 },
        stein(SteinBase::Imq, SteinLayout::Isotropic { root: 1.3 }),
        stein(SteinBase::Imq, SteinLayout::Full),
        stein(SteinBase::Gaussian, SteinLayout::Isotropic { root: 0.8 }),
        stein(SteinBase::Gaussian, SteinLayout::Full),
    ];
    kernels.into_iter().map(|kernel| (format!("{kernel:?}"), kernel)).collect()
}

fn stein(base: SteinBase, layout: SteinLayout) -> Shape {
    Shape::Stein(Stein { base, layout, trace: 1.7 })
}

/// The kernels that rows of so many numbers can have.
fn kernels_for(dim: usize) -> impl Iterator<Item = (String, Shape)> {
    let fits = move |(_, kernel): &(String, Shape)| match kernel {
        Shape::Stein(stein) => dim.is_multiple_of(stein.layout.columns()),
        _ => true,
    };
    kernels().into_iter().filter(fits)
}

/// Whether a kernel has no bound and is f64 whatever is asked for.
fn is_unbounded(kernel: &Shape) -> bool {
    matches!(kernel, Shape::Linear | Shape::Energy | Shape::Stein(_))
}

/// Numbers whose owner a test keeps.
pub struct Points {
    values: Vec<f64>,
    dim: usize,
}

impl Points {
    fn rows(&self) -> Rows<'_> {
        Rows::new(&self.values, self.dim)
    }
}

fn random_points(n: usize, dim: usize, seed: u64) -> Points {
    let mut rng = Pcg64::seed_from_u64(seed);
    // The spread of a distance stays near 2 for any dimension, so that kernel values are neither 0 nor 1.
    let scale = 2.0 / (dim as f64).sqrt();
    Points { values: (0..n * dim).map(|_| scale * rng.random_range(-1.0..1.0)).collect(), dim }
}

/// Kernel values are of size 1, and so are their sums; but for the linear and the Stein kernels they are also of one sign.
fn assert_close(got: &[f64], want: &[f64], tolerance: f64, what: &str) {
    assert_eq!(got.len(), want.len(), "{what}");
    let least = if what.starts_with("Linear") || what.starts_with("Stein") { 1.0 } else { 1e-3 };
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((got - want).abs() <= tolerance * want.abs().max(least), "{what}, row {i}: {got} {want}");
    }
}

/// All tests of this program once more on each instruction set that is not the best; a run that has one named is one of these.
#[test]
fn all_of_it_holds_on_every_instruction_set() {
    if let Some(named) = std::env::var_os(VARIABLE) {
        assert_eq!(instruction_set(), named.to_str().unwrap());
        return;
    }
    assert_eq!(instruction_set(), instruction_sets()[0]);
    for other in &instruction_sets()[1..] {
        let program = std::env::current_exe().unwrap();
        let run = Command::new(program).env(VARIABLE, other).output().unwrap();
        assert!(run.status.success(), "{other}:\n{}", String::from_utf8_lossy(&run.stdout));
    }
}

#[test]
fn a_name_that_the_machine_lacks_is_refused_with_what_there_is() {
    const CHILD: &str = "SUPERSAMPLE_TEST_REFUSAL";
    if std::env::var_os(CHILD).is_some() {
        let refused = check_instruction_set().unwrap_err();
        assert_eq!(refused.asked, std::env::var(VARIABLE).unwrap());
        assert_eq!(refused.available, instruction_sets());
        let sentence = refused.to_string();
        assert!(sentence.contains(&refused.asked), "{sentence}");
        assert!(sentence.contains(&instruction_sets().join(", ")), "{sentence}");
        return;
    }
    for wrong in ["avx51", "AVX2", " ", "sse4.2,avx2"] {
        let program = std::env::current_exe().unwrap();
        let run = Command::new(program)
            .args(["--exact", "a_name_that_the_machine_lacks_is_refused_with_what_there_is"])
            .env(VARIABLE, wrong)
            .env(CHILD, "yes")
            .output()
            .unwrap();
        let printed = String::from_utf8_lossy(&run.stdout);
        assert!(run.status.success() && printed.contains("1 passed"), "{wrong}:\n{printed}");
    }
}
