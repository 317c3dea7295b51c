//! Keys on a token: listing them, their permitted uses, and their public halves.

use std::fmt;

use cryptoki::context::Pkcs11;
use cryptoki::error::{Error, RvError};
use cryptoki::mechanism::MechanismType;
use cryptoki::object::{Attribute, AttributeType, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::Session;

use super::failure::Failure;
use super::sessions::{CachedKey, KeyOperation};
use crate::device::error::DeviceError;
use crate::work::rsa::key::RsaPublicKey;

/// An RSA private key of a token. Its `Display` form has the attributes of a PKCS#11 URI: `id=%01;object=site` (RFC 7512,
/// 2.3).
#[derive(Clone, Debug)]
pub struct TokenKey {
    name: KeyName,
    public: Option<RsaPublicKey>,
    problem: Option<String>,
}

impl TokenKey {
    /// Returns CKA_LABEL, or an empty string.
    pub fn label(&self) -> &str {
        &self.name.label
    }

    /// Returns CKA_ID, or an empty slice.
    pub fn id(&self) -> &[u8] {
        &self.name.id
    }

    /// Returns the public half, from the private key's own attributes or from the public key with the same CKA_ID.
    pub fn public_key(&self) -> Option<&RsaPublicKey> {
        self.public.as_ref()
    }

    /// Returns why the key cannot be used, or `None` if it can.
    pub fn problem(&self) -> Option<&str> {
        self.problem.as_deref()
    }

    /// Returns the token's ID of this key for [`RsaPrivateKey::held`](crate::rsa::RsaPrivateKey::held): its `Display` form.
    pub fn held_id(&self) -> Vec<u8> {
        self.to_string().into_bytes()
    }
}

impl fmt::Display for TokenKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.name.fmt(f)
    }
}

/// CKA_ID and CKA_LABEL. At most one of them is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
struct KeyName {
    id: Vec<u8>,
    label: String,
}

impl KeyName {
    /// Parses the `Display` form.
    fn parse(shown: &[u8]) -> Option<Self> {
        let mut name = Self {
            id: Vec::new(),
            label: String::new(),
        };
        for attribute in std::str::from_utf8(shown).ok()?.split(';') {
            let (kind, value) = attribute.split_once('=')?;
            let value = unescape(value)?;
            match kind {
                "id" => name.id = value,
                "object" => name.label = String::from_utf8(value).ok()?,
                _ => return None,
            }
        }
        (!name.id.is_empty() || !name.label.is_empty()).then_some(name)
    }

    fn template(&self) -> Vec<Attribute> {
        let mut template = rsa(ObjectClass::PRIVATE_KEY);
        if !self.id.is_empty() {
            template.push(Attribute::Id(self.id.clone()));
        }
        if !self.label.is_empty() {
            template.push(Attribute::Label(self.label.clone().into_bytes()));
        }
        template
    }
}

/// Writes the form of RFC 7512: in the ID every byte is escaped, in the label all but letters, digits, `-`, `.` and `_`.
impl fmt::Display for KeyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.id.is_empty() {
            f.write_str("id=")?;
            for byte in &self.id {
                write!(f, "%{byte:02X}")?;
            }
        }
        if !self.label.is_empty() {
            f.write_str(if self.id.is_empty() { "" } else { ";" })?;
            f.write_str("object=")?;
            for byte in self.label.bytes() {
                if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
                    write!(f, "{}", char::from(byte))?;
                } else {
                    write!(f, "%{byte:02X}")?;
                }
            }
        }
        if self.id.is_empty() && self.label.is_empty() {
            f.write_str("without id and label")?;
        }
        Ok(())
    }
}

fn unescape(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(if byte == b'%' {
            let digits = [rest.next()?, rest.next()?];
            u8::from_str_radix(std::str::from_utf8(&digits).ok()?, 16).ok()?
        } else {
            byte
        });
    }
    Some(bytes)
}

/// Lists all keys that the session can see.
pub(super) fn list(session: &Session, module: &Pkcs11) -> Result<Vec<TokenKey>, Failure> {
    let slot = session.get_session_info()?.slot_id();
    let mechanism = match module.get_mechanism_info(slot, MechanismType::RSA_X_509) {
        Ok(info) if info.decrypt() || info.sign() => None,
        Ok(_) | Err(Error::Pkcs11(RvError::MechanismInvalid, _)) => {
            Some("the token has no CKM_RSA_X_509")
        }
        Err(error) => return Err(error.into()),
    };
    let public_objects = session
        .find_objects(&rsa(ObjectClass::PUBLIC_KEY))?
        .into_iter()
        .map(|handle| Attributes::read(session, handle))
        .collect::<Result<Vec<_>, _>>()?;
    let mut keys = Vec::new();
    for handle in session.find_objects(&rsa(ObjectClass::PRIVATE_KEY))? {
        let private = Attributes::read(session, handle)?;
        let public = public_half(&private, &public_objects);
        let problem = match (mechanism, private.operations(), &public) {
            (Some(problem), _, _) | (None, Err(problem), _) => Some(problem.to_owned()),
            (None, Ok(_), Err(problem)) => Some(problem.clone()),
            (None, Ok(_), Ok(_)) => None,
        };
        keys.push(TokenKey {
            name: private.name,
            public: public.ok(),
            problem,
        });
    }
    let names: Vec<_> = keys.iter().map(|key| key.name.clone()).collect();
    for key in &mut keys {
        // An empty ID or label matches every key that has the other one.
        let is_found = |name: &&KeyName| {
            (key.name.id.is_empty() || key.name.id == name.id)
                && (key.name.label.is_empty() || key.name.label == name.label)
        };
        if key.name.id.is_empty() && key.name.label.is_empty() {
            key.problem = Some("it has neither CKA_ID nor CKA_LABEL: give it one".into());
        } else if names.iter().filter(is_found).count() > 1 {
            key.problem = Some("others have its CKA_ID and CKA_LABEL: give it its own".into());
        }
    }
    Ok(keys)
}

/// Finds the one key that `id` names and checks its modulus. Without that check, a number longer than the key's modulus
/// makes SoftHSM 2.6 end the process (`C_Sign`, by `exit`).
pub(super) fn find(session: &Session, id: &[u8], modulus: &[u8]) -> Result<CachedKey, Failure> {
    let failed = |what: String| Failure::Final(DeviceError(what));
    let shown = String::from_utf8_lossy(id);
    let name = KeyName::parse(id).ok_or_else(|| {
        failed(format!(
            "{shown:?} names no key: expected id=%01;object=label (RFC 7512)"
        ))
    })?;
    match session.find_objects(&name.template())?[..] {
        [handle] => {
            let attributes = Attributes::read(session, handle)?;
            let found = significant(&attributes.modulus);
            if !found.is_empty() && found != modulus {
                return Err(failed(format!(
                    "key {shown} of the token is another one by now: its modulus of {} bytes is not \
                     the one of {} that the key was opened with",
                    found.len(),
                    modulus.len()
                )));
            }
            let (operation, other) = attributes
                .operations()
                .map_err(|problem| failed(format!("key {shown}: {problem}")))?;
            Ok(CachedKey {
                handle,
                operation,
                other,
            })
        }
        [] => Err(failed(format!(
            "the token has no key {shown}: it has been deleted, or renamed"
        ))),
        [..] => Err(failed(format!("the token has several keys {shown}"))),
    }
}

fn significant(number: &[u8]) -> &[u8] {
    let zeros = number.iter().take_while(|byte| **byte == 0).count();
    &number[zeros..]
}

fn rsa(class: ObjectClass) -> Vec<Attribute> {
    vec![Attribute::Class(class), Attribute::KeyType(KeyType::RSA)]
}

/// A key's attributes that the token reveals.
struct Attributes {
    name: KeyName,
    modulus: Vec<u8>,
    exponent: Vec<u8>,
    may_decrypt: bool,
    may_sign: bool,
    asks_always: bool,
    /// Empty if the token does not reveal them.
    mechanisms: Vec<MechanismType>,
}

impl Attributes {
    fn read(session: &Session, handle: ObjectHandle) -> Result<Self, Failure> {
        let mut read = Self {
            name: KeyName {
                id: Vec::new(),
                label: String::new(),
            },
            modulus: Vec::new(),
            exponent: Vec::new(),
            may_decrypt: false,
            may_sign: false,
            asks_always: false,
            mechanisms: Vec::new(),
        };
        // Read one at a time: a token that lacks one attribute may fail to return the others.
        for kind in ATTRIBUTES {
            let found = match session.get_attributes(handle, &[kind]) {
                Ok(found) => found,
                Err(Error::Pkcs11(
                    RvError::AttributeTypeInvalid | RvError::AttributeSensitive,
                    _,
                )) => continue,
                // Treat an unreadable value as absent.
                Err(Error::InvalidValue | Error::NotSupported) => continue,
                Err(error) => return Err(error.into()),
            };
            match found.into_iter().next() {
                Some(Attribute::Id(id)) => read.name.id = id,
                Some(Attribute::Label(label)) => {
                    read.name.label = String::from_utf8_lossy(&label).into_owned();
                }
                Some(Attribute::Modulus(modulus)) => read.modulus = modulus,
                Some(Attribute::PublicExponent(exponent)) => read.exponent = exponent,
                Some(Attribute::Decrypt(may)) => read.may_decrypt = may,
                Some(Attribute::Sign(may)) => read.may_sign = may,
                Some(Attribute::AlwaysAuthenticate(asks)) => read.asks_always = asks,
                Some(Attribute::AllowedMechanisms(allowed)) => read.mechanisms = allowed,
                _ => {}
            }
        }
        Ok(read)
    }

    /// Returns the operation that raises a number to the private exponent, and an alternative.
    fn operations(&self) -> Result<(KeyOperation, Option<KeyOperation>), &'static str> {
        if !self.mechanisms.is_empty() && !self.mechanisms.contains(&MechanismType::RSA_X_509) {
            return Err("its CKA_ALLOWED_MECHANISMS are without CKM_RSA_X_509");
        }
        if self.asks_always {
            return Err("it asks for the PIN at each use (CKA_ALWAYS_AUTHENTICATE)");
        }
        match (self.may_decrypt, self.may_sign) {
            (true, true) => Ok((KeyOperation::Decrypt, Some(KeyOperation::Sign))),
            (true, false) => Ok((KeyOperation::Decrypt, None)),
            (false, true) => Ok((KeyOperation::Sign, None)),
            (false, false) => Err("it may neither decrypt nor sign (CKA_DECRYPT, CKA_SIGN)"),
        }
    }
}

/// Returns the public half from the private key's own attributes. If the exponent is missing, uses a public key of the same
/// ID that does not contradict them.
fn public_half(private: &Attributes, public: &[Attributes]) -> Result<RsaPublicKey, String> {
    let made = |modulus: &[u8], exponent: &[u8]| {
        RsaPublicKey::from_numbers(modulus, exponent).map_err(|error| error.to_string())
    };
    if !private.modulus.is_empty() && !private.exponent.is_empty() {
        return made(&private.modulus, &private.exponent);
    }
    let is_its = |other: &&Attributes| {
        let has_its_name = match &private.name {
            KeyName { id, label } if id.is_empty() => other.name.label == *label,
            KeyName { id, .. } => other.name.id == *id,
        };
        has_its_name
            && (private.modulus.is_empty()
                || significant(&private.modulus) == significant(&other.modulus))
    };
    match public.iter().find(is_its) {
        Some(other) => made(&other.modulus, &other.exponent),
        None => Err(
            "it has no public half: its CKA_PUBLIC_EXPONENT or CKA_MODULUS is missing, and \
                     there is no public key of its CKA_ID: put that on the token, or give it to \
                     RsaPrivateKey::held"
                .into(),
        ),
    }
}

const ATTRIBUTES: [AttributeType; 8] = [
    AttributeType::Id,
    AttributeType::Label,
    AttributeType::Modulus,
    AttributeType::PublicExponent,
    AttributeType::Decrypt,
    AttributeType::Sign,
    AttributeType::AlwaysAuthenticate,
    AttributeType::AllowedMechanisms,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_keys_are_read_as_they_are_shown() {
        for (id, label, shown) in [
            (&[1, 0xab][..], "site", "id=%01%AB;object=site"),
            (&[], "a;b=c%d é", "object=a%3Bb%3Dc%25d%20%C3%A9"),
            (&[0x3b], "", "id=%3B"),
        ] {
            let name = KeyName {
                id: id.to_vec(),
                label: label.into(),
            };
            assert_eq!(name.to_string(), shown);
            assert_eq!(KeyName::parse(shown.as_bytes()), Some(name));
        }
    }

    #[test]
    fn what_names_no_key_is_refused() {
        for shown in [
            "",
            "id=",
            "site",
            "id=%0",
            "id=%zz",
            "object=%ff",
            "type=private",
        ] {
            assert_eq!(KeyName::parse(shown.as_bytes()), None, "{shown:?}");
        }
    }
}
