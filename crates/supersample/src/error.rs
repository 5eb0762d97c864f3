//! Errors of the library: what is wrong, where, and what to do. Sentences that name options, columns or groups are in
//! `words`.

use supersample_sum::{NoSuchInstructionSet, UnknownWord};

use crate::kernel::{self, Family};
use crate::task::{CalibratedMean, Number, ScoreFault, SummaryFault, TargetChoice};
use crate::words::Opt;

/// Errors of this library. Constructors return them where possible; iterators never fail.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The watch ended a long computation.
    #[error("the computation was interrupted before it had a result")]
    Interrupted,
    /// The environment asks for an instruction set that this machine does not have.
    #[error(transparent)]
    NoSuchInstructionSet(#[from] NoSuchInstructionSet),
    /// A word is not the name of an option's value.
    #[error(transparent)]
    UnknownWord(#[from] UnknownWord),
    /// The device cannot be used, or has stopped working.
    #[error("{reason}")]
    Device {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// Too many columns for whitening.
    #[error("scale pca supports at most {most} columns, but there are {dim}; use fewer columns, or scale sd")]
    TooManyColumns {
        /// Number of columns.
        dim: usize,
        /// Largest number allowed.
        most: usize,
    },
    /// Too many rows in memory for the distributions of their columns.
    #[error(
        "the distributions of columns can be matched for at most {most} rows in memory, but there are {rows}; set the weight of the marginals to 0, or read the rows in batches"
    )]
    TooManyRows {
        /// Number of rows.
        rows: usize,
        /// Largest number allowed.
        most: usize,
    },
    /// A set of points needs at least one row.
    #[error("there are no points; at least one row is needed")]
    NoPoints,
    /// Points need at least one coordinate.
    #[error("the points have no coordinates; at least one column is needed")]
    NoDimensions,
    /// The numbers do not fill whole rows.
    #[error(
        "{len} numbers cannot be split into rows of {dim}; check the dimension or the length of the data"
    )]
    RaggedRows {
        /// Number of numbers given.
        len: usize,
        /// Numbers in a row.
        dim: usize,
    },
    /// A coordinate is NaN or infinite. Row and column count from 0.
    #[error("{}", self.plain())]
    NonFinite {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The offending value.
        value: f64,
    },
    /// Two things that must have the same dimension do not.
    #[error("{what} has dimension {found}, but dimension {expected} is needed to match {against}")]
    DimensionMismatch {
        /// What was given.
        what: &'static str,
        /// Its dimension.
        found: usize,
        /// What it has to match.
        against: &'static str,
        /// The dimension of that.
        expected: usize,
    },
    /// The conditional of a variable is no probability distribution of its values.
    #[error("the conditional of variable {variable} cannot be used: {reason}")]
    BadConditional {
        /// The variable, from 0.
        variable: usize,
        /// What is wrong.
        reason: String,
    },
    /// Neighbours of a variable are not a list of other variables for each of them.
    #[error("the neighbours cannot be used: {reason}; give a list of the other variables for each variable")]
    BadNeighbours {
        /// What is wrong.
        reason: String,
    },
    /// Squares of the distances between rows overflow or vanish.
    #[error("{}", self.plain())]
    DistancesOutOfRange {
        /// About the largest distance.
        largest: f64,
    },
    /// A bandwidth must be a positive length.
    #[error("{}", self.plain())]
    BadBandwidth {
        /// The offending value.
        value: f64,
    },
    /// A kernel has another number of lengths than its family takes.
    #[error("{}", kernel::length_count(*family, *found))]
    LengthCount {
        /// The family.
        family: Family,
        /// Number of lengths given.
        found: usize,
    },
    /// A text is not the name of a kernel.
    #[error("'{text}' is not a kernel: {reason}; write for example {}", kernel::examples())]
    UnknownKernel {
        /// The text as given.
        text: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// There must be one weight for each point.
    #[error("{found} weights were given for {expected} {what}; give exactly one each")]
    WeightCount {
        /// What is weighted.
        what: &'static str,
        /// Number of weights given.
        found: usize,
        /// Number needed.
        expected: usize,
    },
    /// The recalled mean embedding is not that of these samples.
    #[error(
        "{found} values of the mean embedding were given for {expected} samples; give the values that were \
             computed for these samples"
    )]
    RecalledCount {
        /// Number of values given.
        found: usize,
        /// Number of samples.
        expected: usize,
    },
    /// A weight is negative, NaN or infinite. The index counts from 0.
    #[error("{}", self.plain())]
    BadWeight {
        /// Which weight, from 0.
        index: usize,
        /// The offending value.
        value: f64,
    },
    /// The logarithm of a weight is NaN or +∞. The index counts from 0.
    #[error("{}", self.plain())]
    BadLogWeight {
        /// Which log-weight, from 0.
        index: usize,
        /// The offending value.
        value: f64,
    },
    /// Every log-weight is −∞.
    #[error("{}", self.plain())]
    NoLogWeights,
    /// An option needs all rows in memory.
    #[error(
        "{what} needs all rows in memory, but only a sample of them is in memory; leave it out, or allow more memory"
    )]
    NotInMemory {
        /// What was asked for.
        what: &'static str,
    },
    /// How far draws are from what they were drawn from cannot be said.
    #[error("how accurate the draws themselves are is not known: {why}")]
    NotDiagnosed {
        /// Why not.
        why: &'static str,
    },
    /// A number of rows that follows from the errors of the draws was asked for where these are not known or not aimed at.
    #[error("{}", self.plain())]
    AutoSize {
        /// What it does not go together with.
        what: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// A number of rows was to follow from the errors of the draws, which are not known.
    #[error("{}", self.plain())]
    AutoUnknown {
        /// Why not.
        why: &'static str,
    },
    /// Rows that do not make this number of chains of equal length.
    #[error(
        "{rows} rows do not make {chains} chains of equal length; give the length of each chain, or a label for each row"
    )]
    UnequalChains {
        /// How many chains were asked for.
        chains: usize,
        /// How many rows there are.
        rows: usize,
    },
    /// A chain without draws.
    #[error("chain {chain}, counted from 0, has no draws; leave it out")]
    EmptyChain {
        /// Which, from 0.
        chain: usize,
    },
    /// Chains that do not make up all rows.
    #[error(
        "the chains have {found} draws together, and there are {expected} rows; give every row its chain"
    )]
    ChainLengths {
        /// How many draws they have.
        found: usize,
        /// How many rows there are.
        expected: usize,
    },
    /// A pass over batches had a different number of rows from the one before.
    #[error("{found} rows were summed, but there are {expected}; give the same rows in every pass")]
    RowsSummed {
        /// Number of rows in this pass.
        found: usize,
        /// Number expected.
        expected: usize,
    },
    /// Rows cannot be chosen from a sample before all rows have been summed.
    #[error("the sums of all rows at the landmarks are missing; compute them first")]
    NotProjected,
    /// Batches of rows do not all have weights of one kind.
    #[error(
        "the rows from {first_row} on have weights of another kind than those before; give all of them weights, or \
         none"
    )]
    MixedWeights {
        /// The first row of the batch, from 0.
        first_row: usize,
    },
    /// A uniform sample of weighted rows has only rows of weight zero.
    #[error(
        "all {drawn} rows that were drawn from {rows} have weight 0, so none can be chosen; draw more rows, or drop \
         the rows of weight 0"
    )]
    WeightlessPool {
        /// Number of drawn rows.
        drawn: usize,
        /// Number expected.
        rows: usize,
    },
    /// A coefficient, moment or starting weight that may have any sign is NaN or infinite.
    #[error("{what} {index} is {value}; it must be a finite number")]
    NonFiniteNumber {
        /// What the number is.
        what: &'static str,
        /// Which one, from 0.
        index: usize,
        /// The offending value.
        value: f64,
    },
    /// A function of the rows whose mean is to be matched is the same for every row.
    #[error("{}", self.plain())]
    ConstantFunction {
        /// Which function, from 0.
        column: usize,
    },
    /// A function of a row is NaN or infinite. Row and column count from 0.
    #[error("{}", self.plain())]
    NonFiniteFunction {
        /// The row, from 0.
        row: usize,
        /// Which function, from 0.
        column: usize,
        /// The offending value.
        value: f64,
    },
    /// Functions of a subset were given, but the rows have none.
    #[error("functions of the subset were given, but the problem has none; name them when it is made")]
    NoFunctions,
    /// Something that needs one row for each row of the pool has another number of rows.
    #[error("{what} have {found} rows, but there are {expected}; give one for each row, in the same order")]
    RowCount {
        /// What has rows.
        what: &'static str,
        /// Number of its rows.
        found: usize,
        /// Number needed.
        expected: usize,
    },
    /// A score is NaN or infinite. Row and column count from 0.
    #[error("{}", self.plain())]
    NonFiniteScore {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The offending value.
        value: f64,
    },
    /// The scores of a column are not those of the rows.
    #[error("{}", self.plain())]
    WrongScores {
        /// The column, from 0.
        column: usize,
        /// The mean of (x − mean)·score, which is −1 over draws of a density.
        mean: f64,
        /// What is wrong with them.
        fault: ScoreFault,
    },
    /// Something was asked for that has no meaning with this target.
    #[error("{}", self.plain())]
    NotWithTarget {
        /// What was asked for.
        option: Opt,
        /// The target.
        target: TargetChoice,
        /// What to do.
        advice: &'static str,
    },
    /// A target that is made of scores was asked for, and the rows have none.
    #[error("{}", self.plain())]
    NoScores {
        /// The target.
        target: TargetChoice,
    },
    /// Points of a space have no columns to calibrate.
    #[error("calibrated weights are those of rows; points have no means to be met")]
    CalibratedPoints,
    /// The rows of one group cannot be chosen from.
    #[error("{}", self.plain())]
    InGroup {
        /// The group, from 0.
        group: usize,
        /// What is wrong with its rows.
        error: Box<Error>,
    },
    /// A column or function to calibrate does not exist.
    #[error("there is no column or function {column} to calibrate; there are {columns}, from 0")]
    NoColumn {
        /// Its number, from 0.
        column: usize,
        /// How many there are.
        columns: usize,
    },
    /// No positive weights give the means that are asked for.
    #[error("{}", self.plain())]
    NotCalibrated {
        /// The column or function that is missed, or missed most.
        mean: CalibratedMean,
        /// Its mean in the target.
        wanted: f64,
        /// The nearest that weights can reach, all means together.
        nearest: f64,
        /// The smallest and largest value among the chosen rows.
        range: (f64, f64),
        /// Whether they are those of all rows that may be chosen, so that more rows do not help.
        of_all: bool,
    },
    /// A published number cannot be matched.
    #[error("{}", self.plain())]
    Summary {
        /// The number.
        number: Number,
        /// Its value.
        value: f64,
        /// What is wrong with it.
        fault: SummaryFault,
    },
    /// A summary has no numbers.
    #[error("the summary has no numbers; give a mean, sd, quantile, share or correlation")]
    EmptySummary,
    /// An option cannot be used with this kind of target.
    #[error("{}", self.plain())]
    NotTogether {
        /// The option.
        option: Opt,
        /// What was given in addition: "scores", "a Gram matrix".
        with: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// Points were given without the scores they need, or scores without a density.
    #[error("{what}; {advice}")]
    Scores {
        /// What is wrong.
        what: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// This preconditioner is not possible.
    #[error("no preconditioner: {reason}; take the identity, or other points")]
    NoPreconditioner {
        /// Why not.
        reason: &'static str,
    },
    /// A call does not support parts.
    #[error(
        "{what} has points without marginals or functions; leave these parts out, or choose rows of the pool"
    )]
    NotWithParts {
        /// What was asked for.
        what: &'static str,
    },
    /// The kernel compares only equal masses.
    #[error("the kernel {kernel} compares equal masses only, but {what}; {advice}")]
    UnequalMasses {
        /// The kernel as it prints itself.
        kernel: String,
        /// What has another mass.
        what: &'static str,
        /// What to do instead.
        advice: &'static str,
    },
    /// Weights that are all zero describe no distribution.
    #[error("{}", self.plain())]
    ZeroWeights,
    /// A covariance has the wrong shape.
    #[error("component {component}: the covariance has {found} numbers, but a {dim}×{dim} matrix needs {}", dim * dim)]
    CovarianceShape {
        /// Which mixture component, from 0.
        component: usize,
        /// Number of numbers given.
        found: usize,
        /// The dimension of the mixture.
        dim: usize,
    },
    /// A covariance is not symmetric.
    #[error(
        "component {component}: the covariance is not symmetric at ({row}, {column}); entries ({row}, {column}) and \
         ({column}, {row}) must be equal"
    )]
    NotSymmetric {
        /// Which mixture component, from 0.
        component: usize,
        /// Row of the offending entry, from 0.
        row: usize,
        /// Its column, from 0.
        column: usize,
    },
    /// A covariance is not positive definite.
    #[error(
        "component {component}: the covariance is not positive definite; add a small number to its diagonal or \
         remove the linearly dependent coordinates"
    )]
    NotPositiveDefinite {
        /// Which mixture component, from 0.
        component: usize,
    },
    /// A side of a box, or a standard deviation, is not a positive length.
    #[error("{what} of coordinate {coordinate} is {value}; it must be positive and finite")]
    NotPositive {
        /// What must be positive.
        what: &'static str,
        /// Which coordinate, from 0.
        coordinate: usize,
        /// The offending value.
        value: f64,
    },
    /// The mean embedding of this target has no closed form under this kernel.
    #[error("there is no closed form for {what} under the kernel {kernel} in {dim} dimensions; {advice}")]
    NoClosedForm {
        /// The target, or the pair of targets.
        what: &'static str,
        /// The kernel as it prints itself.
        kernel: String,
        /// The dimension.
        dim: usize,
        /// What to do instead.
        advice: &'static str,
    },
    /// Two mean embeddings can be compared only under one kernel.
    #[error("one embedding is under {left}, the other under {right}; an MMD needs one kernel for both")]
    KernelMismatch {
        /// The kernel of the first.
        left: String,
        /// The kernel of the second.
        right: String,
    },
    /// The squared norm of an embedding is not known, so no MMD can be formed from it.
    #[error("the squared norm of the mean embedding is not known, so no distance to it can be computed")]
    UnknownNorm,
    /// Kernel values are so large that sums would overflow.
    #[error(
        "kernel values up to {value:e} are too large to be summed; use smaller points, weights or scores"
    )]
    Overflow {
        /// The largest k(x,x) met.
        value: f64,
    },
    /// A mean was asked for before any rows were added.
    #[error("no row with a positive weight was added to the sums; add the rows first")]
    NothingSummed,
    /// Sums at different points, or in different precision, cannot be added.
    #[error(
        "the two sums differ in landmarks, control points or precision; only sums with the same ones can be merged"
    )]
    OtherLandmarks,
    /// The bytes are not landmark sums.
    #[error("these bytes are not the sums of landmarks: {reason}; create them again")]
    BadLandmarks {
        /// Why not.
        reason: &'static str,
    },
    /// The bytes are not of the expected kind.
    #[error("these bytes are not {what}: {reason}; create them again")]
    BadBytes {
        /// What they should be.
        what: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// A row number is not in the pool.
    #[error("row {index} is not in the pool, which has {len} rows, numbered from 0")]
    NoSuchRow {
        /// The row asked for.
        index: usize,
        /// Number of rows.
        len: usize,
    },
    /// A row was given twice where rows must be distinct.
    #[error("row {index} is given twice, but the rows must be distinct")]
    RepeatedRow {
        /// The row given twice.
        index: usize,
    },
    /// A row was given that must not be chosen.
    #[error("row {index} is excluded, so it cannot be in the set; drop it from one of the two lists")]
    ExcludedRow {
        /// The row.
        index: usize,
    },
    /// Replaying picks needs a pool that the row numbers refer to.
    #[error(
        "rows can be replayed or excluded only when herding over a pool; this herder searches all of space"
    )]
    NotAPool,
    /// More distinct rows were asked for than there are.
    #[error("{}", self.plain())]
    TooFewRows {
        /// Number asked for.
        asked: usize,
        /// Number of rows of the pool that may be chosen.
        available: usize,
    },
    /// There is no stop rule.
    #[error("{}", self.plain())]
    NoStopRule,
    /// A run would exceed the memory limit.
    #[error("{}", self.plain())]
    TooLittleMemory {
        /// Smallest memory of the run, in bytes.
        needed: u64,
        /// Memory limit in bytes.
        limit: u64,
    },
    /// A set of no points was asked for.
    #[error("{}", self.plain())]
    EmptySet,
    /// A row is both included and excluded.
    #[error("{}", self.plain())]
    IncludedAndExcluded {
        /// The row.
        index: usize,
    },
    /// More rows must be included than the set has places.
    #[error("{}", self.plain())]
    TooManyIncluded {
        /// Number of rows that must be included.
        included: usize,
        /// Number to choose.
        asked: usize,
    },
    /// There must be one group for each row of the pool.
    #[error("{found} group labels were given for a pool of {expected} rows; give exactly one each")]
    GroupCount {
        /// Number of labels given.
        found: usize,
        /// Number of rows of the pool.
        expected: usize,
    },
    /// There must be one quota for each group.
    #[error("{found} quotas were given for {expected} groups; give one for each group, numbered from 0")]
    QuotaCount {
        /// Number of quotas given.
        found: usize,
        /// Number of groups.
        expected: usize,
    },
    /// The quotas do not add up to the size of the set.
    #[error("{}", self.plain())]
    QuotaTotal {
        /// The sum of the quotas.
        total: usize,
        /// Number to choose.
        asked: usize,
    },
    /// A quota is larger than its group.
    #[error("{}", self.plain())]
    QuotaTooLarge {
        /// Which group, from 0.
        group: usize,
        /// Number of rows to take from it.
        quota: usize,
        /// Number of its rows that may be chosen.
        available: usize,
    },
    /// A quota is smaller than the number of rows of its group that must be included.
    #[error("{}", self.plain())]
    QuotaTooSmall {
        /// Which group, from 0.
        group: usize,
        /// Number of rows to take from it.
        quota: usize,
        /// Number of its rows that must be included.
        included: usize,
    },
    /// The given rows do not fulfil a quota.
    #[error("{}", self.plain())]
    QuotaNotKept {
        /// Which group, from 0.
        group: usize,
        /// Number of rows to take from it.
        quota: usize,
        /// Number of given rows from it.
        found: usize,
    },
    /// A herder was given to a refiner of another pool, or one that started from another function than μ.
    #[error(
        "the herder chooses from another pool, or did not start from the mean embedding; give its rows instead"
    )]
    OtherHerder,
    /// Fixed quotas fix the size of the set, so the fewest points cannot be searched for.
    #[error("{}", self.plain())]
    FixedQuotas,
    /// An option is out of range.
    #[error("{}", self.plain())]
    BadOption {
        /// The option.
        option: Opt,
        /// The offending value.
        value: f64,
        /// What it may be.
        advice: &'static str,
    },
    /// The kernel matrix is not positive definite, even with jitter.
    #[error(
        "the kernel matrix of the points is not positive definite even with {jitter:e} on its diagonal; scale the \
         points, or drop those that repeat"
    )]
    SingularKernelMatrix {
        /// The largest jitter that was tried.
        jitter: f64,
    },
    /// The Gram matrix is not square.
    #[error("{len} numbers are not a Gram matrix of {rows} rows, which has one number for each pair of rows")]
    GramShape {
        /// Number of numbers given.
        len: usize,
        /// Number of rows to be.
        rows: usize,
    },
    /// An entry is not possible in a Gram matrix.
    #[error("row {row}, column {column} of the Gram matrix is {value}; {reason}")]
    GramEntry {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The offending value.
        value: f64,
        /// What an entry there has to be.
        reason: &'static str,
    },
    /// Two entries of a symmetric matrix differ by more than rounding.
    #[error(
        "row {row}, column {column} of the Gram matrix is {value}, and row {column}, column {row} is {mirrored}; \
         k(x, y) is k(y, x), so pass a symmetric matrix"
    )]
    GramAsymmetric {
        /// The row, from 0.
        row: usize,
        /// The column, from 0.
        column: usize,
        /// The entry there.
        value: f64,
        /// The entry on the other side of the diagonal.
        mirrored: f64,
    },
    /// The matrix gives a negative squared error, so it is not positive definite.
    #[error(
        "the Gram matrix is not positive definite: it gives a squared error of {squared_error}; pass the values of \
         a positive definite kernel, or set the negative eigenvalues of the matrix to 0"
    )]
    GramIndefinite {
        /// The squared error, which is never negative but for rounding.
        squared_error: f64,
    },
    /// A call needs points, and the rows are known only by a Gram matrix.
    #[error("{what} needs the coordinates of points, and a Gram matrix has none")]
    NotWithGram {
        /// What was asked for.
        what: &'static str,
    },
}

/// A result whose error is this library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
