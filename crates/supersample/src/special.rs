//! The integrals behind the closed forms, each computed so that nothing cancels.

use std::f64::consts::{FRAC_1_SQRT_2, PI};

/// 1/√(2π)
const FRAC_1_SQRT_2PI: f64 = 0.398_942_280_401_432_7;

/// Nodes (as offsets from 1/2) and weights of the Gauss–Legendre rule of eight points on [0, 1].
const GAUSS_LEGENDRE: [(f64, f64); 4] = [
    (0.091_717_321_247_824_9, 0.181_341_891_689_181),
    (0.262_766_204_958_164_5, 0.156_853_322_938_943_64),
    (0.398_333_238_706_813_37, 0.111_190_517_226_687_24),
    (0.480_144_928_248_768_1, 0.050_614_268_145_188_13),
];

/// ∫₀¹ f(w) dw by eight points: exact for polynomials of degree 15.
pub(crate) fn gauss_legendre(f: impl Fn(f64) -> f64) -> f64 {
    GAUSS_LEGENDRE.iter().map(|(offset, weight)| weight * (f(0.5 - offset) + f(0.5 + offset))).sum()
}

/// ∫₀¹ wʲ·e^(−δw) dw for j = 0, 1, 2, 3 and δ ≥ 0. Relative error below 1e-14.
pub(crate) fn exponential_moments(delta: f64) -> [f64; 4] {
    let end = (-delta).exp();
    let mut moments = [0.0; 4];
    if delta < 2.0 {
        // The recursion (j+1)·Eⱼ = δ·Eⱼ₊₁ + e^(−δ) (integration by parts) is stable downwards, where all terms are
        // positive. It starts from E₃ = e^(−δ) Σₙ δⁿ/(4·5⋯(4+n)).
        let (mut term, mut sum, mut next) = (0.25, 0.25, 5.0);
        while term > 1e-17 * sum {
            term *= delta / next;
            sum += term;
            next += 1.0;
        }
        moments[3] = end * sum;
        for j in (0..3).rev() {
            moments[j] = (delta * moments[j + 1] + end) / (j + 1) as f64;
        }
    } else {
        moments[0] = (1.0 - end) / delta;
        for j in 1..4 {
            moments[j] = (j as f64 * moments[j - 1] - end) / delta;
        }
    }
    moments
}

/// ∫₀¹ wʲ·e^(−(a+δw)²) dw for j = 0, 1 and a, δ ≥ 0. Relative error below 1e-14 for j = 0; for j = 1 up to 2a² times
/// that, relative to a number of the size of e^(−a²).
pub(crate) fn gaussian_moments(a: f64, delta: f64) -> [f64; 2] {
    // Where the exponent changes by less than 1/2 the differences below would cancel, and eight points are exact to
    // rounding.
    if delta * (2.0 * a + delta) < 0.5 {
        let integrand = |w: f64| (-(a + delta * w).powi(2)).exp();
        return [gauss_legendre(integrand), gauss_legendre(|w| w * integrand(w))];
    }
    let b = a + delta;
    let zeroth = 0.5 * PI.sqrt() * (libm::erfc(a) - libm::erfc(b)) / delta;
    // ∫ (a+δw)·e^(−(a+δw)²) dw = (e^(−a²) − e^(−b²))/(2δ), less the part of a.
    let first = (0.5 * ((-a * a).exp() - (-b * b).exp()) / delta - a * zeroth) / delta;
    [zeroth, first]
}

/// E[Dʲ·e^(−D); D > 0] for j = 0, 1, 2, with D ~ N(u, t²), t > 0. Relative error below 1e-13 where the result is above
/// 1e-100; beyond, the relative error of exp itself at an argument of hundreds.
pub(crate) fn half_normal_moments(u: f64, t: f64) -> [f64; 3] {
    // The place of the origin in the tilted normal N(u−t², t²), in standard deviations.
    let x = t - u / t;
    let tail = FRAC_1_SQRT_2PI * (-0.5 * (u / t) * (u / t)).exp();
    if x < 2.0 {
        // e^(t²/2−u)·E[Dʲ; D > 0] under the tilted normal: J₀ = Φ(−x), J₁ = (u−t²)J₀ + tφ, J₂ = (u−t²)J₁ + t²J₀. The
        // exponent is at most 2 here, and e^(t²/2−u)·φ(x) = φ(u/t).
        let shift = u - t * t;
        let zeroth = (0.5 * t * t - u).exp() * 0.5 * libm::erfc(x * FRAC_1_SQRT_2);
        let first = shift * zeroth + t * tail;
        return [zeroth, first, shift * first + t * t * zeroth];
    }
    // In the tail the Jⱼ cancel. There the result is φ(u/t)·tʲ·Fⱼ with Fⱼ(x) = ∫₀^∞ wʲ·e^(−xw−w²/2) dw, and since
    // j·Fⱼ₋₁ = x·Fⱼ + Fⱼ₊₁ the ratios rⱼ = Fⱼ/Fⱼ₋₁ are the continued fraction rⱼ = j/(x + rⱼ₊₁), all terms positive.
    // Started from its fixed point, this number of terms reaches 1e-16 for every x ≥ 2 (79 at 2, 19 at 10).
    let terms = (4.0 + 150.0 / x).ceil();
    let mut ratio = 0.5 * ((x * x + 4.0 * (terms + 1.0)).sqrt() - x).max(0.0);
    let mut j = terms;
    while j > 2.0 {
        ratio = j / (x + ratio);
        j -= 1.0;
    }
    let second = 2.0 / (x + ratio);
    let first = 1.0 / (x + second);
    // F₁ = 1 − x·F₀, so F₀ = 1/(x + r₁).
    let zeroth = tail / (x + first);
    [zeroth, zeroth * (t * first), zeroth * (t * first) * (t * second)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_close(got: &[f64], expected: &[f64], tolerance: f64) {
        for (a, b) in got.iter().zip(expected) {
            assert!((a - b).abs() <= tolerance * b.abs(), "{got:?} {expected:?}: {:e}", (a / b - 1.0).abs());
        }
    }

    #[test]
    fn eight_points_are_exact_for_degree_fifteen() {
        for degree in 0..16 {
            assert_close(&[gauss_legendre(|w| w.powi(degree))], &[1.0 / (f64::from(degree) + 1.0)], 1e-15);
        }
    }

    // The expected numbers below are from mpmath, with enough digits for every cancellation.

    #[test]
    fn exponential_moments_agree_with_mpmath() {
        for (delta, expected) in [
            (0.0, [1.0, 0.5, 1.0 / 3.0, 0.25]),
            (1e-9, [0.9999999995, 0.4999999996666667, 0.33333333308333335, 0.2499999998]),
            (0.1, [0.9516258196404043, 0.46788401604444696, 0.3093061405293433, 0.23081003552070348]),
            (1.0, [0.6321205588285577, 0.2642411176571154, 0.16060279414278839, 0.11392894125692285]),
            (1.999, [0.4324808973436456, 0.1485793952644288, 0.08088449440660586, 0.05361820760868693]),
            (2.001, [0.43218390025064096, 0.14841773345935708, 0.08077733699162754, 0.05353922807417048]),
            (10.0, [0.09999546000702375, 0.009995006007726126, 0.0019944612085689766, 0.0005937983695944445]),
            (100.0, [0.01, 0.0001, 2.0e-6, 6.0e-8]),
        ] {
            assert_close(&exponential_moments(delta), &expected, 2e-15);
        }
    }

    #[test]
    fn gaussian_moments_agree_with_mpmath() {
        for (a, delta, expected) in [
            (0.0, 0.0, [1.0, 0.5]),
            (0.0, 1e-7, [0.9999999999999967, 0.4999999999999975]),
            (0.0, 0.5, [0.9225620128255849, 0.44239843385719024]),
            (0.0, 3.0, [0.2954024494198404, 0.05554869945532852]),
            (0.3, 0.2, [0.8502156187791344, 0.4138065993290898]),
            (0.3, 2.0, [0.2969879644573338, 0.06906298345784209]),
            (5.0, 0.01, [1.3215696413763131e-11, 6.497626413080694e-12]),
            (5.0, 0.06, [1.0432774604852987e-11, 4.694901634365998e-12]),
            (5.0, 10.0, [1.3625382666231866e-13, 1.3128059936607679e-15]),
            (2.0, 1e-12, [0.018315638888697548, 0.00915781944434267]),
            (0.0, 50.0, [0.01772453850905516, 0.0002]),
            (10.0, 1.0, [1.8508739289272052e-45, 9.164057672827844e-47]),
        ] {
            let got = gaussian_moments(a, delta);
            assert_close(&got[..1], &expected[..1], 1e-14);
            assert_close(&got[1..], &expected[1..], 1e-14 * (1.0 + 2.0 * a * a));
        }
    }

    #[test]
    fn half_normal_moments_agree_with_mpmath() {
        for (u, t, expected) in [
            (0.0, 1.0, [0.2615782918651234, 0.13736398853630932, 0.12421430332881407]),
            (0.5, 0.1, [0.6095706152001246, 0.29868975012001253, 0.1524536837108074]),
            (-0.5, 0.3, [0.04244403696797003, 0.004801159826722285, 0.0009872790293511539]),
            (3.0, 0.01, [0.04978955778351721, 0.14936369439477326, 0.4480811257706587]),
            (2.0, 2.0, [0.15865525393145705, 0.1666309411753726, 0.301359133375083]),
            (-1.0, 3.0, [0.10498760198786439, 0.08227366320033562, 0.12215178588742334]),
            (100.0, 30.0, [5.7754471968549884e-05, 6.479231389327805e-05, 0.00014517365707244966]),
            (0.0, 40.0, [0.00996733518830131, 0.009954914775211144, 0.01987266094426552]),
            (5.0, 0.001, [0.006737950368059809, 0.03368974510234868, 0.16844869855994865]),
            (-4.0, 0.5, [5.864780521622949e-16, 3.3603820078692576e-17, 3.8032777061302996e-18]),
            (300.0, 20.0, [1.0663656260363991e-50, 3.9776283932484125e-50, 2.878341108971839e-49]),
            (0.001, 0.01, [0.5353475707408599, 0.0044513382884368916, 5.754096153367919e-05]),
            (700.0, 26.0, [5.0150821848952555e-158, 1.616910865960356e-156, 7.270781635294047e-155]),
        ] {
            assert_close(&half_normal_moments(u, t), &expected, 2e-14);
        }
    }

    #[test]
    fn the_two_branches_of_the_half_normal_moments_meet() {
        for t in [1e-3, 0.1, 1.0, 5.0, 30.0] {
            // x = t − u/t = 2 is where the branches meet.
            let edge = t * (t - 2.0);
            let (below, above) = (half_normal_moments(edge * (1.0 + 1e-14), t), half_normal_moments(edge, t));
            assert_close(&below, &above, 1e-11);
        }
    }

    #[test]
    fn extreme_arguments_give_finite_numbers() {
        for u in [-1e300, -1e10, -1.0, 0.0, 1e-300, 1.0, 1e10, 1e300] {
            for t in [f64::MIN_POSITIVE, 1e-20, 1.0, 1e20, 1e300] {
                let moments = half_normal_moments(u, t);
                assert!(moments.iter().all(|m| *m >= 0.0 && m.is_finite()), "{u} {t}: {moments:?}");
            }
        }
        for delta in [0.0, f64::MIN_POSITIVE, 1e-20, 1e20, 1e100] {
            assert!(exponential_moments(delta).iter().all(|m| (0.0..=1.0).contains(m)), "{delta}");
            for a in [0.0, 1e-20, 1.0, 30.0, 1e20, 1e100] {
                let moments = gaussian_moments(a, delta);
                assert!(moments.iter().all(|m| (0.0..=1.0).contains(m)), "{a} {delta}: {moments:?}");
            }
        }
    }
}
