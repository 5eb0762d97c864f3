//! Small figures as inline SVG: axes, lines, steps and dots, coloured by the style sheet of the page.

use std::fmt::Write;

use crate::words::printable;

/// A range of values, and how they are spread over an axis.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Axis {
    low: f64,
    high: f64,
    is_log: bool,
}

impl Axis {
    /// From `low` to `high`; a range of nothing is widened, so that there is always something to draw on.
    pub(crate) fn linear(low: f64, high: f64) -> Axis {
        if high > low && low.is_finite() && high.is_finite() {
            return Axis { low, high, is_log: false };
        }
        let middle = if low.is_finite() { low } else { 0.0 };
        let reach = if middle == 0.0 { 1.0 } else { middle.abs() * 0.5 };
        Axis { low: (middle - reach).max(f64::MIN), high: (middle + reach).min(f64::MAX), is_log: false }
    }

    /// From the top down: the low end is where the high one was.
    pub(crate) fn upside_down(self) -> Axis {
        Axis { low: self.high, high: self.low, is_log: self.is_log }
    }

    /// Powers of ten; both ends positive.
    pub(crate) fn log(low: f64, high: f64) -> Axis {
        let low = if low > 0.0 && low.is_finite() { low } else { 1e-9 };
        let high = if high > low && high.is_finite() { high } else { low * 10.0 };
        Axis { low, high, is_log: true }
    }

    /// Where a value lies, from 0 to 1.
    fn part(&self, value: f64) -> f64 {
        match self.is_log {
            true => (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln(),
            // Halves, because the difference of the largest numbers has no room in a double.
            false => (value * 0.5 - self.low * 0.5) / (self.high * 0.5 - self.low * 0.5),
        }
    }

    /// A few round values within the range.
    fn ticks(&self, about: usize) -> Vec<f64> {
        let inside = |tick: &f64| (-1e-9..=1.0 + 1e-9).contains(&self.part(*tick));
        if self.is_log {
            let decades = (self.high / self.low).log10();
            let steps: &[f64] = if decades < 2.2 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let powers = self.low.log10().floor() as i32..=self.high.log10().ceil() as i32;
            return powers
                .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)))
                .filter(inside)
                .collect();
        }
        let rough = (self.high * 0.5 - self.low * 0.5) / (about as f64 * 0.5);
        let power = 10_f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0]
            .iter()
            .map(|step| step * power)
            .find(|step| *step >= rough)
            .unwrap_or(rough);
        let first = (self.low / step).ceil();
        (0..=about + 1).map(|i| (first + i as f64) * step).filter(inside).collect()
    }
}

/// Labels of ticks, with enough digits to distinguish them.
fn labels(ticks: &[f64]) -> Vec<String> {
    let with = |digits: usize| ticks.iter().map(|&tick| label(tick, digits)).collect::<Vec<_>>();
    let is_told_apart = |labels: &Vec<String>| {
        let all: std::collections::HashSet<&String> = labels.iter().collect();
        all.len() == labels.len()
    };
    (1..=16).map(with).find(is_told_apart).unwrap_or_else(|| with(1))
}

/// Label of a tick: short, without a row of zeros.
fn label(value: f64, digits: usize) -> String {
    if value == 0.0 {
        return "0".to_string();
    }
    let is_plain = (1e-3..1e5).contains(&value.abs());
    let text = if is_plain { format!("{value:.*}", digits + 3) } else { format!("{value:.digits$e}") };
    let (number, exponent) =
        text.split_once('e').map_or((text.as_str(), ""), |(number, _)| (number, &text[number.len()..]));
    format!("{}{exponent}", number.trim_end_matches('0').trim_end_matches('.'))
}

/// A figure under construction. Its numbers are those of its `viewBox`; the page decides how large it is shown.
pub(crate) struct Figure {
    width: f64,
    height: f64,
    left: f64,
    bottom: f64,
    x: Axis,
    y: Axis,
    /// Names of the axes, for values under the pointer.
    names: Option<(String, String)>,
    body: String,
}

const TOP: f64 = 8.0;
const RIGHT: f64 = 10.0;

impl Figure {
    pub(crate) fn new(width: f64, height: f64, x: Axis, y: Axis) -> Figure {
        Figure { width, height, left: 46.0, bottom: 32.0, x, y, names: None, body: String::new() }
    }

    /// Without room for numbers on the vertical axis.
    pub(crate) fn bare(width: f64, height: f64, x: Axis, y: Axis) -> Figure {
        Figure { width, height, left: 8.0, bottom: 18.0, x, y, names: None, body: String::new() }
    }

    /// Sets the room for words on the left.
    pub(crate) fn with_left(self, left: f64) -> Figure {
        Figure { left, ..self }
    }

    /// Shows the values under the pointer, with these names of the axes.
    pub(crate) fn told_as(&mut self, across: &str, up: &str) {
        self.names = Some((across.to_string(), up.to_string()));
    }

    fn px(&self, value: f64) -> f64 {
        self.left + self.x.part(value) * (self.width - self.left - RIGHT)
    }

    fn py(&self, value: f64) -> f64 {
        self.height - self.bottom - self.y.part(value) * (self.height - self.bottom - TOP)
    }

    fn push(&mut self, arguments: std::fmt::Arguments<'_>) {
        self.body.write_fmt(arguments).expect("text can always be written to memory");
    }

    /// Lines and numbers along the bottom, and along the left where there is room.
    pub(crate) fn axes(&mut self, x_ticks: usize, y_ticks: usize) {
        let (foot, left, right) = (self.height - self.bottom, self.left, self.width - RIGHT);
        let ticks = self.x.ticks(x_ticks);
        for (&tick, text) in ticks.iter().zip(labels(&ticks)) {
            let x = self.px(tick);
            self.push(format_args!("<path class=\"grid\" d=\"M{x:.1} {TOP}V{foot:.1}\"/>"));
            let y = foot + 13.0;
            self.push(format_args!(
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{text}</text>"
            ));
        }
        let ticks = if y_ticks == 0 { Vec::new() } else { self.y.ticks(y_ticks) };
        for (&tick, text) in ticks.iter().zip(labels(&ticks)) {
            let y = self.py(tick);
            self.push(format_args!("<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>"));
            let (x, y) = (left - 5.0, y + 3.5);
            self.push(format_args!(
                "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{text}</text>"
            ));
        }
        self.push(format_args!("<path class=\"axis\" d=\"M{left:.1} {foot:.1}H{right:.1}\"/>"));
    }

    pub(crate) fn x_title(&mut self, text: &str) {
        let (x, y) = ((self.left + self.width - RIGHT) / 2.0, self.height - 4.0);
        let text = escaped(text);
        self.push(format_args!(
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{text}</text>"
        ));
    }

    pub(crate) fn y_title(&mut self, text: &str) {
        let y = (TOP + self.height - self.bottom) / 2.0;
        let text = escaped(text);
        self.push(format_args!(
            "<text class=\"tick\" x=\"10\" y=\"{y:.1}\" text-anchor=\"middle\" transform=\"rotate(-90 10 {y:.1})\">{text}</text>"
        ));
    }

    /// Straight from point to point; `name` is the name of the line under the pointer, and may be empty.
    pub(crate) fn line(&mut self, class: &str, name: &str, points: &[(f64, f64)]) {
        if points.is_empty() {
            return;
        }
        self.push(format_args!("<path class=\"{class}\"{} d=\"", named(name)));
        for (i, &(x, y)) in points.iter().enumerate() {
            let (x, y) = (self.px(x), self.py(y));
            self.push(format_args!("{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' }));
        }
        self.push(format_args!("\"/>"));
    }

    /// Bars without gaps between the edges, closed down to the axis.
    pub(crate) fn steps(&mut self, class: &str, edges: &[f64], heights: &[f64]) {
        let foot = self.py(0.0);
        let start = self.px(edges[0]);
        self.push(format_args!("<path class=\"{class}\" d=\"M{start:.1} {foot:.1}"));
        for (pair, &height) in edges.windows(2).zip(heights) {
            let (y, x) = (self.py(height), self.px(pair[1]));
            self.push(format_args!("V{y:.1}H{x:.1}"));
        }
        self.push(format_args!("V{foot:.1}\"/>"));
    }

    /// A distribution function: level up to each value, then up to its height.
    pub(crate) fn staircase(&mut self, class: &str, name: &str, steps: &[(f64, f64)]) {
        let (left, right) = (self.left, self.width - RIGHT);
        let foot = self.py(0.0);
        self.push(format_args!("<path class=\"{class}\"{} d=\"M{left:.1} {foot:.1}", named(name)));
        // Steps that the eye cannot tell apart are one.
        let mut last = (f64::NEG_INFINITY, foot);
        for &(value, height) in steps {
            let (x, y) = (self.px(value).clamp(left, right), self.py(height));
            if x - last.0 < 0.4 && last.0.is_finite() {
                last.1 = y;
                continue;
            }
            if last.0.is_finite() {
                self.push(format_args!("V{:.1}", last.1));
            }
            self.push(format_args!("H{x:.1}"));
            last = (x, y);
        }
        self.push(format_args!("V{:.1}H{right:.1}\"/>", last.1));
    }

    /// The area between two lines, from points with a lower and a higher value.
    pub(crate) fn band(&mut self, class: &str, points: &[(f64, f64, f64)]) {
        if points.is_empty() {
            return;
        }
        self.push(format_args!("<path class=\"{class}\" d=\""));
        let there = points.iter().map(|&(x, _, high)| (x, high));
        let back = points.iter().rev().map(|&(x, low, _)| (x, low));
        for (i, (x, y)) in there.chain(back).enumerate() {
            let (x, y) = (self.px(x), self.py(y));
            self.push(format_args!("{}{x:.1} {y:.1}", if i == 0 { 'M' } else { 'L' }));
        }
        self.push(format_args!("Z\"/>"));
    }

    /// Words at the left edge at this height.
    pub(crate) fn word_beside(&mut self, y: f64, text: &str) {
        let (x, y, text) = (self.left - 8.0, self.py(y) + 3.5, escaped(text));
        self.push(format_args!(
            "<text class=\"tick\" x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{text}</text>"
        ));
    }

    pub(crate) fn dot(&mut self, class: &str, x: f64, y: f64, radius: f64) {
        let (x, y) = (self.px(x), self.py(y));
        self.push(format_args!("<circle class=\"{class}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.3}\"/>"));
    }

    /// The dot of the T-th point, from 1.
    pub(crate) fn numbered_dot(&mut self, class: &str, t: usize, x: f64, y: f64, radius: f64) {
        let (x, y) = (self.px(x), self.py(y));
        self.push(format_args!(
            "<circle class=\"{class}\" data-t=\"{t}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{radius:.2}\"/>"
        ));
    }

    /// A rectangle between two corners, more or less opaque.
    pub(crate) fn cell(&mut self, class: &str, (x0, y0): (f64, f64), (x1, y1): (f64, f64), opacity: f64) {
        let (left, right, top, foot) = (self.px(x0), self.px(x1), self.py(y1), self.py(y0));
        let (width, height) = (right - left + 0.3, foot - top + 0.3);
        self.push(format_args!(
            "<rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill-opacity=\"{opacity:.2}\"/>"
        ));
    }

    pub(crate) fn finish(self, name: &str) -> String {
        let told = match &self.names {
            Some((across, up)) => {
                let (left, right) = (self.left, self.width - RIGHT);
                let (foot, top) = (self.height - self.bottom, TOP);
                let side = |from: f64, to: f64, axis: &Axis| {
                    let Axis { low, high, is_log } = axis;
                    format!("{from} {to} {low:?} {high:?} {}", u8::from(*is_log))
                };
                format!(
                    " data-x=\"{}\" data-y=\"{}\" data-across=\"{}\" data-up=\"{}\"",
                    side(left, right, &self.x),
                    side(foot, top, &self.y),
                    escaped(across),
                    escaped(up)
                )
            }
            None => String::new(),
        };
        let Figure { width, height, body, .. } = self;
        let name = escaped(name);
        format!("<svg viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{name}\"{told}>{body}</svg>")
    }
}

fn named(name: &str) -> String {
    if name.is_empty() { String::new() } else { format!(" data-name=\"{}\"", escaped(name)) }
}

/// Text that can stand in HTML and in its attributes.
pub(crate) fn escaped(text: &str) -> String {
    printable(text).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within_the_range() {
        assert_eq!(Axis::linear(-1.0, 3.0).ticks(4), [-1.0, 0.0, 1.0, 2.0, 3.0]);
        assert_eq!(Axis::log(1.0, 1000.0).ticks(4), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!(Axis::log(1.0, 10.0).ticks(4), [1.0, 2.0, 5.0, 10.0]);
        for axis in [Axis::linear(5.0, 5.0), Axis::linear(f64::NAN, f64::NAN), Axis::log(0.0, 0.0)] {
            assert!(!axis.ticks(4).is_empty() && axis.part(axis.low) == 0.0, "{axis:?}");
        }
        assert_eq!(labels(&[0.25, 100.0, 1e-6, 0.0, 1.5e7]), ["0.25", "100", "1e-6", "0", "1.5e7"]);
        assert_eq!(labels(&[4.998e12, 5e12, 5.002e12]), ["4.998e12", "5e12", "5.002e12"]);
        assert_eq!(labels(&[1.000_01, 1.000_02]), ["1.00001", "1.00002"]);
    }

    #[test]
    fn staircases_rise_at_the_values_and_end_level() {
        let mut figure = Figure::bare(118.0, 126.0, Axis::linear(0.0, 1.0), Axis::linear(0.0, 1.0));
        figure.staircase("line", "F", &[(0.25, 0.5), (0.7501, 0.75), (0.751, 1.0)]);
        figure.told_as("x", "F");
        let text = figure.finish("F");
        assert!(
            text.contains("<path class=\"line\" data-name=\"F\" d=\"M8.0 108.0H33.0V58.0H83.0V8.0H108.0\"/>"),
            "{text}"
        );
        assert!(text.contains("data-x=\"8 108 0.0 1.0 0\" data-y=\"108 8 0.0 1.0 0\""), "{text}");
    }

    #[test]
    fn names_cannot_break_the_page() {
        let figure = Figure::bare(10.0, 10.0, Axis::linear(0.0, 1.0), Axis::linear(0.0, 1.0));
        assert!(figure.finish("<script>\"&").contains("&lt;script&gt;&quot;&amp;"));
    }
}
