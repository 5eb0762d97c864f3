//! The figures of *Super-Samples from Kernel Herding*, made with this library: `cargo run --release -p experiments -- all`.

mod convergence;
mod densities;
mod fig1;
mod fig2;
mod fig3;
mod fig4;
mod fig5;
mod fig6;
mod fig7;
mod functions;
mod halton;
mod lab;
mod logistic;
mod metropolis;
mod normal;
mod posterior;
mod report;
mod sine;
mod spambase;
mod whitening;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};

use crate::posterior::Posterior;
use crate::report::Report;

/// Runs the experiments of the paper and checks what they must show.
#[derive(Parser)]
#[command(version)]
struct Arguments {
    /// Which figures to make.
    #[arg(required = true)]
    figures: Vec<Figure>,
    /// Small sizes: everything in under three minutes on two cores. Claims are checked at that size.
    #[arg(long)]
    quick: bool,
    /// Another split of the messages into training and test, for figures 5 and 6.
    #[arg(long, value_name = "SEED")]
    split: Option<u64>,
    /// Another variance of the prior on each weight of the regression, for figures 5 and 6.
    #[arg(long, value_name = "VARIANCE")]
    prior: Option<f64>,
    /// Another number of replicates, for figure 7.
    #[arg(long, value_name = "N")]
    replicates: Option<u64>,
    /// Where figN.csv goes; `experiments/plot.py` draws the figures from it.
    #[arg(long, value_name = "DIR", default_value = "out")]
    out: PathBuf,
}

#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Figure {
    All,
    Fig1,
    Fig2,
    Fig3,
    Fig4,
    Fig5,
    Fig6,
    Fig7,
}

/// The size of an experiment.
#[derive(Clone, Copy, PartialEq)]
enum Size {
    Quick,
    Paper,
}

impl Size {
    fn choose<T>(self, quick: T, paper: T) -> T {
        match self {
            Size::Quick => quick,
            Size::Paper => paper,
        }
    }
}

/// Exit code 0: every claim holds; 1: one does not; 2: the run could not be made.
fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Makes the figures asked for; whether all their claims hold.
fn run(arguments: &Arguments) -> Result<bool> {
    let is_asked = |figure| arguments.figures.contains(&figure) || arguments.figures.contains(&Figure::All);
    let size = if arguments.quick { Size::Quick } else { Size::Paper };
    if arguments.split.is_some() || arguments.prior.is_some() {
        let uses_it = |figure: &Figure| matches!(figure, Figure::All | Figure::Fig5 | Figure::Fig6);
        ensure!(
            arguments.figures.iter().any(uses_it),
            "--split and --prior have no effect without fig5 or fig6"
        );
    }
    ensure!(
        arguments.replicates.is_none() || is_asked(Figure::Fig7),
        "--replicates has no effect without fig7"
    );
    ensure!(arguments.replicates != Some(0), "--replicates is 0; there is at least one");
    let prior = arguments.prior.unwrap_or(posterior::PRIOR_VARIANCE);
    ensure!(prior > 0.0 && prior.is_finite(), "--prior is {prior}; a variance is a positive number");
    std::fs::create_dir_all(&arguments.out)
        .with_context(|| format!("cannot make the folder {}", arguments.out.display()))?;
    let split = arguments.split.unwrap_or(posterior::SPLIT_SEED);
    // Figures 5 and 6 are two views of one experiment, which runs once.
    let mut posterior = None;
    let mut reports = Vec::new();
    for figure in Figure::value_variants().iter().copied().filter(|figure| is_asked(*figure)) {
        let start = Instant::now();
        let report = match figure {
            Figure::All => continue,
            Figure::Fig1 => fig1::run()?,
            Figure::Fig2 => fig2::run(size)?,
            Figure::Fig3 => fig3::run(size)?,
            Figure::Fig4 => fig4::run(size)?,
            Figure::Fig5 => fig5::run(size, shared(&mut posterior, size, split, prior)?)?,
            Figure::Fig6 => fig6::run(shared(&mut posterior, size, split, prior)?)?,
            Figure::Fig7 => fig7::run(size, arguments.replicates)?,
        };
        report.write(&arguments.out)?;
        println!("{}  made in {:.0} s\n", report.summary(), start.elapsed().as_secs_f64());
        reports.push(report);
    }
    let out = arguments.out.display();
    println!("the numbers are in {out}; python experiments/plot.py {out} draws them");
    Ok(reports.iter().all(Report::holds))
}

/// The experiment, run when first needed.
fn shared(posterior: &mut Option<Posterior>, size: Size, split: u64, prior: f64) -> Result<&Posterior> {
    let made = match posterior.take() {
        Some(made) => made,
        None => Posterior::run(size, split, prior)?,
    };
    Ok(posterior.insert(made))
}
