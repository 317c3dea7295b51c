//! Published vectors of RSA: Project Wycheproof's and NIST's. Each request runs alone and, as a job, together with others,
//! in lanes if there are lanes.

use std::collections::HashMap;

use oarlock::device::visible_cpu;
use oarlock::job::{Job, JobOptions};
use oarlock::rsa::{
    AcceleratedRsa, AcceleratedRsaPublic, EncryptionScheme, Hash, PssSalt, RsaPrivateKey,
    RsaPublicKey, SignatureScheme,
};
use oarlock::{Accelerator, Error};
use oarlock_kernels::modexp::Backend;
use oarlock_vectors::{RsaSignatureVector, cavp, wycheproof};

fn hash(name: &str) -> Hash {
    match name {
        "SHA-1" => Hash::Sha1,
        "SHA-224" => Hash::Sha224,
        "SHA-256" => Hash::Sha256,
        "SHA-384" => Hash::Sha384,
        "SHA-512" => Hash::Sha512,
        "SHA-512/224" => Hash::Sha512_224,
        "SHA-512/256" => Hash::Sha512_256,
        other => panic!("no hash is called {other}"),
    }
}

fn pss(vector: &RsaSignatureVector) -> SignatureScheme {
    SignatureScheme::PssWith {
        hash: hash(vector.hash),
        mgf1: hash(vector.mgf1),
        salt: PssSalt::Bytes(vector.salt_bytes),
    }
}

/// Pending jobs. There are no threads: waiting for the first computes all of them.
struct Together<T> {
    accelerator: Accelerator,
    jobs: Vec<(Job<T>, Result<T, Error>, String)>,
}

impl<T: PartialEq + std::fmt::Debug> Together<T> {
    fn new() -> Self {
        Self {
            accelerator: Accelerator::builder().max_threads(0).build().unwrap(),
            jobs: Vec::new(),
        }
    }

    fn push(&mut self, job: Job<T>, alone: Result<T, Error>, source: impl ToString) {
        self.jobs.push((job, alone, source.to_string()));
        if self.jobs.len() == 512 {
            self.compare();
        }
    }

    fn compare(&mut self) {
        for (job, alone, source) in self.jobs.drain(..) {
            assert_eq!(job.wait(), alone, "{source}");
        }
    }

    /// Checks that requests were computed in groups: with IFMA at least three of four, since any two in lanes beat aws-lc
    /// even without optimization.
    fn finish(mut self) {
        self.compare();
        let stats = self.accelerator.stats().public_key;
        assert_eq!(stats.faults, 0);
        let cpu = visible_cpu().unwrap();
        match Backend::preferred(cpu) {
            // Half of the requests were made alone on purpose.
            Some(Backend::Ifma(_)) => {
                assert!(stats.in_groups * 4 > stats.alone * 3, "{stats:?}");
            }
            Some(Backend::Fma(_)) => assert!(stats.groups > 0, "{stats:?}"),
            None => {}
        }
    }
}

/// Returns the number of valid and of invalid vectors.
fn check_signatures(
    vectors: Vec<RsaSignatureVector>,
    scheme: fn(&RsaSignatureVector) -> SignatureScheme,
) -> (usize, usize) {
    let mut together = Together::new();
    let accelerator = together.accelerator.clone();
    let mut keys: HashMap<(Vec<u8>, Vec<u8>), AcceleratedRsaPublic> = HashMap::new();
    let [mut valid, mut invalid] = [0, 0];
    for vector in vectors {
        let scheme = scheme(&vector);
        let numbers = (vector.modulus, vector.exponent);
        let rsa = keys.entry(numbers).or_insert_with_key(|(n, e)| {
            accelerator.rsa_public(&RsaPublicKey::from_numbers(n, e).unwrap())
        });
        let result = rsa.verify(scheme, &vector.message, &vector.signature);
        let options = JobOptions::default();
        let job = rsa.submit_verify(scheme, vector.message, vector.signature, options);
        together.push(job.unwrap(), result.clone(), &vector.source);
        if vector.is_valid {
            assert_eq!(result, Ok(()), "{}", vector.source);
            valid += 1;
        } else {
            assert_eq!(result, Err(Error::InvalidSignature), "{}", vector.source);
            invalid += 1;
        }
    }
    together.finish();
    (valid, invalid)
}

/// NIST's vectors for FIPS 186-3.
#[test]
fn signatures_of_cavp() {
    let pkcs1 = cavp::rsa_pkcs1_signatures().unwrap();
    let counts = check_signatures(pkcs1, |vector| SignatureScheme::Pkcs1(hash(vector.hash)));
    assert_eq!(counts, (250 + 75, 375));
    let counts = check_signatures(cavp::rsa_pss_signatures().unwrap(), pss);
    assert_eq!(counts, (250 + 75, 375));
}

#[test]
fn signatures_of_pkcs1() {
    let (valid, invalid) =
        check_signatures(wycheproof::rsa_pkcs1_signatures().unwrap(), |vector| {
            SignatureScheme::Pkcs1(hash(vector.hash))
        });
    assert!(valid > 100 && invalid > 3000, "{valid} and {invalid}");
}

#[test]
fn signatures_of_pss() {
    let (valid, invalid) = check_signatures(wycheproof::rsa_pss_signatures().unwrap(), pss);
    assert!(valid > 1500 && invalid > 500, "{valid} and {invalid}");
}

#[test]
fn signatures_that_are_made() {
    let (mut keys, mut together) = (HashMap::new(), Together::new());
    let vectors = wycheproof::rsa_pkcs1_signing().unwrap();
    assert!(vectors.len() > 100, "{}", vectors.len());
    for vector in vectors {
        let rsa = opened(&mut keys, &together.accelerator, &vector.private_key);
        let scheme = SignatureScheme::Pkcs1(hash(vector.hash));
        let result = rsa.sign(scheme, &vector.message);
        if vector.hash == "SHA-1" {
            // The library refuses these; the provider accepts them, as OpenSSL does.
            assert!(matches!(result, Err(Error::InvalidInput(_))), "{result:?}");
            continue;
        }
        assert_eq!(result.as_ref(), Ok(&vector.signature), "{}", vector.source);
        let job = rsa.submit_sign(scheme, vector.message, JobOptions::default());
        together.push(job.unwrap(), result, &vector.source);
    }
    together.finish();
}

#[test]
fn keys_of_three_primes_are_refused_by_that_name() {
    for vector in wycheproof::rsa_oaep_three_primes().unwrap() {
        let error = RsaPrivateKey::from_der(&vector.private_key).unwrap_err();
        assert!(
            error.to_string().contains("more than two primes"),
            "{}: {error}",
            vector.source
        );
    }
}

fn opened<'a>(
    keys: &'a mut HashMap<Vec<u8>, AcceleratedRsa>,
    accelerator: &Accelerator,
    private_key: &[u8],
) -> &'a AcceleratedRsa {
    keys.entry(private_key.to_vec())
        .or_insert_with_key(|der| accelerator.rsa(&RsaPrivateKey::from_der(der).unwrap()))
}

#[test]
fn messages_of_oaep() {
    let (mut keys, mut together) = (HashMap::new(), Together::new());
    let [mut valid, mut invalid] = [0, 0];
    for vector in wycheproof::rsa_oaep().unwrap() {
        let rsa = opened(&mut keys, &together.accelerator, &vector.private_key);
        let scheme = EncryptionScheme::Oaep {
            hash: hash(vector.hash),
            mgf1: hash(vector.mgf1),
            label: vector.label.clone(),
        };
        let result = rsa.decrypt(&scheme, &vector.ciphertext);
        let job = rsa.submit_decrypt(&scheme, vector.ciphertext, JobOptions::default());
        together.push(job.unwrap(), result.clone(), &vector.source);
        if vector.is_valid {
            assert_eq!(**result.unwrap(), vector.message, "{}", vector.source);
            valid += 1;
        } else {
            assert_eq!(result, Err(Error::DecryptionFailed), "{}", vector.source);
            invalid += 1;
        }
    }
    together.finish();
    assert!(valid > 500 && invalid > 300, "{valid} and {invalid}");
}

/// An invalid ciphertext decrypts to the same made-up message each time, unless its number is not below the modulus.
#[test]
fn messages_of_pkcs1() {
    let (mut keys, mut together) = (HashMap::new(), Together::new());
    let [mut valid, mut made_up, mut refused] = [0, 0, 0];
    for vector in wycheproof::rsa_pkcs1_messages().unwrap() {
        let rsa = opened(&mut keys, &together.accelerator, &vector.private_key);
        let scheme = EncryptionScheme::Pkcs1;
        let result = rsa.decrypt(&scheme, &vector.ciphertext);
        let job = rsa.submit_decrypt(&scheme, vector.ciphertext, JobOptions::default());
        together.push(job.unwrap(), result.clone(), &vector.source);
        if vector.is_valid {
            assert_eq!(**result.unwrap(), vector.message, "{}", vector.source);
            valid += 1;
        } else if let Ok(message) = result {
            assert!(message.len() <= rsa.key().public_key().bytes() - 11);
            assert_ne!(*message, vector.message, "{}", vector.source);
            made_up += 1;
        } else {
            assert_eq!(result, Err(Error::DecryptionFailed), "{}", vector.source);
            refused += 1;
        }
    }
    together.finish();
    assert!(
        valid > 10 && made_up > 20 && refused > 3,
        "{valid}, {made_up}, {refused}"
    );
}
