//! Lines of equal height of a function over the plane, by marching squares.

/// Two ends of a short piece of a contour.
pub(crate) type Segment = [(f64, f64); 2];

/// The pieces of the line f = `level` over a square grid of `cells` × `cells`, straight within each cell.
pub(crate) fn contour(
    f: impl Fn(f64, f64) -> f64,
    x: (f64, f64),
    y: (f64, f64),
    cells: usize,
    levels: &[f64],
) -> Vec<Vec<Segment>> {
    let at = |range: (f64, f64), i: usize| range.0 + (range.1 - range.0) * i as f64 / cells as f64;
    let heights: Vec<f64> =
        (0..(cells + 1) * (cells + 1)).map(|k| f(at(x, k % (cells + 1)), at(y, k / (cells + 1)))).collect();
    let corner = |i: usize, j: usize| (at(x, i), at(y, j), heights[j * (cells + 1) + i]);
    let line = |&level: &f64| {
        let mut segments = Vec::new();
        for j in 0..cells {
            for i in 0..cells {
                let around = [corner(i, j), corner(i + 1, j), corner(i + 1, j + 1), corner(i, j + 1)];
                let crossings: Vec<(f64, f64)> =
                    (0..4).filter_map(|k| crossing(around[k], around[(k + 1) % 4], level)).collect();
                // Two crossings make a piece; four, at a saddle, make two.
                segments.extend(crossings.chunks_exact(2).map(|pair| [pair[0], pair[1]]));
            }
        }
        segments
    };
    levels.iter().map(line).collect()
}

/// Where the straight line between two corners passes the level, if it does.
fn crossing(a: (f64, f64, f64), b: (f64, f64, f64), level: f64) -> Option<(f64, f64)> {
    if (a.2 < level) == (b.2 < level) {
        return None;
    }
    let share = (level - a.2) / (b.2 - a.2);
    Some((a.0 + share * (b.0 - a.0), a.1 + share * (b.1 - a.1)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contour_of_a_cone_is_a_circle() {
        let pieces = contour(f64::hypot, (-2.0, 2.0), (-2.0, 2.0), 80, &[1.0, 5.0]);
        assert!(pieces[1].is_empty(), "no line where the level is not reached");
        let length: f64 = pieces[0].iter().map(|[a, b]| f64::hypot(a.0 - b.0, a.1 - b.1)).sum();
        assert!((length - std::f64::consts::TAU).abs() < 0.01, "{length}");
        for (x, y) in pieces[0].iter().flatten() {
            assert!((f64::hypot(*x, *y) - 1.0).abs() < 1e-3);
        }
    }
}
