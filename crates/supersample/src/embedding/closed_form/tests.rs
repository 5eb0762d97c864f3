//! The closed forms against numerical integration, on the line and in the plane, and at the extremes.

use super::mixture::tests::planar;
use super::*;
use crate::embedding::{as_density, as_samples};
use crate::special::gauss_legendre;

/// A distribution on the line, by its parameters.
#[derive(Clone, Copy, Debug)]
enum Line {
    Box(f64, f64),
    Normal(f64, f64),
}

impl Line {
    fn embed(self, kernel: &Kernel) -> ClosedForm {
        match self {
            Line::Box(a, b) => uniform_box(kernel, &[a], &[b]),
            Line::Normal(mean, sd) => normals(kernel, &[mean], &[sd]),
        }
    }

    /// ∫ f(y) p(y) dy by composite Gauss–Legendre, with panels that resolve p and every (place, scale) in `features`.
    fn integrate(self, features: &[(f64, f64)], f: impl Fn(f64) -> f64) -> f64 {
        let (start, end, own) = match self {
            Line::Box(a, b) => (a, b, vec![(a, b - a)]),
            Line::Normal(mean, sd) => (mean - 38.0 * sd, mean + 38.0 * sd, vec![(mean, sd)]),
        };
        let density = |y: f64| match self {
            Line::Box(a, b) => 1.0 / (b - a),
            Line::Normal(mean, sd) => {
                (-0.5 * ((y - mean) / sd).powi(2)).exp() / (sd * (2.0 * std::f64::consts::PI).sqrt())
            }
        };
        // Where f and p meet: a smooth f weighs down the near end of a box, and moves the peak of a normal.
        let meeting = features.iter().flat_map(|&(place, scale)| match self {
            Line::Box(a, b) => [(a, scale), (b, scale)],
            Line::Normal(mean, sd) => {
                let share = sd / sd.hypot(scale);
                [(mean, scale), (mean + share * share * (place - mean), share * scale)]
            }
        });
        let mut edges = vec![start, end];
        for (place, scale) in features.iter().copied().chain(own).chain(meeting) {
            let steps = (0..140).map(|i| f64::from(i) * 0.25).chain((0..40).map(|i| 40.0 * 1.5f64.powi(i)));
            edges.extend(steps.flat_map(|step| [place - step * scale, place + step * scale]));
        }
        edges.retain(|edge| (start..=end).contains(edge));
        edges.sort_by(f64::total_cmp);
        let panel = |a: f64, b: f64| {
            let y = |w: f64| a + (b - a) * w;
            (b - a) * gauss_legendre(|w| density(y(w)) * f(y(w)))
        };
        edges.windows(2).map(|edge| panel(edge[0], edge[1])).sum()
    }
}

fn uniform_box(kernel: &Kernel, lower: &[f64], upper: &[f64]) -> ClosedForm {
    ClosedForm::uniform_box(kernel.clone(), UniformBox::new(lower, upper).unwrap()).unwrap()
}

pub(super) fn normals(kernel: &Kernel, means: &[f64], sds: &[f64]) -> ClosedForm {
    ClosedForm::normals(kernel.clone(), IndependentNormals::new(means, sds).unwrap()).unwrap()
}

pub(super) fn kernel(text: &str) -> Kernel {
    text.parse().unwrap()
}

pub(super) fn value(mu: &ClosedForm, x: &[f64]) -> f64 {
    let mut out = [f64::NAN];
    mu.values_into(&Points::from_rows(x, x.len()).unwrap(), &mut out);
    out[0]
}

pub(super) fn gradient(mu: &ClosedForm, x: &[f64]) -> Vec<f64> {
    let mut gradient = vec![f64::NAN; x.len()];
    let with_gradient = mu.gradient_into(x, &mut gradient);
    let alone = value(mu, x);
    assert!((with_gradient - alone).abs() <= 1e-15 * alone, "{with_gradient} {alone}");
    gradient
}

/// Every kernel with a closed form on the line, at bandwidths far below and far above the scale of the targets.
fn line_kernels() -> Vec<Kernel> {
    let mut kernels = vec![kernel("gaussian(0.2,1,7)")];
    for name in ["gaussian", "laplace", "matern12", "matern32", "matern52"] {
        kernels.extend([1e-3, 0.05, 0.3, 1.0, 4.0, 1e3].map(|b| format!("{name}({b})").parse().unwrap()));
    }
    kernels
}

const LINES: [Line; 5] = [
    Line::Box(-0.5, 1.0),
    Line::Box(2.0, 2.001),
    Line::Normal(0.3, 0.7),
    Line::Normal(-1.0, 2e-3),
    Line::Normal(0.0, 12.0),
];

#[test]
fn values_and_slopes_on_the_line_agree_with_quadrature() {
    let (mut worst, mut worst_slope) = (0f64, 0f64);
    for kernel in line_kernels() {
        let shortest = kernel.bandwidths().iter().fold(f64::INFINITY, |a, &b| a.min(b));
        for line in LINES {
            let mu = line.embed(&kernel);
            for x in [-20.0, -1.001, -0.5, 0.0, 0.31, 1.0, 2.0003, 5.0, 40.0] {
                let features: Vec<(f64, f64)> = kernel.bandwidths().iter().map(|&b| (x, b)).collect();
                let expected = line.integrate(&features, |y| kernel.value(&[x], &[y]));
                let got = value(&mu, &[x]);
                let error = (got - expected).abs() / expected.max(1e-200);
                worst = worst.max(error);
                assert!(error < 2e-12, "{kernel} {line:?} {x}: {got:e} {expected:e} {error:e}");

                let expected = line.integrate(&features, |y| {
                    let mut slope = [0.0];
                    kernel.add_gradient(&[x], &[y], 1.0, &mut slope);
                    slope[0]
                });
                // Slopes of opposite sign cancel, so the error is measured against the mean size of the slope.
                let size = line.integrate(&features, |y| {
                    let mut slope = [0.0];
                    kernel.add_gradient(&[x], &[y], 1.0, &mut slope);
                    slope[0].abs()
                });
                let got = gradient(&mu, &[x])[0];
                let error = (got - expected).abs() / size.max(1e-200 / shortest);
                worst_slope = worst_slope.max(error);
                assert!(error < 2e-12, "{kernel} {line:?} slope at {x}: {got:e} {expected:e} {error:e}");
            }
        }
    }
    println!("largest relative error: {worst:e}, of the slope {worst_slope:e}");
}

#[test]
fn slopes_agree_with_central_differences() {
    for kernel in [
        "gaussian(0.8)",
        "gaussian(0.2,1,7)",
        "laplace(0.6)",
        "matern12(0.6)",
        "matern32(0.9)",
        "matern52(1.1)",
    ]
    .map(kernel)
    {
        for line in [Line::Box(-0.5, 1.0), Line::Normal(0.3, 0.7)] {
            let mu = line.embed(&kernel);
            for x in [-2.0, -0.2, 0.24, 0.9, 3.0] {
                let h = 1e-5;
                let difference = (value(&mu, &[x + h]) - value(&mu, &[x - h])) / (2.0 * h);
                assert!((gradient(&mu, &[x])[0] - difference).abs() < 1e-9, "{kernel} {line:?} {x}");
            }
        }
    }
}

#[test]
fn norms_and_inner_products_on_the_line_agree_with_quadrature() {
    let lines = [
        Line::Box(-0.5, 1.0),
        Line::Box(-0.25, 0.3),
        Line::Box(0.9, 4.0),
        Line::Box(2.0, 2.001),
        Line::Normal(0.3, 0.7),
        Line::Normal(-1.0, 2e-3),
        Line::Normal(5.0, 12.0),
    ];
    let mut worst = 0f64;
    for kernel in line_kernels() {
        for p in lines {
            for q in lines {
                let (mu, nu) = (p.embed(&kernel), q.embed(&kernel));
                let mut features = Vec::new();
                for place in match q {
                    Line::Box(a, b) => vec![(a, b - a), (b, b - a)],
                    Line::Normal(mean, sd) => vec![(mean, sd)],
                } {
                    features.push(place);
                    features.extend(kernel.bandwidths().iter().map(|&b| (place.0, b)));
                }
                let expected = p.integrate(&features, |x| nu.gradient_into(&[x], &mut [0.0]));
                let got = mu.inner_product(&nu).unwrap();
                let error = (got - expected).abs();
                worst = worst.max(error / expected.max(1e-30));
                assert!(error <= 1e-13 * expected + 1e-42, "{kernel} {p:?} {q:?}: {got:e} {expected:e}");
            }
            let mu = p.embed(&kernel);
            let norm = mu.squared_norm().unwrap();
            assert_eq!(norm, mu.inner_product(&mu).unwrap());
            assert!(norm > 0.0 && norm <= 1.0 + 1e-15, "{kernel} {p:?}: {norm}");
        }
    }
    println!("largest relative error: {worst:e}");
}

#[test]
fn independent_coordinates_multiply() {
    for text in ["gaussian(0.8)", "laplace(0.6)"] {
        let kernel = kernel(text);
        let joint = uniform_box(&kernel, &[-0.5, 2.0, 0.0], &[1.0, 2.1, 3.0]);
        let lines = [(-0.5, 1.0), (2.0, 2.1), (0.0, 3.0)].map(|(a, b)| Line::Box(a, b).embed(&kernel));
        check_product(&joint, &lines, &[0.1, 3.0, 2.9]);
        let joint = normals(&kernel, &[-0.5, 2.0, 0.0], &[1.0, 0.1, 3.0]);
        let lines = [(-0.5, 1.0), (2.0, 0.1), (0.0, 3.0)].map(|(m, s)| Line::Normal(m, s).embed(&kernel));
        check_product(&joint, &lines, &[0.1, 3.0, 2.9]);
        let other = uniform_box(&kernel, &[-0.5, 2.0, 0.0], &[1.0, 2.1, 3.0]);
        let others = [(-0.5, 1.0), (2.0, 2.1), (0.0, 3.0)].map(|(a, b)| Line::Box(a, b).embed(&kernel));
        let expected: f64 = lines.iter().zip(&others).map(|(p, q)| p.inner_product(q).unwrap()).product();
        assert!((joint.inner_product(&other).unwrap() - expected).abs() < 1e-15);
        assert!((other.inner_product(&joint).unwrap() - expected).abs() < 1e-15);
    }
}

#[track_caller]
fn check_product(joint: &ClosedForm, lines: &[ClosedForm], x: &[f64]) {
    let factors: Vec<f64> = lines.iter().zip(x).map(|(mu, &x)| value(mu, &[x])).collect();
    let product: f64 = factors.iter().product();
    assert!((value(joint, x) - product).abs() < 1e-15);
    let got = gradient(joint, x);
    for i in 0..x.len() {
        let expected = product / factors[i] * gradient(&lines[i], &[x[i]])[0];
        assert!((got[i] - expected).abs() < 1e-14, "{i}: {} {expected}", got[i]);
    }
    let norms: f64 = lines.iter().map(|mu| mu.squared_norm().unwrap()).product();
    assert!((joint.squared_norm().unwrap() - norms).abs() < 1e-15);
}

#[test]
fn several_bandwidths_are_the_mean_of_each() {
    let bandwidths = [0.3, 1.0, 4.0];
    let all = Kernel::gaussians(&bandwidths).unwrap();
    let mixture = GaussianMixture::random(4, 2, 1).unwrap();
    let targets: [&dyn Fn(&Kernel) -> ClosedForm; 3] = [
        &|kernel| uniform_box(kernel, &[-0.5, 2.0], &[1.0, 2.1]),
        &|kernel| normals(kernel, &[-0.5, 2.0], &[1.0, 0.1]),
        &|kernel| ClosedForm::mixture(kernel.clone(), mixture.clone()).unwrap(),
    ];
    for target in targets {
        let x = [0.4, 1.7];
        let one = bandwidths.map(|b| target(&Kernel::gaussian(b).unwrap()));
        let mean = |f: &dyn Fn(&ClosedForm) -> f64| one.iter().map(f).sum::<f64>() / 3.0;
        let mu = target(&all);
        assert!((value(&mu, &x) - mean(&|mu| value(mu, &x))).abs() < 1e-15);
        assert!((mu.squared_norm().unwrap() - mean(&|mu| mu.squared_norm().unwrap())).abs() < 1e-15);
        for i in 0..2 {
            assert!((gradient(&mu, &x)[i] - mean(&|mu| gradient(mu, &x)[i])).abs() < 1e-15);
        }
    }
}

#[test]
fn the_gradient_of_a_product_survives_factors_that_are_zero() {
    for text in ["gaussian(0.01)", "laplace(0.001)", "gaussian(0.01,0.02)"] {
        let kernel = kernel(text);
        for mu in [uniform_box(&kernel, &[0.0; 3], &[1.0; 3]), normals(&kernel, &[0.5; 3], &[0.01; 3])] {
            // The second factor is exactly zero, and so is its derivative; then two of them.
            for x in [[0.5, 1e6, 0.1], [1e6, 0.5, -1e6]] {
                assert_eq!(value(&mu, &x), 0.0);
                assert_eq!(gradient(&mu, &x), [0.0; 3]);
            }
        }
    }
    // A zero factor with a slope: there is none for these kernels, but the other coordinates must not be spoilt by a
    // factor near the smallest float either.
    let mu = normals(&kernel("gaussian(1)"), &[0.0, 0.0], &[1.0, 1.0]);
    let got = gradient(&mu, &[52.5, 1.0]);
    assert!(got[0] < 0.0 && got[1] < 0.0 && got[0] / got[1] > 52.0 && got[0] / got[1] < 53.0, "{got:?}");
}

#[test]
fn extreme_scales_and_places_give_finite_numbers() {
    for text in ["gaussian", "laplace", "matern12", "matern32", "matern52"] {
        for bandwidth in [1e-150, 1e-10, 1.0, 1e10, 1e150] {
            let kernel: Kernel = format!("{text}({bandwidth})").parse().unwrap();
            let lines = [
                Line::Box(-1e307, 1e307),
                Line::Box(0.0, 1e-300),
                Line::Box(1e300, 1.1e300),
                Line::Normal(0.0, 1e-308),
                Line::Normal(1e300, 1e300),
                Line::Normal(-1e308, 1.0),
            ];
            for p in lines {
                let mu = p.embed(&kernel);
                for x in [-f64::MAX, -1e20, 0.0, 1e-300, 1.0, 1e300, f64::MAX] {
                    let (value, slope) = (value(&mu, &[x]), gradient(&mu, &[x])[0]);
                    assert!((0.0..=1.0 + 1e-15).contains(&value), "{kernel} {p:?} {x}: {value}");
                    assert!(slope.is_finite(), "{kernel} {p:?} {x}: {slope}");
                }
                for q in lines {
                    let product = mu.inner_product(&q.embed(&kernel)).unwrap();
                    assert!((-1e-15..=1.0 + 1e-15).contains(&product), "{kernel} {p:?} {q:?}: {product}");
                }
            }
        }
    }
    // A target that is all but a point has the kernel itself as its embedding; one far wider than the kernel has the
    // mass of the kernel, 2ℓ for laplace, times its density.
    let laplace = kernel("laplace(1)");
    for point in [Line::Box(0.0, 1e-300), Line::Normal(0.0, 1e-300)] {
        assert!((value(&point.embed(&laplace), &[0.7]) - (-0.7f64).exp()).abs() < 1e-15);
        assert!((point.embed(&laplace).squared_norm().unwrap() - 1.0).abs() < 1e-15);
    }
    let wide = Line::Normal(0.0, 1e9).embed(&laplace);
    assert!((value(&wide, &[0.0]) / (2e-9 / (2.0 * std::f64::consts::PI).sqrt()) - 1.0).abs() < 1e-14);
}

/// On the line −|x − y| is known for both densities and all their pairs; it has no length of its own.
#[test]
fn the_energy_kernel_on_the_line_agrees_with_quadrature() {
    let energy = Kernel::energy();
    let lines = [Line::Box(-0.5, 2.0), Line::Normal(0.7, 1.3), Line::Normal(-2.0, 0.2), Line::Box(3.0, 3.1)];
    for line in lines {
        let mu = line.embed(&energy);
        for x in [-7.0, -0.5, 0.1, 0.7, 2.5, 3.05, 40.0] {
            let want = line.integrate(&[(x, 0.1)], |y| -(x - y).abs());
            assert!((value(&mu, &[x]) - want).abs() < 1e-12 * want.abs(), "{line:?} {x}: {want}");
            let (h, mut slope) = (1e-5, [f64::NAN]);
            assert_eq!(mu.gradient_into(&[x], &mut slope), value(&mu, &[x]));
            let difference = (value(&mu, &[x + h]) - value(&mu, &[x - h])) / (2.0 * h);
            // At the ends of a box the slope has a kink.
            assert!((slope[0] - difference).abs() < 1e-4, "{line:?} {x}: {slope:?} {difference}");
        }
        for other in lines {
            let nu = other.embed(&energy);
            let features: Vec<(f64, f64)> = match line {
                Line::Box(a, b) => vec![(a, 0.1), (b, 0.1)],
                Line::Normal(mean, sd) => vec![(mean, sd)],
            };
            let want = other.integrate(&features, |y| value(&mu, &[y]));
            let got = mu.inner_product(&nu).unwrap();
            assert!((got - want).abs() < 1e-11 * want.abs(), "{line:?} {other:?}: {got} {want}");
        }
    }
    let normal = Line::Normal(0.7, 1.3).embed(&energy);
    assert!((normal.squared_norm + 2.6 / std::f64::consts::PI.sqrt()).abs() < 1e-14);
    assert!((normal.single_draw().unwrap() + normal.squared_norm).abs() < 1e-15);
    assert!((Line::Box(-0.5, 2.0).embed(&energy).squared_norm + 2.5 / 3.0).abs() < 1e-14);
    let plane = UniformBox::new(&[0.0; 2], &[1.0; 2]).unwrap();
    assert!(matches!(ClosedForm::uniform_box(energy, plane), Err(Error::NoClosedForm { .. })));
}

#[test]
fn pairs_without_a_closed_form_are_refused_with_advice() {
    let square = || UniformBox::new(&[0.0, 0.0], &[1.0, 1.0]).unwrap();
    let pair = || IndependentNormals::new(&[0.0, 0.0], &[1.0, 1.0]).unwrap();
    for text in ["matern12(1)", "matern32(1)", "matern52(1)", "imq(1)", "linear"] {
        for error in [
            ClosedForm::uniform_box(kernel(text), square()).unwrap_err(),
            ClosedForm::normals(kernel(text), pair()).unwrap_err(),
            ClosedForm::mixture(kernel(text), planar()).unwrap_err(),
        ] {
            assert!(matches!(&error, Error::NoClosedForm { dim: 2, .. }), "{error}");
            assert!(error.to_string().contains("use Empirical"), "{error}");
        }
    }
    assert!(ClosedForm::mixture(kernel("laplace(1)"), planar()).is_err());

    let gaussian = kernel("gaussian(1)");
    let square = uniform_box(&gaussian, &[0.0, 0.0], &[1.0, 1.0]);
    let mixture = ClosedForm::mixture(gaussian.clone(), planar()).unwrap();
    assert!(matches!(mixture.inner_product(&square), Err(Error::NoClosedForm { .. })));
    assert!(matches!(square.inner_product(&mixture), Err(Error::NoClosedForm { .. })));
    let line = uniform_box(&gaussian, &[0.0], &[1.0]);
    assert!(matches!(
        square.inner_product(&line),
        Err(Error::DimensionMismatch { found: 2, expected: 1, .. })
    ));
    let wider = uniform_box(&kernel("gaussian(2)"), &[0.0, 0.0], &[1.0, 1.0]);
    assert!(matches!(square.inner_product(&wider), Err(Error::KernelMismatch { .. })));
}

#[test]
fn a_closed_form_says_what_it_is() {
    let mu = uniform_box(&kernel("gaussian(1)"), &[0.0, 0.0], &[1.0, 1.0]);
    assert!(as_density(&mu).is_some() && as_samples(&mu).is_none());
    assert_eq!((mu.dim(), mu.mean_diagonal()), (2, Some(1.0)));
}
