//! What makes a target of a function that takes a case.

/// `run`, which makes an `Input` of bytes as libFuzzer would. Bytes that are too few for one pass.
macro_rules! fuzz_target {
    (|$input:ident: Input| $body:block) => {
        /// Runs the target on one input.
        ///
        /// # Panics
        /// When it finds a fault.
        pub fn run(bytes: &[u8]) {
            let bytes = arbitrary::Unstructured::new(bytes);
            if let Ok($input) = <Input as Arbitrary>::arbitrary_take_rest(bytes) $body
        }
    };
}
