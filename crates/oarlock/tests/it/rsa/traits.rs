//! RSA behind RustCrypto's traits, used by generic code.

use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use oarlock::rsa::{Hash, PssSalt, RsaPrivateKey, RsaSignature, RsaSigner, SignatureScheme};
use pkcs8::EncodePublicKey;
use pkcs8::der::{EncodePem, pem::LineEnding};
use sha2::{Digest, Sha256, Sha512};
use signature::hazmat::{PrehashSigner, PrehashVerifier, RandomizedPrehashSigner};
use signature::{
    DigestSigner, DigestVerifier, Keypair, MultipartSigner, MultipartVerifier,
    RandomizedDigestSigner, RandomizedMultipartSigner, RandomizedSigner, SignatureEncoding, Signer,
    Verifier,
};
use x509_cert::builder::{Builder, CertificateBuilder, profile::cabf};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::SubjectPublicKeyInfo;
use x509_cert::time::Validity;

use crate::common::{accelerator, keys};

const SCHEMES: [SignatureScheme; 4] = [
    SignatureScheme::Pkcs1(Hash::Sha256),
    SignatureScheme::Pkcs1(Hash::Sha512_256),
    SignatureScheme::Pss(Hash::Sha256),
    SignatureScheme::PssWith {
        hash: Hash::Sha384,
        mgf1: Hash::Sha256,
        salt: PssSalt::Bytes(20),
    },
];

fn signer(scheme: SignatureScheme) -> RsaSigner {
    let key = RsaPrivateKey::from_pem(keys::RSA2048).unwrap();
    accelerator().rsa(&key).signer(scheme)
}

/// Another crate's certificate authority signs with the key, and OpenSSL accepts the certificate.
#[test]
fn a_certificate_is_signed_through_the_traits() {
    for scheme in SCHEMES {
        if scheme.hash() == Hash::Sha512_256 {
            // OpenSSL 3.0 does not know the scheme in certificates.
            continue;
        }
        let signer = signer(scheme);
        let subject = Name::from_str("CN=Oarlock,O=Oarlock,C=DE").unwrap();
        let profile = cabf::Root::new(false, subject).unwrap();
        let builder = CertificateBuilder::new(
            profile,
            SerialNumber::from(42u32),
            Validity::from_now(Duration::from_secs(3600)).unwrap(),
            SubjectPublicKeyInfo::from_key(&signer.verifying_key()).unwrap(),
        );
        let certificate = builder
            .unwrap()
            .build::<_, RsaSignature>(&signer)
            .unwrap()
            .to_pem(LineEnding::LF)
            .unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), certificate).unwrap();
        let output = Command::new("openssl")
            .args(["verify", "-check_ss_sig", "-CAfile"])
            .args([file.path(), file.path()])
            .output()
            .expect("these tests need openssl");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{scheme:?}: {said}");
    }
}

#[test]
fn every_way_to_sign_and_to_verify_is_the_same() {
    let mut rng = rand::rng();
    for scheme in SCHEMES {
        let signer = signer(scheme);
        let verifier = signer.verifying_key();
        let digest = match scheme.hash() {
            Hash::Sha256 => Sha256::digest(b"message").to_vec(),
            Hash::Sha384 => sha2::Sha384::digest(b"message").to_vec(),
            _ => sha2::Sha512_256::digest(b"message").to_vec(),
        };
        let parts: [&[u8]; 3] = [b"mes", b"", b"sage"];
        let signatures: [RsaSignature; 6] = [
            signer.sign(b"message"),
            signer.multipart_sign(&parts),
            signer.sign_prehash(&digest).unwrap(),
            signer.sign_with_rng(&mut rng, b"message"),
            signer.multipart_sign_with_rng(&mut rng, &parts),
            signer.sign_prehash_with_rng(&mut rng, &digest).unwrap(),
        ];
        let is_pkcs1 = matches!(scheme, SignatureScheme::Pkcs1(_));
        for signature in &signatures {
            verifier.verify(b"message", signature).unwrap();
            verifier.multipart_verify(&parts, signature).unwrap();
            verifier.verify_prehash(&digest, signature).unwrap();
            assert!(verifier.verify(b"massage", signature).is_err());
            // PKCS#1 v1.5 is deterministic; PSS signatures differ each time.
            let same = signatures.iter().filter(|other| *other == signature);
            assert_eq!(same.count(), if is_pkcs1 { 6 } else { 1 });
        }
        let bytes = signatures[0].to_bytes();
        assert_eq!(RsaSignature::try_from(&bytes[..]).unwrap(), signatures[0]);
        let cut = RsaSignature::try_from(&bytes[1..]).unwrap();
        assert!(verifier.verify(b"message", &cut).is_err());
        assert!(signer.sign_prehash(&digest[1..]).is_err());
        assert!(
            signer
                .sign_prehash_with_rng(&mut rng, &digest[1..])
                .is_err()
        );
    }
}

#[test]
fn digests_are_those_of_the_scheme() {
    let signer = signer(SignatureScheme::Pss(Hash::Sha256));
    let verifier = signer.verifying_key();
    let update = |digest: &mut Sha256| Digest::update(digest, b"message");
    let signature: RsaSignature = signer.sign_digest(update);
    verifier.verify(b"message", &signature).unwrap();
    let salted: RsaSignature = signer.sign_digest_with_rng(&mut rand::rng(), update);
    let try_update = |digest: &mut Sha256| {
        update(digest);
        Ok(())
    };
    verifier.verify_digest(try_update, &salted).unwrap();
    let other = |digest: &mut Sha512| {
        Digest::update(digest, b"message");
        Ok(())
    };
    let error = signer
        .try_sign_digest(other)
        .map(|_: RsaSignature| ())
        .unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(
        source,
        "the digest 2.16.840.1.101.3.4.2.3 is not that of the scheme"
    );
    assert!(verifier.verify_digest(other, &signature).is_err());
    // SHA-512/256 has digests as long as those of SHA-256.
    let as_long = |digest: &mut sha2::Sha512_256| {
        Digest::update(digest, b"message");
        Ok(())
    };
    assert!(
        signer
            .try_sign_digest(as_long)
            .map(|_: RsaSignature| ())
            .is_err()
    );
}

#[test]
fn the_callers_random_numbers_are_the_salt() {
    /// A random generator that returns sevens, or fails.
    struct Sevens(bool);
    impl signature::rand_core::TryRng for Sevens {
        type Error = std::fmt::Error;
        fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
            self.0.then_some(0x0707_0707).ok_or(std::fmt::Error)
        }
        fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
            self.0
                .then_some(0x0707_0707_0707_0707)
                .ok_or(std::fmt::Error)
        }
        fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
            bytes.fill(7);
            self.0.then_some(()).ok_or(std::fmt::Error)
        }
    }
    impl signature::rand_core::TryCryptoRng for Sevens {}
    let signer = signer(SignatureScheme::Pss(Hash::Sha256));
    let [one, other]: [RsaSignature; 2] = [(); 2].map(|()| {
        signer
            .try_sign_with_rng(&mut Sevens(true), b"message")
            .unwrap()
    });
    assert_eq!(one, other);
    signer.verifying_key().verify(b"message", &one).unwrap();
    let error = signer
        .try_sign_with_rng(&mut Sevens(false), b"message")
        .map(|_: RsaSignature| ())
        .unwrap_err();
    let source = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(source, "the caller's random number generator failed");
}

#[test]
fn a_public_key_is_written_as_openssl_writes_it() {
    let verifier = signer(SCHEMES[0]).verifying_key();
    assert_eq!(
        verifier.to_public_key_pem(LineEnding::LF).unwrap(),
        include_str!("../../keys/rsa2048.pub.pem")
    );
}
