//! OpenSSH's formats: public-key lines (RFC 4253, 6.6; RFC 5656, 3.1; RFC 8709, 4) and private keys (PROTOCOL.key in
//! OpenSSH's source).
//!
//! The crate `ssh-key` rejects ECDSA keys whose scalar begins with a zero byte, which includes one P-521 key in four, and
//! files of the Python package `cryptography`, which have lines of 64 characters or a whole block of padding.

use base64ct::{Base64, Encoding as _};

use super::pem::encrypted;
use super::{KeyType, PrivateKey, PublicKey, invalid};
use crate::Error;
use crate::aws_lc::ec::Curve;
use crate::work::rsa::key::{OpensshNumbers, RsaPrivateKey, RsaPublicKey};

impl PublicKey {
    /// Parses a line: a name, the key in base64, and a comment.
    pub(in crate::work) fn from_openssh(line: &str) -> Result<Self, Error> {
        let mut words = line.split_ascii_whitespace();
        let (name, base64) = (words.next().unwrap_or(""), words.next().unwrap_or(""));
        if line.contains('\n') {
            return Err(invalid("more than one line of OpenSSH's public keys"));
        }
        let blob = Base64::decode_vec(base64)
            .map_err(|error| invalid(format!("not a public key of OpenSSH: {error}")))?;
        let mut blob = Fields(&blob);
        if blob.text()? != name {
            return Err(invalid(format!(
                "the line begins with {name}, and has a key of another type"
            )));
        }
        let key = blob.public(name)?;
        blob.end()?;
        Ok(key)
    }
}

impl PrivateKey {
    /// Parses the bytes of a private key, which PEM encodes.
    pub(super) fn from_openssh(blob: &[u8]) -> Result<Self, Error> {
        let blob = blob
            .strip_prefix(MAGIC)
            .ok_or_else(|| invalid("not a private key of OpenSSH: it begins with other bytes"))?;
        let mut fields = Fields(blob);
        let (cipher, derivation) = (fields.bytes()?, fields.bytes()?);
        let options = fields.bytes()?;
        if cipher != b"none" || derivation != b"none" || !options.is_empty() {
            return Err(encrypted());
        }
        let count = fields.number()?;
        if count != 1 {
            return Err(invalid(format!(
                "a file of OpenSSH with {count} keys: it has one"
            )));
        }
        let mut public = Fields(fields.bytes()?);
        let section = fields.bytes()?;
        fields.end()?;
        if !section.len().is_multiple_of(8) {
            return Err(wrong_padding());
        }
        let mut private = Fields(section);
        let name = public.text()?;
        let outside = public.public(name)?;
        public.end()?;
        if private.number()? != private.number()? {
            return Err(malformed());
        }
        if private.text()? != name {
            return Err(invalid("the two halves of the key are of different types"));
        }
        let key = private.private(name)?;
        key.check_public(&outside)?;
        let _comment = private.bytes()?;
        private.padding()?;
        Ok(key)
    }
}

/// A reader of consecutive RFC 4251, 5 fields.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    /// Reads the fields of a public key that follow its name.
    fn public(&mut self, name: &str) -> Result<PublicKey, Error> {
        if name == ED25519 {
            return PublicKey::from_raw(KeyType::Ed25519, self.bytes()?);
        }
        if name == RSA {
            let (e, n) = (self.natural()?, self.natural()?);
            return Ok(RsaPublicKey::from_numbers(n, e)?.into());
        }
        let curve = curve(name)?;
        self.check_curve(name)?;
        PublicKey::from_raw(KeyType::Ec(curve), self.bytes()?)
    }

    /// Reads the fields of a private key that follow its name, including those of the public half.
    fn private(&mut self, name: &str) -> Result<PrivateKey, Error> {
        if name == ED25519 {
            let public = PublicKey::from_raw(KeyType::Ed25519, self.bytes()?)?;
            let pair = self.bytes()?;
            let (seed, again) = pair.split_at_checked(32).ok_or_else(malformed)?;
            let key = PrivateKey::from_raw(KeyType::Ed25519, seed)?;
            key.check_public(&public)?;
            key.check_public(&PublicKey::from_raw(KeyType::Ed25519, again)?)?;
            return Ok(key);
        }
        if name == RSA {
            let mut next = || self.natural();
            // In this order.
            let numbers = OpensshNumbers {
                n: next()?,
                e: next()?,
                d: next()?,
                qinv: next()?,
                p: next()?,
                q: next()?,
            };
            return Ok(RsaPrivateKey::from_openssh_numbers(&numbers)?.into());
        }
        let curve = curve(name)?;
        self.check_curve(name)?;
        let public = PublicKey::from_raw(KeyType::Ec(curve), self.bytes()?)?;
        let digits = self.natural()?;
        let mut scalar = zeroize::Zeroizing::new(vec![0; curve.bytes()]);
        let at = curve.bytes().checked_sub(digits.len()).ok_or_else(|| {
            invalid(format!(
                "a private key longer than those of {}",
                curve.name()
            ))
        })?;
        scalar[at..].copy_from_slice(digits);
        let key = PrivateKey::from_raw(KeyType::Ec(curve), &scalar)?;
        key.check_public(&public)?;
        Ok(key)
    }

    /// Checks the curve's name, which must match the end of the key's name.
    fn check_curve(&mut self, name: &str) -> Result<(), Error> {
        let curve = self.text()?;
        if name.strip_prefix(ECDSA) == Some(curve) {
            return Ok(());
        }
        Err(invalid(format!(
            "a key of type {name} that names the curve {curve:?}"
        )))
    }

    /// Accepts the padding bytes 1, 2, 3 and so on. OpenSSH writes fewer than eight, others a whole block.
    fn padding(&self) -> Result<(), Error> {
        let mut numbered = (1..).zip(self.0);
        match numbered.all(|(number, byte)| number == u32::from(*byte)) {
            true => Ok(()),
            false => Err(wrong_padding()),
        }
    }

    fn end(&self) -> Result<(), Error> {
        match self.0.len() {
            0 => Ok(()),
            more => Err(invalid(format!("{more} bytes after the key of OpenSSH"))),
        }
    }

    fn text(&mut self) -> Result<&'a str, Error> {
        std::str::from_utf8(self.bytes()?).map_err(|_| malformed())
    }

    fn bytes(&mut self) -> Result<&'a [u8], Error> {
        let bytes = self.number()? as usize;
        let (field, rest) = self.0.split_at_checked(bytes).ok_or_else(malformed)?;
        self.0 = rest;
        Ok(field)
    }

    /// Reads an mpint that is not negative, without the zero before a set first bit.
    fn natural(&mut self) -> Result<&'a [u8], Error> {
        let number = self.bytes()?;
        match number.first() {
            Some(0x80..) => Err(malformed()),
            _ => Ok(number.strip_prefix(&[0]).unwrap_or(number)),
        }
    }

    fn number(&mut self) -> Result<u32, Error> {
        let (number, rest) = self.0.split_first_chunk().ok_or_else(malformed)?;
        self.0 = rest;
        Ok(u32::from_be_bytes(*number))
    }
}

fn curve(name: &str) -> Result<Curve, Error> {
    match name.strip_prefix(ECDSA) {
        Some("nistp256") => Ok(Curve::P256),
        Some("nistp384") => Ok(Curve::P384),
        Some("nistp521") => Ok(Curve::P521),
        _ => Err(invalid(format!(
            "a key of OpenSSH of type {name:?}: known are ssh-rsa, ssh-ed25519 and ecdsa-sha2-nistp256, -nistp384 and \
             -nistp521"
        ))),
    }
}

fn wrong_padding() -> Error {
    invalid("the private key of OpenSSH does not end with its padding")
}

fn malformed() -> Error {
    invalid("not a key of OpenSSH: a field is missing, cut short or wrong")
}

const MAGIC: &[u8] = b"openssh-key-v1\0";
const RSA: &str = "ssh-rsa";
const ED25519: &str = "ssh-ed25519";
const ECDSA: &str = "ecdsa-sha2-";
