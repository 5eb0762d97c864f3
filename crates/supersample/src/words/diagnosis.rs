//! Sentences on how accurate draws are themselves.

use super::{count, counted, significant};
use crate::task::Diagnosis;

/// Rows that are as accurate as this part of them in independent draws depend on each other by chance alone.
const INDEPENDENT: f64 = 0.9;

impl Diagnosis {
    /// How accurate the draws are, and whether their chains agree, in one sentence.
    ///
    /// ```
    /// use supersample::task::{Choose, Problem, Rows};
    /// use supersample::{Chains, Points, unwatched};
    /// let rows: Vec<f64> = (0..400).map(|i| (f64::from(i * i) * 0.7).sin()).collect();
    /// let rows = Rows::new(Points::from_vec(rows, 2)?).chains(Chains::equal(200, 200)?)?;
    /// let found = Problem::new(rows, Choose::nothing(None))?.diagnose(&unwatched)?;
    /// assert_eq!(found.sentence(), "all 200 draws are taken as independent (kernel ESS 200)");
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn sentence(&self) -> String {
        let Diagnosis { draws, chains, is_assumed, kernel_ess, disagreement } = *self;
        let (all, ess) = (count(draws), significant(kernel_ess));
        if chains == draws {
            return format!("all {all} draws are taken as independent (kernel ESS {ess})");
        }
        let accurate = match is_assumed {
            false => format!("all {all} draws are as accurate as {ess} independent ones (kernel ESS)"),
            true => format!(
                "all {all} rows, taken as one chain in this order, are as accurate as {ess} independent draws (kernel ESS)"
            ),
        };
        let who = match (chains, is_assumed) {
            (1, true) => "its halves".to_string(),
            (1, false) => "the halves of the chain".to_string(),
            _ => format!("the {}", counted(chains, "chain")),
        };
        let agree = match disagreement {
            Some(times) if self.disagrees() => {
                format!("; {who} disagree ({} times as different as after mixing)", significant(times))
            }
            // Nothing but chance is seen: say so, and no more.
            Some(_) if is_assumed && kernel_ess >= INDEPENDENT * draws as f64 => {
                "; no row depends on the one before it".to_string()
            }
            Some(_) => format!("; {who} agree"),
            None => String::new(),
        };
        accurate + &agree
    }
}

#[cfg(test)]
mod tests {
    use crate::task::Diagnosis;

    #[test]
    fn each_case_has_its_words() {
        let of = |chains, is_assumed, kernel_ess, disagreement| {
            Diagnosis { draws: 4000, chains, is_assumed, kernel_ess, disagreement }.sentence()
        };
        assert_eq!(
            of(4, false, 1151.0, Some(0.9)),
            "all 4,000 draws are as accurate as 1,150 independent ones (kernel ESS); the 4 chains agree"
        );
        assert_eq!(
            of(4, false, 3.0, Some(21.6)),
            "all 4,000 draws are as accurate as 3.00 independent ones (kernel ESS); the 4 chains disagree (21.6 times as \
             different as after mixing)"
        );
        assert!(of(1, false, 900.0, Some(1.1)).ends_with("(kernel ESS); the halves of the chain agree"));
        assert_eq!(
            of(1, true, 900.0, Some(1.1)),
            "all 4,000 rows, taken as one chain in this order, are as accurate as 900 independent draws (kernel ESS); its \
             halves agree"
        );
        assert!(of(1, true, 3900.0, Some(1.1)).ends_with("; no row depends on the one before it"));
        assert!(of(1, true, 3900.0, None).ends_with("independent draws (kernel ESS)"));
        assert_eq!(
            of(4000, false, 4000.0, None),
            "all 4,000 draws are taken as independent (kernel ESS 4,000)"
        );
    }
}
