//! Choice of a plan: the flags that say what is chosen and how, as the one value of the library.

use anyhow::Result;
use supersample::scale::Scale;
use supersample::task::{Choose, EmbeddingChoice};
use supersample::{Device, Precision};

use super::kernel::kernel_choice;
use super::{DrawsPlan, matched};
use crate::args::{EmbeddingArgs, KernelArgs, MatchArgs, PrecisionArg};

/// The choice with what is matched, which of `draws` knows the functions.
pub(super) fn matching(mut choose: Choose, args: MatchArgs, draws: &DrawsPlan) -> Result<Choose> {
    matched::check(&args, draws)?;
    choose.objective.marginals = args.marginals;
    if let Some(weight) = args.functions_weight {
        choose.objective.functions = weight;
    }
    Ok(choose)
}

/// The choice with distances, and the unit of functions, as these flags say. Scores bring their own kernel.
pub(super) fn measured(
    mut choose: Choose,
    args: KernelArgs,
    unit: Option<&str>,
    draws: &DrawsPlan,
) -> Result<Choose> {
    choose.distance.scale = args.scale.as_deref().map(Scale::named).transpose()?;
    if draws.scores.is_none() {
        let name = args.kernel.unwrap_or_else(|| "gaussian".to_string());
        choose = choose.kernel(kernel_choice(name, args.bandwidth.as_deref())?);
    }
    Ok(choose
        .functions_unit(matched::unit(unit, draws)?)
        .precision(match args.precision {
            PrecisionArg::Mixed => Precision::Mixed,
            PrecisionArg::Double => Precision::Double,
        })
        .device(Device::named(&args.device)?))
}

/// The choice with the mean embedding computed in this way.
pub(super) fn embedded(mut choose: Choose, args: EmbeddingArgs) -> Result<Choose> {
    choose.compute.embedding = EmbeddingChoice::named(&args.embedding)?;
    choose.compute.landmarks = args.landmarks;
    Ok(choose)
}
