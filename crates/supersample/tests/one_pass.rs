//! Streams of rows that are seen once, against the same rows in memory.

use crate::common;

use common::{KERNELS, ready, rng};
use rand::RngExt;
use rand::seq::SliceRandom;
use supersample::scale::Scale;
use supersample::task::stream::{self, Each, Repeated, Stream};
use supersample::task::{
    Advice, Choose, Chosen, EmbeddingChoice, Ended, Problem, RowWeights, Rows, Subset, Target,
};
use supersample::{Error, Kernel, Points, Precision, unwatched};

const DIM: usize = 3;
const POOL: usize = 1500;

/// A choice of the joint distribution alone, from few rows and few landmarks.
fn choose(n: usize) -> Choose {
    Choose::thin(n).unwrap().search(Some(0)).marginals(0.0).moments(0.0).pool_rows(POOL).landmarks(150)
}

/// Rows of two modes, in units of their own.
fn rows(n: usize, seed: u64) -> Vec<f64> {
    let mut rng = rng(seed);
    let mut row = || {
        let mode = if rng.random_range(0.0..1.0) < 0.3 { 2.0 } else { -1.0 };
        [
            mode + rng.random_range(-1.0..1.0),
            100.0 * rng.random_range(-1.0..1.0),
            7.0 + mode * rng.random_range(0.0..1.0),
        ]
    };
    (0..n).flat_map(|_| row()).collect()
}

/// Rows in the order of their first column.
fn sorted(rows: &[f64]) -> Vec<f64> {
    let mut all: Vec<&[f64]> = rows.chunks(DIM).collect();
    all.sort_by(|a, b| a[0].total_cmp(&b[0]));
    all.concat()
}

fn streamed(choose: Choose, rows: &[f64], batch: usize) -> Stream {
    let mut stream = Stream::new(choose).unwrap();
    for batch in rows.chunks(DIM * batch) {
        stream.update(batch, DIM, RowWeights::Equal, &unwatched).unwrap();
    }
    stream
}

fn chosen(stream: &Stream) -> (Target, Chosen) {
    stream.choose(&unwatched).unwrap()
}

/// All rows as a target in memory, all pairs compared, with the kernel and the scaling that a stream has settled on.
fn exact(of: &Target, rows: &[f64], weights: RowWeights<'_>, n: usize) -> Target {
    let problem = of.problem();
    let points = Points::from_rows(rows, DIM).unwrap();
    let rows = Rows::weighted(problem.scaled(&points).unwrap(), weights).unwrap();
    let mut choose = choose(n).scale(Scale::None).kernel(problem.kernel().clone());
    choose.compute.landmarks = None;
    ready(rows, choose.precision(problem.precision()).embedding(EmbeddingChoice::Exact))
}

fn mmd(all: &Target, chosen: &Chosen) -> f64 {
    all.mmd(&Subset::of_rows(&chosen.rows), &unwatched).unwrap()
}

/// The MMD of a stream's rows over that of rows chosen in three passes, from as many candidates; by all rows.
fn ratio(stream: &Stream, rows: &[f64], n: usize) -> f64 {
    let (target, found) = chosen(stream);
    assert_eq!(found.rows.len(), n);
    let all = exact(&target, rows, RowWeights::Equal, n);
    let known = target.select(&found.rows).unwrap();
    for (place, &row) in found.rows.iter().enumerate() {
        assert_eq!(known.row(place), &rows[row * DIM..(row + 1) * DIM]);
    }
    let scaled = all.problem().rows().as_slice();
    let alike = choose(n).scale(Scale::None).kernel(target.problem().kernel().clone());
    let passes = |seed: u64| {
        let mut source = Repeated::new(DIM, |each: Each<'_>| each(scaled, RowWeights::Equal));
        mmd(&all, &stream::choose(&mut source, alike.clone().seed(seed)).unwrap().1).ln()
    };
    (mmd(&all, &found).ln() - (0..4).map(passes).sum::<f64>() / 4.0).exp()
}

#[test]
fn before_it_settles_a_stream_chooses_what_is_chosen_from_rows_in_memory() {
    let rows = rows(POOL, 1);
    let weights: Vec<f64> = (0..POOL).map(|i| (i % 5) as f64).collect();
    let choose = Choose::thin(20).unwrap().pool_rows(POOL).seed(7);
    for given in [RowWeights::Equal, RowWeights::Weights(&weights)] {
        let mut stream = Stream::new(choose.clone()).unwrap();
        for start in (0..POOL).step_by(400) {
            let some = start..POOL.min(start + 400);
            let weights = match given {
                RowWeights::Weights(weights) => RowWeights::Weights(&weights[some.clone()]),
                _ => RowWeights::Equal,
            };
            stream.update(&rows[some.start * DIM..some.end * DIM], DIM, weights, &unwatched).unwrap();
        }
        let (_, found) = chosen(&stream);
        assert!(stream.kernel().is_none());
        let all = Rows::weighted(Points::from_rows(&rows, DIM).unwrap(), given).unwrap();
        let wanted = ready(all, choose.clone()).choose(&unwatched).unwrap();
        assert_eq!(
            (&found.rows, found.mmd(), found.standard_error),
            (&wanted.rows, wanted.mmd(), wanted.standard_error)
        );
    }
}

#[test]
fn how_rows_are_cut_into_batches_does_not_matter() {
    let rows = rows(7000, 2);
    let wanted = chosen(&streamed(choose(20), &rows, 7000)).1;
    for batch in [1000, 1499, 611] {
        let found = chosen(&streamed(choose(20), &rows, batch)).1;
        assert_eq!(found.rows, wanted.rows, "{batch}");
    }
    assert!(wanted.standard_error.is_some() && wanted.ended == Ended::Number);
}

#[test]
fn rows_of_a_stream_are_as_good_as_those_of_all_rows_in_any_order() {
    let n = 20;
    let shuffled = rows(12_000, 3);
    let mut late: Vec<f64> = shuffled.chunks(DIM).filter(|x| x[0] < 0.5).flatten().copied().collect();
    late.extend(shuffled.chunks(DIM).filter(|x| x[0] >= 0.5).flatten());
    // The first tenth is far away, and comes down.
    let burn_in: Vec<f64> = shuffled
        .chunks(DIM)
        .enumerate()
        .flat_map(|(i, x)| [x[0] + (8.0 - i as f64 / 150.0).max(0.0), x[1], x[2]])
        .collect();
    for (name, rows) in
        [("shuffled", &shuffled), ("sorted", &sorted(&shuffled)), ("late", &late), ("burn-in", &burn_in)]
    {
        let seeds = (0..4).map(|seed| ratio(&streamed(choose(n).seed(seed), rows, 900), rows, n).ln());
        let found = (seeds.sum::<f64>() / 4.0).exp();
        assert!(found < 1.3, "{name}: {found}");
    }
}

#[test]
fn the_mmd_that_is_told_is_true_within_its_error() {
    let (runs, n) = (60, 20);
    for is_sorted in [false, true] {
        let (mut inside, mut bias) = (0, 0.0);
        for run in 0..runs {
            let mut all = rows(6000, 100 + run);
            if is_sorted {
                all = sorted(&all);
            }
            let (target, chosen) = chosen(&streamed(choose(n).seed(run), &all, 2000));
            let true_mmd = mmd(&exact(&target, &all, RowWeights::Equal, n), &chosen);
            let (told, error) = (chosen.mmd().unwrap(), chosen.standard_error.unwrap());
            inside += u32::from((told - true_mmd).abs() < 2.0 * error);
            bias += (told - true_mmd) / true_mmd / runs as f64;
        }
        assert!(inside >= 54, "{is_sorted}: {inside} of {runs}");
        assert!(bias.abs() < 0.03, "{is_sorted}: {bias}");
    }
}

#[test]
fn every_kernel_and_every_kind_of_weights_is_taken() {
    let all = rows(4000, 5);
    let weights: Vec<f64> =
        (0..4000).map(|i| if i % 7 == 3 { 0.0 } else { 0.5 + (i / 1000) as f64 }).collect();
    let logs: Vec<f64> = weights.iter().map(|w| w.ln() - 1e4).collect();
    for (i, kernel) in KERNELS.iter().chain(&["energy"]).enumerate() {
        let kernel: Kernel = kernel.parse().unwrap();
        let precision = if i % 2 == 0 { Precision::Mixed } else { Precision::Double };
        let mut rows_of_each = Vec::new();
        for kind in 0..3 {
            let mut stream = Stream::new(choose(20).kernel(kernel.clone()).precision(precision)).unwrap();
            let given = |some: std::ops::Range<usize>| match kind {
                0 => RowWeights::Equal,
                1 => RowWeights::Weights(&weights[some]),
                _ => RowWeights::Logs(&logs[some]),
            };
            for start in (0..4000).step_by(800) {
                let some = start..start + 800;
                stream.update(&all[some.start * DIM..some.end * DIM], DIM, given(some), &unwatched).unwrap();
            }
            let (target, chosen) = chosen(&stream);
            assert!(kind == 0 || chosen.rows.iter().all(|row| row % 7 != 3));
            let whole = exact(&target, &all, given(0..4000), 20);
            let (told, true_mmd) = (chosen.mmd().unwrap(), mmd(&whole, &chosen));
            let allowed = 4.0 * chosen.standard_error.unwrap() + 0.02 * true_mmd + 1e-4;
            assert!((told - true_mmd).abs() < allowed, "{kernel} {kind}: {told}, it is {true_mmd}");
            let best = whole.choose(&unwatched).unwrap().mmd().unwrap();
            assert!(
                kernel == Kernel::linear() || true_mmd < 1.4 * best + 1e-3,
                "{kernel} {kind}: {true_mmd}, {best}"
            );
            rows_of_each.push(chosen.rows);
        }
        assert_eq!(rows_of_each[1], rows_of_each[2], "{kernel}");
    }
}

#[test]
fn streams_of_parts_are_merged() {
    let n = 20;
    let all = sorted(&rows(12_000, 6));
    let mut shuffled: Vec<&[f64]> = all.chunks(DIM).collect();
    shuffled.shuffle(&mut rng(1));
    for (name, all) in [("sorted", all.clone()), ("shuffled", shuffled.concat())] {
        let quarters: Vec<&[f64]> = all.chunks(3000 * DIM).collect();
        let one =
            chosen(&streamed(choose(n).kernel(Kernel::gaussian(1.5).unwrap()).scale(Scale::None), &all, 900))
                .1;
        let apart = |same: bool| {
            let choose = |seed| match same {
                true => choose(n).kernel(Kernel::gaussian(1.5).unwrap()).scale(Scale::None).seed(seed),
                false => choose(n).seed(seed),
            };
            let mut merged = streamed(choose(0), quarters[0], 700);
            for (i, quarter) in quarters[1..].iter().enumerate() {
                merged.merge(&streamed(choose(1 + i as u64), quarter, 700), &unwatched).unwrap();
            }
            assert_eq!(merged.rows(), 12_000);
            merged
        };
        let same = apart(true);
        let found = ratio(&same, &all, n);
        assert!(found < 1.4, "{name}: {found}");
        let (target, chosen_of_parts) = chosen(&same);
        let whole = exact(&target, &all, RowWeights::Equal, n);
        assert!(mmd(&whole, &chosen_of_parts) < 1.5 * mmd(&whole, &one), "{name}");
        // The samples of the others stand for their rows, so as many rows count less.
        if name == "shuffled" {
            let found = ratio(&apart(false), &all, n);
            assert!(found < 1.5, "{found}");
        }
    }
}

#[test]
fn streams_that_are_alike_are_merged_exactly() {
    let all = rows(6000, 8);
    let (first, later) = all.split_at(2000 * DIM);
    let mut begun = streamed(choose(20), first, 2000);
    let parts = later.chunks(500 * DIM).enumerate();
    let parts: Vec<Stream> = parts
        .map(|(i, rows)| {
            let mut part = begun.like(i as u64 + 1).unwrap();
            assert_eq!((part.rows(), part.kernel()), (0, begun.kernel()));
            part.update(rows, DIM, RowWeights::Equal, &unwatched).unwrap();
            let bytes = part.to_bytes();
            Stream::from_bytes(choose(20), &bytes).unwrap()
        })
        .collect();
    let (left, right) = parts.split_at(2);
    let before = begun.sums().unwrap().clone();
    // Fewer rows than that at which landmarks are chosen again.
    for part in left {
        begun.merge(part, &unwatched).unwrap();
    }
    let target = chosen(&begun).0;
    let rows = Points::from_rows(&all[2000 * DIM..3000 * DIM], DIM).unwrap();
    let mut wanted = before.at(before.points().clone()).unwrap();
    wanted.update(&target.problem().scaled(&rows).unwrap(), None, &unwatched).unwrap();
    let sums = begun.sums().unwrap();
    assert_eq!((sums.rows(), sums.points()), (3000, before.points()));
    let means = sums.means().unwrap().into_iter().zip(before.means().unwrap()).zip(wanted.means().unwrap());
    for ((sum, early), late) in means {
        assert!((3.0 * sum - 2.0 * early - late).abs() < 1e-7);
    }
    for part in right {
        begun.merge(part, &unwatched).unwrap();
    }
    assert!(begun.rows() == 6000 && ratio(&begun, &all, 20) < 1.4);
}

#[test]
fn streams_that_have_not_settled_are_merged_by_their_rows() {
    let all = rows(5000, 9);
    let few =
        |range: std::ops::Range<usize>| streamed(choose(20), &all[range.start * DIM..range.end * DIM], 300);
    let mut both = few(0..600);
    both.merge(&few(600..1400), &unwatched).unwrap();
    assert_eq!(chosen(&both).1.rows, chosen(&few(0..1400)).1.rows);
    both.merge(&few(1400..1900), &unwatched).unwrap();
    assert_eq!(chosen(&both).1.rows, chosen(&few(0..1900)).1.rows);
    // One that has not, and one that has.
    let mut before = few(0..1000);
    before.merge(&few(1000..5000), &unwatched).unwrap();
    assert!(before.rows() == 5000 && ratio(&before, &all, 20) < 1.4);
    let mut empty = Stream::new(choose(20)).unwrap();
    empty.merge(&before, &unwatched).unwrap();
    assert_eq!(chosen(&empty).1.rows, chosen(&before).1.rows);
    empty.merge(&Stream::new(choose(20)).unwrap(), &unwatched).unwrap();
    assert_eq!(empty.rows(), 5000);
}

#[test]
fn a_stream_goes_on_from_its_bytes() {
    let all = rows(8000, 10);
    let weights: Vec<f64> = (0..8000).map(|i| 1.0 + (i / 100) as f64).collect();
    for cut in [0, 900, 2000, 5000] {
        let mut whole = Stream::new(choose(20)).unwrap();
        let mut saved = Stream::new(choose(20)).unwrap();
        for (start, end) in [(0, cut), (cut, 8000)] {
            let given = RowWeights::Weights(&weights[start..end]);
            whole.update(&all[start * DIM..end * DIM], DIM, given, &unwatched).unwrap();
            saved = Stream::from_bytes(choose(20), &saved.to_bytes()).unwrap();
            saved.update(&all[start * DIM..end * DIM], DIM, given, &unwatched).unwrap();
        }
        let saved = Stream::from_bytes(choose(20), &saved.to_bytes()).unwrap();
        assert_eq!(chosen(&saved).1.rows, chosen(&whole).1.rows, "{cut}");
    }
    let bytes = streamed(choose(20), &all, 8000).to_bytes();
    assert!(bytes.len() < 200_000, "{}", bytes.len());
    for broken in [&bytes[..bytes.len() - 1], &bytes[..20], b"draws"] {
        assert!(matches!(Stream::from_bytes(choose(20), broken), Err(Error::BadBytes { .. })));
    }
}

#[test]
fn it_is_told_that_rows_have_moved() {
    let all = rows(8000, 11);
    let is_told = |rows: &[f64]| {
        let (target, _) = chosen(&streamed(choose(20), rows, 1000));
        let told =
            target.problem().advice().iter().find(|one| matches!(one, Advice::RowsMoved { .. })).cloned();
        assert!(!target.problem().advice().iter().any(|one| matches!(one, Advice::ScaledBySample { .. })));
        told
    };
    assert_eq!(is_told(&all), None);
    let Some(Advice::RowsMoved { columns, .. }) = is_told(&sorted(&all)) else { panic!("nothing was told") };
    assert!(columns.contains(&0) && !columns.contains(&1), "{columns:?}");
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
    let update = |stream: &mut Stream, rows: &[f64], dim: usize, weights: RowWeights<'_>| {
        stream.update(rows, dim, weights, &unwatched)
    };
    let mut stream = Stream::new(choose(20)).unwrap();
    assert_eq!(stream.choose(&unwatched).err(), Some(Error::NoPoints));
    assert_eq!((stream.rows(), stream.columns()), (0, None));
    assert!(matches!(
        update(&mut stream, &[1.0, f64::NAN], 2, RowWeights::Equal),
        Err(Error::NonFinite { row: 0, column: 1, .. })
    ));
    assert_eq!(stream.columns(), None);
    update(&mut stream, &rows(2000, 12), DIM, RowWeights::Equal).unwrap();
    let before = chosen(&stream).1.rows;
    let mut bad = rows(3000, 13);
    bad[2000 * DIM + 1] = f64::INFINITY;
    assert!(matches!(
        update(&mut stream, &bad, DIM, RowWeights::Equal),
        Err(Error::NonFinite { row: 4000, column: 1, .. })
    ));
    assert!(matches!(
        update(&mut stream, &[1.0; 8], 4, RowWeights::Equal),
        Err(Error::DimensionMismatch { found: 4, expected: 3, .. })
    ));
    assert_eq!(
        update(&mut stream, &[1.0; 3], 3, RowWeights::Weights(&[1.0])),
        Err(Error::MixedWeights { first_row: 2000 })
    );
    let mut weighted = Stream::new(choose(20)).unwrap();
    update(&mut weighted, &[1.0; 3], 3, RowWeights::Weights(&[1.0])).unwrap();
    assert_eq!(stream.merge(&weighted, &unwatched), Err(Error::MixedWeights { first_row: 2000 }));
    let stop = |_: supersample::Progress| std::ops::ControlFlow::Break(());
    assert_eq!(stream.update(&rows(2000, 14), DIM, RowWeights::Equal, &stop), Err(Error::Interrupted));
    assert_eq!((stream.rows(), chosen(&stream).1.rows), (2000, before));
    update(&mut stream, &[], 9, RowWeights::Equal).unwrap();
    assert!(matches!(
        Stream::new(choose(20).embedding(EmbeddingChoice::Exact)),
        Err(Error::BadOption { .. } | Error::NotInMemory { .. })
    ));
    let all = Stream::new(Choose::thin(20).unwrap().weighed(supersample::weights::WeightRule::Simplex));
    assert!(matches!(all, Err(Error::NotInMemory { .. })));
    // More rows than there are.
    let mut few = Stream::new(choose(20)).unwrap();
    update(&mut few, &rows(5, 1), DIM, RowWeights::Equal).unwrap();
    let (_, found) = chosen(&few);
    assert_eq!((found.rows.len(), found.ended), (5, Ended::Exhausted));
}

#[test]
fn the_memory_of_a_stream_does_not_grow() {
    let size = supersample::task::Size { columns: DIM, ..Default::default() };
    let limit = 60 << 20;
    let limited = Choose::thin(20).unwrap().max_memory(limit);
    assert!(limited.stream_memory(size).unwrap() <= limit);
    assert!(Choose::thin(20).unwrap().stream_memory(size).unwrap() > limit);
    let bytes = |n: usize| streamed(choose(20), &rows(n, 1), 1000).to_bytes().len();
    assert_eq!(bytes(4000), bytes(9000));
    let problem = chosen(&streamed(choose(20), &rows(4000, 1), 1000)).0;
    assert_eq!(Problem::gathered(problem.problem()).unwrap().pool().len(), POOL);
}
