//! Many requests in one call.

/// Runs a body for each of our hash functions in turn, together with RustCrypto's.
macro_rules! for_every_hash {
    ($body:ident($($argument:expr),*)) => {{
        use crate::batch::hmac::oracle;
        $body::<Md5>($($argument,)* oracle::<::hmac::Hmac<md5::Md5>>);
        $body::<Sha1>($($argument,)* oracle::<::hmac::Hmac<sha1::Sha1>>);
        $body::<Sha256>($($argument,)* oracle::<::hmac::Hmac<sha2::Sha256>>);
        $body::<Sha384>($($argument,)* oracle::<::hmac::Hmac<sha2::Sha384>>);
        $body::<Sha512>($($argument,)* oracle::<::hmac::Hmac<sha2::Sha512>>);
    }};
}

mod cbc;
mod chained;
mod ctr;
mod gcm;
mod hmac;
mod tdes;

use std::ops::Range;

use rand::{RngExt, rngs::StdRng};

use crate::pages::Pages;

/// Buffers of the given lengths, each followed directly by an inaccessible page.
struct Guarded {
    pages: Vec<(Pages, usize)>,
}

impl Guarded {
    fn new(lengths: &[usize]) -> Self {
        let pages = lengths
            .iter()
            .map(|bytes| (Pages::new(bytes.div_ceil(4096).max(1)), *bytes))
            .collect();
        Self { pages }
    }

    fn buffers(&mut self) -> Vec<&mut [u8]> {
        self.pages
            .iter_mut()
            .map(|(pages, bytes)| {
                let start = pages.start().wrapping_add(pages.bytes() - *bytes);
                // SAFETY: these are the last bytes of accessible pages, which are zeroed; `self` is mutably borrowed as long
                // as the slice lives.
                unsafe { std::slice::from_raw_parts_mut(start, *bytes) }
            })
            .collect()
    }
}

/// Returns lengths for a batch: equal ones, short ones, a long one among short ones, or any.
fn lengths(rng: &mut StdRng, count: usize, unit: usize) -> Vec<usize> {
    let most: Range<usize> = match rng.random_range(0..4) {
        0 => {
            let bytes = rng.random_range(0..60) * unit;
            return vec![bytes; count];
        }
        1 => 0..8,
        2 => {
            let mut lengths = vec![unit; count];
            if let Some(length) = lengths.last_mut() {
                *length = 90 * unit;
            }
            return lengths;
        }
        _ => 0..100,
    };
    (0..count)
        .map(|_| rng.random_range(most.clone()) * unit)
        .collect()
}
