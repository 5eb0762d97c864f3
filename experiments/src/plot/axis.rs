//! Axes: a range of numbers, linear or logarithmic, its ticks, and where a number falls on it.

/// How numbers are laid out along an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Scale {
    Linear,
    Log,
}

/// An axis as asked for: the range follows the data unless given.
#[derive(Clone, Debug)]
pub(crate) struct Axis {
    pub(crate) label: String,
    pub(crate) scale: Scale,
    pub(crate) range: Option<(f64, f64)>,
}

impl Axis {
    pub(crate) fn linear(label: &str) -> Axis {
        Axis { label: label.to_owned(), scale: Scale::Linear, range: None }
    }

    pub(crate) fn log(label: &str) -> Axis {
        Axis { label: label.to_owned(), scale: Scale::Log, range: None }
    }

    pub(crate) fn range(self, from: f64, to: f64) -> Axis {
        Axis { range: Some((from, to)), ..self }
    }

    /// The range to draw for these data: as given, or the data with a little air; whole decades where they are many.
    pub(super) fn fitted(&self, data: impl Iterator<Item = f64>) -> Span {
        let scale = self.scale;
        let (from, to) = self.range.unwrap_or_else(|| {
            let usable = data.filter(|v| v.is_finite() && (scale == Scale::Linear || *v > 0.0));
            let (low, high) = usable.fold((f64::MAX, f64::MIN), |(low, high), v| (low.min(v), high.max(v)));
            match scale {
                _ if low > high => (1.0, 10.0),
                Scale::Linear => {
                    let air = if high > low { 0.04 * (high - low) } else { 1.0 };
                    (low - air, high + air)
                }
                Scale::Log => (low / 1.15, high * 1.15),
            }
        });
        Span { scale, from, to }
    }
}

/// A range that is fixed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    pub(super) scale: Scale,
    pub(super) from: f64,
    pub(super) to: f64,
}

impl Span {
    /// Where a number lies: 0 at the start of the range, 1 at its end. `None` for what has no place, such as log 0.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        let place = match self.scale {
            Scale::Linear => (value - self.from) / (self.to - self.from),
            Scale::Log => (value / self.from).ln() / (self.to / self.from).ln(),
        };
        place.is_finite().then_some(place)
    }

    /// Labelled ticks, and unlabelled ones for a faint grid.
    pub(super) fn ticks(&self) -> (Vec<(f64, String)>, Vec<f64>) {
        match self.scale {
            Scale::Linear => (self.linear_ticks(), Vec::new()),
            Scale::Log => self.log_ticks(),
        }
    }

    fn linear_ticks(&self) -> Vec<(f64, String)> {
        let rough = (self.to - self.from) / 5.0;
        let decade = 10f64.powf(rough.log10().floor());
        let step =
            [1.0, 2.0, 5.0, 10.0].map(|m| m * decade).into_iter().find(|s| *s >= rough).unwrap_or(rough);
        let digits = (-step.log10().floor()).max(0.0) as usize;
        let first = (self.from / step).ceil() as i64;
        let last = (self.to / step + 1e-9).floor() as i64;
        // Adding 0 turns −0 into 0.
        (first..=last).map(|k| k as f64 * step + 0.0).map(|v| (v, format!("{v:.digits$}"))).collect()
    }

    fn log_ticks(&self) -> (Vec<(f64, String)>, Vec<f64>) {
        let inside = |v: &f64| *v >= self.from * 0.999 && *v <= self.to * 1.001;
        let (first, last) = (self.from.log10().floor() as i32, self.to.log10().ceil() as i32);
        let times = |m: f64| (first..=last).map(move |k| m * 10f64.powi(k)).filter(inside);
        let is_short = self.to / self.from < 150.0;
        let mut labelled: Vec<(f64, String)> = (first..=last)
            .map(|k| 10f64.powi(k))
            .map(|v| (v, plain(v)))
            .filter(|(value, _)| inside(value))
            .collect();
        if is_short {
            labelled.extend([2.0, 5.0].into_iter().flat_map(times).map(|v| (v, plain(v))));
        }
        (labelled, (2..10).flat_map(|m| times(f64::from(m))).collect())
    }
}

/// A number with one digit, written plainly where that is short.
fn plain(value: f64) -> String {
    if (0.9e-5..2e6).contains(&value) {
        // The small addition keeps 0.001 from counting as 0.0009999.
        let digits = (-(value.log10() + 1e-9).floor()).max(0.0) as usize;
        format!("{value:.digits$}")
    } else {
        format!("{value:.0e}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_fall_in_their_place() {
        let log = Span { scale: Scale::Log, from: 1.0, to: 100.0 };
        assert_eq!((log.place(1.0), log.place(10.0), log.place(0.0)), (Some(0.0), Some(0.5), None));
        let linear = Span { scale: Scale::Linear, from: -1.0, to: 3.0 };
        assert_eq!((linear.place(0.0), linear.place(f64::NAN)), (Some(0.25), None));
    }

    #[test]
    fn ticks_are_round_numbers_inside_the_range() {
        let texts = |span: Span| span.ticks().0.into_iter().map(|(_, text)| text).collect::<Vec<_>>();
        let linear = Span { scale: Scale::Linear, from: -0.05, to: 1.02 };
        assert_eq!(texts(linear), ["0.0", "0.5", "1.0"]);
        let decades = Span { scale: Scale::Log, from: 9e-4, to: 1200.0 };
        assert_eq!(texts(decades), ["0.001", "0.01", "0.1", "1", "10", "100", "1000"]);
        assert_eq!(decades.ticks().1.len(), 8 * 6 + 1, "2 to 9 in each decade, and the first of the next");
        let short = Span { scale: Scale::Log, from: 0.15, to: 6.0 };
        assert_eq!(texts(short), ["1", "0.2", "2", "0.5", "5"]);
    }

    #[test]
    fn a_range_follows_the_data_or_is_kept() {
        let fitted = Axis::log("").fitted([0.0, 2.0, f64::NAN, 20.0].into_iter());
        assert!(fitted.from > 1.0 && fitted.from < 2.0 && fitted.to > 20.0 && fitted.to < 25.0);
        let given = Axis::linear("").range(0.0, 9.0).fitted([100.0].into_iter());
        assert_eq!((given.from, given.to), (0.0, 9.0));
    }
}
