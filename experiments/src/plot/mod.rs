//! A small plotter: panels of lines, bands, dots and contours on linear or log axes, written as SVG.

mod axis;
mod contour;

use std::collections::HashSet;
use std::fmt::Write;

pub(crate) use self::axis::Axis;
use self::axis::Span;
pub(crate) use self::contour::{Segment, contour};

/// Colours that stay apart in print and for most eyes.
pub(crate) const BLUE: &str = "#1f5fa8";
pub(crate) const ORANGE: &str = "#d9702b";
pub(crate) const GREEN: &str = "#2f8f5b";
pub(crate) const PURPLE: &str = "#7b4fa3";
pub(crate) const RED: &str = "#c43c39";
pub(crate) const GREY: &str = "#7d8590";
pub(crate) const CYAN: &str = "#4fb3c8";

/// The look of a dot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Shape {
    Square,
    Circle,
}

/// What is drawn in a panel, in data coordinates.
pub(crate) enum Drawing {
    Line {
        points: Vec<(f64, f64)>,
        width: f64,
        dash: &'static str,
    },
    /// (x, lower, upper)
    Band(Vec<(f64, f64, f64)>),
    Dots {
        points: Vec<(f64, f64)>,
        shape: Shape,
    },
    Segments {
        segments: Vec<Segment>,
        opacity: f64,
    },
}

/// A drawing with its colour and, if it is to be explained, its name in the legend.
pub(crate) struct Mark {
    drawing: Drawing,
    colour: &'static str,
    name: Option<String>,
    /// Written at the last point, in the colour of the mark.
    label: Option<String>,
}

impl Mark {
    fn new(drawing: Drawing, colour: &'static str) -> Mark {
        Mark { drawing, colour, name: None, label: None }
    }

    pub(crate) fn line(points: Vec<(f64, f64)>, colour: &'static str) -> Mark {
        Mark::new(Drawing::Line { points, width: 1.8, dash: "" }, colour)
    }

    pub(crate) fn band(points: Vec<(f64, f64, f64)>, colour: &'static str) -> Mark {
        Mark::new(Drawing::Band(points), colour)
    }

    pub(crate) fn dots(points: Vec<(f64, f64)>, shape: Shape, colour: &'static str) -> Mark {
        Mark::new(Drawing::Dots { points, shape }, colour)
    }

    pub(crate) fn segments(segments: Vec<Segment>, opacity: f64, colour: &'static str) -> Mark {
        Mark::new(Drawing::Segments { segments, opacity }, colour)
    }

    /// Makes the line thinner or thicker.
    pub(crate) fn width(mut self, new: f64) -> Mark {
        if let Drawing::Line { width, .. } = &mut self.drawing {
            *width = new;
        }
        self
    }

    /// Dashes the line.
    pub(crate) fn dashed(mut self) -> Mark {
        if let Drawing::Line { dash, .. } = &mut self.drawing {
            *dash = "6 4";
        }
        self
    }

    /// Names it in the legend.
    pub(crate) fn named(self, name: &str) -> Mark {
        Mark { name: Some(name.to_owned()), ..self }
    }

    /// Labels it right of its last point, instead of a name in the legend.
    pub(crate) fn labelled(self, label: &str) -> Mark {
        Mark { label: Some(label.to_owned()), ..self }
    }

    fn points(&self) -> Vec<(f64, f64)> {
        match &self.drawing {
            Drawing::Line { points, .. } | Drawing::Dots { points, .. } => points.clone(),
            Drawing::Band(points) => {
                points.iter().flat_map(|&(x, low, high)| [(x, low), (x, high)]).collect()
            }
            Drawing::Segments { segments, .. } => segments.iter().flatten().copied().collect(),
        }
    }
}

/// A pair of axes and what is drawn between them.
pub(crate) struct Panel {
    pub(crate) title: String,
    pub(crate) x: Axis,
    pub(crate) y: Axis,
    pub(crate) marks: Vec<Mark>,
}

/// Panels in a grid under a common legend.
pub(crate) struct Figure {
    pub(crate) panels: Vec<Panel>,
    pub(crate) columns: usize,
    /// Width and height of each panel with its labels.
    pub(crate) panel_size: (f64, f64),
}

const LEFT: f64 = 66.0;
const RIGHT: f64 = 22.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 46.0;
const LEGEND_LINE: f64 = 22.0;

impl Figure {
    /// The picture.
    pub(crate) fn to_svg(&self) -> String {
        let (width, height) = self.panel_size;
        let columns = self.columns.min(self.panels.len());
        let total_width = width * columns as f64;
        let (legend, legend_height) = self.legend(total_width);
        let total_height = legend_height + height * self.panels.len().div_ceil(columns) as f64;
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {total_width} {total_height}\" \
             width=\"{total_width}\" height=\"{total_height}\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" \
             font-size=\"13\" fill=\"#24292f\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{legend}"
        );
        for (i, panel) in self.panels.iter().enumerate() {
            let corner = ((i % columns) as f64 * width, legend_height + (i / columns) as f64 * height);
            panel.draw(&mut svg, i, corner, self.panel_size);
        }
        svg + "</svg>\n"
    }

    /// The names of all marks, each once, in lines that fit the width; and the height they take.
    fn legend(&self, total_width: f64) -> (String, f64) {
        let mut svg = String::new();
        let (mut x, mut y) = (LEFT, 16.0);
        let mut seen = HashSet::new();
        for mark in self.panels.iter().flat_map(|panel| &panel.marks) {
            let Some(name) = mark.name.as_ref().filter(|name| seen.insert(*name)) else { continue };
            let width = 44.0 + 7.0 * name.chars().count() as f64;
            if x > LEFT && x + width > total_width {
                (x, y) = (LEFT, y + LEGEND_LINE);
            }
            mark.draw_sample(&mut svg, x, y);
            write_text(&mut svg, (x + 30.0, y + 4.5), "start", "", name);
            x += width;
        }
        (svg, if seen.is_empty() { 0.0 } else { y + 12.0 })
    }
}

impl Panel {
    fn draw(&self, svg: &mut String, number: usize, corner: (f64, f64), size: (f64, f64)) {
        let (left, right) = (corner.0 + LEFT, corner.0 + size.0 - RIGHT);
        let (top, bottom) = (corner.1 + TOP, corner.1 + size.1 - BOTTOM);
        let points: Vec<(f64, f64)> = self.marks.iter().flat_map(Mark::points).collect();
        let x = self.x.fitted(points.iter().map(|p| p.0));
        let y = self.y.fitted(points.iter().map(|p| p.1));
        let frame = Frame { x, y, left, right, top, bottom };

        frame.draw_grid(svg);
        let _ = writeln!(
            svg,
            "<clipPath id=\"panel{number}\"><rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\"/></clipPath>\
             <g clip-path=\"url(#panel{number})\">",
            right - left,
            bottom - top
        );
        self.marks.iter().for_each(|mark| mark.draw(svg, &frame));
        let _ = writeln!(
            svg,
            "</g><rect x=\"{left}\" y=\"{top}\" width=\"{}\" height=\"{}\" fill=\"none\" stroke=\"#57606a\"/>",
            right - left,
            bottom - top
        );
        let middle = 0.5 * (left + right);
        write_text(svg, (middle, top - 9.0), "middle", "font-weight=\"bold\"", &self.title);
        write_text(svg, (middle, bottom + 37.0), "middle", "", &self.x.label);
        let (x, y) = (corner.0 + 15.0, 0.5 * (top + bottom));
        write_text(svg, (x, y), "middle", &format!("transform=\"rotate(-90 {x} {y})\""), &self.y.label);
    }
}

/// Where data fall on the paper.
struct Frame {
    x: Span,
    y: Span,
    left: f64,
    right: f64,
    top: f64,
    bottom: f64,
}

impl Frame {
    fn place(&self, (x, y): (f64, f64)) -> Option<(f64, f64)> {
        let (x, y) = (self.x.place(x)?, self.y.place(y)?);
        // Far outside is cut off by the panel anyway, and short numbers keep the file small.
        let y = y.clamp(-5.0, 6.0);
        Some((self.left + x * (self.right - self.left), self.bottom - y * (self.bottom - self.top)))
    }

    fn draw_grid(&self, svg: &mut String) {
        let (left, right, top, bottom) = (self.left, self.right, self.top, self.bottom);
        let vertical = |share: f64| left + share * (right - left);
        let horizontal = |share: f64| bottom - share * (bottom - top);
        let line = |svg: &mut String, from: (f64, f64), to: (f64, f64), colour: &str| {
            let _ = writeln!(
                svg,
                "<path d=\"M{:.1} {:.1}L{:.1} {:.1}\" stroke=\"{colour}\"/>",
                from.0, from.1, to.0, to.1
            );
        };
        let (x_ticks, x_minor) = self.x.ticks();
        let (y_ticks, y_minor) = self.y.ticks();
        for share in x_minor.iter().filter_map(|v| self.x.place(*v)) {
            line(svg, (vertical(share), top), (vertical(share), bottom), "#f1f3f5");
        }
        for share in y_minor.iter().filter_map(|v| self.y.place(*v)) {
            line(svg, (left, horizontal(share)), (right, horizontal(share)), "#f1f3f5");
        }
        for (share, text) in x_ticks.iter().filter_map(|(v, text)| Some((self.x.place(*v)?, text))) {
            line(svg, (vertical(share), top), (vertical(share), bottom), "#d8dee4");
            write_text(svg, (vertical(share), bottom + 17.0), "middle", "", text);
        }
        for (share, text) in y_ticks.iter().filter_map(|(v, text)| Some((self.y.place(*v)?, text))) {
            line(svg, (left, horizontal(share)), (right, horizontal(share)), "#d8dee4");
            write_text(svg, (left - 7.0, horizontal(share) + 4.5), "end", "", text);
        }
    }
}

impl Mark {
    fn draw(&self, svg: &mut String, frame: &Frame) {
        if let Some((label, (x, y))) =
            self.label.as_ref().zip(self.points().last().and_then(|p| frame.place(*p)))
        {
            write_text(svg, (x + 5.0, y + 4.5), "start", &format!("fill=\"{}\"", self.colour), label);
        }
        match &self.drawing {
            Drawing::Line { points, width, dash } => {
                let path = path(points.iter().map(|p| frame.place(*p)));
                self.write_line(svg, &path, *width, dash);
            }
            Drawing::Band(points) => {
                let upper = points.iter().map(|&(x, _, high)| (x, high));
                let lower = points.iter().rev().map(|&(x, low, _)| (x, low));
                // A band that reaches zero on a log axis is filled down to the edge.
                let edge =
                    |(x, y): (f64, f64)| frame.place((x, y)).or_else(|| frame.place((x, frame.y.from / 2.0)));
                let path = path(upper.chain(lower).map(edge));
                let _ = writeln!(svg, "<path d=\"{path}Z\" fill=\"{}\" fill-opacity=\"0.18\"/>", self.colour);
            }
            Drawing::Dots { points, shape } => {
                for at in points.iter().filter_map(|p| frame.place(*p)) {
                    self.write_dot(svg, at, *shape);
                }
            }
            Drawing::Segments { segments, opacity } => {
                let mut path = String::new();
                for [a, b] in segments {
                    if let (Some(a), Some(b)) = (frame.place(*a), frame.place(*b)) {
                        let _ = write!(path, "M{:.1} {:.1}L{:.1} {:.1}", a.0, a.1, b.0, b.1);
                    }
                }
                let _ = writeln!(
                    svg,
                    "<path d=\"{path}\" stroke=\"{}\" stroke-opacity=\"{opacity}\" fill=\"none\"/>",
                    self.colour
                );
            }
        }
    }

    /// A short piece of the mark for the legend.
    fn draw_sample(&self, svg: &mut String, x: f64, y: f64) {
        match &self.drawing {
            Drawing::Line { width, dash, .. } => {
                self.write_line(svg, &format!("M{x} {y}L{} {y}", x + 24.0), *width, dash);
            }
            Drawing::Band(_) => {
                let _ = writeln!(
                    svg,
                    "<rect x=\"{x}\" y=\"{}\" width=\"24\" height=\"12\" fill=\"{}\" fill-opacity=\"0.25\"/>",
                    y - 6.0,
                    self.colour
                );
            }
            Drawing::Dots { shape, .. } => self.write_dot(svg, (x + 12.0, y), *shape),
            Drawing::Segments { opacity, .. } => {
                let _ = writeln!(
                    svg,
                    "<path d=\"M{x} {y}L{} {y}\" stroke=\"{}\" stroke-opacity=\"{opacity}\"/>",
                    x + 24.0,
                    self.colour
                );
            }
        }
    }

    fn write_line(&self, svg: &mut String, path: &str, width: f64, dash: &str) {
        let dash = if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") };
        let _ = writeln!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{width}\" stroke-linejoin=\"round\"{dash}/>",
            self.colour
        );
    }

    fn write_dot(&self, svg: &mut String, (x, y): (f64, f64), shape: Shape) {
        let colour = self.colour;
        let _ = match shape {
            Shape::Square => writeln!(
                svg,
                "<rect x=\"{:.1}\" y=\"{:.1}\" width=\"9\" height=\"9\" fill=\"{colour}\" stroke=\"#ffffff\"/>",
                x - 4.5,
                y - 4.5
            ),
            Shape::Circle => writeln!(
                svg,
                "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4.6\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>"
            ),
        };
    }
}

/// Points joined by straight lines, broken where one has no place.
fn path(points: impl Iterator<Item = Option<(f64, f64)>>) -> String {
    let mut path = String::new();
    let mut is_down = false;
    for point in points {
        if let Some((x, y)) = point {
            let _ = write!(path, "{}{x:.1} {y:.1}", if is_down { 'L' } else { 'M' });
        }
        is_down = point.is_some();
    }
    path
}

fn write_text(svg: &mut String, (x, y): (f64, f64), anchor: &str, attributes: &str, text: &str) {
    let _ = writeln!(
        svg,
        "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" {attributes}>{}</text>",
        escape(text)
    );
}

/// Text that is safe inside XML and HTML.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(marks: Vec<Mark>) -> Panel {
        Panel { title: "a < b".into(), x: Axis::log("T"), y: Axis::log("error"), marks }
    }

    #[test]
    fn a_line_runs_from_corner_to_corner_and_breaks_where_the_log_has_no_value() {
        let line = Mark::line(vec![(1.0, 100.0), (10.0, 0.0), (100.0, 1.0)], BLUE).named("one");
        let mut panel = panel(vec![line]);
        panel.x = panel.x.range(1.0, 100.0);
        panel.y = panel.y.range(1.0, 100.0);
        let svg = Figure { panels: vec![panel], columns: 1, panel_size: (400.0, 300.0) }.to_svg();
        // Plot area: 66 to 378 across, 28 + 30 to 28 + 254 down.
        assert!(svg.contains("M66.0 58.0M378.0 282.0"), "{svg}");
        assert!(svg.contains("a &lt; b") && svg.contains(">one<"));
    }

    #[test]
    fn a_name_shared_by_panels_stands_once_in_the_legend() {
        let make = || panel(vec![Mark::line(vec![(1.0, 1.0), (2.0, 3.0)], BLUE).named("herding")]);
        let svg = Figure { panels: vec![make(), make()], columns: 2, panel_size: (300.0, 200.0) }.to_svg();
        assert_eq!(svg.matches(">herding<").count(), 1);
        assert!(svg.contains("viewBox=\"0 0 600 228\""));
    }
}
