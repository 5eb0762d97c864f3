//! Shards of the rows that are gathered separately, for example on other machines, and merged in their order.

use super::{CONTROL_SEED, Controls, Gatherer, WeightScale};
use crate::bytes::{Reader, Writer};
use crate::row_sampling::{UniformSample, WeightedDraws, seed_of_shard};
use crate::scale::RunningMoments;
use crate::task::CONTROL_ROWS;
use crate::words::Opt;
use crate::{Error, Result};

/// First bytes, with the version of the format.
const MAGIC: &[u8; 16] = b"supersample ga2\n";

/// Number of drawn rows that one shard keeps, given its share of all rows. A margin of six standard deviations makes it
/// very unlikely to limit the sample.
fn kept_by(share: f64, of_all: usize) -> usize {
    let expected = of_all as f64 * share;
    of_all.min((expected + 6.0 * expected.sqrt()).ceil() as usize + 16)
}

/// One of several shards of the rows, which are gathered separately.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shard {
    /// Its number, from 0.
    pub number: u64,
    /// Expected share of all rows, above 0 and at most 1. If it has more, the sample is smaller; if it has less, it
    /// keeps more than needed.
    pub share: f64,
    /// Number of its first row among all rows. If known for every shard, the sample is the one that a single gatherer
    /// draws from all rows.
    pub first_row: Option<usize>,
}

impl Gatherer {
    /// Creates a gatherer for one shard of the rows.
    ///
    /// All shards together, [merged](Self::merge) in their order, give a uniform sample of at most `pool_rows`.
    ///
    /// ```
    /// use supersample::task::RowWeights;
    /// use supersample::task::stream::{Gatherer, Shard};
    /// let shard = |number: u64| -> supersample::Result<Gatherer> {
    ///     let of_all = Shard { number, share: 0.1, first_row: Some(1000 * number as usize) };
    ///     let mut shard = Gatherer::of_shard(1, 100, 0, of_all)?;
    ///     let rows: Vec<f64> = (0..1000).map(|i| (1000 * number + i) as f64).collect();
    ///     shard.update(&rows, RowWeights::Equal)?;
    ///     Ok(shard)
    /// };
    /// let mut all = shard(0)?;
    /// for number in 1..10 {
    ///     all.merge(Gatherer::from_bytes(&shard(number)?.to_bytes())?)?;
    /// }
    /// let gathered = all.finish()?;
    /// assert_eq!((gathered.rows(), gathered.pool().len()), (10_000, 100));
    /// assert_eq!(gathered.pool().row(7)[0], gathered.pool_rows()[7] as f64);
    /// # Ok::<(), supersample::Error>(())
    /// ```
    pub fn of_shard(dim: usize, pool_rows: usize, seed: u64, shard: Shard) -> Result<Gatherer> {
        let Shard { number, share, first_row } = shard;
        if !(share > 0.0 && share <= 1.0) {
            let advice = "a share of all rows is above 0 and at most 1";
            return Err(Error::BadOption { option: Opt::ShardShare, value: share, advice });
        }
        // Draws by weight have their own random stream in every shard.
        let own = seed_of_shard(seed, number);
        let whole = Gatherer::new(dim, pool_rows, own)?;
        let sample = |size: usize, salt: u64| {
            let size = kept_by(share, size);
            match first_row {
                Some(first) => UniformSample::new(size, dim, seed ^ salt).starting_at(first),
                None => UniformSample::new(size, dim, own ^ salt),
            }
        };
        let controls = Controls::Distinct(sample(CONTROL_ROWS, CONTROL_SEED));
        Ok(Gatherer { sample: sample(pool_rows, 0), controls, ..whole })
    }

    /// Adds the rows of another shard, which come after these. Other columns, or weights of another kind, are an error.
    pub fn merge(&mut self, mut other: Gatherer) -> Result<()> {
        if other.dim != self.dim {
            let (what, found, against) = ("a shard", other.dim, "those before");
            return Err(Error::DimensionMismatch { what, found, against, expected: self.dim });
        }
        let Some(others) = other.scale else { return Ok(()) };
        let Some(own) = self.scale else {
            *self = Gatherer { pool_rows: self.pool_rows, ..other };
            return Ok(());
        };
        let Some(scale) = own.larger(others) else {
            return Err(Error::MixedWeights { first_row: self.rows() });
        };
        self.reweigh(scale);
        other.reweigh(scale);
        self.moments.merge(&other.moments);
        let both = self.total + other.total;
        match (&mut self.controls, other.controls) {
            (Controls::Distinct(own), Controls::Distinct(others)) => own.merge(others, CONTROL_ROWS),
            (Controls::ByWeight(own), Controls::ByWeight(others)) => {
                // Without any weight nothing is drawn.
                own.merge(others, if both > 0.0 { other.total / both } else { 0.0 });
            }
            _ => return Err(Error::MixedWeights { first_row: self.rows() }),
        }
        self.total = both;
        self.squares += other.squares;
        self.without_weight += other.without_weight;
        self.sample.merge(other.sample, self.pool_rows);
        Ok(())
    }

    /// Number of drawn rows so far.
    pub fn drawn(&self) -> usize {
        self.sample.drawn()
    }

    /// Serialises the gatherer to bytes, the same on every machine.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(MAGIC);
        let (kind, largest) = self.scale.map_or((0, 0.0), WeightScale::to_words);
        let words = [self.dim as u64, self.pool_rows as u64, self.seed, self.without_weight as u64, kind];
        words.into_iter().for_each(|word| writer.word(word));
        writer.numbers(&[largest, self.total, self.squares]);
        self.moments.write(&mut writer);
        self.sample.write(&mut writer);
        match &self.controls {
            Controls::Distinct(sample) => {
                writer.word(0);
                sample.write(&mut writer);
            }
            Controls::ByWeight(draws) => {
                writer.word(1);
                draws.write(&mut writer);
            }
        }
        writer.finish()
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes). Bytes that were cut or changed are an error.
    pub fn from_bytes(bytes: &[u8]) -> Result<Gatherer> {
        let refused = |reason: &'static str| Error::BadBytes { what: "gathered rows", reason };
        let mut reader = Reader::new(bytes, MAGIC).map_err(refused)?;
        let found = Gatherer::read(&mut reader).filter(|_| reader.is_at_end());
        found.ok_or(refused("their length is not the one they name"))
    }

    fn read(reader: &mut Reader) -> Option<Gatherer> {
        let (dim, pool_rows) = (reader.count()?, reader.word()? as usize);
        let (seed, without_weight, kind) = (reader.word()?, reader.word()? as usize, reader.word()?);
        let [largest, total, squares] = reader.numbers(3)?.try_into().ok()?;
        let scale = WeightScale::of_words(kind, largest)?;
        let moments = RunningMoments::read(reader, dim)?;
        let sample = UniformSample::read(reader, dim)?;
        let controls = match reader.word()? {
            0 => Controls::Distinct(UniformSample::read(reader, dim)?),
            1 => Controls::ByWeight(WeightedDraws::read(reader, dim)?),
            _ => return None,
        };
        Some(Gatherer {
            dim,
            pool_rows,
            seed,
            sample,
            controls,
            moments,
            scale,
            total,
            squares,
            without_weight,
        })
    }

    /// Converts sums to units of this largest weight, which is at least that of these rows.
    fn reweigh(&mut self, scale: WeightScale) {
        let factor = self.scale.map_or(1.0, |own| own.factor_to(scale));
        if factor != 1.0 {
            self.moments.reweigh(factor);
            self.total *= factor;
            self.squares *= factor * factor;
        }
        self.scale = Some(scale);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::RowWeights;
    use crate::task::stream::Gathered;

    /// Kind of weights in a test, from the number of a row.
    #[derive(Clone, Copy)]
    enum Kind {
        Equal,
        Weights(fn(usize) -> f64),
        Logs(fn(usize) -> f64),
    }

    fn fed(gatherer: &mut Gatherer, rows: std::ops::Range<usize>, kind: Kind) {
        let values: Vec<f64> = rows.clone().flat_map(|i| [i as f64, (i as f64 * 0.7).sin()]).collect();
        let weights = |of: fn(usize) -> f64| rows.clone().map(of).collect::<Vec<_>>();
        match kind {
            Kind::Equal => gatherer.update(&values, RowWeights::Equal),
            Kind::Weights(of) => gatherer.update(&values, RowWeights::Weights(&weights(of))),
            Kind::Logs(of) => gatherer.update(&values, RowWeights::Logs(&weights(of))),
        }
        .unwrap();
    }

    /// A shard without the number of its first row.
    fn of_shard(dim: usize, pool_rows: usize, seed: u64, share: f64, number: u64) -> Result<Gatherer> {
        Gatherer::of_shard(dim, pool_rows, seed, Shard { number, share, first_row: None })
    }

    const SHARDS: [std::ops::Range<usize>; 5] = [0..0, 0..1200, 1200..1300, 1300..1300, 1300..3000];

    fn in_parts(kind: Kind, share: f64) -> Gathered {
        let shard = |number: usize| {
            let mut shard = of_shard(2, 500, 3, share, number as u64).unwrap();
            fed(&mut shard, SHARDS[number].clone(), kind);
            Gatherer::from_bytes(&shard.to_bytes()).unwrap()
        };
        let (mut left, mut right) = (shard(0), shard(2));
        left.merge(shard(1)).unwrap();
        right.merge(shard(3)).unwrap();
        right.merge(shard(4)).unwrap();
        left.merge(right).unwrap();
        assert_eq!(left.rows(), 3000);
        left.finish().unwrap()
    }

    #[test]
    fn parts_give_what_all_rows_give() {
        let weight = |i: usize| (i % 5) as f64 * if i < 1250 { 1e-3 } else { 1.0 };
        let log = |i: usize| ((i % 5) as f64 * if i < 1250 { 1e-3 } else { 1.0 }).ln() - 1e5;
        for kind in [Kind::Equal, Kind::Weights(weight), Kind::Logs(log)] {
            let mut whole = Gatherer::new(2, 500, 3).unwrap();
            fed(&mut whole, 0..3000, kind);
            let (whole, shards) = (whole.finish().unwrap(), in_parts(kind, 1.0));
            assert_eq!((shards.rows(), shards.pool().len()), (3000, 500));
            assert_eq!(shards.without_weight(), whole.without_weight());
            assert!((shards.effective_size() / whole.effective_size() - 1.0).abs() < 1e-12);
            for (found, wanted) in shards.moments().iter().zip(whole.moments()) {
                let (found, wanted) = (found.unwrap(), wanted.unwrap());
                assert!((found.mean - wanted.mean).abs() < 1e-12 * wanted.sd.max(1.0));
                assert!((found.sd / wanted.sd - 1.0).abs() < 1e-12);
            }
            assert!(shards.pool_rows().is_sorted());
            for (i, &row) in shards.pool_rows().iter().enumerate() {
                assert_eq!(shards.pool().row(i)[0], row as f64);
                if let Some(weights) = shards.pool_weights() {
                    assert!((weights[i] - weight(row) / 4.0).abs() < 1e-10);
                }
            }
            assert_eq!(
                (shards.pool_weights().is_some(), shards.controls.len()),
                (!matches!(kind, Kind::Equal), 1000)
            );
            // The later rows have nearly all the weight, and the controls with them.
            let late = shards.controls.rows().filter(|row| row[0] >= 1250.0).count() as f64 / 1000.0;
            let expected = if matches!(kind, Kind::Equal) { 1750.0 / 3000.0 } else { 1.0 };
            assert!((late - expected).abs() < 0.08, "{late}");
        }
    }

    #[test]
    fn parts_keep_what_their_share_asks_for_and_no_more() {
        let mut shard = of_shard(2, 500, 3, 0.1, 1).unwrap();
        fed(&mut shard, 0..3000, Kind::Equal);
        let expected = 50.0 + (6.0 * 50f64.sqrt()).ceil() + 16.0;
        assert_eq!(shard.drawn() as f64, expected);
        // A shard of 1700 rows of 3000 keeps no more, which limits the sample.
        let limited = in_parts(Kind::Equal, 0.1).pool().len();
        assert!((120..300).contains(&limited), "{limited}");
        assert!(in_parts(Kind::Equal, 0.6).pool().len() == 500);
    }

    #[test]
    fn what_does_not_go_together_is_refused() {
        let shard = |dim: usize, weights: RowWeights| {
            let mut shard = of_shard(dim, 5, 0, 1.0, 0).unwrap();
            shard.update(&vec![1.0; 2 * dim], weights).unwrap();
            shard
        };
        let mut plain = shard(1, RowWeights::Equal);
        let other = plain.merge(shard(2, RowWeights::Equal)).unwrap_err();
        assert!(matches!(other, Error::DimensionMismatch { found: 2, expected: 1, .. }));
        let mixed = plain.merge(shard(1, RowWeights::Weights(&[1.0, 2.0])));
        assert_eq!(mixed, Err(Error::MixedWeights { first_row: 2 }));
        let mut weighted = shard(1, RowWeights::Weights(&[1.0, 2.0]));
        let mixed = weighted.merge(shard(1, RowWeights::Logs(&[1.0, 2.0])));
        assert_eq!(mixed, Err(Error::MixedWeights { first_row: 2 }));
        assert!(of_shard(1, 5, 0, 0.0, 0).is_err() && of_shard(1, 5, 0, 1.5, 0).is_err());
        let bytes = plain.to_bytes();
        assert!(matches!(Gatherer::from_bytes(&bytes[1..]), Err(Error::BadBytes { .. })));
        assert!(matches!(Gatherer::from_bytes(&bytes[..40]), Err(Error::BadBytes { .. })));
    }
}
