//! The ciphers. They wrap contexts of the engine and treat parameters, padding, tags and TLS records as the default
//! provider does (EVP_EncryptInit(3), provider-cipher(7)).

mod cbc;
mod chacha20_poly1305;
mod gcm;
mod iv;
mod secret;
mod stream;
mod tls_padding;
mod values;

use std::ffi::CStr;

use oarlock::Algorithm;

use self::values::set;
use crate::abi::{self, Params};
use crate::counted::CountedOffer;
use crate::dispatch::{Offered, table};
use crate::error::Reason;

/// Returns the algorithm as OpenSSL describes it, or `None` if the provider has no such cipher.
pub(crate) fn algorithm(algorithm: Algorithm, is_counted: bool) -> Option<abi::Algorithm> {
    Some(match algorithm {
        Algorithm::Aes128Ctr => offer::<Aes128Ctr>(c"AES-128-CTR", is_counted),
        Algorithm::Aes192Ctr => offer::<Aes192Ctr>(c"AES-192-CTR", is_counted),
        Algorithm::Aes256Ctr => offer::<Aes256Ctr>(c"AES-256-CTR", is_counted),
        Algorithm::Aes128Gcm => offer::<Aes128Gcm>(
            c"AES-128-GCM:id-aes128-GCM:2.16.840.1.101.3.4.1.6",
            is_counted,
        ),
        Algorithm::Aes192Gcm => offer::<Aes192Gcm>(
            c"AES-192-GCM:id-aes192-GCM:2.16.840.1.101.3.4.1.26",
            is_counted,
        ),
        Algorithm::Aes256Gcm => offer::<Aes256Gcm>(
            c"AES-256-GCM:id-aes256-GCM:2.16.840.1.101.3.4.1.46",
            is_counted,
        ),
        Algorithm::Aes128Cbc => {
            offer::<Aes128Cbc>(c"AES-128-CBC:AES128:2.16.840.1.101.3.4.1.2", is_counted)
        }
        Algorithm::Aes192Cbc => {
            offer::<Aes192Cbc>(c"AES-192-CBC:AES192:2.16.840.1.101.3.4.1.22", is_counted)
        }
        Algorithm::Aes256Cbc => {
            offer::<Aes256Cbc>(c"AES-256-CBC:AES256:2.16.840.1.101.3.4.1.42", is_counted)
        }
        Algorithm::ChaCha20 => offer::<ChaCha20>(c"ChaCha20", is_counted),
        Algorithm::ChaCha20Poly1305 => offer::<ChaCha20Poly1305>(c"ChaCha20-Poly1305", is_counted),
        Algorithm::Camellia128Ctr => offer::<Camellia128Ctr>(c"CAMELLIA-128-CTR", is_counted),
        Algorithm::Camellia192Ctr => offer::<Camellia192Ctr>(c"CAMELLIA-192-CTR", is_counted),
        Algorithm::Camellia256Ctr => offer::<Camellia256Ctr>(c"CAMELLIA-256-CTR", is_counted),
        _ => return None,
    })
}

fn offer<A: Offered>(names: &'static CStr, is_counted: bool) -> abi::Algorithm {
    let functions = if is_counted {
        table::<CountedOffer<A>>()
    } else {
        table::<A>()
    };
    abi::Algorithm::offering(names, functions)
}

macro_rules! offered {
    ($($name:ident: $cipher:ty, $properties:expr;)+) => {
        $(
            struct $name;

            impl Offered for $name {
                type Cipher = $cipher;
                const OPERATION: Algorithm = Algorithm::$name;

                fn get_params(params: Params<'_>) -> Result<(), Reason> {
                    const PROPERTIES: Properties = $properties;
                    PROPERTIES.get(Algorithm::$name, params)
                }
            }
        )+
    };
}

offered! {
    Aes128Ctr: stream::Stream, CTR;
    Aes192Ctr: stream::Stream, CTR;
    Aes256Ctr: stream::Stream, CTR;
    Camellia128Ctr: stream::Stream, CTR;
    Camellia192Ctr: stream::Stream, CTR;
    Camellia256Ctr: stream::Stream, CTR;
    ChaCha20: stream::Stream, CHACHA20;
    Aes128Cbc: cbc::Cbc, CBC;
    Aes192Cbc: cbc::Cbc, CBC;
    Aes256Cbc: cbc::Cbc, CBC;
    Aes128Gcm: gcm::Gcm, GCM;
    Aes192Gcm: gcm::Gcm, GCM;
    Aes256Gcm: gcm::Gcm, GCM;
    ChaCha20Poly1305: chacha20_poly1305::ChaCha20Poly1305, CHACHA20_POLY1305;
}

/// The properties of an algorithm that EVP_CIPHER_get_mode(3) and similar functions return.
struct Properties {
    /// EVP_CIPH_*_MODE; 0 means a stream cipher.
    mode: u32,
    iv_bytes: u64,
    block_bytes: u64,
    is_aead: bool,
    has_custom_iv: bool,
}

const CTR: Properties = Properties {
    mode: 5,
    iv_bytes: 16,
    block_bytes: 1,
    is_aead: false,
    has_custom_iv: false,
};
const CHACHA20: Properties = Properties {
    mode: 0,
    has_custom_iv: true,
    ..CTR
};
const CBC: Properties = Properties {
    mode: 2,
    block_bytes: 16,
    ..CTR
};
const GCM: Properties = Properties {
    mode: 6,
    iv_bytes: 12,
    block_bytes: 1,
    is_aead: true,
    has_custom_iv: true,
};
const CHACHA20_POLY1305: Properties = Properties { mode: 0, ..GCM };

impl Properties {
    fn get(&self, operation: Algorithm, params: Params<'_>) -> Result<(), Reason> {
        params.each(|key, value| {
            set(match key {
                b"mode" => value.set_number(self.mode),
                b"keylen" => value.set_number(operation.key_bytes() as u64),
                b"ivlen" => value.set_number(self.iv_bytes),
                b"blocksize" => value.set_number(self.block_bytes),
                b"aead" => value.set_number(u32::from(self.is_aead)),
                b"custom-iv" => value.set_number(u32::from(self.has_custom_iv)),
                b"cts" | b"tls-multi" | b"has-randkey" | b"encrypt-then-mac" => {
                    value.set_number(0u32)
                }
                _ => true,
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dispatch::context_bytes;

    /// Programs create or copy a context for each message, and glibc's malloc caches no larger blocks for its threads.
    #[test]
    fn the_c_library_keeps_room_for_contexts_of_every_cipher() {
        const BYTES_MAX: usize = 1032;
        for (cipher, bytes) in [
            ("GCM", context_bytes::<gcm::Gcm>()),
            (
                "ChaCha20-Poly1305",
                context_bytes::<chacha20_poly1305::ChaCha20Poly1305>(),
            ),
            ("CBC", context_bytes::<cbc::Cbc>()),
            ("CTR and ChaCha20", context_bytes::<stream::Stream>()),
        ] {
            assert!(bytes <= BYTES_MAX, "{cipher}: {bytes}");
        }
    }
}
