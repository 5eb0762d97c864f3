//! The native part of the R package: conversions, threads and interrupts. The library (`supersample::task`) chooses and
//! evaluates; the R code has the shapes of objects.
#![cfg(feature = "r")]
// Functions that extendr writes have neither.
#![allow(missing_docs, unreachable_pub)]

mod choose;
mod diagnose;
mod evaluate;
mod given;
mod lists;
mod options;
mod refusal;
mod words;
mod work;

use extendr_api::prelude::*;

extendr_module! {
    mod supersample;
    use choose;
    use diagnose;
    use evaluate;
    use words;
}
