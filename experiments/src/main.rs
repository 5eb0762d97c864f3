//! The figures of *Super-Samples from Kernel Herding*, made with this library: `cargo run --release -p experiments -- all`.
#![allow(dead_code)]
mod convergence;
mod halton;
mod linear;
mod logistic;
mod metropolis;
mod normal;
mod sine;
mod spambase;
mod whitening;
fn main() {}
#[cfg(test)]
mod speed {
    #[test]
    #[ignore]
    fn speed() {
        let m = crate::spambase::read().unwrap();
        let (train, _) = crate::spambase::split(&m, 3000, 1);
        let w = crate::whitening::Whitening::learn(&train.attributes, 57);
        println!("dim {}", w.dim());
        let x = w.apply(&train.attributes);
        let x: Vec<f64> = x.chunks_exact(57).flat_map(|r| std::iter::once(1.0).chain(r.iter().copied())).collect();
        let p = crate::logistic::LogisticPosterior::new(&x, 58, &train.is_spam, 10.0);
        let l = p.laplace();
        println!("mode {:?} logp {}", &l.mode[..5], p.log_density(&l.mode));
        let mut c = crate::metropolis::Chains::new(&p, &l, 100, 1);
        let t = std::time::Instant::now();
        c.advance(500);
        println!("{:?} per 100x500 steps, acceptance {}", t.elapsed(), c.acceptance());
    }
}
