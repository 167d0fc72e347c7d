//! The target `witness` for cargo-fuzz.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| fuzz::witness(data));
