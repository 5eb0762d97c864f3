//! Bytes as a file of the format NetCDF.
#![no_main]

mod read;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| read::read(bytes, supersample_io::Format::NetCdf));
