//! Choice of a plan: the flags as the library's `Choose`.

use anyhow::Result;
use supersample::task::Choose;

use super::kernel::kernel_choice;
use super::{DrawsPlan, matched};
use crate::args::{EmbeddingArgs, KernelArgs, MatchArgs};

/// Sets the objective; `draws` knows the functions.
pub(super) fn matching(mut choose: Choose, args: MatchArgs, draws: &DrawsPlan) -> Result<Choose> {
    matched::check(&args, draws)?;
    (choose.objective.marginals, choose.objective.moments) = (args.marginals, args.moments);
    if let Some(weight) = args.functions_weight {
        choose.objective.functions = weight;
    }
    Ok(choose)
}

/// Sets distances and the unit of functions from these flags. The target density has its own kernel.
pub(super) fn measured(
    mut choose: Choose,
    args: KernelArgs,
    unit: Option<&str>,
    draws: &DrawsPlan,
) -> Result<Choose> {
    choose.distance.scale = args.scale.as_deref().map(str::parse).transpose()?;
    choose.target = draws.scores.as_ref().map(|scores| scores.target);
    if !draws.is_density() {
        let family = args.kernel.as_deref().map(str::parse).transpose()?;
        choose = choose.kernel(kernel_choice(family, args.bandwidth.as_deref())?);
    }
    Ok(choose
        .functions_unit(matched::unit(unit, draws)?)
        .precision(args.precision.parse()?)
        .device(args.device.parse()?))
}

/// Sets how the mean embedding is computed.
pub(super) fn embedded(mut choose: Choose, args: EmbeddingArgs) -> Result<Choose> {
    choose.compute.embedding = args.embedding.parse()?;
    choose.compute.landmarks = args.landmarks;
    Ok(choose)
}
