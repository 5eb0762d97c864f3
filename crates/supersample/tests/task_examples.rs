//! The examples for users run, and find what they say they find.

#[path = "../examples/herd_a_mixture.rs"]
mod herd_a_mixture;
#[path = "../examples/own_embedding.rs"]
mod own_embedding;
#[path = "../examples/particle_filter.rs"]
mod particle_filter;
#[path = "../examples/resume.rs"]
mod resume;
#[path = "../examples/thin_draws.rs"]
mod thin_draws;

#[test]
fn thin_draws_runs() {
    thin_draws::main().unwrap();
}

#[test]
fn herd_a_mixture_runs() {
    herd_a_mixture::main().unwrap();
}

#[test]
fn own_embedding_runs() {
    own_embedding::main().unwrap();
}

#[test]
fn particle_filter_runs() {
    particle_filter::main().unwrap();
}

#[test]
fn resume_runs() {
    resume::main().unwrap();
}
