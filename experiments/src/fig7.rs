//! Figure 7, which the paper does not have: are chains that are repelled from their past better than herding afterwards?

use anyhow::{Context, Result};
use rayon::prelude::*;
use supersample::task::{Choose, Problem, RowScores, Rows, TargetChoice};
use supersample::{Points, unwatched};

use crate::Size;
use crate::lab::{
    Density, Gibbs, MEASURES, Mover, Path, Repulsion, Restart, Sampler, Spins, SpinsTruth, Truth,
    spin_models, stein_points, stream,
};
use crate::report::{Finding, Report, Table};

/// Rows that `thin` chooses, and points of Stein point MCMC.
const CHOSEN: usize = 50;
/// Strengths of the repulsion by scores and by a kernel.
const BY_SCORES: [f64; 3] = [1.0, 5.0, 20.0];
const BY_KERNEL: [f64; 3] = [3.0, 30.0, 100.0];

/// What a way leaves: all states of a chain, or few points. Only sets of one kind are compared.
#[derive(Clone, Copy, PartialEq)]
enum Set {
    States,
    /// Both states of every update of a spin, by their conditional probabilities.
    Updates,
    Points,
}

/// The ways, in the order of their columns; the third entry says whether it repels.
const WAYS: [(&str, Set, bool); 15] = [
    ("chain", Set::States, false),
    ("corrected", Set::States, false),
    ("scores1", Set::States, true),
    ("scores5", Set::States, true),
    ("scores20", Set::States, true),
    ("scores1w", Set::States, true),
    ("scores5w", Set::States, true),
    ("scores20w", Set::States, true),
    ("kernel3", Set::States, true),
    ("kernel30", Set::States, true),
    ("kernel100", Set::States, true),
    ("thin", Set::Points, false),
    ("thin_corrected", Set::Points, false),
    ("stein_last", Set::Points, true),
    ("stein_influential", Set::Points, true),
];

/// The ways for spins: Gibbs sampling, herded Gibbs and a self-repellent walk.
const SPIN_WAYS: [(&str, Set, bool); 9] = [
    ("gibbs", Set::States, false),
    ("herded", Set::States, true),
    ("repelled", Set::States, true),
    ("gibbs_both", Set::Updates, false),
    ("herded_both", Set::Updates, true),
    ("repelled_both", Set::Updates, true),
    ("gibbs_thin", Set::Points, false),
    ("herded_thin", Set::Points, true),
    ("repelled_thin", Set::Points, true),
];

/// The rule: a way wins where its error is at most this part of the best afterwards on this many of ten densities,
const WINS: f64 = 0.7;
const OF_TEN: usize = 7;
/// and on none above this.
const LOSES: f64 = 1.3;

struct Sizes {
    replicates: u64,
    /// Evaluations of the density or its gradient.
    budgets: Vec<usize>,
    samplers: Vec<Sampler>,
    /// Exact draws behind a truth, and for the tuning of a step.
    draws: usize,
    tuning: usize,
    /// Sweeps over the spins.
    sweeps: Vec<usize>,
}

/// Four errors of each way, at each budget: `[way][budget]`.
type Errors = Vec<Vec<[f64; 4]>>;

/// Medians and largest values over the replicates.
struct Summary {
    median: Errors,
    worst: Errors,
}

pub(crate) fn run(size: Size, replicates: Option<u64>) -> Result<Report> {
    let mut sizes = size.choose(
        Sizes {
            replicates: 2,
            budgets: vec![1000],
            samplers: vec![Sampler::Langevin],
            draws: 10_000,
            tuning: 200,
            sweeps: vec![500],
        },
        Sizes {
            replicates: 50,
            budgets: vec![1000, 2000, 4000],
            samplers: Sampler::ALL.to_vec(),
            draws: 200_000,
            tuning: 2000,
            sweeps: vec![250, 1000, 4000],
        },
    );
    sizes.replicates = replicates.unwrap_or(sizes.replicates);
    let densities = Density::all();
    let cases: Vec<(usize, Sampler)> =
        (0..densities.len()).flat_map(|d| sizes.samplers.iter().map(move |s| (d, *s))).collect();
    let truths: Vec<Truth> = densities.par_iter().map(|d| Truth::new(d, sizes.draws)).collect();
    let movers: Vec<Mover> =
        cases.par_iter().map(|(d, s)| Mover::tuned(*s, &densities[*d], sizes.tuning)).collect();
    let runs: Vec<(usize, u64)> =
        (0..cases.len()).flat_map(|case| (0..sizes.replicates).map(move |r| (case, r))).collect();
    let replicates: Vec<Replicate> = runs
        .par_iter()
        .map(|(case, r)| {
            let d = cases[*case].0;
            replicate(&densities[d], &truths[d], &movers[*case], &sizes, (d as u64, *r))
        })
        .collect::<Result<_>>()?;
    let of_case: Vec<&[Replicate]> = replicates.chunks_exact(sizes.replicates as usize).collect();
    let summaries: Vec<Summary> = of_case
        .iter()
        .map(|replicates| summary(&replicates.iter().map(|r| &r.errors).collect::<Vec<_>>()))
        .collect();

    let models = spin_models();
    let spin_runs: Vec<(usize, u64)> =
        (0..models.len()).flat_map(|m| (0..sizes.replicates).map(move |r| (m, r))).collect();
    let spin_truths: Vec<SpinsTruth> = models.iter().map(SpinsTruth::new).collect();
    let spin_errors: Vec<Errors> = spin_runs
        .par_iter()
        .map(|(m, r)| spins_replicate(&models[*m], &spin_truths[*m], &sizes.sweeps, (*m as u64, *r)))
        .collect::<Result<_>>()?;
    let spin_summaries: Vec<Summary> = spin_errors
        .chunks_exact(sizes.replicates as usize)
        .map(|errors| summary(&errors.iter().collect::<Vec<_>>()))
        .collect();

    let mut findings = Vec::new();
    let mut winners = Vec::new();
    let mut ratios = Table::new(ratio_header());
    for ((d, sampler), summary) in cases.iter().zip(&summaries) {
        let row = repelling(&WAYS).flat_map(|way| ratio_and_parts(&WAYS, &summary.median, way)).map(Some);
        let key = [(d + 1) as f64, position(*sampler), sizes.replicates as f64];
        ratios.push(key.map(Some).into_iter().chain(row));
    }
    for sampler in &sizes.samplers {
        for way in repelling(&WAYS) {
            let of_sampler = cases.iter().zip(&summaries).filter(|((_, s), _)| s == sampler);
            let of_sampler: Vec<&Summary> = of_sampler.map(|(_, summary)| summary).collect();
            let verdict = Verdict::of(&WAYS, &of_sampler, way);
            let name = format!("{}, {}", WAYS[way].0, sampler.name());
            findings.push(Finding::note(&name, verdict.words()));
            if verdict.wins {
                winners.push(name);
            }
        }
    }
    let rule = format!("at most {WINS} of the best afterwards on {OF_TEN} of ten, above {LOSES} on none");
    findings.push(Finding::claim(
        format!("ways that win on densities: {rule}"),
        if winners.is_empty() { "none".to_owned() } else { winners.join("; ") },
        "none",
        winners.is_empty(),
    ));
    for way in repelling(&SPIN_WAYS) {
        let verdict = Verdict::of(&SPIN_WAYS, &spin_summaries.iter().collect::<Vec<_>>(), way);
        let name = format!("{}, spins", SPIN_WAYS[way].0);
        // Herded Gibbs wins, and the self-repellent walk loses somewhere; the rest of the ways is for information.
        findings.push(match SPIN_WAYS[way].0 {
            "herded" => Finding::claim(name, verdict.words(), format!("wins: {rule}"), verdict.wins),
            "repelled" => Finding::claim(name, verdict.words(), "does not win", !verdict.wins),
            _ => Finding::note(name, verdict.words()),
        });
    }
    for (case, (d, sampler)) in cases.iter().enumerate() {
        let density = &densities[*d];
        let refused: usize = of_case[case].iter().map(|r| r.refused).sum();
        findings.push(Finding::note(
            format!("{}, {}", density.name, sampler.name()),
            format!("step {:.3}; corrections refused {refused}", movers[case].step),
        ));
        if density.has_modes() {
            let moves = |way: usize| {
                of_case[case].iter().map(|r| r.moves[way]).sum::<usize>() as f64 / sizes.replicates as f64
            };
            let listed: Vec<String> = (0..WAYS.len())
                .filter(|way| WAYS[*way].1 == Set::States && *way != 1 && !WAYS[*way].0.ends_with('w'))
                .map(|way| format!("{} {:.1}", WAYS[way].0, moves(way)))
                .collect();
            findings.push(Finding::note("  moves between modes in a chain, mean", listed.join(", ")));
        }
    }

    let rows = |pick: fn(&Summary) -> &Errors| {
        let mut table = Table::new(header(&["density", "sampler", "evaluations"], &WAYS));
        for ((d, sampler), summary) in cases.iter().zip(&summaries) {
            for (b, budget) in sizes.budgets.iter().enumerate() {
                let key = [(d + 1) as f64, position(*sampler), *budget as f64];
                table.push(key.into_iter().chain(at_budget(pick(summary), b)).map(Some));
            }
        }
        table
    };
    let spin_rows = |pick: fn(&Summary) -> &Errors| {
        let mut table = Table::new(header(&["model", "sweeps"], &SPIN_WAYS));
        for (m, summary) in spin_summaries.iter().enumerate() {
            for (b, count) in sizes.sweeps.iter().enumerate() {
                let key = [(m + 1) as f64, *count as f64];
                table.push(key.into_iter().chain(at_budget(pick(summary), b)).map(Some));
            }
        }
        table
    };
    let names = |list: Vec<&str>| {
        list.iter().enumerate().map(|(i, name)| format!("{} {name}", i + 1)).collect::<Vec<_>>().join("; ")
    };
    Ok(Report {
        name: "fig7",
        title: "Chains that are repelled from their past, and herding afterwards, per evaluation of the density",
        paper: "Discussion: incorporating the negative auto-correlation between samples to MCMC or other methods should help \
                speed up mixing.",
        method: format!(
            "{} replicates, {:?} evaluations, {CHOSEN} points; repulsion by scores {BY_SCORES:?} (w: reweighted), by a kernel \
             {BY_KERNEL:?}, reweighted.\n  Densities: {}.\n  Spins ({:?} sweeps): {}.",
            sizes.replicates,
            sizes.budgets,
            names(densities.iter().map(|d| d.name).collect()),
            sizes.sweeps,
            names(models.iter().map(|m| m.name).collect()),
        ),
        tables: vec![
            ("", rows(|s| &s.median)),
            ("_worst", rows(|s| &s.worst)),
            ("_ratios", ratios),
            ("_spins", spin_rows(|s| &s.median)),
            ("_spins_worst", spin_rows(|s| &s.worst)),
        ],
        findings,
    })
}

/// One replicate of all ways on one density with one sampler.
struct Replicate {
    errors: Errors,
    /// Changes of the nearest mode along the longest chain of each way.
    moves: Vec<usize>,
    /// Budgets at which the library refused the scores of a chain; its rows then count as they are.
    refused: usize,
}

fn replicate(
    density: &Density,
    truth: &Truth,
    mover: &Mover,
    sizes: &Sizes,
    (number, replicate): (u64, u64),
) -> Result<Replicate> {
    let (dim, cost) = (density.dim, mover.sampler.cost());
    let start = density.draw(&mut stream(&[400, number, replicate]));
    let random = |way: u64| stream(&[401, number, mover.sampler as u64, replicate, way]);
    let states: Vec<usize> = sizes.budgets.iter().map(|budget| budget / cost).collect();
    let most = *states.last().context("there is a budget")?;
    let chain =
        |repulsion: Repulsion, way: u64| mover.run(density, repulsion, start.clone(), most, &mut random(way));
    let equal = |path: &Path, count: usize| {
        truth.errors(&path.points[..count * dim], &vec![1.0 / count as f64; count])
    };
    let weighted = |path: &Path, count: usize| truth.errors(&path.points[..count * dim], &path.shares(count));
    let moves = |path: &Path| {
        let modes: Vec<usize> = path.points.chunks_exact(dim).map(|z| density.nearest_mode(z)).collect();
        modes.windows(2).filter(|pair| pair[0] != pair[1]).count()
    };

    let mut result = Replicate { errors: Vec::new(), moves: vec![0; WAYS.len()], refused: 0 };
    let plain = chain(Repulsion::None, 0);
    result.moves[0] = moves(&plain);
    let (mut chains, mut corrected, mut thin, mut thin_corrected) = (vec![], vec![], vec![], vec![]);
    for &count in &states {
        let after = Afterwards::of(&plain, dim, count, truth)?;
        chains.push(equal(&plain, count));
        corrected.push(after.corrected);
        thin.push(after.thin);
        thin_corrected.push(after.thin_corrected);
        result.refused += usize::from(after.refused);
    }
    result.errors.extend([chains, corrected]);
    let by_scores: Vec<Path> =
        (1..).zip(BY_SCORES).map(|(way, strength)| chain(Repulsion::scores(strength, dim), way)).collect();
    let by_kernel: Vec<Path> =
        (4..).zip(BY_KERNEL).map(|(way, strength)| chain(Repulsion::kernel(strength, dim), way)).collect();
    for path in &by_scores {
        result.moves[result.errors.len()] = moves(path);
        result.errors.push(states.iter().map(|&count| equal(path, count)).collect());
    }
    for path in by_scores.iter().chain(&by_kernel) {
        result.moves[result.errors.len()] = moves(path);
        result.errors.push(states.iter().map(|&count| weighted(path, count)).collect());
    }
    result.errors.extend([thin, thin_corrected]);
    for (way, restart) in [(7, Restart::Last), (8, Restart::Influential)] {
        let shares = vec![1.0 / CHOSEN as f64; CHOSEN];
        let errors = states.iter().map(|&count| {
            let lengths = (CHOSEN, count / CHOSEN);
            let (points, _) = stein_points(density, mover, restart, start.clone(), lengths, &mut random(way));
            truth.errors(&points, &shares)
        });
        result.errors.push(errors.collect());
    }
    Ok(result)
}

/// What the library makes of a chain.
struct Afterwards {
    corrected: [f64; 4],
    thin: [f64; 4],
    thin_corrected: [f64; 4],
    refused: bool,
}

impl Afterwards {
    fn of(path: &Path, dim: usize, count: usize, truth: &Truth) -> Result<Afterwards> {
        let points = Points::from_rows(&path.points[..count * dim], dim)?;
        let few = vec![1.0 / CHOSEN as f64; CHOSEN];
        let scores = RowScores::new(path.scores[..count * dim].to_vec());
        let rows = Rows::new(points.clone()).scores(scores);
        let thin = |target: TargetChoice| -> supersample::Result<_> {
            let problem = Problem::new(rows.clone(), Choose::thin(CHOSEN)?.target(target))?;
            let prepared = problem.prepare(&unwatched)?;
            let chosen = prepared.choose(&unwatched)?;
            let chosen: Vec<f64> = chosen.rows.iter().flat_map(|&row| points.row(row)).copied().collect();
            Ok((problem.shares().map(<[f64]>::to_vec), truth.errors(&chosen, &few)))
        };
        let equal = vec![1.0 / count as f64; count];
        let (_, plain) = thin(TargetChoice::Rows)?;
        let found = thin(TargetChoice::Corrected);
        let refused = found.is_err();
        let (shares, thin_corrected) = found.unwrap_or((None, plain));
        let corrected = truth.errors(points.as_slice(), &shares.unwrap_or(equal));
        Ok(Afterwards { corrected, thin: plain, thin_corrected, refused })
    }
}

fn spins_replicate(
    model: &Spins,
    truth: &SpinsTruth,
    sweeps: &[usize],
    (number, replicate): (u64, u64),
) -> Result<Errors> {
    let most = *sweeps.last().context("there is a budget")?;
    let start = truth.draw(&mut stream(&[402, number, replicate]));
    let states =
        |gibbs: Gibbs| gibbs.run(model, start, most, &mut stream(&[403, number, replicate, gibbs as u64]));
    let chains = [states(Gibbs::Random)?, states(Gibbs::Herded)?, states(Gibbs::Repelled)?];
    let thin = |states: &[usize]| -> Result<[f64; 4]> {
        let row = |state: &usize| {
            (0..model.count).map(|i| f64::from(u8::from(state >> i & 1 == 1))).collect::<Vec<_>>()
        };
        let points = Points::from_vec(states.iter().flat_map(row).collect(), model.count)?;
        let chosen = Problem::new(points, Choose::thin(CHOSEN)?)?.prepare(&unwatched)?.choose(&unwatched)?;
        Ok(truth.errors(&chosen.rows.iter().map(|&row| states[row]).collect::<Vec<_>>()))
    };
    let each = |states: &[usize]| sweeps.iter().map(|&t| truth.errors(&states[..t])).collect::<Vec<_>>();
    let each_thin = |states: &[usize]| sweeps.iter().map(|&t| thin(&states[..t])).collect::<Result<Vec<_>>>();
    let both = |updates: &[_]| {
        let errors = |&t: &usize| truth.errors_of_updates(&updates[..t * model.count]);
        sweeps.iter().map(errors).collect::<Vec<_>>()
    };
    let mut errors: Errors = chains.iter().map(|(states, _)| each(states)).collect();
    errors.extend(chains.iter().map(|(_, updates)| both(updates)));
    for (states, _) in &chains {
        errors.push(each_thin(states)?);
    }
    Ok(errors)
}

fn summary(replicates: &[&Errors]) -> Summary {
    let first = replicates[0];
    let fold = |pick: fn(&mut Vec<f64>) -> f64| -> Errors {
        let cell = |way: usize, budget: usize| {
            std::array::from_fn(|k| pick(&mut replicates.iter().map(|r| r[way][budget][k]).collect()))
        };
        (0..first.len()).map(|way| (0..first[way].len()).map(|budget| cell(way, budget)).collect()).collect()
    };
    Summary {
        median: fold(|values| {
            values.sort_unstable_by(f64::total_cmp);
            0.5 * (values[values.len() / 2] + values[(values.len() - 1) / 2])
        }),
        worst: fold(|values| values.iter().copied().fold(0.0, f64::max)),
    }
}

/// The numbers of the ways that repel.
fn repelling(ways: &'static [(&str, Set, bool)]) -> impl Iterator<Item = usize> {
    (0..ways.len()).filter(|way| ways[*way].2)
}

/// An error below this counts as this: a thousandth of a standard deviation is nothing, and the truth is known no better.
const NOTHING: f64 = 1e-3;

/// The geometric mean of the four errors of a way, at the largest budget, over the least such mean of the ways
/// afterwards that leave the same kind of set.
fn ratio(ways: &[(&str, Set, bool)], errors: &Errors, way: usize) -> f64 {
    let overall = |way: usize| (0..4).map(|k| last(errors, way, k)).product::<f64>().powf(0.25);
    overall(way) / best(ways, way, overall)
}

fn last(errors: &Errors, way: usize, measure: usize) -> f64 {
    errors[way].last().map_or(f64::NAN, |errors| errors[measure].max(NOTHING))
}

/// [`ratio`], and the same for each of the four errors alone.
fn ratio_and_parts(ways: &[(&str, Set, bool)], errors: &Errors, way: usize) -> Vec<f64> {
    let part = |k: usize| {
        let error = |way: usize| last(errors, way, k);
        error(way) / best(ways, way, error)
    };
    std::iter::once(ratio(ways, errors, way)).chain((0..4).map(part)).collect()
}

fn best(ways: &[(&str, Set, bool)], way: usize, error: impl Fn(usize) -> f64) -> f64 {
    let afterwards = (0..ways.len()).filter(|other| ways[*other].1 == ways[way].1 && !ways[*other].2);
    afterwards.map(error).fold(f64::INFINITY, f64::min)
}

/// What the rule says of one way.
struct Verdict {
    /// Ratios by the medians of the replicates and by their worst errors, one for each density, sorted.
    medians: Vec<f64>,
    worst: Vec<f64>,
    won: usize,
    wins: bool,
}

impl Verdict {
    fn of(ways: &[(&str, Set, bool)], summaries: &[&Summary], way: usize) -> Verdict {
        let sorted = |pick: fn(&Summary) -> &Errors| {
            let mut ratios: Vec<f64> = summaries.iter().map(|s| ratio(ways, pick(s), way)).collect();
            ratios.sort_unstable_by(f64::total_cmp);
            ratios
        };
        let (medians, worst) = (sorted(|s| &s.median), sorted(|s| &s.worst));
        let won = medians.iter().filter(|ratio| **ratio <= WINS).count();
        let wins = won >= OF_TEN && medians.iter().all(|ratio| *ratio <= LOSES);
        Verdict { medians, worst, won, wins }
    }

    fn words(&self) -> String {
        let Verdict { medians, worst, won, .. } = self;
        let ends = |ratios: &[f64]| format!("{:.2} to {:.2}", ratios[0], ratios[ratios.len() - 1]);
        format!(
            "{} of the best afterwards, at most {WINS} on {won}; by the worst replicates {}",
            ends(medians),
            ends(worst)
        )
    }
}

fn position(sampler: Sampler) -> f64 {
    (sampler as usize + 1) as f64
}

fn header(keys: &[&str], ways: &[(&str, Set, bool)]) -> Vec<String> {
    let errors = ways.iter().flat_map(|(way, ..)| MEASURES.iter().map(move |m| format!("{way}_{m}")));
    keys.iter().map(|key| (*key).to_owned()).chain(errors).collect()
}

fn ratio_header() -> Vec<String> {
    let parts = |way: usize| {
        let name = WAYS[way].0;
        std::iter::once(name.to_owned()).chain(MEASURES.iter().map(move |m| format!("{name}_{m}")))
    };
    ["density", "sampler", "replicates"]
        .map(str::to_owned)
        .into_iter()
        .chain(repelling(&WAYS).flat_map(parts))
        .collect()
}

fn at_budget(errors: &Errors, budget: usize) -> impl Iterator<Item = f64> {
    errors.iter().flat_map(move |way| way[budget])
}
