//! Options: names, defaults, ranges, and errors that say what to do.

use oarlock::{Accelerator, Error, Options, Threads};

#[test]
fn defaults_are_the_seeds() {
    let options = Options::default();
    assert_eq!(options.min_threads, 0);
    assert_eq!(options.max_threads, Threads::Auto);
    assert_eq!(options.cipher_threads, 2);
    assert_eq!(options.cipher_blocks, 4096);
    assert_eq!(options.cipher_streams(), 4);
}

#[test]
fn text_and_options_agree() {
    let text = "min_threads=1,max_threads=6,cipher_threads=3,cipher_blocks=32,cipher_streams=9,\
                reservation=exclusive,strategy=stripe,spin=off,prefetch_bytes=1000,prefetch_worker=idle,offer=all,\
                lanes=always,publish=on";
    assert_eq!(text.parse::<Options>().unwrap().to_string(), text);
}

#[test]
fn what_does_not_fit_is_named() {
    for (text, message) in [
        (
            "cipher_blocks=100",
            "cipher_blocks=100 is not a positive multiple of 16",
        ),
        (
            "cipher_blocks=0",
            "cipher_blocks=0 is not a positive multiple of 16",
        ),
        (
            "cipher_streams=0",
            "cipher_streams=0: a cipher has at least 1 stream",
        ),
        (
            "max_thread=2",
            "unknown option \"max_thread\": the options are min_threads, max_threads",
        ),
        ("max_threads", "option \"max_threads\" is not NAME=VALUE"),
        ("max_threads=two", "max_threads=two is not a whole number"),
        ("max_threads=-1", "max_threads=-1 is not a whole number"),
        (
            "min_threads=3,max_threads=2",
            "min_threads=3 is more than max_threads=2",
        ),
        (
            "cipher_threads=1000000",
            "cipher_threads=1000000 is more than 4096",
        ),
        (
            "strategy=fast",
            "strategy=fast is none of auto, inline, stripe",
        ),
        (
            "reservation=mine",
            "reservation=mine is none of shared, exclusive",
        ),
    ] {
        let error = text.parse::<Options>().unwrap_err().to_string();
        assert!(error.starts_with(message), "{text}: {error}");
        assert!(!error.contains('\n'));
    }
}

#[test]
fn the_builder_checks_too() {
    let error = Accelerator::builder()
        .cipher_blocks(17)
        .build()
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cipher_blocks=17 is not a positive multiple of 16"
    );
    let error = Accelerator::builder()
        .cpu_mask("-avx512,aes")
        .build()
        .unwrap_err();
    assert!(matches!(error, Error::Options(_)));
    assert!(
        error
            .to_string()
            .starts_with("cpu_mask: unknown word \"aes\""),
        "{error}"
    );
}
