//! A GPU against the CPU, through the tasks. Without one the tests say that they were skipped, and refusals are tested anyway.

use std::ops::ControlFlow;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use supersample::task::stream::{self, Each, Repeated};
use supersample::task::{Choose, Chosen, EmbeddingChoice, Problem, RowWeights, Rows, Stop, Subset, Target};
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

fn plain() -> Choose {
    Choose::nothing(None)
}

fn ready(rows: impl Into<Rows>, choose: Choose) -> Target {
    Problem::new(rows, choose).unwrap().prepare(&unwatched).unwrap()
}

fn thin(target: &Target, stop: Stop, refine: RefineOptions) -> Chosen {
    target.choose_by(&Choose::thin_until(stop).unwrap().refine(refine), &unwatched).unwrap()
}

fn herd(target: &Target, stop: Stop) -> Chosen {
    target.choose_by(&Choose::herd_until(stop).unwrap().unique(true), &unwatched).unwrap()
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
fn assert_as_good(gpu: &Chosen, cpu: &Chosen, target: &Target, what: &str) {
    assert_eq!(gpu.rows.len(), cpu.rows.len(), "{what}");
    let (found, other) = (gpu.error().unwrap(), cpu.error().unwrap());
    let count = gpu.rows.len();
    let same = gpu.rows.iter().zip(&cpu.rows).take_while(|(a, b)| a == b).count();
    // The E_T of each prefix, found by the CPU for the very rows that the GPU has chosen.
    let trace = target.trace_of(&gpu.rows, &unwatched).unwrap();
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
    assert_eq!("cpu".parse::<Device>().unwrap(), Device::cpu());
    assert!(!Device::cpu().is_gpu() && Device::cpu().check().is_ok());
    let unknown = "tpu".parse::<Device>().unwrap_err();
    assert_eq!(unknown.to_string(), "'tpu' is not a device; choose cpu or gpu");
    match "gpu".parse::<Device>() {
        Ok(device) => assert!(device.is_gpu() && device.to_string() != "cpu"),
        Err(error) => {
            let told = error.to_string();
            assert!(matches!(error, Error::Device { .. }) && told.starts_with("no GPU: "), "{told}");
            assert!(told.ends_with("; use the device cpu") && !told.contains('\n'), "{told}");
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
        let options = plain().kernel(text.parse::<Kernel>().unwrap()).precision(precision);
        let stop = Stop::after(100).unwrap();
        let on_cpu = ready(draws.clone(), options.clone());
        let cpu = herd(&on_cpu, stop);
        let on_gpu = ready(draws.clone(), options.device(device.clone()));
        let gpu = herd(&on_gpu, stop);
        assert_eq!(on_gpu.precision(), on_cpu.precision(), "{text}");
        if on_cpu.precision() == Precision::Double {
            assert_eq!(gpu.rows, cpu.rows, "{text}");
        }
        if text == "linear" {
            // It is matched to rounding after a few rows.
            continue;
        }
        assert_as_good(&gpu, &cpu, &on_cpu, text);
        let again = herd(&on_gpu, stop);
        assert_eq!(again.rows, gpu.rows, "{text}: the same again");
    }
}

/// So many rows in one dimension that E_T is far below what f32 can tell.
#[test]
fn small_errors_are_right_too() {
    let Some(device) = gpu() else { return };
    let draws = rows(40_000, 1, 2);
    let options = plain().kernel(Kernel::gaussian(1.0).unwrap());
    let stop = Stop::after(1500).unwrap();
    let on_cpu = ready(draws.clone(), options.clone().precision(Precision::Double));
    let on_gpu = ready(draws, options.device(device));
    let gpu = herd(&on_gpu, stop);
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
    for (what, options) in [
        ("plain", plain()),
        ("marginals", plain().marginals(0.1)),
        ("moments", plain().marginals(0.1).moments(0.1)),
        ("marginals and functions", plain().marginals(0.1)),
        ("double", plain().marginals(0.1).moments(0.1).precision(Precision::Double)),
    ] {
        let (stop, search) = (Stop::after(60).unwrap(), RefineOptions::default().search(10, 1));
        let rows = || match what {
            "marginals and functions" => Rows::new(draws.clone()).functions(functions.clone(), 2).unwrap(),
            _ => Rows::new(draws.clone()),
        };
        let on_cpu = ready(rows(), options.clone());
        let on_gpu = ready(rows(), options.device(device.clone()));
        let cpu = thin(&on_cpu, stop, search.clone());
        let gpu = thin(&on_gpu, stop, search.clone());
        assert_as_good(&gpu, &cpu, &on_cpu, what);
        let (a, b) = (gpu.refined.as_ref().unwrap(), cpu.refined.as_ref().unwrap());
        assert!(a.converged && !a.interrupted && a.kernel_rows > 0, "{what}");
        if let (Some(a), Some(b)) = (a.objective, b.objective) {
            assert!(a.end <= 1.1 * b.end && a.end <= a.swept && a.swept <= a.start, "{what}: {a:?} {b:?}");
        }
        assert_eq!(thin(&on_gpu, stop, search).rows, gpu.rows, "{what}: the same again");
        if what == "double" {
            // The search is in f32 where that loses nothing by it; sweeps are not.
            let swept = |target: &Target| thin(target, stop, RefineOptions::default());
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
    let make = |device: Device| {
        let rows = Rows::weighted(draws.clone(), RowWeights::Weights(&weights)).unwrap();
        ready(rows, plain().device(device))
    };
    let (on_cpu, on_gpu) = (make(Device::cpu()), make(device));
    let groups: Vec<usize> = (0..20_000).map(|i| i / 5_000).collect();
    let set = RefineOptions::default;
    for (what, refine, stop) in [
        ("included and excluded", set().include(&[7, 12]).exclude(&[3, 4]), Stop::after(40).unwrap()),
        ("repeats", set().repeats(true).search(4, 2), Stop::after(40).unwrap()),
        ("groups", set().groups(&groups, None).search(2, 2), Stop::after(40).unwrap()),
        ("goal", set(), Stop::at_error(0.02).unwrap()),
    ] {
        let cpu = thin(&on_cpu, stop, refine.clone());
        let gpu = thin(&on_gpu, stop, refine);
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
    let choose = Choose::thin(100).unwrap().search(Some(0));
    let on_landmarks = choose.clone().embedding(EmbeddingChoice::Landmarks);
    let on_cpu = ready(draws.clone(), on_landmarks.clone());
    let on_gpu = ready(draws.clone(), on_landmarks.device(device.clone()));
    let (cpu, gpu) = (on_cpu.choose(&unwatched).unwrap(), on_gpu.choose(&unwatched).unwrap());
    let residual = |target: &Target| target.landmarks().unwrap().residual().unwrap();
    println!("residuals {:e} {:e}", residual(&on_gpu), residual(&on_cpu));
    assert!(gpu.standard_error.is_some());
    assert_as_good(&gpu, &cpu, &on_cpu, "landmarks");
    let exact = ready(draws.clone(), plain());
    let (told, standard_error) = (gpu.error().unwrap(), gpu.standard_error.unwrap());
    let truth = exact.mmd(&Subset::of_rows(&gpu.rows), &unwatched).unwrap();
    assert!(
        (told - truth).abs() <= 5.0 * standard_error + 1e-3 * truth,
        "{told} ± {standard_error}, {truth}"
    );

    let mut source = Repeated::new(5, |each: Each<'_>| {
        draws.as_slice().chunks(20_000 * 5).try_for_each(|batch| each(batch, RowWeights::Equal))
    });
    let streamed = choose.marginals(0.0).moments(0.0).pool_rows(30_000).device(device);
    let (_, chosen) = stream::choose(&mut source, streamed).unwrap();
    let truth = exact.mmd(&Subset::of_rows(&chosen.rows), &unwatched).unwrap();
    assert!(close(chosen.error().unwrap(), truth, 0.02), "{:?} {truth}", chosen.error());
}

#[test]
fn evaluations_and_norms_agree() {
    let Some(device) = gpu() else { return };
    let draws = rows(30_000, 8, 6);
    let on_cpu = ready(draws.clone(), plain());
    let on_gpu = ready(draws.clone(), plain().device(device.clone()));
    let subset = draws.select(&(0..30_000).step_by(100).collect::<Vec<_>>()).unwrap();
    let weights: Vec<f64> = (0..300).map(|i| f64::from(i % 3)).collect();
    for weights in [None, Some(&weights[..])] {
        let (cpu, gpu) = (
            on_cpu.evaluate(&Subset::of_points(subset.clone()).weights(weights), &unwatched).unwrap(),
            on_gpu.evaluate(&Subset::of_points(subset.clone()).weights(weights), &unwatched).unwrap(),
        );
        assert!(close(gpu.mmd(), cpu.mmd(), 1e-3), "{} {}", gpu.mmd(), cpu.mmd());
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
    let problem = Problem::new(draws, plain().device(device)).unwrap();
    assert_eq!(problem.prepare(&|_| ControlFlow::Break(())).err(), Some(Error::Interrupted));
    let target = problem.prepare(&|progress| {
        assert!(matches!(progress, Progress::Embedding { done, total } if done <= total));
        ControlFlow::Continue(())
    });
    let search = Choose::thin(50).unwrap().search(Some(400)).seed(1);
    let ended = target.unwrap().choose_by(&search, &|progress| match progress {
        Progress::Searching { visits, .. } if visits > 0 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    });
    let ended = ended.unwrap();
    assert!(ended.refined.unwrap().interrupted && ended.rows.len() == 50);
}
