//! Stein kernels against a value worked by hand and a mean by quadrature.

use supersample_sum::{Shape, Stein, SteinBase, SteinLayout};

/// Worked by hand in one dimension: κ = (1+pδ²)^(−1/2) with p = 4, x = 1, y = 1/2, so that u = 1, and scores 3 and −1.
#[test]
fn the_kernel_is_the_one_worked_by_hand() {
    let q: f64 = 0.5f64.sqrt();
    // ∂ₓκ = −pδq³ = −√2/2, ∂ᵧκ = √2/2, ∂ₓ∂ᵧκ = p q³ − 3p²δ²q⁵ = √2 − 3√2/2 (q³ = √2/4, q⁵ = √2/8).
    let want = 2f64.sqrt() * (1.0 - 1.5) + (-q) * -1.0 + q * 3.0 + q * -3.0;
    for (layout, x, y) in [
        (SteinLayout::Isotropic { root: 2.0 }, vec![2.0, 3.0], vec![1.0, -1.0]),
        (SteinLayout::Full, vec![2.0, 4.0, 3.0], vec![1.0, 2.0, -1.0]),
    ] {
        let kernel = Stein { base: SteinBase::Imq, layout, trace: 4.0 };
        let gaussian = Shape::Stein(Stein { base: SteinBase::Gaussian, ..kernel });
        let kernel = Shape::Stein(kernel);
        assert!((kernel.value(&x, &y) - want).abs() < 1e-15, "{} {want}", kernel.value(&x, &y));
        assert_eq!(kernel.diagonal(&x), 13.0);
        // ∂ₓκ = −pδκ = −2κ, ∂ₓ∂ᵧκ = (p − p²δ²)κ = 0.
        let want = (-0.5f64).exp() * (0.0 + -2.0 * -1.0 + 2.0 * 3.0 - 3.0);
        assert!((gaussian.value(&x, &y) - want).abs() < 1e-15);
    }
}

/// The mean under p of the kernel of a normal density, by the trapezoidal rule: zero for any y.
#[test]
fn its_mean_under_the_density_is_zero() {
    let (mean, precision) = (0.3, 2.0);
    let score = |x: f64| -precision * (x - mean);
    for base in [SteinBase::Imq, SteinBase::Gaussian] {
        let kernel = Shape::Stein(Stein { base, layout: SteinLayout::Isotropic { root: 1.5 }, trace: 2.25 });
        let row = |x: f64| [1.5 * x, score(x)];
        for y in [-1.0, 0.2, 4.0] {
            let steps = (0..4000).map(|i| mean + (f64::from(i) - 2000.0) * 0.005);
            let density = |x: f64| (-0.5 * precision * (x - mean) * (x - mean)).exp();
            let integral: f64 =
                steps.map(|x| density(x) * kernel.value(&row(x), &row(y))).sum::<f64>() * 0.005;
            assert!(integral.abs() < 1e-12, "{base:?} {y}: {integral}");
        }
    }
}
