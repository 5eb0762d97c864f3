//! A GPU against the CPU, through the tasks. Without one the tests say that they were skipped, and refusals are tested anyway.

use std::ops::ControlFlow;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use supersample::task::{
    Chosen, EmbeddingChoice, FunctionValues, Gatherer, HerdOptions, Problem, ProblemOptions, RowWeights,
    Stop, ThinOptions,
};
use supersample::{
    Device, Empirical, Error, Herder, Kernel, MeanEmbedding, Points, Pool, Precision, Progress,
    RefineOptions, unwatched,
};

#[path = "../../supersample-cli/tests/desk/required.rs"]
mod required;

fn gpu() -> Option<Device> {
    match Device::gpu() {
        Ok(device) => Some(device),
        Err(error) => {
            required::skipped("gpu", error);
            None
        }
    }
}

/// A skewed cloud whose columns hang together.
fn rows(n: usize, dim: usize, seed: u64) -> Points {
    let mut rng = Pcg64::seed_from_u64(seed);
    let mut values = Vec::with_capacity(n * dim);
    for _ in 0..n {
        let common: f64 = rng.random_range(-1.0..1.0);
        for column in 0..dim {
            let own: f64 = (0..4).map(|_| rng.random_range(-1.0..1.0)).sum();
            values.push(own + common * (1.0 + column as f64 / dim as f64) + 0.1 * own * own);
        }
    }
    Points::from_vec(values, dim).unwrap()
}

fn close(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * b.abs()
}

/// Asserts that what a GPU has chosen is as good as what the CPU has, and that its errors are what the CPU finds them to be.
fn assert_as_good(gpu: &Chosen, cpu: &Chosen, problem: &Problem, what: &str) {
    assert_eq!(gpu.rows.len(), cpu.rows.len(), "{what}");
    let (found, other) = (gpu.error().unwrap(), cpu.error().unwrap());
    let count = gpu.rows.len();
    let same = gpu.rows.iter().zip(&cpu.rows).take_while(|(a, b)| a == b).count();
    // The E_T of each prefix, found by the CPU for the very rows that the GPU has chosen.
    let trace = problem.trace_of(&gpu.rows, &unwatched).unwrap();
    let off = trace.iter().zip(&gpu.trace).map(|(a, b)| (a.error.unwrap() / b.error.unwrap() - 1.0).abs());
    let off = off.fold(0.0, f64::max);
    println!(
        "{what}: {count} rows, the first {same} the same; E_T {found:.6e} and {other:.6e}; off by {off:.1e}"
    );
    assert!(off < 1e-3, "{what}: the errors of the GPU are off by {off:e}");
    // A search that differs in one rounding ends elsewhere.
    assert!(found <= 1.15 * other, "{what}: {found} {other}");
}

#[test]
fn a_device_is_named_and_what_is_missing_is_said_in_one_sentence() {
    assert_eq!(Device::named("cpu").unwrap(), Device::cpu());
    assert!(!Device::cpu().is_gpu() && Device::cpu().check().is_ok());
    let unknown = Device::named("tpu").unwrap_err();
    assert_eq!(unknown.to_string(), "'tpu' is not a device; choose cpu or gpu");
    match Device::named("gpu") {
        Ok(device) => assert!(device.is_gpu() && device.name() != "cpu"),
        Err(error) => {
            let told = error.to_string();
            assert!(matches!(error, Error::Device { .. }) && told.starts_with("no GPU: "), "{told}");
            assert!(told.ends_with("; the device cpu needs none") && !told.contains('\n'), "{told}");
        }
    }
}

#[test]
fn herding_agrees_under_every_kernel() {
    let Some(device) = gpu() else { return };
    let draws = rows(20_000, 5, 1);
    for (text, precision) in [
        ("gaussian(1.5)", Precision::Mixed),
        ("gaussian(3)", Precision::Double),
        ("laplace(4)", Precision::Mixed),
        ("matern32(2)", Precision::Mixed),
        ("imq(2)", Precision::Mixed),
        ("linear", Precision::Mixed),
        ("energy", Precision::Mixed),
    ] {
        let options = ProblemOptions::default().kernel(text.parse().unwrap()).precision(precision);
        let (stop, options_of_herding) = (Stop::after(100).unwrap(), HerdOptions::default().unique(true));
        let on_cpu = Problem::new(draws.clone(), options.clone()).unwrap();
        let cpu = on_cpu.herd(&stop, &options_of_herding, &unwatched).unwrap();
        let on_gpu = Problem::new(draws.clone(), options.device(device.clone())).unwrap();
        let gpu = on_gpu.herd(&stop, &options_of_herding, &unwatched).unwrap();
        assert_eq!(on_gpu.precision_in_use(), on_cpu.precision_in_use(), "{text}");
        if on_cpu.precision_in_use() == Precision::Double {
            assert_eq!(gpu.rows, cpu.rows, "{text}");
        }
        if text == "linear" {
            // It is matched to rounding after a few rows.
            continue;
        }
        assert_as_good(&gpu, &cpu, &on_cpu, text);
        let again = on_gpu.herd(&stop, &options_of_herding, &unwatched).unwrap();
        assert_eq!(again.rows, gpu.rows, "{text}: the same again");
    }
}

/// So many rows in one dimension that E_T is far below what f32 can tell.
#[test]
fn small_errors_are_right_too() {
    let Some(device) = gpu() else { return };
    let draws = rows(40_000, 1, 2);
    let options = ProblemOptions::default().kernel(Kernel::gaussian(1.0).unwrap());
    let (stop, unique) = (Stop::after(1500).unwrap(), HerdOptions::default().unique(true));
    let on_cpu = Problem::new(draws.clone(), options.clone().precision(Precision::Double)).unwrap();
    let on_gpu = Problem::new(draws, options.device(device)).unwrap();
    let gpu = on_gpu.herd(&stop, &unique, &unwatched).unwrap();
    let trace = on_cpu.trace_of(&gpu.rows, &unwatched).unwrap();
    let mut compared = 0;
    for (double, mixed) in trace.iter().zip(&gpu.trace) {
        let (double, mixed) = (double.error.unwrap(), mixed.error.unwrap());
        if double > 2e-5 {
            assert!(close(mixed, double, 2e-3), "{double} {mixed}");
            compared += 1;
        }
    }
    println!("E_T of {compared} prefixes down to {:e}", trace.last().unwrap().error.unwrap());
    assert!(compared > 50);
}

#[test]
fn thinning_agrees_with_parts_and_without() {
    let Some(device) = gpu() else { return };
    let draws = rows(20_000, 4, 3);
    let functions: Vec<f64> = draws.rows().flat_map(|row| [row[0] * row[1], row[2].exp()]).collect();
    let with_functions = ProblemOptions::default().functions(FunctionValues::new(functions, 2));
    for (what, options) in [
        ("plain", ProblemOptions::default()),
        ("marginals", ProblemOptions::default().marginals(0.1)),
        ("marginals and functions", with_functions.marginals(0.1)),
        ("double", ProblemOptions::default().marginals(0.1).precision(Precision::Double)),
    ] {
        let (stop, thin) =
            (Stop::after(60).unwrap(), ThinOptions::default().refine(RefineOptions::default().search(10, 1)));
        let on_cpu = Problem::new(draws.clone(), options.clone()).unwrap();
        let on_gpu = Problem::new(draws.clone(), options.device(device.clone())).unwrap();
        let cpu = on_cpu.thin(&stop, &thin, &unwatched).unwrap();
        let gpu = on_gpu.thin(&stop, &thin, &unwatched).unwrap();
        assert_as_good(&gpu, &cpu, &on_cpu, what);
        let (a, b) = (gpu.refined.as_ref().unwrap(), cpu.refined.as_ref().unwrap());
        assert!(a.converged && !a.interrupted && a.kernel_rows > 0, "{what}");
        if let (Some(a), Some(b)) = (a.lowered, b.lowered) {
            assert!(a.end <= 1.1 * b.end && a.end <= a.swept && a.swept <= a.start, "{what}: {a:?} {b:?}");
        }
        assert_eq!(on_gpu.thin(&stop, &thin, &unwatched).unwrap().rows, gpu.rows, "{what}: the same again");
        if what == "double" {
            // The search is in f32 where that loses nothing by it; sweeps are not.
            let swept = |problem: &Problem| problem.thin(&stop, &ThinOptions::default(), &unwatched).unwrap();
            let (a, b) = (swept(&on_gpu), swept(&on_cpu));
            assert_eq!(a.rows, b.rows, "sweeps in double precision");
            let work = |set: &Chosen| set.refined.as_ref().map(|set| (set.sweeps, set.swaps)).unwrap();
            assert_eq!(work(&a), work(&b), "sweeps in double precision");
        }
    }
}

#[test]
fn sets_with_rows_in_and_out_repeats_weights_goals_and_groups() {
    let Some(device) = gpu() else { return };
    let draws = rows(20_000, 3, 4);
    let weights: Vec<f64> = (0..20_000).map(|i| f64::from(i % 5)).collect();
    let options = ProblemOptions::default();
    let make = |device: Device| {
        let options = options.clone().device(device);
        Problem::weighted(draws.clone(), RowWeights::Weights(&weights), options).unwrap()
    };
    let (on_cpu, on_gpu) = (make(Device::cpu()), make(device));
    let groups: Vec<usize> = (0..20_000).map(|i| i / 5_000).collect();
    let plain = RefineOptions::default;
    for (what, refine, stop) in [
        ("included and excluded", plain().include(&[7, 12]).exclude(&[3, 4]), Stop::after(40).unwrap()),
        ("repeats", plain().repeats(true).search(4, 2), Stop::after(40).unwrap()),
        ("groups", plain().groups(&groups, None).search(2, 2), Stop::after(40).unwrap()),
        ("goal", plain(), Stop::at_error(0.02).unwrap()),
    ] {
        let thin = ThinOptions::default().refine(refine);
        let cpu = on_cpu.thin(&stop, &thin, &unwatched).unwrap();
        let gpu = on_gpu.thin(&stop, &thin, &unwatched).unwrap();
        assert!(gpu.rows.iter().all(|row| row % 5 > 0 || [7, 12].contains(row)), "{what}");
        if what == "goal" {
            assert!(gpu.rows.len().abs_diff(cpu.rows.len()) <= 1 && gpu.error() <= Some(0.02), "{what}");
            continue;
        }
        assert_as_good(&gpu, &cpu, &on_cpu, what);
        if what == "included and excluded" {
            assert!(gpu.rows.contains(&7) && gpu.rows.contains(&12));
            assert!(!gpu.rows.contains(&3) && !gpu.rows.contains(&4));
        }
    }
}

#[test]
fn landmarks_and_batches_agree() {
    let Some(device) = gpu() else { return };
    let draws = rows(60_000, 5, 5);
    let options = ProblemOptions::default().embedding(EmbeddingChoice::Landmarks).marginals(0.1);
    let (stop, thin) = (Stop::after(100).unwrap(), ThinOptions::default());
    let on_cpu = Problem::new(draws.clone(), options.clone()).unwrap();
    let on_gpu = Problem::new(draws.clone(), options.clone().device(device.clone())).unwrap();
    let cpu = on_cpu.thin(&stop, &thin, &unwatched).unwrap();
    let gpu = on_gpu.thin(&stop, &thin, &unwatched).unwrap();
    let residual = |problem: &Problem| problem.landmarks().unwrap().residual().unwrap();
    println!("residuals {:e} {:e}", residual(&on_gpu), residual(&on_cpu));
    assert!(gpu.standard_error.is_some());
    assert_as_good(&gpu, &cpu, &on_cpu, "landmarks");
    let exact = Problem::new(draws.clone(), ProblemOptions::default()).unwrap();
    let subset = draws.select(&gpu.rows).unwrap();
    let (told, standard_error) = (gpu.error().unwrap(), gpu.standard_error.unwrap());
    let truth = exact.mmd(&subset, None, &unwatched).unwrap();
    assert!(
        (told - truth).abs() <= 5.0 * standard_error + 1e-3 * truth,
        "{told} ± {standard_error}, {truth}"
    );

    let mut gatherer = Gatherer::new(5, 30_000, 0).unwrap();
    let batches: Vec<&[f64]> = draws.as_slice().chunks(20_000 * 5).collect();
    batches.iter().for_each(|batch| gatherer.update(batch, RowWeights::Equal).unwrap());
    let streamed = ProblemOptions::default().device(device);
    let problem = Problem::of_gathered(gatherer.finish().unwrap(), streamed).unwrap();
    let mut sums = problem.landmark_sums(Some(100), &unwatched).unwrap();
    for batch in &batches {
        let (points, weights) = problem.batch(batch, RowWeights::Equal).unwrap();
        sums.update(&points, weights.as_deref(), &unwatched).unwrap();
    }
    problem.project_on(&sums).unwrap();
    let chosen = problem.thin(&stop, &thin, &unwatched).unwrap();
    let mut at_chosen = problem.sums_at(&chosen.rows).unwrap();
    for batch in &batches {
        let (points, weights) = problem.batch(batch, RowWeights::Equal).unwrap();
        at_chosen.update(&points, weights.as_deref(), &unwatched).unwrap();
    }
    let chosen = problem.restated(chosen, &at_chosen.means().unwrap()).unwrap();
    let subset = problem.rows().select(&chosen.rows).unwrap();
    let truth = exact.mmd(&subset, None, &unwatched).unwrap();
    assert!(close(chosen.error().unwrap(), truth, 0.02), "{:?} {truth}", chosen.error());
}

#[test]
fn evaluations_and_norms_agree() {
    let Some(device) = gpu() else { return };
    let draws = rows(30_000, 8, 6);
    let on_cpu = Problem::new(draws.clone(), ProblemOptions::default()).unwrap();
    let on_gpu = Problem::new(draws.clone(), ProblemOptions::default().device(device.clone())).unwrap();
    let subset = draws.select(&(0..30_000).step_by(100).collect::<Vec<_>>()).unwrap();
    let weights: Vec<f64> = (0..300).map(|i| f64::from(i % 3)).collect();
    for weights in [None, Some(&weights[..])] {
        let (cpu, gpu) = (
            on_cpu.evaluate(&subset, weights, &unwatched).unwrap(),
            on_gpu.evaluate(&subset, weights, &unwatched).unwrap(),
        );
        assert!(close(gpu.error, cpu.error, 1e-3), "{} {}", gpu.error, cpu.error);
        let random = |found: &supersample::task::Evaluation| found.comparison.as_ref().unwrap().random_mean();
        assert!(close(random(&gpu), random(&cpu), 1e-3));
    }
    let kernel = Kernel::gaussian(2.0).unwrap();
    let make = |device: Device| Empirical::new(kernel.clone(), draws.clone()).unwrap().on(device);
    let (cpu, gpu) = (make(Device::cpu()), make(device));
    assert!(close(gpu.double_squared_norm(), cpu.double_squared_norm(), 1e-12));
    let (mut a, mut b) = (vec![0.0; 300], vec![0.0; 300]);
    cpu.values_into(&subset, &mut a);
    gpu.values_into(&subset, &mut b);
    assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-6));
    // A herder that is asked pick by pick knows its errors as it goes, and a clone goes on by itself.
    let mut herder = Herder::over(Pool::new(gpu, draws.clone()).unwrap()).unique(true);
    let first = herder.run(20);
    let mut other = herder.clone();
    assert_eq!(herder.run(10), other.run(10));
    let trace = Herder::trace(&Pool::new(cpu, draws).unwrap(), herder.indices()).unwrap();
    assert!(close(first[19].error.unwrap(), trace[19].error.unwrap(), 1e-3));
}

#[test]
fn work_on_a_gpu_is_watched_and_can_be_ended() {
    let Some(device) = gpu() else { return };
    let draws = rows(20_000, 3, 7);
    let problem = Problem::new(draws, ProblemOptions::default().device(device)).unwrap();
    assert_eq!(problem.prepare(&|_| ControlFlow::Break(())), Err(Error::Interrupted));
    problem
        .prepare(&|progress| {
            assert!(matches!(progress, Progress::Embedding { done, total } if done <= total));
            ControlFlow::Continue(())
        })
        .unwrap();
    let search = ThinOptions::default().refine(RefineOptions::default().search(400, 1));
    let stop = Stop::after(50).unwrap();
    let ended = problem
        .thin(&stop, &search, &|progress| match progress {
            Progress::Searching { visits, .. } if visits > 0 => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        })
        .unwrap();
    assert!(ended.refined.unwrap().interrupted && ended.rows.len() == 50);
}
