//! Keys behind RustCrypto's traits, used by generic code.

use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use oarlock::keys::{Curve, KeySigner, KeyType, PublicKey, Scheme, Signature};
use pkcs8::EncodePublicKey;
use pkcs8::der::{EncodePem, pem::LineEnding};
use sha2::{Digest, Sha256, Sha512};
use signature::hazmat::{PrehashSigner, PrehashVerifier};
use signature::{
    DigestSigner, DigestVerifier, Keypair, MultipartSigner, MultipartVerifier, SignatureEncoding,
    Signer, Verifier,
};
use x509_cert::builder::{Builder, CertificateBuilder, profile::cabf};
use x509_cert::name::Name;
use x509_cert::serial_number::SerialNumber;
use x509_cert::spki::SubjectPublicKeyInfo;
use x509_cert::time::Validity;

use super::programs::openssl_for;
use super::signing;
use crate::common::accelerator;

fn signers() -> impl Iterator<Item = (KeyType, KeySigner)> {
    signing().into_iter().map(|key| {
        let scheme = Scheme::usual(key.key_type()).unwrap();
        (key.key_type(), accelerator().key(&key).signer(scheme))
    })
}

fn through_the_traits<S: PartialEq + std::fmt::Debug>(
    signer: &(
         impl Signer<S> + MultipartSigner<S> + Keypair<VerifyingKey: Verifier<S> + MultipartVerifier<S>>
     ),
) {
    let verifier = signer.verifying_key();
    let signature = signer.sign(b"a message");
    verifier.verify(b"a message", &signature).unwrap();
    verifier
        .multipart_verify(&[b"a mes", b"", b"sage"], &signature)
        .unwrap();
    verifier.verify(b"another", &signature).unwrap_err();
    let signature = signer.multipart_sign(&[b"a ", b"message"]);
    verifier.verify(b"a message", &signature).unwrap();
}

#[test]
fn every_type_signs_through_the_traits() {
    for (key_type, signer) in signers() {
        through_the_traits::<Signature>(&signer);
        let verifier = signer.verifying_key();
        let der = verifier.to_public_key_der().unwrap();
        let public = PublicKey::from_bytes(der.as_bytes()).unwrap();
        assert_eq!(public.key_type(), key_type);

        // To bytes, and back.
        let signature = signer.sign(b"a message");
        let bytes = signature.to_bytes();
        let again = Signature::try_from(&bytes[..]).unwrap();
        assert_eq!(again, signature);
        verifier.verify(b"a message", &again).unwrap();
    }
}

#[test]
fn digests_are_signed_where_the_scheme_has_their_hash() {
    for (key_type, signer) in signers() {
        let verifier = signer.verifying_key();
        let hashed = |digest: &mut Sha256| {
            Digest::update(digest, b"a message");
            Ok(())
        };
        let takes_sha256 = matches!(key_type, KeyType::Rsa | KeyType::Ec(Curve::P256));
        let signature = signer.try_sign_digest(hashed);
        assert_eq!(signature.is_ok(), takes_sha256, "{key_type}");
        let digest = Sha256::digest(b"a message");
        assert_eq!(signer.sign_prehash(&digest).is_ok(), takes_sha256);
        let Ok(signature) = signature else { continue };
        verifier.verify(b"a message", &signature).unwrap();
        verifier.verify_digest(hashed, &signature).unwrap();
        verifier.verify_prehash(&digest, &signature).unwrap();
        let other = |_: &mut Sha512| Ok(());
        verifier.verify_digest(other, &signature).unwrap_err();
    }
}

/// Another crate's certificate authority signs with the key, and OpenSSL accepts the certificate if it has the type.
#[test]
fn certificates_are_signed_through_the_traits() {
    for (key_type, signer) in signers() {
        let subject = Name::from_str("CN=Oarlock,O=Oarlock,C=DE").unwrap();
        let profile = cabf::Root::new(false, subject).unwrap();
        let builder = CertificateBuilder::new(
            profile,
            SerialNumber::from(42u32),
            Validity::from_now(Duration::from_secs(3600)).unwrap(),
            SubjectPublicKeyInfo::from_key(&signer.verifying_key()).unwrap(),
        );
        let certificate = builder.unwrap().build::<_, Signature>(&signer).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("certificate.pem");
        std::fs::write(&file, certificate.to_pem(LineEnding::LF).unwrap()).unwrap();
        for openssl in openssl_for(key_type) {
            let mut verify: Command = openssl.command();
            verify.arg("verify").arg("-CAfile").arg(&file);
            verify.args(["-check_ss_sig"]).arg(&file);
            let output = verify.output().unwrap();
            let errors = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{key_type}: {errors}");
        }
    }
}
