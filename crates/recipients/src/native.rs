//! An identity of one of age's own kinds.

use std::fmt;
use std::str::FromStr;

use age_core::format::{FileKey, Stanza};
use age_core::secrecy::SecretString;

use crate::hybrid;

/// An identity of either of age's own kinds. It is wiped on drop.
///
/// ```
/// use age::Identity as _;
/// use oarlock_recipients::NativeIdentity;
///
/// let secret = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
/// let identity: NativeIdentity = secret.parse()?;
/// assert!(identity.to_recipient().starts_with("age1"));
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone)]
pub enum NativeIdentity {
    /// `AGE-SECRET-KEY-1...`
    X25519(age::x25519::Identity),
    /// `AGE-SECRET-KEY-PQ-1...`
    Hybrid(hybrid::Identity),
}

impl NativeIdentity {
    /// What every string of such an identity begins with.
    pub const PREFIX: &str = "AGE-SECRET-KEY-";

    /// Returns the string of the recipient that others encrypt to.
    #[must_use]
    pub fn to_recipient(&self) -> String {
        match self {
            Self::X25519(identity) => identity.to_public().to_string(),
            Self::Hybrid(identity) => identity.to_public().to_string(),
        }
    }

    /// Returns the first argument of the stanzas that it opens.
    #[must_use]
    pub fn stanza_tag(&self) -> &'static str {
        match self {
            Self::X25519(_) => X25519_TAG,
            Self::Hybrid(_) => hybrid::STANZA_TAG,
        }
    }

    /// Returns the string of the identity, which is a secret.
    #[must_use]
    pub fn to_string(&self) -> SecretString {
        match self {
            Self::X25519(identity) => identity.to_string(),
            Self::Hybrid(identity) => identity.to_string(),
        }
    }
}

impl age::Identity for NativeIdentity {
    fn unwrap_stanza(&self, stanza: &Stanza) -> Option<Result<FileKey, age::DecryptError>> {
        match self {
            Self::X25519(identity) => identity.unwrap_stanza(stanza),
            Self::Hybrid(identity) => identity.unwrap_stanza(stanza),
        }
    }
}

impl FromStr for NativeIdentity {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, &'static str> {
        if let Ok(identity) = text.parse() {
            return Ok(Self::Hybrid(identity));
        }
        match text.parse() {
            Ok(identity) => Ok(Self::X25519(identity)),
            Err(_) if text.starts_with(Self::PREFIX) => {
                Err("an identity of age with a wrong or missing character")
            }
            Err(_) => Err("not an identity of age"),
        }
    }
}

impl fmt::Debug for NativeIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("NativeIdentity").finish_non_exhaustive()
    }
}

const X25519_TAG: &str = "X25519";

#[cfg(test)]
mod tests {
    use age::Recipient as _;
    use age::secrecy::ExposeSecret as _;
    use age_core::format::FileKey;

    use super::*;

    #[test]
    fn each_kind_is_read_written_and_opens_its_own_stanzas() {
        let classical = age::x25519::Identity::generate();
        let hybrid = hybrid::Identity::generate().unwrap();
        let key = || FileKey::new(Box::new(*b"YELLOW SUBMARINE"));
        let (one, _) = classical.to_public().wrap_file_key(&key()).unwrap();
        let (other, _) = hybrid.to_public().wrap_file_key(&key()).unwrap();
        for (text, own, foreign) in [
            (classical.to_string(), &one[0], &other[0]),
            (hybrid.to_string(), &other[0], &one[0]),
        ] {
            let identity: NativeIdentity = text.expose_secret().parse().unwrap();
            assert_eq!(identity.to_string().expose_secret(), text.expose_secret());
            assert_eq!(own.tag, identity.stanza_tag());
            let opened = age::Identity::unwrap_stanza(&identity, own)
                .unwrap()
                .unwrap();
            assert_eq!(opened.expose_secret(), key().expose_secret());
            assert!(age::Identity::unwrap_stanza(&identity, foreign).is_none());
            let broken = text.expose_secret().replacen('1', "11", 1);
            let said = broken.parse::<NativeIdentity>().unwrap_err();
            assert!(said.contains("wrong or missing"), "{said}");
            assert_eq!(format!("{identity:?}"), "NativeIdentity(..)");
        }
        let recipient = classical.to_public().to_string();
        let said = recipient.parse::<NativeIdentity>().unwrap_err();
        assert_eq!(said, "not an identity of age");
    }
}
