//! A stream: rows that are seen once, and the rows that stand for all so far at any moment, in constant memory.
//!
//! 1. *Before it settles*, up to as many rows as there are candidates, all rows are kept. What is chosen is what is chosen from rows in
//!    memory.
//! 2. *It settles* by these rows: the scaling and the kernel, which stay, and landmarks. From then on a row is summed at the landmarks,
//!    and may replace one of the uniform sample, which are the candidates.
//! 3. *Landmarks are chosen again* from the sample whenever there are a quarter more rows, because later rows may lie elsewhere.
//!    The sums are [carried over](LandmarkSums::carried).
//! 4. *To choose*, they are chosen again too, and what is chosen is measured by μ̂ in place of a third pass.

use super::counts::ColumnCounts;
use super::gather::{Gathered, Gatherer, WeightScale};
use super::pass::Batching;
use crate::bandwidth::MedianDistance;
use crate::bytes::{Reader, Writer};
use crate::embedding::{KernelSums, LandmarkSums, effective_size};
use crate::row_sampling::seed_of_shard;
use crate::scale::{Moments, Scale, Scaling};
use crate::task::landmarks::{choose_landmarks_on, of_problem};
use crate::task::mean::Mean;
use crate::task::{Advice, Choose, Chosen, Ended, Problem, RowWeights, Size, Target};
use crate::{Error, Points, Result, Watch};

/// First bytes, with the version of the format.
const MAGIC: &[u8; 16] = b"supersample st1\n";

/// Landmarks are chosen again when this part of the rows has come since. The more often, the nearer they are to rows that come in an
/// order.
const PART: usize = 4;

/// The part of ‖μ̂ − μ‖ that is counted as an error of the MMD.
const CROSS: f64 = 0.25;

/// The rows have moved if a length is more than this many times what it was, or less than one over it.
const MOVED: f64 = 2.0;

/// Rows that come once, and at any moment the rows that stand for all so far.
///
/// ```
/// use supersample::task::stream::Stream;
/// use supersample::task::{Choose, RowWeights};
/// use supersample::unwatched;
/// let mut stream = Stream::new(Choose::thin(20)?.pool_rows(3000))?;
/// for batch in 0..20 {
///     let rows: Vec<f64> = (0..1000).map(|i| (f64::from(1000 * batch + i) * 0.7).sin()).collect();
///     stream.update(&rows, 2, RowWeights::Equal, &unwatched)?;
/// }
/// let (target, chosen) = stream.choose(&unwatched)?;
/// assert_eq!((stream.rows(), chosen.rows.len()), (10_000, 20));
/// assert!(chosen.mmd().unwrap() < 0.05 && target.select(&chosen.rows)?.dim() == 2);
/// # Ok::<(), supersample::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Stream {
    choose: Choose,
    /// `None` before the first row.
    gatherer: Option<Gatherer>,
    settled: Option<Settled>,
}

/// What has stayed since the stream settled, and the sums since then.
#[derive(Clone, Debug)]
struct Settled {
    batching: Batching,
    /// The standard deviations of the columns, 0 for a constant one, and the median distance, if it is the bandwidth.
    sds: Vec<f64>,
    median: Option<MedianDistance>,
    /// At the landmarks, over all rows.
    sums: LandmarkSums,
    counts: ColumnCounts,
    /// The expected square of the error of the sums that comes from carrying them over, times the squared weight of all rows.
    error: f64,
    /// Number of rows at which landmarks are chosen again.
    next: usize,
}

impl Stream {
    /// Creates a stream without rows. Options that need all rows in memory are an error.
    pub fn new(choose: Choose) -> Result<Stream> {
        choose.check()?;
        choose.refuse_in_batches()?;
        Ok(Stream { choose, gatherer: None, settled: None })
    }

    /// Number of rows so far.
    pub fn rows(&self) -> usize {
        self.gatherer.as_ref().map_or(0, Gatherer::rows)
    }

    /// Number of columns; `None` before the first row.
    pub fn columns(&self) -> Option<usize> {
        self.gatherer.as_ref().map(Gatherer::columns)
    }

    /// The kernel, with its bandwidth in the units of the scaled rows; `None` before the stream has settled.
    pub fn kernel(&self) -> Option<&crate::Kernel> {
        self.settled.as_ref().map(|settled| settled.sums.sums().kernel())
    }

    /// The sums at the landmarks; `None` before the stream has settled.
    pub fn sums(&self) -> Option<&KernelSums> {
        self.settled.as_ref().map(|settled| settled.sums.sums())
    }

    /// Adds rows of `columns` numbers, in their own units. An error or an interruption leaves the stream unchanged.
    pub fn update(
        &mut self,
        rows: &[f64],
        columns: usize,
        weights: RowWeights<'_>,
        watch: Watch,
    ) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        self.expect_columns("the batch", columns)?;
        let is_weighted = !matches!(weights, RowWeights::Equal);
        let gatherer = match &self.gatherer {
            Some(gatherer) => gatherer,
            None => &self.choose.stream_gatherer(Size { columns, is_weighted, ..Size::default() })?,
        };
        gatherer.check(rows, weights)?;
        let (seen, count) = (gatherer.rows(), rows.len() / columns);
        if self.gatherer.is_some() && seen + count <= self.limit(gatherer) {
            return self.add(rows, weights, watch);
        }
        let mut next = Stream { gatherer: Some(gatherer.clone()), ..self.clone() };
        let mut start = 0;
        while start < count {
            let limit = next.limit(next.gatherer.as_ref().expect("it was just made"));
            let left = limit.saturating_sub(next.rows());
            if left == 0 {
                next.settle(watch)?;
                continue;
            }
            let end = count.min(start + left);
            next.add(&rows[start * columns..end * columns], part(weights, start..end), watch)?;
            start = end;
        }
        *self = next;
        Ok(())
    }

    /// Chooses rows that stand for all so far; returns the target and the choice. The stream can go on.
    ///
    /// Row numbers count all rows of the stream, from 0. After the stream has settled, the MMD is estimated, with a standard error.
    pub fn choose(&self, watch: Watch) -> Result<(Target, Chosen)> {
        let gathered = self.gatherer.clone().ok_or(Error::NoPoints)?.finish()?;
        let Some(settled) = &self.settled else {
            let target = Problem::of_gathered(gathered, self.choose.clone())?.prepare(watch)?;
            let chosen = target.choose(watch)?;
            return Ok((target, chosen));
        };
        let (sample, shares) = settled.sample(&gathered)?;
        let problem = settled.problem(gathered.clone(), &self.choose)?;
        let count = self.choose.landmark_count(problem.open_rows(), problem.rows().dim());
        let landmarks = of_problem(&problem, problem.shares(), count, watch)?;
        let controls = problem.scaled(gathered.controls())?;
        let sums =
            LandmarkSums::new(problem.kernel().clone(), landmarks, Some(controls), problem.precision())?;
        let sums = sums.on(problem.device());
        let (means, error) = settled.means(&gathered, &sums.sums().rounded()?, watch)?;
        let sums = sums.with_means(&means, &settled.sums);
        let mean = Mean::of_sums(&sums, settled.share_of_error(error), watch)?;
        let target = Target::new(problem, mean, watch)?;
        let chosen = target.choose(watch)?;
        if chosen.rows.is_empty() || chosen.ended == Ended::Interrupted {
            return Ok((target, chosen));
        }
        let at = sums.sums().at(target.problem().points().select(&target.places(&chosen.rows)?)?)?;
        let carried = settled.sums.carried(&sample, shares.as_deref(), &at.rounded()?, watch)?;
        let mut chosen = target.measured(chosen, &carried.means)?;
        // μ̂ − μ also meets the distance of the set itself, by at most the product of both, and by a part of it where landmarks see
        // the rest of the set.
        let apart = CROSS * settled.share_of_error(error).sqrt();
        chosen.standard_error = chosen.standard_error.map(|known| known.hypot(apart));
        Ok((target, chosen))
    }

    /// Returns a stream without rows that has settled as this one, and draws its sample with a seed of its own.
    ///
    /// Streams of different `part`s are merged exactly, until one of them has chosen landmarks again. Before this one has settled, they
    /// settle each by its own rows.
    pub fn like(&self, part: u64) -> Result<Stream> {
        let Some(gatherer) = &self.gatherer else { return Ok(self.clone()) };
        let (columns, pool_rows) = (gatherer.columns(), gatherer.pool_rows());
        let seed = seed_of_shard(self.choose.compute.seed, part);
        let settled = self.settled.clone().map(|settled| Settled {
            sums: settled.sums.emptied(),
            counts: {
                let mut counts = settled.counts.clone();
                counts.reweigh(0.0);
                counts
            },
            error: 0.0,
            next: next_after(pool_rows),
            ..settled
        });
        Ok(Stream {
            choose: self.choose.clone(),
            gatherer: Some(Gatherer::new(columns, pool_rows, seed)?),
            settled,
        })
    }

    /// Adds the rows of another stream, which come after these.
    ///
    /// Streams with the same landmarks are merged exactly, and rows of one that has not settled are added as they are. Otherwise the sums
    /// of the other are carried over, and if it has settled on another scaling or kernel, its sample stands for its rows. An error or an
    /// interruption leaves the stream unchanged.
    pub fn merge(&mut self, other: &Stream, watch: Watch) -> Result<()> {
        let Some(others) = other.gatherer.as_ref().filter(|others| others.rows() > 0) else { return Ok(()) };
        self.expect_columns("the other stream", others.columns())?;
        let Some(own) = &self.gatherer else {
            *self = Stream { choose: self.choose.clone(), ..other.clone() };
            return Ok(());
        };
        let scales = (own.weight_scale(), others.weight_scale());
        let unit = match scales {
            (Some(a), Some(b)) => a.larger(b).ok_or(Error::MixedWeights { first_row: own.rows() })?,
            (a, b) => a.or(b).expect("the other has rows"),
        };
        let Some(added) = &other.settled else {
            let (rows, given) = others.clone().kept();
            return self.update(&rows, others.columns(), unit.as_given(&given), watch);
        };
        let mut added = added.clone().in_unit(unit);
        let settled = match &self.settled {
            None => {
                // The rows of this stream are still all there.
                let (rows, given) = own.clone().kept();
                if !rows.is_empty() {
                    let (points, weights) = added.batching.batch(&rows, unit.as_given(&given))?;
                    added.sums.update(&points, weights.as_deref(), watch)?;
                    added.counts.see(&rows, weights.as_deref());
                }
                added
            }
            Some(settled) => {
                let mut settled = settled.clone().in_unit(unit);
                settled.error += added.error;
                let gathered = others.clone().finish()?;
                let (is_alike, is_same) = settled.compared(&added);
                let shares = gathered.pool_shares()?;
                let counts = match settled.counts.is_like(&added.counts) {
                    true => added.counts.clone(),
                    false => added.counts.at(settled.counts.clone(), gathered.pool(), shares.as_deref())?,
                };
                settled.counts.add(&counts);
                if is_alike && is_same {
                    settled.sums.merge(&added.sums)?;
                } else if is_alike {
                    let at = settled.sums.sums().rounded()?;
                    let (means, error) = added.means(&gathered, &at, watch)?;
                    settled.sums.merge(&settled.sums.emptied().with_means(&means, &added.sums))?;
                    settled.error += error;
                } else {
                    let (points, weights) = settled.sample(&gathered)?;
                    let empty = settled.sums.emptied();
                    let sums = empty.with_sample(&points, weights.as_deref(), &added.sums, watch)?;
                    let weight = sums.sums().weight();
                    settled.error += weight * weight * sums.mean_diagonal()
                        / effective_size(weights.as_deref(), points.len());
                    settled.sums.merge(&sums)?;
                }
                settled
            }
        };
        let mut gatherer = own.clone();
        gatherer.merge(others.clone())?;
        (self.gatherer, self.settled) = (Some(gatherer), Some(settled));
        Ok(())
    }

    fn expect_columns(&self, what: &'static str, found: usize) -> Result<()> {
        match self.columns() {
            Some(expected) if expected != found => {
                Err(Error::DimensionMismatch { what, found, against: "the rows before", expected })
            }
            _ => Ok(()),
        }
    }

    /// Number of rows that can be added before the stream settles or landmarks are chosen again.
    fn limit(&self, gatherer: &Gatherer) -> usize {
        self.settled.as_ref().map_or(gatherer.pool_rows(), |settled| settled.next)
    }

    /// Adds rows up to the limit.
    fn add(&mut self, rows: &[f64], weights: RowWeights<'_>, watch: Watch) -> Result<()> {
        let gatherer = self.gatherer.as_mut().ok_or(Error::NoPoints)?;
        if let Some(settled) = &mut self.settled {
            let (unit, ..) = gatherer.check(rows, weights)?;
            if gatherer.weight_scale().is_some() {
                settled.set_unit(unit);
            } else {
                settled.batching.weights = Some(unit);
            }
            let (points, weights) = settled.batching.batch(rows, weights)?;
            settled.sums.update(&points, weights.as_deref(), watch)?;
            settled.counts.see(rows, weights.as_deref());
        }
        gatherer.update(rows, weights)
    }

    /// Settles, or chooses landmarks again.
    fn settle(&mut self, watch: Watch) -> Result<()> {
        let gathered = self.gatherer.clone().ok_or(Error::NoPoints)?.finish()?;
        let settled = match &self.settled {
            None => Settled::new(&gathered, &self.choose, watch)?,
            Some(settled) => settled.again(&gathered, &self.choose, watch)?,
        };
        self.settled = Some(settled);
        Ok(())
    }
}

impl Settled {
    /// Settles by these rows, which are all so far.
    fn new(gathered: &Gathered, choose: &Choose, watch: Watch) -> Result<Settled> {
        let problem = Problem::new(gathered.drawn()?, choose.clone())?;
        let scaling = (problem.scale() != Scale::None).then(|| problem.scaling().clone());
        let batching = Batching::new(gathered.pool().dim(), scaling, Some(gathered.weight_scale()));
        let landmarks =
            of_problem(&problem, problem.shares(), choose.stream_landmarks(problem.open_rows()), watch)?;
        let mut sums = LandmarkSums::new(problem.kernel().clone(), landmarks, None, problem.precision())?
            .on(problem.device());
        sums.update(problem.points(), gathered.pool_weights(), watch)?;
        let shares = gathered.pool_shares()?;
        let mut counts = ColumnCounts::of_sample(gathered.pool(), shares.as_deref())?;
        counts.see(gathered.pool().as_slice(), gathered.pool_weights());
        Ok(Settled {
            batching,
            counts,
            sds: sds(gathered.moments()),
            median: problem.median(),
            sums,
            error: 0.0,
            next: next_after(gathered.rows()),
        })
    }

    /// Sums settled once more, with landmarks from the sample of all rows so far.
    fn again(&self, gathered: &Gathered, choose: &Choose, watch: Watch) -> Result<Settled> {
        let (sample, shares) = self.sample(gathered)?;
        let (old, shares) = (self.sums.sums(), shares.as_deref());
        let open = shares.map_or(sample.len(), |shares| shares.iter().filter(|w| **w > 0.0).count());
        let landmarks = choose_landmarks_on(
            &choose.compute.device,
            old.kernel(),
            &sample,
            shares,
            choose.stream_landmarks(open),
            choose.distance.precision,
            choose.compute.seed,
            watch,
        )?;
        let sums = LandmarkSums::new(old.kernel().clone(), landmarks, None, choose.distance.precision)?
            .on(&choose.compute.device);
        let (means, error) = self.means(gathered, &sums.sums().rounded()?, watch)?;
        let counts = ColumnCounts::of_sample(gathered.pool(), shares)?;
        Ok(Settled {
            counts: self.counts.at(counts, gathered.pool(), shares)?,
            sums: sums.with_means(&means, &self.sums),
            error: self.error + error,
            next: next_after(gathered.rows()),
            ..self.clone()
        })
    }

    /// The problem of choosing from the sample, with what has settled.
    fn problem(&self, gathered: Gathered, choose: &Choose) -> Result<Problem> {
        let choose = choose.clone().kernel(self.sums.sums().kernel().clone());
        let scaling = match &self.batching.scaling {
            Some(scaling) => scaling.clone(),
            None => Scaling::fit(Scale::None, gathered.pool().as_slice(), self.batching.dim, None)?,
        };
        let columns =
            if choose.scale_in_use() == Scale::None { Vec::new() } else { self.moved(gathered.moments()) };
        let problem = Problem::of_scaled(gathered, scaling, choose)?;
        let median = match self.median {
            Some(then) => {
                let now = MedianDistance::of(problem.points(), problem.shares())?;
                Some((then.length, now.length)).filter(|(then, now)| is_moved(*then, *now))
            }
            None => None,
        };
        let moved =
            (!columns.is_empty() || median.is_some()).then_some(Advice::RowsMoved { columns, median });
        Ok(problem.of_stream(moved, self.median, self.counts.known()))
    }

    /// The columns whose standard deviations have changed much.
    fn moved(&self, moments: &[Option<Moments>]) -> Vec<usize> {
        let now = sds(moments);
        (0..now.len()).filter(|&j| is_moved(self.sds[j], now[j])).collect()
    }

    /// The sample, scaled, with its weights.
    fn sample(&self, gathered: &Gathered) -> Result<(Points, Option<Vec<f64>>)> {
        let pool = gathered.pool();
        let points = match &self.batching.scaling {
            None => pool.clone(),
            Some(scaling) => Points::from_vec(scaling.apply(pool.as_slice()), scaling.out_dim())?,
        };
        Ok((points, gathered.pool_shares()?))
    }

    /// μ̂ at points, and the expected square of its error, in the unit of `error`.
    fn means(&self, gathered: &Gathered, at: &Points, watch: Watch) -> Result<(Vec<f64>, f64)> {
        let (sample, shares) = self.sample(gathered)?;
        let carried = self.sums.carried(&sample, shares.as_deref(), at, watch)?;
        let left_out = 1.0 - sample.len() as f64 / gathered.rows() as f64;
        let weight = self.sums.sums().weight();
        Ok((carried.means, carried.squared_error * left_out * weight * weight))
    }

    /// The expected ‖μ̂ − μ‖² with this further error.
    fn share_of_error(&self, error: f64) -> f64 {
        let weight = self.sums.sums().weight();
        (self.error + error) / (weight * weight)
    }

    /// Sets the divisor of the weights.
    fn set_unit(&mut self, unit: WeightScale) {
        let factor = self.batching.weights.map_or(1.0, |old| old.factor_to(unit));
        if factor != 1.0 {
            self.sums.reweigh(factor);
            self.counts.reweigh(factor);
            self.error *= factor * factor;
        }
        self.batching.weights = Some(unit);
    }

    fn in_unit(mut self, unit: WeightScale) -> Settled {
        self.set_unit(unit);
        self
    }

    /// Whether another has the same kernel and scaling, and whether it has the same landmarks.
    fn compared(&self, other: &Settled) -> (bool, bool) {
        let (own, others) = (self.sums.sums(), other.sums.sums());
        let is_alike = own.kernel() == others.kernel() && self.batching.scaling == other.batching.scaling;
        (is_alike, own.points() == others.points() && own.precision() == others.precision())
    }
}

impl Choose {
    /// An empty gatherer for a stream of rows of this size.
    fn stream_gatherer(&self, size: Size) -> Result<Gatherer> {
        Gatherer::new(size.columns, self.stream_rows(size)?, self.compute.seed)
    }
}

/// The number of rows at which landmarks are chosen again.
fn next_after(rows: usize) -> usize {
    rows + (rows / PART).max(1)
}

fn sds(moments: &[Option<Moments>]) -> Vec<f64> {
    moments.iter().map(|column| column.map_or(0.0, |moments| moments.sd)).collect()
}

fn is_moved(then: f64, now: f64) -> bool {
    now > MOVED * then || then > MOVED * now
}

/// Some of these weights.
fn part(weights: RowWeights<'_>, rows: std::ops::Range<usize>) -> RowWeights<'_> {
    match weights {
        RowWeights::Equal => RowWeights::Equal,
        RowWeights::Weights(weights) => RowWeights::Weights(&weights[rows]),
        RowWeights::Logs(logs) => RowWeights::Logs(&logs[rows]),
    }
}

impl Stream {
    /// Serialises what the rows have left to bytes, the same on every machine; the options are not part of it.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::new(MAGIC);
        writer.bytes(&self.gatherer.as_ref().map_or(Vec::new(), Gatherer::to_bytes));
        writer.word(u64::from(self.settled.is_some()));
        if let Some(Settled { batching, sds, median, sums, counts, error, next }) = &self.settled {
            writer.word(batching.dim as u64);
            writer.word(u64::from(batching.scaling.is_some()));
            batching.scaling.iter().for_each(|scaling| scaling.write(&mut writer));
            let (kind, largest) = batching.weights.map_or((0, 0.0), WeightScale::to_words);
            writer.word(kind);
            writer.numbers(&[largest, *error]);
            writer.numbers(sds);
            writer.word(median.map_or(0, |median| median.pairs as u64));
            writer.number(median.map_or(0.0, |median| median.length));
            writer.word(*next as u64);
            counts.write(&mut writer);
            writer.bytes(&sums.to_bytes());
        }
        writer.finish()
    }

    /// Reads the bytes of [`to_bytes`](Self::to_bytes) of a stream with these options. Bytes that were cut or changed are an error.
    pub fn from_bytes(choose: Choose, bytes: &[u8]) -> Result<Stream> {
        let refused = |reason: &'static str| Error::BadBytes { what: "a stream", reason };
        let empty = Stream::new(choose)?;
        let mut reader = Reader::new(bytes, MAGIC).map_err(refused)?;
        let read = |reader: &mut Reader<'_>| {
            let gatherer = reader.bytes()?.to_vec();
            if reader.word()? == 0 {
                return Some((gatherer, None));
            }
            let dim = reader.count()?;
            let scaling = if reader.word()? == 1 { Some(Scaling::read(reader, dim)?) } else { None };
            let kind = reader.word()?;
            let [largest, error] = reader.numbers(2)?.try_into().ok()?;
            let weights = WeightScale::of_words(kind, largest)?;
            let sds = reader.numbers(dim)?;
            let (pairs, length) = (reader.word()? as usize, reader.number()?);
            let median = (pairs > 0).then_some(MedianDistance { length, pairs });
            let (next, counts) = (reader.word()? as usize, ColumnCounts::read(reader, dim)?);
            let sums = reader.bytes()?.to_vec();
            let batching = Batching { dim, scaling, weights };
            Some((gatherer, Some((batching, sds, median, error, next, counts, sums))))
        };
        let found = read(&mut reader).filter(|_| reader.is_at_end());
        let (gatherer, settled) = found.ok_or(refused("their length is not the one they name"))?;
        let gatherer = if gatherer.is_empty() { None } else { Some(Gatherer::from_bytes(&gatherer)?) };
        let settled = match settled {
            None => None,
            Some((batching, sds, median, error, next, counts, sums)) => {
                let sums = LandmarkSums::from_bytes(&sums)?.on(&empty.choose.compute.device);
                Some(Settled { batching, sds, median, sums, counts, error, next })
            }
        };
        Ok(Stream { gatherer, settled, ..empty })
    }
}
