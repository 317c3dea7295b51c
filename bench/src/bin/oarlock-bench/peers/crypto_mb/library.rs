//! The functions of `bench/peers/crypto_mb.c`.

use std::ffi::{c_char, c_int};
use std::ptr;
use std::sync::Arc;

use libloading::Library;
use oarlock_measure::Error;
use pkcs1::RsaPrivateKeyRef;

use crate::system::fetched;

/// The most requests of one call.
pub(super) const LANES: usize = 8;

/// Functions of the loaded library, which stays loaded as long as this lives.
pub(super) struct Functions {
    version: unsafe extern "C" fn() -> *const c_char,
    work_bytes: unsafe extern "C" fn(c_int) -> usize,
    rsa_private: RsaFunction,
    rsa_public: RsaFunction,
    exp: unsafe extern "C" fn(
        c_int,
        usize,
        *const *const u64,
        *const *const u64,
        *const *const u64,
        *const *mut u64,
        *mut u8,
        usize,
    ) -> c_int,
    _library: Library,
}

type RsaFunction = unsafe extern "C" fn(
    c_int,
    usize,
    *const *const KeyPointers,
    *const *const u8,
    *const *mut u8,
    *mut u8,
) -> c_int;

/// `struct rsa_key` of the C file.
#[repr(C)]
struct KeyPointers {
    n: *const u64,
    crt: [*const u64; 5],
}

impl Functions {
    pub(super) fn load() -> Result<Self, Error> {
        let library = fetched::load(FILE)?;
        macro_rules! symbol {
            ($name:literal) => {
                // SAFETY: the requested type is the function's in bench/peers/crypto_mb.c, and the library is kept with it.
                unsafe { fetched::symbol(&library, $name) }?
            };
        }
        let runs: unsafe extern "C" fn() -> c_int = symbol!("peer_crypto_mb_runs");
        // SAFETY: the function has no parameters, and the library is loaded.
        if unsafe { runs() } == 0 {
            return Err(Error::Unavailable(
                "crypto_mb has no code for this CPU: it wants AVX-512 IFMA".to_owned(),
            ));
        }
        Ok(Self {
            version: symbol!("peer_crypto_mb_version"),
            work_bytes: symbol!("peer_crypto_mb_work_bytes"),
            rsa_private: symbol!("peer_crypto_mb_rsa_private"),
            rsa_public: symbol!("peer_crypto_mb_rsa_public"),
            exp: symbol!("peer_crypto_mb_exp"),
            _library: library,
        })
    }

    pub(super) fn version(&self) -> String {
        // SAFETY: it has no parameters and returns a static string of the library that `self` keeps.
        unsafe { fetched::said_by(self.version) }
    }
}

/// A number in little-endian words, followed by a zero word: exponents are read in windows, the last of which may extend
/// past the end.
pub(super) struct Number(Vec<u64>);

impl Number {
    /// Converts big-endian bytes to words, the last of which may be partly filled.
    pub(super) fn new(big_endian: &[u8]) -> Self {
        let word = |bytes: &[u8]| {
            let word = bytes.iter();
            word.fold(0, |word, byte| word << 8 | u64::from(*byte))
        };
        Self(big_endian.rchunks(8).map(word).chain([0]).collect())
    }

    /// Writes the number big-endian with its original length, which is a multiple of the word size.
    pub(super) fn write(&self, big_endian: &mut [u8]) {
        for (bytes, word) in big_endian.rchunks_exact_mut(8).zip(&self.0) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
    }

    fn words(&self) -> usize {
        self.0.len() - 1
    }
}

/// A key in the library's format.
pub(super) struct RsaKey {
    n: Number,
    /// p, q, d mod (p - 1), d mod (q - 1) and q^-1 mod p, all as long as p.
    crt: [Number; 5],
}

impl RsaKey {
    pub(super) fn new(key: &RsaPrivateKeyRef<'_>) -> Self {
        let n = key.modulus.as_bytes();
        let half = |number: &[u8]| {
            let mut padded = vec![0; n.len() / 2 - number.len()];
            padded.extend_from_slice(number);
            Number::new(&padded)
        };
        Self {
            n: Number::new(n),
            crt: [
                &key.prime1,
                &key.prime2,
                &key.exponent1,
                &key.exponent2,
                &key.coefficient,
            ]
            .map(|number| half(number.as_bytes())),
        }
    }

    fn pointers(&self) -> KeyPointers {
        KeyPointers {
            n: self.n.0.as_ptr(),
            crt: [0, 1, 2, 3, 4].map(|part: usize| self.crt[part].0.as_ptr()),
        }
    }
}

/// Scratch space for operations of one size.
pub(super) struct Workspace {
    functions: Arc<Functions>,
    bits: c_int,
    room: Vec<u8>,
}

impl Workspace {
    pub(super) fn new(functions: &Arc<Functions>, bits: usize) -> Self {
        let bits = bits as c_int;
        // SAFETY: the function accepts any size.
        let bytes = unsafe { (functions.work_bytes)(bits) };
        Self {
            functions: Arc::clone(functions),
            bits,
            room: vec![0; bytes],
        }
    }

    /// Raises each operand to its key's private exponent.
    pub(super) fn rsa_private<'a>(
        &mut self,
        keys: impl Iterator<Item = &'a RsaKey>,
        operands: impl Iterator<Item = &'a [u8]>,
        results: &mut [Vec<u8>],
    ) {
        self.rsa(self.functions.rsa_private, keys, operands, results);
    }

    /// Raises each operand to 65537.
    pub(super) fn rsa_public<'a>(
        &mut self,
        keys: impl Iterator<Item = &'a RsaKey>,
        operands: impl Iterator<Item = &'a [u8]>,
        results: &mut [Vec<u8>],
    ) {
        self.rsa(self.functions.rsa_public, keys, operands, results);
    }

    fn rsa<'a>(
        &mut self,
        function: RsaFunction,
        keys: impl Iterator<Item = &'a RsaKey>,
        operands: impl Iterator<Item = &'a [u8]>,
        results: &mut [Vec<u8>],
    ) {
        let bytes = self.bits as usize / 8;
        let mut key_pointers = [const { None }; LANES];
        let (mut from, mut to) = ([ptr::null(); LANES], [ptr::null_mut(); LANES]);
        let count = results.len();
        assert!(count <= LANES, "as many lanes as there are");
        for (lane, ((key, operand), result)) in keys.zip(operands).zip(results).enumerate() {
            assert_eq!((operand.len(), result.len()), (bytes, bytes));
            assert_eq!(key.n.words() * 8, bytes);
            key_pointers[lane] = Some(key.pointers());
            (from[lane], to[lane]) = (operand.as_ptr(), result.as_mut_ptr());
        }
        let keys = key_pointers
            .each_ref()
            .map(|key: &Option<KeyPointers>| key.as_ref().map_or(ptr::null(), ptr::from_ref));
        assert!(keys[..count].iter().all(|key| !key.is_null()));
        // SAFETY: each of the first `count` lanes has a key of this size, whose CRT numbers have half the length
        // (`RsaKey::new`), an operand and a result of its length, and the scratch space has the size that the library
        // requires. All of them outlive the call.
        let done = unsafe {
            function(
                self.bits,
                count,
                keys.as_ptr(),
                from.as_ptr(),
                to.as_ptr(),
                self.room.as_mut_ptr(),
            )
        };
        assert_eq!(done, 1, "crypto_mb: a lane failed");
    }

    /// Raises bases to exponents modulo moduli, which `lanes` has in this order.
    pub(super) fn exp<'a>(
        &mut self,
        operands: impl Iterator<Item = &'a [Number; 3]>,
        results: &mut [Number],
    ) {
        let words = self.bits as usize / 64;
        let (mut from, mut to) = ([[ptr::null(); LANES]; 3], [ptr::null_mut(); LANES]);
        let count = results.len();
        assert!(count <= LANES, "as many lanes as there are");
        for (lane, (operands, result)) in operands.zip(results).enumerate() {
            for (pointers, number) in from.iter_mut().zip(operands) {
                assert_eq!(number.words(), words);
                pointers[lane] = number.0.as_ptr();
            }
            assert_eq!(result.words(), words);
            to[lane] = result.0.as_mut_ptr();
        }
        assert!(to[..count].iter().all(|result| !result.is_null()));
        let [base, exponent, modulus] = from;
        // SAFETY: each of the first `count` lanes has numbers of this size plus one word, and the scratch space has the size
        // that the library requires.
        let done = unsafe {
            (self.functions.exp)(
                self.bits,
                count,
                base.as_ptr(),
                exponent.as_ptr(),
                modulus.as_ptr(),
                to.as_ptr(),
                self.room.as_mut_ptr(),
                self.room.len(),
            )
        };
        assert_eq!(done, 1, "crypto_mb: a lane failed");
    }
}

const FILE: &str = "libpeer_crypto_mb.so";
