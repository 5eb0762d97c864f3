//! Trace of a run as CSV, one line for each choice.

use std::io::Write;

use anyhow::Result;

use supersample::Pick;

/// Of rows of a pool; `number` is what the files call a row.
pub(super) fn write_rows(picks: &[Pick], number: impl Fn(usize) -> usize, out: &mut dyn Write) -> Result<()> {
    writeln!(out, "t,row,error,weight_norm,margin")?;
    for Pick { index, t, error, weight_norm, margin, .. } in picks {
        let row = index.map(|row| number(row).to_string()).unwrap_or_default();
        writeln!(out, "{t},{row},{},{},{}", cell(*error), cell(*weight_norm), cell(*margin))?;
    }
    Ok(())
}

/// Of points in space.
pub(super) fn write_points(picks: &[Pick], out: &mut dyn Write) -> Result<()> {
    writeln!(out, "t,error,weight_norm,margin,converged")?;
    for Pick { t, error, weight_norm, margin, converged, .. } in picks {
        writeln!(out, "{t},{},{},{},{converged}", cell(*error), cell(*weight_norm), cell(*margin))?;
    }
    Ok(())
}

/// Debug keeps every digit and, unlike Display, is short for tiny numbers; what is not known stays empty.
fn cell(value: Option<f64>) -> String {
    value.map(|value| format!("{value:?}")).unwrap_or_default()
}
