//! The release of the libcrypto that has loaded this provider: what its default provider supports, this one supports
//! too.

/// The major, minor and patch number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Host(u16, u16, u16);

impl Host {
    /// Parses the version that the core reports, such as `3.0.19`. Without one, returns the first release with
    /// providers.
    pub(crate) fn of(version: Option<&str>) -> Self {
        let mut numbers = version.unwrap_or_default().split('.');
        let mut number = || {
            let text = numbers.next()?;
            // A version that is not released yet looks like `4.0.3-dev`.
            text.split('-').next()?.parse().ok()
        };
        match (number(), number()) {
            (Some(major), Some(minor)) => Self(major, minor, number().unwrap_or(0)),
            _ => Self(3, 0, 0),
        }
    }

    /// Whether libssl takes a group of TLS only from the provider of the group's keys.
    pub(crate) fn takes_groups_of_one_provider(self) -> bool {
        self < Self(3, 5, 0)
    }

    /// Whether every key management of a type makes reading a key of that type slower, and providers are asked at each
    /// search whose result OpenSSL has not cached. Releases before 3.0.8 may ask a provider once for each operation.
    pub(crate) fn reads_keys_by_names(self) -> bool {
        self >= Self(3, 0, 8) && self < Self(3, 2, 0)
    }

    /// Whether AES-GCM reports that an IV was random.
    pub(crate) fn has_iv_generated(self) -> bool {
        self >= Self(3, 4, 0)
    }

    /// Whether a context that was initialized for a message signs its input as a message, and not as a digest.
    pub(crate) fn signs_messages(self) -> bool {
        self >= Self(3, 4, 0)
    }

    /// Whether symmetric keys are objects (EVP_SKEY(3)).
    pub(crate) fn has_symmetric_keys(self) -> bool {
        self >= Self(3, 5, 0)
    }

    /// Whether a cipher reports that it encrypts and then authenticates.
    pub(crate) fn has_encrypt_then_mac(self) -> bool {
        self >= Self(3, 6, 0)
    }

    /// Whether the IV and tag sizes of AES-GCM can be asked for without a buffer.
    pub(crate) fn tells_sizes(self) -> bool {
        self >= Self(3, 6, 0)
    }

    /// Whether keys report their security category (NIST's call for post-quantum algorithms, 4.A.5).
    pub(crate) fn has_security_categories(self) -> bool {
        self >= Self(3, 6, 0)
    }

    /// Whether a repeated parameter is refused by algorithms that read theirs in one pass.
    pub(crate) fn refuses_repetition(self) -> bool {
        self >= Self(3, 6, 0)
    }

    /// Whether AEADs behave as in 4.0: the end of a message without an expected tag raises an error, and AES-GCM makes
    /// a random IV as soon as the IV is asked for.
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
            ("3.5.5", Host(3, 5, 5)),
            ("4.0.3-dev", Host(4, 0, 3)),
            ("10.11.1", Host(10, 11, 1)),
            ("none", Host(3, 0, 0)),
            ("", Host(3, 0, 0)),
        ] {
            assert_eq!(Host::of(Some(text)), host, "{text}");
        }
        assert_eq!(Host::of(None), Host(3, 0, 0));
        for (text, reads) in [
            ("3.0.2", false),
            ("3.0.8", true),
            ("3.1.0", true),
            ("3.2.0", false),
        ] {
            assert_eq!(Host::of(Some(text)).reads_keys_by_names(), reads, "{text}");
        }
        assert!(Host(3, 6, 0) < Host(4, 0, 0) && Host(3, 10, 0) > Host(3, 6, 0));
    }
}
