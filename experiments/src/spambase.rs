//! The spambase data: 4601 messages, 57 attributes, and whether the message was spam. See `data/ATTRIBUTION.md`.

use std::io::Read;

use anyhow::{Context, Result, ensure};
use flate2::read::GzDecoder;
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

/// How many attributes a message has.
pub(crate) const ATTRIBUTES: usize = 57;

/// Messages: rows of attributes, and which of them were spam.
#[derive(Default)]
pub(crate) struct Messages {
    pub(crate) attributes: Vec<f64>,
    pub(crate) is_spam: Vec<bool>,
}

impl Messages {
    fn push(&mut self, attributes: &[f64], is_spam: bool) {
        self.attributes.extend_from_slice(attributes);
        self.is_spam.push(is_spam);
    }
}

/// All messages, in the order of the original file.
pub(crate) fn read() -> Result<Messages> {
    let mut text = String::new();
    GzDecoder::new(&include_bytes!("../data/spambase.csv.gz")[..])
        .read_to_string(&mut text)
        .context("data/spambase.csv.gz is damaged")?;
    let mut messages = Messages::default();
    for (line, number) in text.lines().zip(1..) {
        let values: Vec<f64> = line
            .split(',')
            .map(|field| field.trim().parse())
            .collect::<Result<_, _>>()
            .with_context(|| format!("spambase, line {number}"))?;
        ensure!(values.len() == ATTRIBUTES + 1, "spambase, line {number}: {} fields", values.len());
        messages.push(&values[..ATTRIBUTES], values[ATTRIBUTES] != 0.0);
    }
    Ok(messages)
}

/// A random split into `training` messages and the others.
pub(crate) fn split(messages: &Messages, training: usize, seed: u64) -> (Messages, Messages) {
    let mut order: Vec<usize> = (0..messages.is_spam.len()).collect();
    order.shuffle(&mut Pcg64::seed_from_u64(seed));
    let pick = |rows: &[usize]| {
        let mut part = Messages::default();
        for &i in rows {
            part.push(&messages.attributes[i * ATTRIBUTES..(i + 1) * ATTRIBUTES], messages.is_spam[i]);
        }
        part
    };
    (pick(&order[..training]), pick(&order[training..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_data_are_the_known_ones_and_a_split_loses_nothing() {
        let messages = read().unwrap();
        assert_eq!(messages.is_spam.len(), 4601);
        assert_eq!(messages.is_spam.iter().filter(|&&spam| spam).count(), 1813);
        assert_eq!(messages.attributes[..4], [0.0, 0.64, 0.64, 0.0]);
        let (training, test) = split(&messages, 3000, 1);
        assert_eq!((training.is_spam.len(), test.is_spam.len()), (3000, 1601));
        let spam = |part: &Messages| part.is_spam.iter().filter(|&&spam| spam).count();
        assert_eq!(spam(&training) + spam(&test), 1813);
        let sum = |part: &Messages| part.attributes.iter().sum::<f64>();
        assert!((sum(&training) + sum(&test) - sum(&messages)).abs() < 1e-6 * sum(&messages));
    }
}
