//! Gaussian mixtures as files: TOML with one `[[component]]` for each component, or the same keys in JSON. They are
//! read and written here, so that the library needs no serde.

use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use supersample::Points;
use supersample::target::GaussianMixture;

use crate::Result;
use crate::error::{read_file, refused, utf8};

/// File format of a mixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// TOML, for people.
    Toml,
    /// JSON, for programs.
    Json,
}

impl Format {
    /// Returns the format of a file name, by `.toml` or `.json`; `None` for others.
    pub fn of_path(path: &Path) -> Option<Format> {
        let ending = path.extension()?.to_str()?;
        match ending.to_ascii_lowercase().as_str() {
            "toml" => Some(Format::Toml),
            "json" => Some(Format::Json),
            _ => None,
        }
    }

    /// Returns the format of the content: JSON starts with a brace, and TOML never does.
    pub fn of_text(text: &str) -> Format {
        if text.trim_start().starts_with('{') { Format::Json } else { Format::Toml }
    }
}

/// The file: a list of components under the key `component`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct MixtureFile {
    component: Vec<Component>,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Component {
    weight: f64,
    mean: Vec<f64>,
    covariance: Vec<Vec<f64>>,
}

/// Reads a mixture file; its format is that of its name, otherwise of its content. Errors name the file.
pub fn read_path(path: &Path) -> Result<GaussianMixture> {
    let read = || {
        let bytes = read_file(path)?;
        let text = utf8(&bytes)?;
        from_text(text, Format::of_path(path).unwrap_or_else(|| Format::of_text(text)))
    };
    read().map_err(|error| error.in_file(path))
}

/// Reads a mixture from text.
///
/// ```
/// use supersample_io::mixture::{Format, from_text, to_text};
/// let text = "[[component]]\nweight = 2\nmean = [0, 1.5]\ncovariance = [[1, 0.2], [0.2, 1]]\n";
/// let mixture = from_text(text, Format::Toml)?;
/// assert_eq!(mixture.weights(), [1.0]); // normalised
/// assert_eq!(from_text(&to_text(&mixture, Format::Json), Format::Json)?.means(), mixture.means());
/// # Ok::<(), supersample_io::Error>(())
/// ```
pub fn from_text(text: &str, format: Format) -> Result<GaussianMixture> {
    let file: MixtureFile = parsed(text, format, FORM)?;
    mixture(&file.component)
}

/// Writes a mixture as text: every number exactly, the weights as normalised.
pub fn to_text(mixture: &GaussianMixture, format: Format) -> String {
    let component = |i: usize| Component {
        weight: mixture.weights()[i],
        mean: mixture.means().row(i).to_vec(),
        covariance: mixture.covariance(i).chunks(mixture.dim()).map(<[f64]>::to_vec).collect(),
    };
    let file = MixtureFile { component: (0..mixture.len()).map(component).collect() };
    match format {
        Format::Toml => toml::to_string(&file).expect("numbers and lists of numbers can be written as TOML"),
        Format::Json => {
            serde_json::to_string_pretty(&file).expect("finite numbers can be written as JSON") + "\n"
        }
    }
}

/// What a mixture file is.
const FORM: &str =
    "a mixture file has one [[component]] after another, each with weight, mean and covariance";

/// Text as a value; `form` says in an error what the file must be.
pub(crate) fn parsed<T: DeserializeOwned>(text: &str, format: Format, form: &str) -> Result<T> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let misspelt = |line: usize, column: usize, message: &str| {
        refused!("line {line}, column {column}: {message}; {form}")
    };
    match format {
        Format::Toml => toml::from_str(text).map_err(|error| {
            let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
            misspelt(line, column, &error.message().replace('\n', ", "))
        }),
        Format::Json => serde_json::from_str(text).map_err(|error| {
            let (line, column) = (error.line(), error.column());
            // The place is a field of its own; serde_json also ends its text with it.
            let place = format!(" at line {line} column {column}");
            let message = error.to_string();
            misspelt(line, column, message.strip_suffix(&place).unwrap_or(&message))
        }),
    }
}

fn mixture(components: &[Component]) -> Result<GaussianMixture> {
    let dim = components.first().map_or(0, |first| first.mean.len());
    if components.is_empty() {
        return Err(refused!(
            "the mixture has no components; write at least one [[component]] with weight, mean and covariance"
        ));
    }
    for (i, component) in components.iter().enumerate() {
        check(component, dim).map_err(|problem| refused!("component {i} (counted from 0): {problem}"))?;
    }
    let weights: Vec<f64> = components.iter().map(|component| component.weight).collect();
    let means = components.iter().flat_map(|component| component.mean.iter().copied()).collect();
    let covariances: Vec<Vec<f64>> =
        components.iter().map(|component| component.covariance.concat()).collect();
    Ok(GaussianMixture::new(&weights, Points::from_vec(means, dim)?, &covariances)?)
}

/// Checks the shapes. The library would see them only after the rows are joined, and could not name the row.
fn check(component: &Component, dim: usize) -> std::result::Result<(), String> {
    let Component { weight, mean, covariance } = component;
    let found = mean.len();
    if found == 0 {
        return Err("the mean is empty; give one number for each dimension".to_string());
    }
    if found != dim {
        return Err(format!(
            "the mean has {found} numbers, but that of component 0 has {dim}; all components must have one dimension"
        ));
    }
    let wrong_row = covariance.iter().position(|row| row.len() != dim);
    if wrong_row.is_some() || covariance.len() != dim {
        let (rows, row) = (covariance.len(), wrong_row.unwrap_or(0));
        let columns = covariance.get(row).map_or(0, Vec::len);
        return Err(format!(
            "the covariance has {rows} rows and its row {row} has {columns} numbers, but the mean has {dim}; write {dim} rows of {dim} numbers"
        ));
    }
    // JSON cannot say NaN, but TOML can.
    for (what, values) in [("weight", &[*weight][..]), ("mean", mean), ("covariance", &covariance.concat())] {
        if let Some(value) = values.iter().find(|value| !value.is_finite()) {
            return Err(format!("the {what} contains {value}; every number must be finite"));
        }
    }
    Ok(())
}

fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = text.get(..at).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (1 + before.matches('\n').count(), 1 + before[line_start..].chars().count())
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESIGN_EXAMPLE: &str = "[[component]]
weight = 0.5                       # any positive numbers, normalised by us
mean = [0.0, 0.0]
covariance = [[1.0, 0.2], [0.2, 1.0]]

[[component]]
weight = 1.5
mean = [3, -1]
covariance = [[2, 0], [0, 1e-3]]
";

    fn refused(text: &str) -> String {
        from_text(text, Format::of_text(text)).unwrap_err().to_string()
    }

    #[test]
    fn the_example_of_the_design_is_read_as_meant() {
        let mixture = from_text(DESIGN_EXAMPLE, Format::Toml).unwrap();
        assert_eq!(mixture.weights(), [0.25, 0.75]);
        assert_eq!(mixture.means().as_slice(), [0.0, 0.0, 3.0, -1.0]);
        assert_eq!(mixture.covariance(1), [2.0, 0.0, 0.0, 1e-3]);
    }

    #[test]
    fn both_formats_round_trip_to_the_bit() {
        let awkward = [0.1 + 0.2, 1.0 / 3.0, 1e-300, 9.87e300, -5e-324, 2.0_f64.sqrt()];
        let means = Points::from_rows(&awkward, 2).unwrap();
        let covariances =
            vec![vec![1.0 / 7.0, 1e-17, 1e-17, 3.0], vec![1e-12, 0.0, 0.0, 1e12], vec![2.0, -0.3, -0.3, 1.0]];
        let mixture = GaussianMixture::new(&[1.0, 1.0, 2.0], means, &covariances).unwrap();
        for format in [Format::Toml, Format::Json] {
            let text = to_text(&mixture, format);
            assert_eq!(Format::of_text(&text), format);
            let again = from_text(&text, format).unwrap();
            assert_eq!((again.weights(), again.means()), (mixture.weights(), mixture.means()), "{text}");
            (0..3).for_each(|i| assert_eq!(again.covariance(i), mixture.covariance(i), "{text}"));
        }
    }

    #[test]
    fn shapes_that_do_not_fit_name_their_component() {
        assert_eq!(
            refused(&DESIGN_EXAMPLE.replace("[3, -1]", "[3]")),
            "component 1 (counted from 0): the mean has 1 numbers, but that of component 0 has 2; all components \
             must have one dimension"
        );
        assert_eq!(
            refused(&DESIGN_EXAMPLE.replace("[0, 1e-3]", "[0]")),
            "component 1 (counted from 0): the covariance has 2 rows and its row 1 has 1 numbers, but the mean has \
             2; write 2 rows of 2 numbers"
        );
        assert!(
            refused(&DESIGN_EXAMPLE.replace("[[2, 0], [0, 1e-3]]", "[]"))
                .contains("the covariance has 0 rows")
        );
        assert!(
            refused(&DESIGN_EXAMPLE.replace("[0.0, 0.0]", "[]"))
                .contains("component 0 (counted from 0): the mean")
        );
        assert!(refused(&DESIGN_EXAMPLE.replace("1.5", "inf")).contains("the weight contains inf"));
        assert!(refused(&DESIGN_EXAMPLE.replace("1e-3", "nan")).contains("the covariance contains NaN"));
        assert!(refused(&DESIGN_EXAMPLE.replace("[0.2, 1.0]", "[0.3, 1.0]")).contains("not symmetric"));
        assert!(refused("component = []\n").starts_with("the mixture has no components"));
    }

    #[test]
    fn unknown_and_missing_keys_are_refused_with_their_place() {
        let unknown = refused(&DESIGN_EXAMPLE.replace("weight = 1.5", "wieght = 1.5"));
        assert!(unknown.starts_with("line 7, column 1: unknown field `wieght`"), "{unknown}");
        let json = refused("{\"component\": [{\"weight\": 1,\n \"mean\": [0]}]}");
        assert!(json.starts_with("line 2, column 13: missing field `covariance`;"), "{json}");
        assert!(refused("component = 3\n").starts_with("line 1, column 13: invalid type"));
        assert!(refused("").contains("missing field `component`"));
        assert!(!refused("[[component]]\nweight = = 1\n").contains('\n'));
    }

    #[test]
    fn a_file_is_recognised_by_its_ending_then_its_content() {
        let directory = tempfile::tempdir().unwrap();
        let json = to_text(&from_text(DESIGN_EXAMPLE, Format::Toml).unwrap(), Format::Json);
        for (name, text) in
            [("m.toml", DESIGN_EXAMPLE), ("m.JSON", &json), ("m", DESIGN_EXAMPLE), ("m.txt", &json)]
        {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            assert_eq!(read_path(&path).unwrap().weights(), [0.25, 0.75], "{name}");
        }
        let path = directory.path().join("wrong.json");
        std::fs::write(&path, DESIGN_EXAMPLE).unwrap();
        let message = read_path(&path).unwrap_err().to_string();
        assert!(message.starts_with(&format!("{}: line 1, column ", path.display())), "{message}");
    }
}
