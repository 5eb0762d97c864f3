//! Visits to the positions of a set of chosen points.

use supersample_gpu::{Device, Noise, Outcome, Part, Points, Set, Visit};
use supersample_sum::{Precision, Rows, Shape};

use crate::{argmax, device, part, random};

/// Kernel rows of points with a part, as the device makes them: the row of the kernel, and the part's times its factor added.
fn summed_row(points: &Points, parts: &[Part], i: usize) -> Vec<f64> {
    let mut row = points.kernel_row(i).unwrap();
    for Part { views, factor } in parts {
        for (sum, value) in row.iter_mut().zip(views.kernel_row(i).unwrap()) {
            *sum = match points.precision() {
                Precision::Mixed => f64::from((*factor as f32).mul_add(value as f32, *sum as f32)),
                _ => factor.mul_add(value, *sum),
            };
        }
    }
    row
}

/// The plain loop, on kernel rows of the device.
struct Plain<'a> {
    points: &'a Points,
    parts: &'a [Part],
    closed: &'a [usize],
    repeats: bool,
    numbers: &'a [f32],
    chosen: Vec<usize>,
    rows: Vec<Vec<f64>>,
    sums: Vec<f64>,
}

impl Plain<'_> {
    fn begin(&mut self) {
        self.rows = self.chosen.iter().map(|&i| summed_row(self.points, self.parts, i)).collect();
        for row in &self.rows {
            self.sums.iter_mut().zip(row).for_each(|(sum, k)| *sum -= k);
        }
    }

    fn visit(&mut self, Visit { position, noise, threshold, rival }: Visit) -> Option<Outcome> {
        let here = self.chosen[position];
        let is_open =
            |i: usize| i != here && !self.closed.contains(&i) && (self.repeats || !self.chosen.contains(&i));
        let fit = |i: usize| self.sums[i] + self.rows[position][i];
        let is_better = |rival: usize| is_open(rival) && fit(rival) - fit(here) > threshold;
        if !rival.is_none_or(is_better) {
            return None;
        }
        let score = |i: usize| match noise {
            Some((first, scale)) => fit(i) + scale * f64::from(self.numbers[first + i]),
            None => fit(i),
        };
        let scores = |i: usize| if is_open(i) { score(i) } else { f64::NEG_INFINITY };
        let (best, highest) = argmax(self.sums.len(), scores).unwrap();
        let taken = highest > fit(here) + threshold;
        let outcome = Outcome { best: Some(best), here, fit: fit(best), fit_here: fit(here), taken };
        if taken {
            let coming = summed_row(self.points, self.parts, best);
            let going = std::mem::replace(&mut self.rows[position], coming);
            let changes = going.iter().zip(&self.rows[position]).map(|(going, coming)| going - coming);
            self.sums.iter_mut().zip(changes).for_each(|(sum, change)| *sum += change);
            self.chosen[position] = best;
        }
        Some(outcome)
    }
}

/// Visits of all kinds to `size` positions: with noise and without, some only where a rival is better, the last ones all to one
/// position.
fn some_visits(n: usize, size: usize) -> Vec<Visit> {
    let visit = |step: usize| Visit {
        position: if step < 60 { step * 3 % size } else { size - 1 },
        noise: (!step.is_multiple_of(3)).then_some((step * 11 % (2 * n), 0.5 / (1.0 + step as f64))),
        threshold: 1e-3 * (step % 5) as f64,
        rival: (step % 4 == 1).then_some(step * 13 % n),
    };
    (0..70).map(visit).collect()
}

#[test]
fn visits_agree_with_a_plain_loop_with_parts_and_without() {
    let Some(device) = device() else { return };
    for (n, dim, precision) in [
        (40, 2, Precision::Double),
        (3000, 5, Precision::Mixed),
        (3000, 5, Precision::Double),
        (20_011, 57, Precision::Mixed),
        (150_000, 3, Precision::Double),
    ] {
        let (values, views) = (random(n, dim, 21), random(n, 3, 22));
        let (start, numbers) = (random(n, 1, 23), random(3 * n, 1, 24));
        let numbers: Vec<f32> = numbers.iter().map(|&x| x as f32).collect();
        let noise = Noise::new(&device, &numbers).unwrap();
        let points =
            Points::new(&device, Shape::Gaussian { length: 0.8 }, Rows::new(&values, dim), precision)
                .unwrap();
        let part = |shape, factor| part(&device, shape, Rows::new(&views, 3), precision, factor);
        let manhattan = part(Shape::Manhattan { length: 6.0 }, 0.3);
        let both = vec![manhattan.clone(), part(Shape::Linear, 0.7)];
        for (parts, repeats) in [(Vec::new(), false), (vec![manhattan], false), (both, true)] {
            let what = format!("{n}×{dim} {precision:?} {} parts, repeats {repeats}", parts.len());
            let first: Vec<usize> = (0..7).map(|t| t * 5).collect();
            let closed = [1, n - 1];
            let mut set = Set::new(points.clone(), parts.clone(), &start, &first, &closed, repeats).unwrap();
            let mut plain = Plain {
                points: &points,
                parts: &parts,
                closed: &closed,
                repeats,
                numbers: &numbers,
                chosen: first.clone(),
                rows: Vec::new(),
                sums: start.clone(),
            };
            plain.begin();
            let visits = some_visits(n, 7);
            let want: Vec<Option<Outcome>> = visits.iter().map(|&visit| plain.visit(visit)).collect();
            for taken in [Some(true), Some(false), None] {
                assert!(want.iter().any(|outcome| outcome.map(|o| o.taken) == taken), "{what}: {taken:?}");
            }
            // Some at once, and some one by one.
            let mut got = set.visit(&visits[..45], Some(&noise)).unwrap();
            for visit in &visits[45..] {
                got.extend(set.visit(&[*visit], Some(&noise)).unwrap());
            }
            assert_eq!(got, want, "{what}");
            assert_eq!(set.chosen(), plain.chosen, "{what}");
            assert!(set.sums().unwrap() == plain.sums, "{what}");
            // Put back where they were; a row may only have moved to another position.
            set.put(&first.iter().copied().enumerate().collect::<Vec<_>>()).unwrap();
            let afresh = Set::new(points.clone(), parts.clone(), &start, &first, &closed, repeats).unwrap();
            let (back, afresh) = (set.sums().unwrap(), afresh.sums().unwrap());
            assert!(back.iter().zip(&afresh).all(|(a, b)| (a - b).abs() < 1e-11), "{what}");
        }
    }
}

#[test]
fn all_at_once_and_one_by_one_are_the_same_visits_run_after_run() {
    let Some(device) = device() else { return };
    let (n, dim) = (100_000, 5);
    let (values, start) = (random(n, dim, 51), random(n, 1, 52));
    let shape = Shape::Matern52 { length: 0.9 };
    let points = Points::new(&device, shape, Rows::new(&values, dim), Precision::Mixed).unwrap();
    let chosen: Vec<usize> = (0..300).collect();
    let visits: Vec<Visit> = (0..600)
        .map(|i| Visit {
            position: i * 7 % 300,
            noise: None,
            threshold: 0.0,
            rival: (i % 5 == 2).then_some(i * 31),
        })
        .collect();
    let run = |at_once: usize| {
        let mut set = Set::new(points.clone(), Vec::new(), &start, &chosen, &[], false).unwrap();
        let outcomes: Vec<_> =
            visits.chunks(at_once).flat_map(|visits| set.visit(visits, None).unwrap()).collect();
        (outcomes, set.chosen().to_vec(), set.sums().unwrap())
    };
    let first = run(visits.len());
    for at_once in [visits.len(), 1, visits.len(), 64] {
        assert!(run(at_once) == first, "{at_once}");
    }
}

#[test]
fn rows_that_do_not_fit_are_made_again_at_each_visit() {
    let Some(_) = device() else { return };
    let (n, dim) = (20_000, 3);
    let (values, views, start) = (random(n, dim, 31), random(n, 2, 33), random(n, 1, 32));
    let visit = |i: usize| Visit {
        position: i % 10,
        noise: None,
        threshold: 0.0,
        rival: (i % 3 == 1).then_some(i * 17),
    };
    let visits: Vec<Visit> = (0..60).map(visit).collect();
    let run = |device: Device| {
        let shape = Shape::Matern32 { length: 0.7 };
        let points = Points::new(&device, shape, Rows::new(&values, dim), Precision::Mixed).unwrap();
        let shape = Shape::Manhattan { length: 4.0 };
        let parts = vec![part(&device, shape, Rows::new(&views, 2), Precision::Mixed, 0.3)];
        let chosen: Vec<usize> = (0..10).collect();
        let mut set = Set::new(points, parts, &start, &chosen, &[], false).unwrap();
        (set.visit(&visits, None).unwrap(), set.chosen().to_vec())
    };
    let (outcomes, chosen) = run(Device::open().unwrap());
    assert!(outcomes.iter().any(Option::is_none) && outcomes.iter().flatten().any(|outcome| outcome.taken));
    assert!(run(Device::open_with_memory(600_000).unwrap()) == (outcomes, chosen));
}

#[test]
fn a_point_of_very_many_coordinates_is_read_where_it_is() {
    let Some(device) = device() else { return };
    let (n, dim) = (300, 11_000);
    let (values, start) = (random(n, dim, 61), random(n, 1, 62));
    let rows = Rows::new(&values, dim);
    let points = Points::new(&device, Shape::Gaussian { length: 2.0 }, rows, Precision::Mixed).unwrap();
    let chosen = [3, 5];
    let mut set = Set::new(points.clone(), Vec::new(), &start, &chosen, &[], false).unwrap();
    let closed = [];
    let mut plain = Plain {
        points: &points,
        parts: &[],
        closed: &closed,
        repeats: false,
        numbers: &[],
        chosen: chosen.to_vec(),
        rows: Vec::new(),
        sums: start.clone(),
    };
    plain.begin();
    let visits =
        [0, 1, 0, 1].map(|position| Visit { position, noise: None, threshold: 0.0, rival: None }).to_vec();
    let want: Vec<Option<Outcome>> = visits.iter().map(|&visit| plain.visit(visit)).collect();
    assert_eq!(set.visit(&visits, None).unwrap(), want);
    // The rows of the device are right too.
    let row = crate::scalar::row(&Shape::Gaussian { length: 2.0 }, rows, rows.row(3));
    crate::assert_close(&points.kernel_row(3).unwrap(), &row, 2e-6, "11,000 coordinates");
}
