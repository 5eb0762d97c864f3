//! Words: whatever can be asked for by one is read and written by it, and other words are refused with a list.

use std::fmt::{Debug, Display};
use std::str::FromStr;

use supersample::scale::Scale;
use supersample::task::{EmbeddingChoice, Ended};
use supersample::{Device, Error, Family, FunctionsUnit, Precision, Preconditioner, SteinBase, UnknownWord};

fn round_trip<T: FromStr<Err = UnknownWord> + Display + PartialEq + Debug>(
    all: &[T],
    what: &str,
    known: &str,
) {
    for value in all {
        assert_eq!(value.to_string().parse::<T>().as_ref(), Ok(value));
    }
    for word in ["nonsense", "", "Sd ", "IMQ"] {
        let refusal = Error::from(word.parse::<T>().unwrap_err()).to_string();
        assert_eq!(refusal, format!("'{word}' is not {what}; choose {known}"));
    }
}

#[test]
fn every_word_survives_a_round_trip_and_others_are_refused_with_a_list() {
    let kernels = "gaussian, laplace, matern12, matern32, matern52, imq, linear or energy";
    round_trip(&Family::ALL, "a kernel", kernels);
    round_trip(&Scale::ALL, "a scale", "none, sd, mad, aad or pca");
    round_trip(&Precision::ALL, "a precision", "mixed or double");
    round_trip(&SteinBase::ALL, "the base of a Stein kernel", "imq or gaussian");
    round_trip(&EmbeddingChoice::ALL, "an embedding", "auto, exact or landmarks");
    round_trip(&FunctionsUnit::ALL, "a unit of functions", "each or common");
    round_trip(&Ended::ALL, "an end", "number, tolerance, equivalent_draws, enough, exhausted or interrupt");
    let preconditioners = Preconditioner::NAMES.map(|name| name.parse().unwrap());
    let known = "identity, median, scaled-median or covariance";
    round_trip(&[&preconditioners[..], &[Preconditioner::Length(0.3)]].concat(), "a preconditioner", known);
    assert_eq!("cpu".parse::<Device>().unwrap().to_string(), "cpu");
}
