//! JSON of a report; its keys are documented in docs/json.md and change only with `schema`.

use serde_json::{Value, json};
use supersample::Precision;
use supersample::quality::{ColumnErrors, QUANTILES};
use supersample::task::{Diagnosis, Errors, Measure, Number, Reached};

use super::{ObjectiveWeights, Polishing, Refinement, Report, Subject, Worst};
use crate::plan::{Ended, Stop};

/// Raised whenever a key changes its meaning or goes.
pub(super) const SCHEMA: u32 = 5;

impl Report<'_> {
    /// Numbers that are not known are null.
    pub(crate) fn to_json(&self) -> String {
        let Report { about, run, distances, terms, result, comparison, details, .. } = self;
        let kernel = &distances.kernel;
        let bandwidth = kernel.bandwidths().first().copied();
        let rule = bandwidth.map(|_| if distances.median_pairs.is_some() { "median" } else { "given" });
        let kind = match (kernel.is_stein(), distances.landmarks.is_some()) {
            (true, _) => "scores",
            (false, true) => "landmarks",
            (false, false) => "exact",
        };
        let mut value = json!({
            "schema": SCHEMA,
            "version": run.version,
            "command": run.command,
            "verb": about.subject.verb(),
            "input": {
                "files": about.files,
                "rows": about.rows,
                "parameters": about.parameters,
                "unused": about.unused,
                "functions": terms.functions,
                "functions_unit": (!terms.functions.is_empty()).then(|| terms.functions_unit.to_string()),
                "warmup_left_out": about.warmup,
                "mean_rows_left_out": about.mean_rows,
                "missing_left_out": about.missing,
                "weight_column": about.weight_column,
                "effective_size": about.effective_size,
            },
            "corrected": about.corrected.map(|corrected| json!({
                "features": corrected.features.map(|features| features.to_string()),
                "count": corrected.count,
                "tried": corrected.tried.to_string(),
                "effective_share": corrected.effective_share,
                "variance_left": corrected.left,
            })),
            "match": about.target.as_ref().map(|target| json!({
                "file": target.file,
                "rows": target.rows,
                "weight_column": target.weight_column,
                "overlap": details.overlap.as_ref().map(|overlap| json!({
                    "unreached": overlap.unreached,
                    "length": overlap.length,
                    "outside": overlap.outside.iter().map(|&(column, share)| json!({
                        "parameter": about.parameters[column], "share": share,
                    })).collect::<Vec<_>>(),
                    "floor": overlap.floor,
                    "floor_draws": overlap.floor_draws,
                })),
            })),
            "kernel": {
                "name": kernel.name(),
                "bandwidth": bandwidth,
                "bandwidth_rule": rule,
                "median_pairs": distances.median_pairs,
            },
            "objective": terms.objective.map(|ObjectiveWeights { marginals, moments, functions, log_density }| json!({
                "joint": 1.0, "marginals": marginals, "moments": moments, "functions": functions, "log_density": log_density,
            })),
            "embedding": about.rows.map(|_| json!({
                "kind": kind,
                "landmarks": distances.landmarks.map(|landmarks| landmarks.count),
                "residual": distances.landmarks.and_then(|landmarks| landmarks.residual),
                "pool_rows": distances.landmarks.and_then(|landmarks| landmarks.pool_rows),
            })),
            "draws": self.draws.map(draws),
            "scale": about.rows.map(|_| distances.scale.to_string()),
            "precision": precision_name(distances.precision),
            "instruction_set": distances.instruction_set,
            "device": distances.device,
            "coordinates": distances.coordinates,
            "result": {
                "count": result.count,
                "distinct": result.distinct,
                "distinct_points": result.distinct_points,
                "asked": asked(&run.stop),
                "ended_by": run.ended.map(|ended| ended.to_string()),
                "complete": run.ended != Some(Ended::Interrupted),
                "goal_reached": run.stop.has_goal().then(|| !self.missed_its_goal()),
                "mmd": result.mmd(),
                "mmd_error": result.mmd().and_then(|mmd| result.scale.standard_error(mmd)),
                "mmd_floor": result.scale.floor,
                "equivalent_draws": result.errors.get(Measure::EquivalentDraws),
                "posterior_draws": result.errors.get(Measure::PosteriorDraws),
                "errors": result.quality.as_ref().map(|_| of_columns(&result.errors)),
                "weights": details.weighing.as_ref().map(|weighing| json!({
                    "rule": weighing.rule_name(),
                    "values": weighing.found.weights,
                    "zero": weighing.zeros(),
                    "negative": weighing.negatives(),
                    "jitter": weighing.found.jitter,
                    "optimal": weighing.found.optimal,
                })),
                "equal_weights": details.weighing.as_ref().map(|weighing| json!({
                    "mmd": weighing.equal.get(Measure::Mmd),
                    "equivalent_draws": weighing.equal.get(Measure::EquivalentDraws),
                    "posterior_draws": weighing.equal.get(Measure::PosteriorDraws),
                    "errors": result.quality.as_ref().map(|_| of_columns(&weighing.equal)),
                })),
                "refinement": details.refinement.as_ref().map(refinement),
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
                "errors": of_columns(&c.random_errors()),
            })),
            "spaced": comparison.as_ref().map(|c| json!({
                "mmd": c.spaced_mmd(),
                "mmd_error": c.standard_errors.map(|(_, spaced)| spaced),
                "equivalent_draws": c.spaced.get(Measure::EquivalentDraws),
                "posterior_draws": c.spaced.get(Measure::PosteriorDraws),
                "errors": of_columns(&c.spaced),
            })),
            "worst": result.quality.as_ref().map(|_| {
                self.worst().into_iter().map(|(measure, one)| (measure.key(), one.map(worst))).collect::<Value>()
            }),
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
        value["published"] = self.published_json().into();
        value["scores"] = json!(about.scores);
        value["sample"] = json!(about.sample.map(|sample| {
            let own = |measure| sample.errors.get(measure);
            json!({
                "rows": sample.rows, "quantile": own(Measure::Quantile), "correlation": own(Measure::Correlation),
            })
        }));
        serde_json::to_string_pretty(&value).expect("numbers and text can be written as JSON") + "\n"
    }
}

/// How accurate draws are themselves.
pub(super) fn draws(found: Diagnosis) -> Value {
    json!({
        "count": found.draws,
        "chains": found.chains,
        "chains_assumed": found.is_assumed,
        "kernel_ess": found.kernel_ess,
        "disagreement": found.disagreement,
    })
}

fn precision_name(precision: Precision) -> &'static str {
    match precision {
        Precision::Double => "double",
        _ => "mixed",
    }
}

fn refinement(refinement: &Refinement) -> Value {
    let Refinement { is_herded, set } = refinement;
    let searched = refinement.searched_error();
    json!({
        "herded": is_herded,
        "mmd_before": set.start_error,
        "mmd_swapped": set.swept_error,
        "mmd_searched": searched,
        "objective": set.objective.map(|objective| json!({
            "before": objective.start, "swapped": objective.swept, "searched": searched.map(|_| objective.end),
        })),
        "swaps": set.swaps,
        "sweeps": set.sweeps,
        "kernel_rows": set.kernel_rows,
        "converged": set.converged,
    })
}

/// The number of rows and the goals that were asked for.
fn asked(stop: &Stop) -> Value {
    let goals = stop.goals().map(|goal| (goal.option.to_string(), json!(goal.value)));
    [("number".to_string(), json!(stop.number))].into_iter().chain(goals).collect()
}

/// All errors but those of the rows as a whole.
fn of_columns(errors: &Errors) -> Value {
    let all = errors.iter().filter(|(measure, _)| !measure.is_of_all());
    all.map(|(measure, error)| (measure.key(), error)).collect()
}

fn worst(worst: Worst<'_>) -> Value {
    let Worst { error, parameters, level } = worst;
    match (&parameters[..], level) {
        ([parameter], Some(level)) => json!({ "parameter": parameter, "error": error, "level": level }),
        ([parameter], None) => json!({ "parameter": parameter, "error": error }),
        _ => json!({ "parameters": parameters, "error": error }),
    }
}

impl Report<'_> {
    /// Published numbers and what the rows reach of them; null where rows are matched.
    fn published_json(&self) -> Option<Value> {
        let file = self.about.summary.as_ref()?;
        let numbers: Vec<Value> =
            self.details.published.iter().map(|one| published(one, &self.about.parameters)).collect();
        Some(json!({ "file": file, "numbers": numbers }))
    }
}

/// A published number and what the rows reach of it.
fn published(one: &Reached, parameters: &[String]) -> Value {
    let number = one.published.number;
    let (level, value, with) = match number {
        Number::Quantile(_, level) => (Some(level), None, None),
        Number::Share(_, value) => (None, Some(value), None),
        Number::Correlation(_, other) => (None, None, Some(&parameters[other])),
        _ => (None, None, None),
    };
    json!({
        "parameter": parameters[number.column()],
        "number": number.kind(),
        "level": level,
        "value": value,
        "with": with,
        "n": one.published.n,
        "published": one.published.value,
        "reached": one.reached,
        "error": one.error(),
        "standard_errors": one.standard_errors,
        "all_rows": one.pool,
    })
}

#[cfg(test)]
mod tests {
    use supersample::weights::WeightRule;

    use super::*;
    use crate::report::info::tests::info;
    use crate::report::tests::{diagnosis, matched, overlap, published_numbers, refined, report, weighing};
    use crate::report::{Balanced, Details};

    /// With every detail that a run can have.
    fn details() -> Details {
        let mut set = refined();
        (set.swept_error, set.searched, set.swaps, set.kernel_rows) = (Some(0.02), false, 40, 500);
        let weighing = weighing(WeightRule::Signed, vec![1.5, -0.5]);
        let groups = Some(("chain".to_string(), vec![("1".to_string(), 2)]));
        Details {
            refinement: Some(Refinement { is_herded: true, set }),
            weighing: Some(weighing),
            balanced: Some(Balanced { groups, included: 1, excluded: 0 }),
            polishing: Some(Polishing { start_error: None, steps: 7, converged: false }),
            overlap: Some(overlap()),
            published: published_numbers(),
        }
    }

    #[test]
    fn the_keys_are_those_of_the_document() {
        let text = Report { details: details(), draws: Some(diagnosis()), ..matched(report()) };
        assert_eq!(text.published_json(), None);
        let about = crate::report::About { summary: Some("table1.toml".to_string()), ..text.about };
        let text = Report { about, ..text }.to_json();
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
