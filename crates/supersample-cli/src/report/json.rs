//! JSON of a report; its keys are documented in docs/json.md and change only with `schema`.

use serde_json::{Value, json};
use supersample::Precision;
use supersample::quality::{ColumnErrors, QUANTILES};

use super::{Lowered, Polishing, Refinement, Report, Subject, TypicalErrors, Worst};
use crate::plan::Ended;

/// Raised whenever a key changes its meaning or goes.
pub(super) const SCHEMA: u32 = 4;

impl Report<'_> {
    /// Numbers that are not known are null.
    pub(crate) fn to_json(&self) -> String {
        let Report { about, run, distances, parts, result, comparison, details, .. } = self;
        let kernel = &distances.kernel;
        let bandwidth = kernel.bandwidths().first().copied();
        let rule = bandwidth.map(|_| if distances.median_pairs.is_some() { "median" } else { "given" });
        let value = json!({
            "schema": SCHEMA,
            "version": run.version,
            "command": run.command,
            "verb": about.subject.verb(),
            "input": {
                "files": about.files,
                "rows": about.rows,
                "parameters": about.parameters,
                "unused": about.unused,
                "functions": parts.functions,
                "functions_unit": (!parts.functions.is_empty()).then(|| parts.functions_unit.to_string()),
                "warmup_left_out": about.warmup,
                "mean_rows_left_out": about.mean_rows,
                "missing_left_out": about.missing,
                "weight_column": about.weight_column,
                "effective_size": about.effective_size,
            },
            "kernel": {
                "name": kernel.name(),
                "bandwidth": bandwidth,
                "bandwidth_rule": rule,
                "median_pairs": distances.median_pairs,
            },
            "lowered": parts.lowered.map(|Lowered { marginals, functions, log_density }| json!({
                "joint": 1.0, "marginals": marginals, "functions": functions, "log_density": log_density,
            })),
            "embedding": about.rows.map(|_| json!({
                "kind": if distances.landmarks.is_some() { "landmarks" } else { "exact" },
                "landmarks": distances.landmarks.map(|landmarks| landmarks.count),
                "residual": distances.landmarks.and_then(|landmarks| landmarks.residual),
                "pool_rows": distances.landmarks.and_then(|landmarks| landmarks.pool_rows),
            })),
            "scale": about.rows.map(|_| distances.scale.to_string()),
            "precision": precision_name(distances.precision),
            "instruction_set": distances.instruction_set,
            "device": distances.device,
            "coordinates": distances.coordinates,
            "result": {
                "count": result.count,
                "distinct": result.distinct,
                "distinct_points": result.distinct_points,
                "asked": { "number": run.stop.number, "tol": run.stop.tol, "worth": run.stop.worth },
                "ended_by": run.ended.map(|ended| ended.to_string()),
                "complete": run.ended != Some(Ended::Interrupted),
                "goal_reached": run.stop.has_goal().then(|| !self.missed_its_goal()),
                "mmd": result.error,
                "mmd_error": result.error.and_then(|error| result.scale.standard_error(error)),
                "mmd_floor": result.scale.floor,
                "worth": result.error.and_then(|error| self.result.scale.worth(error)),
                "errors": result.quality.as_ref().map(|_| typical(self.typical())),
                "weights": details.weighing.as_ref().map(|weighing| json!({
                    "rule": weighing.rule_name(),
                    "values": weighing.weights,
                    "zero": weighing.zeros(),
                    "negative": weighing.negatives(),
                    "jitter": weighing.jitter,
                    "optimal": weighing.is_optimal,
                })),
                "equal_weights": details.weighing.as_ref().map(|weighing| json!({
                    "mmd": weighing.equal_error,
                    "worth": weighing.equal_error.and_then(|error| self.result.scale.worth(error)),
                    "errors": result.quality.as_ref().map(|_| typical(weighing.equal_errors)),
                })),
                "refinement": details.refinement.map(refinement),
                "polish": details.polishing.map(|Polishing { start_error, steps, converged }| json!({
                    "mmd_before": start_error, "steps": steps, "converged": converged,
                })),
                "balance": details.balanced.as_ref().map(|balanced| json!({
                    "column": balanced.groups.as_ref().map(|(column, _)| column),
                    "counts": balanced.groups.as_ref().map(|(_, counts)| {
                        counts.iter().map(|(value, count)| json!({ "value": value, "count": count })).collect::<Vec<_>>()
                    }),
                    "included": balanced.included,
                    "excluded": balanced.excluded,
                })),
                "weight_column": match &about.subject {
                    Subject::Subset { weight_column, .. } => weight_column.as_deref(),
                    _ => None,
                },
                "rows": result.rows,
            },
            "random": comparison.as_ref().map(|c| json!({
                "mmd_mean": c.random_mean(),
                "mmd_sd": c.random_sd(),
                "mmd_error": c.standard_errors.map(|(random, _)| random),
                "draws": c.random.len(),
                "errors": typical(c.random_errors),
            })),
            "spaced": comparison.as_ref().map(|c| json!({
                "mmd": c.spaced,
                "mmd_error": c.standard_errors.map(|(_, spaced)| spaced),
                "worth": self.result.scale.worth(c.spaced),
                "errors": typical(c.spaced_errors),
            })),
            "worst": result.quality.as_ref().map(|_| json!({
                "mean": self.worst_mean().map(worst),
                "sd": self.worst_sd().map(worst),
                "quantile": self.worst_quantile().map(worst),
                "correlation": self.worst_correlation().map(worst),
            })),
            "levels": QUANTILES,
            "parameters": result.quality.as_ref().map(|quality| {
                let one = |(name, errors): (&String, &ColumnErrors)| {
                    json!({ "name": name, "mean": errors.mean, "sd": errors.sd, "quantiles": errors.quantiles })
                };
                about.parameters.iter().zip(&quality.columns).map(one).collect::<Vec<_>>()
            }),
            "notes": self.notes,
            "warnings": self.warnings,
        });
        serde_json::to_string_pretty(&value).expect("numbers and text can be written as JSON") + "\n"
    }
}

fn precision_name(precision: Precision) -> &'static str {
    match precision {
        Precision::Double => "double",
        _ => "mixed",
    }
}

fn refinement(refinement: Refinement) -> Value {
    let Refinement { is_herded, start_error, swapped_error, searched_error, .. } = refinement;
    json!({
        "herded": is_herded,
        "mmd_before": start_error,
        "mmd_swapped": swapped_error,
        "mmd_searched": searched_error,
        "lowered": refinement.lowered.map(|(before, swapped, end)| json!({
            "before": before, "swapped": swapped, "searched": searched_error.map(|_| end),
        })),
        "swaps": refinement.swaps,
        "sweeps": refinement.sweeps,
        "kernel_rows": refinement.kernel_rows,
        "converged": refinement.converged,
    })
}

fn typical(errors: TypicalErrors) -> Value {
    let TypicalErrors { cdf, mean, sd, quantile, correlation, functions, .. } = errors;
    json!({
        "cdf": cdf, "mean": mean, "sd": sd, "quantile": quantile, "correlation": correlation, "functions": functions,
    })
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
    use supersample::weights::WeightRule;

    use super::*;
    use crate::report::info::tests::info;
    use crate::report::tests::report;
    use crate::report::{Balanced, Details, Weighing};

    /// With every detail that a run can have.
    fn details() -> Details {
        let refinement = Refinement {
            is_herded: true,
            start_error: Some(0.03),
            swapped_error: Some(0.02),
            searched_error: None,
            sweeps: 3,
            swaps: 40,
            lowered: Some((0.3, 0.2, 0.2)),
            kernel_rows: 500,
            converged: true,
        };
        let weighing = Weighing {
            rule: WeightRule::Signed,
            weights: vec![1.5, -0.5],
            error: Some(0.01),
            equal_error: Some(0.02),
            equal_errors: TypicalErrors::default(),
            jitter: 0.0,
            is_optimal: true,
        };
        let groups = Some(("chain".to_string(), vec![("1".to_string(), 2)]));
        Details {
            refinement: Some(refinement),
            weighing: Some(weighing),
            balanced: Some(Balanced { groups, included: 1, excluded: 0 }),
            polishing: Some(Polishing { start_error: None, steps: 7, converged: false }),
        }
    }

    #[test]
    fn the_keys_are_those_of_the_document() {
        let text = Report { details: details(), ..report() }.to_json();
        let value: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(value["result"]["rows"], json!([5, 7]));
        assert!(value["worst"]["quantile"]["level"].is_number());
        assert_eq!(value["worst"]["correlation"]["parameters"].as_array().unwrap().len(), 2);
        assert_eq!(value["parameters"].as_array().unwrap().len(), 5);
        assert_eq!(value["parameters"][2]["mean"], Value::Null);
        assert_eq!(value["result"]["goal_reached"], Value::Null);
        let refinement = &value["result"]["refinement"];
        assert_eq!((&refinement["mmd_swapped"], &refinement["mmd_searched"]), (&json!(0.02), &Value::Null));
        assert_eq!((&refinement["swaps"], &refinement["kernel_rows"]), (&json!(40), &json!(500)));
        let document = include_str!("../../../../docs/json.md");
        assert!(document.contains(&format!("| `schema` | {SCHEMA} |")), "the schema is not in docs/json.md");
        fn keys(value: &Value, found: &mut Vec<String>) {
            match value {
                Value::Object(map) => map.iter().for_each(|(key, value)| {
                    found.push(key.clone());
                    keys(value, found);
                }),
                Value::Array(list) => list.iter().for_each(|value| keys(value, found)),
                _ => {}
            }
        }
        let mut found = Vec::new();
        keys(&value, &mut found);
        keys(&serde_json::from_str(&info().to_json()).unwrap(), &mut found);
        for key in found {
            assert!(document.contains(&format!("`{key}`")), "{key} is not in docs/json.md");
        }
    }
}
