//! The summary of a run as JSON; its keys are documented in docs/json.md and change only with `schema`.

use serde_json::{Value, json};
use supersample::scale::Scale;

use crate::args::version;
use crate::choose::Ended;
use crate::quality::Worst;
use crate::report::{Report, Subject};

/// Raised whenever a key changes its meaning or goes.
const SCHEMA: u32 = 1;

impl Report {
    /// The report with the rows in the order of choice; numbers that are not known are null.
    pub(crate) fn to_json(&self, rows: &[usize]) -> String {
        let kernel = &self.kernel;
        let bandwidth = kernel.bandwidths().first().copied();
        let rule = bandwidth.map(|_| if self.bandwidth_is_median { "median" } else { "given" });
        let scale = match self.scale {
            _ if self.rows == 0 => Value::Null,
            Scale::None => json!("none"),
            Scale::Sd => json!("sd"),
            Scale::Pca => json!("pca"),
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
                "rows": (self.subject == Subject::Chosen).then_some(rows),
            },
            "random": comparison.map(|c| json!({
                "mmd_mean": c.random_mean, "mmd_sd": c.random_sd, "draws": c.random_draws,
            })),
            "spaced": comparison.map(|c| json!({ "mmd": c.spaced, "worth": self.worth_of(c.spaced) })),
            "worst": self.worst().map(|worst| {
                let one = |w: Worst| json!({ "parameter": self.parameters[w.parameter], "error": w.error });
                let mut quantile = one(worst.quantile);
                quantile["level"] = json!(worst.level);
                json!({ "mean": one(worst.mean), "sd": one(worst.sd), "quantile": quantile })
            }),
            "warnings": self.warnings,
        });
        serde_json::to_string_pretty(&value).expect("numbers and text can be written as JSON") + "\n"
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
        assert_eq!(value["worst"]["quantile"]["parameter"], "theta.3");
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
