#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| oarlock_fuzz::key_shares::run(bytes));
