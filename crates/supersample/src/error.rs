//! Every way the library can refuse its input: what is wrong, where, and what to do about it. Sentences that name options,
//! columns or groups are in `words`.

use supersample_sum::{NoSuchInstructionSet, UnknownWord};

use crate::kernel::{self, Family};
use crate::task::{ScoreFault, TargetChoice};
use crate::words::Opt;

/// What this library refuses, in a constructor wherever that is possible; iterators never fail.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The watcher of a long computation has ended it.
    #[error("the computation was ended before it had a result")]
    Interrupted,
    /// The environment asks for an instruction set that this machine lacks.
    #[error(transparent)]
    NoSuchInstructionSet(#[from] NoSuchInstructionSet),
    /// A choice was asked for by a word that names none.
    #[error(transparent)]
    UnknownWord(#[from] UnknownWord),
    /// The device cannot be used, or has stopped working.
    #[error("{reason}")]
    Device {
        /// What is wrong, and what to do.
        reason: String,
    },
    /// Whitening takes too long for so many columns.
    #[error(
        "whitening (scale pca) takes at most {most} columns, and there are {dim}; choose fewer columns, or scale sd"
    )]
    TooManyColumns {
        /// How many columns there are.
        dim: usize,
        /// How many there may be.
        most: usize,
    },
    /// A set of points needs at least one row.
    #[error("there are no points; at least one row is needed")]
    NoPoints,
    /// Points need at least one coordinate.
    #[error("the points have no coordinates; at least one column is needed")]
    NoDimensions,
    /// The numbers do not fill whole rows.
    #[error("{len} numbers do not make whole rows of {dim}; check the dimension or the length of the data")]
    RaggedRows {
        /// How many numbers were given.
        len: usize,
        /// How many make a row.
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
    /// Two things that must live in the same space do not.
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
        /// How many lengths were given.
        found: usize,
    },
    /// A kernel was asked for by a text that names none.
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
        /// How many weights were given.
        found: usize,
        /// How many are needed.
        expected: usize,
    },
    /// The mean embedding that is recalled is not that of these samples.
    #[error("{found} values of the mean embedding were given for {expected} samples; they belong to others")]
    RecalledCount {
        /// How many values were given.
        found: usize,
        /// How many samples there are.
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
    /// Every weight is given by its logarithm, and every logarithm is −∞.
    #[error("{}", self.plain())]
    NoLogWeights,
    /// Something was asked for that only rows in memory have.
    #[error(
        "{what} needs all rows in memory, and only a sample of them is there; leave it out, or allow more memory"
    )]
    NotInMemory {
        /// What was asked for.
        what: &'static str,
    },
    /// A pass over batches had other rows than the one before.
    #[error("{found} rows were summed, and there are {expected}; give the same rows in every pass")]
    RowsSummed {
        /// How many came.
        found: usize,
        /// How many there are.
        expected: usize,
    },
    /// Rows are to be chosen from a sample before the rows that it was drawn from have been summed.
    #[error("the rows behind the sample have not been summed at landmarks yet; do that first")]
    NotProjected,
    /// Batches of rows do not all have weights of one kind.
    #[error(
        "the rows from {first_row} on have weights of another kind than those before; give all of them weights, or none"
    )]
    MixedWeights {
        /// The first row of the batch, from 0.
        first_row: usize,
    },
    /// A uniform sample of weighted rows has none of those that weigh anything.
    #[error(
        "none of the {drawn} rows that were drawn from {rows} weighs anything, so that nothing can be chosen from them; draw more, or leave out the rows without weight"
    )]
    WeightlessPool {
        /// How many rows were drawn.
        drawn: usize,
        /// How many there are.
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
    /// Functions of a subset were given where there are none to hold them against.
    #[error("functions of the subset were given, but the problem has none; name them when it is made")]
    NoFunctions,
    /// Something that has a row for each row of the pool has another number of them.
    #[error("{what} have {found} rows, but there are {expected}; give one for each row, in the same order")]
    RowCount {
        /// What has rows.
        what: &'static str,
        /// How many it has.
        found: usize,
        /// How many are needed.
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
    /// Something was asked for that has no meaning where rows are known by their kernel values alone.
    #[error("{}", self.plain())]
    GramOption {
        /// What was asked for.
        option: Opt,
        /// What to do.
        advice: &'static str,
    },
    /// Points of a density that is known by its scores were given without theirs, or scores where there is no such density.
    #[error("{what}; {advice}")]
    Scores {
        /// What is wrong.
        what: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// The base of a Stein kernel cannot be preconditioned so.
    #[error("no preconditioner: {reason}; take the identity, or other points")]
    NoPreconditioner {
        /// Why not.
        reason: &'static str,
    },
    /// Something was asked for that works without parts only.
    #[error(
        "{what} knows points but not their parts (marginals or functions); leave the parts out, or choose rows of the pool"
    )]
    NotWithParts {
        /// What was asked for.
        what: &'static str,
    },
    /// A kernel that compares equal masses only was given others.
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
        /// How many numbers were given.
        found: usize,
        /// The dimension of the mixture.
        dim: usize,
    },
    /// A covariance is not symmetric.
    #[error(
        "component {component}: the covariance is not symmetric at ({row}, {column}); entries ({row}, {column}) and ({column}, {row}) must be equal"
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
        "component {component}: the covariance is not positive definite; add a small number to its diagonal or remove the linearly dependent coordinates"
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
    #[error("the squared norm of the mean embedding is not known, so its distance to anything is not either")]
    UnknownNorm,
    /// Kernel values so large that sums of them would overflow.
    #[error("kernel values up to {value:e} are too large to be summed; centre and scale the points first")]
    Overflow {
        /// The largest k(x,x) met.
        value: f64,
    },
    /// A mean was asked for before there was anything to take it of.
    #[error("no row that has a weight was added to the sums yet; add the rows first")]
    NothingSummed,
    /// Sums at different points, or in different precision, do not add up.
    #[error(
        "the two were summed at different landmarks or control points, or in different precision; only sums at the same ones can be merged"
    )]
    OtherLandmarks,
    /// Bytes that are no landmark sums.
    #[error("these bytes are not the sums of landmarks: {reason}; make them again")]
    BadLandmarks {
        /// Why not.
        reason: &'static str,
    },
    /// Bytes that are not what they are taken for.
    #[error("these bytes are not {what}: {reason}; make them again")]
    BadBytes {
        /// What they should be.
        what: &'static str,
        /// Why not.
        reason: &'static str,
    },
    /// A row number that is not in the pool.
    #[error("row {index} is not in the pool, which has {len} rows, numbered from 0")]
    NoSuchRow {
        /// The row asked for.
        index: usize,
        /// How many rows there are.
        len: usize,
    },
    /// A row was given twice where rows must be distinct.
    #[error("row {index} is given twice, but the picks are to be unique")]
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
        /// How many were asked for.
        asked: usize,
        /// How many rows of the pool may be chosen.
        available: usize,
    },
    /// Nothing was said of when to stop.
    #[error("{}", self.plain())]
    NoStopRule,
    /// A run would take more memory than it may.
    #[error("{}", self.plain())]
    TooLittleMemory {
        /// Bytes that even the most modest run takes.
        needed: u64,
        /// Bytes that are allowed.
        limit: u64,
    },
    /// A set of no points was asked for.
    #[error("{}", self.plain())]
    EmptySet,
    /// A row is both to be included and to be excluded.
    #[error("{}", self.plain())]
    IncludedAndExcluded {
        /// The row.
        index: usize,
    },
    /// More rows must be included than the set has places.
    #[error("{}", self.plain())]
    TooManyIncluded {
        /// How many rows must be included.
        included: usize,
        /// How many are to be chosen.
        asked: usize,
    },
    /// There must be one group for each row of the pool.
    #[error("{found} group labels were given for a pool of {expected} rows; give exactly one each")]
    GroupCount {
        /// How many labels were given.
        found: usize,
        /// How many rows the pool has.
        expected: usize,
    },
    /// There must be one quota for each group.
    #[error("{found} quotas were given for {expected} groups; give one for each group, numbered from 0")]
    QuotaCount {
        /// How many quotas were given.
        found: usize,
        /// How many groups there are.
        expected: usize,
    },
    /// The quotas do not add up to the size of the set.
    #[error("{}", self.plain())]
    QuotaTotal {
        /// The sum of the quotas.
        total: usize,
        /// How many are to be chosen.
        asked: usize,
    },
    /// A quota is larger than its group.
    #[error("{}", self.plain())]
    QuotaTooLarge {
        /// Which group, from 0.
        group: usize,
        /// How many rows are to come from it.
        quota: usize,
        /// How many rows of it may be chosen.
        available: usize,
    },
    /// A quota is smaller than the number of rows of its group that must be included.
    #[error("{}", self.plain())]
    QuotaTooSmall {
        /// Which group, from 0.
        group: usize,
        /// How many rows are to come from it.
        quota: usize,
        /// How many of its rows must be included.
        included: usize,
    },
    /// Rows that were given do not keep a quota.
    #[error("{}", self.plain())]
    QuotaNotKept {
        /// Which group, from 0.
        group: usize,
        /// How many rows are to come from it.
        quota: usize,
        /// How many of the given rows do.
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
    /// A kernel matrix that no reasonable jitter makes positive definite.
    #[error(
        "the kernel matrix of the points is not positive definite even with {jitter:e} on its diagonal; scale the points, or drop those that repeat"
    )]
    SingularKernelMatrix {
        /// The largest jitter that was tried.
        jitter: f64,
    },
    /// A Gram matrix that is not square.
    #[error("{len} numbers do not make a Gram matrix of {rows} rows; it has a number for each pair of rows")]
    GramShape {
        /// How many numbers were given.
        len: usize,
        /// How many rows there are to be.
        rows: usize,
    },
    /// An entry that no Gram matrix has.
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
    /// Two entries that should be the same and differ by more than rounding.
    #[error(
        "row {row}, column {column} of the Gram matrix is {value}, and row {column}, column {row} is {mirrored}; k(x, y) is k(y, x), so pass a symmetric matrix"
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
    /// A matrix that gives a negative squared error is not positive definite.
    #[error(
        "the Gram matrix is not positive definite: it gives a squared error of {squared_error}; pass the values of a positive definite kernel, or set the negative eigenvalues of the matrix to 0"
    )]
    GramIndefinite {
        /// The squared error, which is never negative but for rounding.
        squared_error: f64,
    },
    /// Something that needs points, of rows that are known by a Gram matrix alone.
    #[error("{what} needs the coordinates of points, and a Gram matrix has none")]
    NotWithGram {
        /// What was asked for.
        what: &'static str,
    },
}

/// A result whose error is this library's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;
