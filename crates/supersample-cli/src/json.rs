//! The summary of a run as JSON; its keys are documented in docs/json.md and change only with `schema`.

use serde_json::{Value, json};
use supersample::quality::{ColumnErrors, QUANTILES};

use crate::args::version;
use crate::choose::Ended;
use crate::compare::TypicalErrors;
use crate::report::{Polish, Report, Subject, Worst};

/// Raised whenever a key changes its meaning or goes.
const SCHEMA: u32 = 2;

impl Report {
    /// The report with the rows in the order of choice; numbers that are not known are null.
    pub(crate) fn to_json(&self, rows: &[usize]) -> String {
        let kernel = &self.kernel;
        let bandwidth = kernel.bandwidths().first().copied();
        let rule = bandwidth.map(|_| if self.bandwidth_is_median { "median" } else { "given" });
        let scale = match self.scale {
            _ if self.rows == 0 => Value::Null,
            scale => json!(scale.name()),
        };
        let comparison = self.comparison.as_ref();
        let value = json!({
            "schema": SCHEMA,
            "version": version(),
            "command": self.command,
            "verb": self.verb,
            "input": {
                "files": self.files,
                "rows": (self.rows > 0).then_some(self.rows),
                "parameters": self.parameters,
                "unused": self.unused,
                "warmup_left_out": self.warmup,
                "weight_column": self.weight_column,
            },
            "kernel": { "name": kernel.name(), "bandwidth": bandwidth, "bandwidth_rule": rule },
            "scale": scale,
            "precision": self.precision,
            "coordinates": self.coordinates,
            "result": {
                "count": self.chosen,
                "distinct": self.distinct,
                "asked": { "number": self.stop.number, "tol": self.stop.tol, "worth": self.stop.worth },
                "ended_by": self.ended.map(Ended::name),
                "complete": self.ended != Some(Ended::Interrupted),
                "goal_reached": self.stop.has_goal().then(|| !self.missed_its_goal()),
                "mmd": self.error,
                "mmd_floor": self.error_floor,
                "worth": self.error.and_then(|error| self.worth_of(error)),
                "errors": self.quality.as_ref().map(|_| typical(self.typical())),
                "weights": self.weighing.as_ref().map(|weighing| json!({
                    "rule": weighing.rule,
                    "values": weighing.weights,
                    "zero": weighing.zeros(),
                    "negative": weighing.negatives(),
                    "jitter": weighing.jitter,
                    "optimal": weighing.is_optimal,
                })),
                "equal_weights": self.weighing.as_ref().map(|weighing| json!({
                    "mmd": weighing.equal_error,
                    "worth": weighing.equal_error.and_then(|error| self.worth_of(error)),
                    "errors": self.quality.as_ref().map(|_| typical(weighing.equal_errors)),
                })),
                "polish": self.polished.map(|Polish { start_error, steps, converged }| json!({
                    "mmd_before": start_error, "steps": steps, "converged": converged,
                })),
                "balance": self.balanced.as_ref().map(|balanced| json!({
                    "column": balanced.groups.as_ref().map(|(column, _)| column),
                    "counts": balanced.groups.as_ref().map(|(_, counts)| {
                        counts.iter().map(|(value, count)| json!({ "value": value, "count": count })).collect::<Vec<_>>()
                    }),
                    "included": balanced.included,
                    "excluded": balanced.excluded,
                })),
                "weight_column": match &self.subject {
                    Subject::Subset { weight_column, .. } => weight_column.as_deref(),
                    _ => None,
                },
                "rows": (self.subject == Subject::Chosen).then_some(rows),
            },
            "random": comparison.map(|c| json!({
                "mmd_mean": c.random_mean,
                "mmd_sd": c.random_sd,
                "draws": c.random_draws,
                "errors": typical(c.random_errors),
            })),
            "spaced": comparison.map(|c| json!({
                "mmd": c.spaced, "worth": self.worth_of(c.spaced), "errors": typical(c.spaced_errors),
            })),
            "worst": self.quality.as_ref().map(|_| json!({
                "mean": self.worst_mean().map(worst),
                "sd": self.worst_sd().map(worst),
                "quantile": self.worst_quantile().map(worst),
                "correlation": self.worst_correlation().map(worst),
            })),
            "levels": QUANTILES,
            "parameters": self.quality.as_ref().map(|quality| {
                let one = |(name, errors): (&String, &ColumnErrors)| {
                    json!({ "name": name, "mean": errors.mean, "sd": errors.sd, "quantiles": errors.quantiles })
                };
                self.parameters.iter().zip(&quality.columns).map(one).collect::<Vec<_>>()
            }),
            "warnings": self.warnings,
        });
        serde_json::to_string_pretty(&value).expect("numbers and text can be written as JSON") + "\n"
    }
}

fn typical(errors: TypicalErrors) -> Value {
    let TypicalErrors { mean, sd, quantile, correlation } = errors;
    json!({ "mean": mean, "sd": sd, "quantile": quantile, "correlation": correlation })
}

fn worst(worst: Worst<'_>) -> Value {
    let Worst { error, parameters, level } = worst;
    match (&parameters[..], level) {
        ([parameter], Some(level)) => json!({ "parameter": parameter, "error": error, "level": level }),
        ([parameter], None) => json!({ "parameter": parameter, "error": error }),
        _ => json!({ "parameters": parameters, "error": error }),
    }
}

#[cfg(test)]
mod tests {
    use crate::report::tests::report;

    #[test]
    fn the_keys_are_those_of_the_document() {
        let text = report().to_json(&[5, 7]);
        let value: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["result"]["rows"], serde_json::json!([5, 7]));
        assert!(value["worst"]["quantile"]["level"].is_number());
        assert_eq!(value["worst"]["correlation"]["parameters"].as_array().unwrap().len(), 2);
        assert_eq!(value["parameters"].as_array().unwrap().len(), 5);
        assert_eq!(value["parameters"][2]["mean"], serde_json::Value::Null);
        assert_eq!(value["result"]["goal_reached"], serde_json::Value::Null);
        let document = include_str!("../../../docs/json.md");
        fn keys(value: &serde_json::Value, found: &mut Vec<String>) {
            if let serde_json::Value::Object(map) = value {
                for (key, value) in map {
                    found.push(key.clone());
                    keys(value, found);
                }
            }
        }
        let mut found = Vec::new();
        keys(&value, &mut found);
        for key in found {
            assert!(document.contains(&format!("`{key}`")), "{key} is not in docs/json.md");
        }
    }
}
