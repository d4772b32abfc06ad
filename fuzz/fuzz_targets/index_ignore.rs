#![no_main]

libfuzzer_sys::fuzz_target!(|input: &[u8]| unlade_fuzz::check(
    unlade_hostile::Entry::IndexIgnore,
    input
));
