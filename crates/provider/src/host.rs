//! The release of the libcrypto that has loaded this provider: what its default provider has, this one
//! has too.

/// Major and minor number, and that of the patch.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Host(u16, u16, u16);

impl Host {
    /// By what the core tells as its version, as in `3.0.19`; the first release with providers if that is
    /// nothing.
    pub(crate) fn of(version: Option<&str>) -> Self {
        let mut numbers = version.unwrap_or_default().split('.').map(|number| {
            let digits = number.find(|one: char| !one.is_ascii_digit());
            number[..digits.unwrap_or(number.len())].parse()
        });
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(major)), Some(Ok(minor)), Some(Ok(patch))) => Self(major, minor, patch),
            (Some(Ok(major)), Some(Ok(minor)), _) => Self(major, minor, 0),
            _ => Self(3, 0, 0),
        }
    }

    /// Whether it collects decoders and key managements anew for each key that it reads, and is known to keep the
    /// management that a signature has asked for: 3.0.2 does not, and those between were not tested enough.
    pub(crate) fn collects_for_each_key(self) -> bool {
        (Self(3, 0, 19)..Self(3, 1, 0)).contains(&self)
    }

    /// Whether AES-GCM tells that an IV was random.
    pub(crate) fn has_iv_generated(self) -> bool {
        self >= Self(3, 4, 0)
    }

    /// Whether a context that was begun for a message takes what it is to sign for a message, and not for a digest.
    pub(crate) fn signs_messages(self) -> bool {
        self >= Self(3, 4, 0)
    }

    /// Whether there are objects for symmetric keys (EVP_SKEY(3)).
    pub(crate) fn has_symmetric_keys(self) -> bool {
        self >= Self(3, 5, 0)
    }

    /// Whether a cipher tells that it encrypts and then authenticates.
    pub(crate) fn has_encrypt_then_mac(self) -> bool {
        self >= Self(3, 6, 0)
    }

    /// Whether AEADs are as in 4.0: an end without a tag to compare with tells so, AES-GCM has a random
    /// IV as soon as it is asked for, and the size of its tag may be asked for.
    pub(crate) fn has_aeads_of_4_0(self) -> bool {
        self >= Self(4, 0, 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read() {
        for (text, host) in [
            ("3.0.19", Host(3, 0, 19)),
            ("3.0.2+quic", Host(3, 0, 2)),
            ("3.5.5", Host(3, 5, 5)),
            ("4.0.3-dev", Host(4, 0, 3)),
            ("4.0", Host(4, 0, 0)),
            ("10.11.1", Host(10, 11, 1)),
            ("none", Host(3, 0, 0)),
            ("", Host(3, 0, 0)),
        ] {
            assert_eq!(Host::of(Some(text)), host, "{text}");
        }
        assert_eq!(Host::of(None), Host(3, 0, 0));
        assert!(Host(3, 6, 0) < Host(4, 0, 0) && Host(3, 10, 0) > Host(3, 6, 9));
        let collect = ["3.0.2", "3.0.18", "3.0.19", "3.1.4", "3.2.0"]
            .map(|version| Host::of(Some(version)).collects_for_each_key());
        assert_eq!(collect, [false, false, true, false, false]);
    }
}
