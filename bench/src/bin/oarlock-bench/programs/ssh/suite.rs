//! How connections are protected, and how a file goes through them.

/// What a connection is protected with.
#[derive(Debug)]
pub(crate) struct Suite {
    /// As OpenSSH calls it.
    pub(crate) cipher: &'static str,
    /// `None` where the cipher is an AEAD.
    pub(crate) mac: Option<&'static str>,
    /// What it asks of libcrypto.
    pub(crate) operation: &'static str,
}

/// How the file goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TransferKind {
    /// From a command at the server.
    Download,
    /// To one.
    Upload,
    /// To a file at the server.
    Scp,
}

/// Where it goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Setting {
    /// Over loopback.
    Here,
    /// Over a link of 1 Gbit/s.
    Gigabit,
    /// Over loopback, everything on one CPU.
    OneCpu,
}

impl Suite {
    /// Without the names of vendors.
    pub(crate) fn name(&self) -> String {
        let short = |name: &'static str| name.trim_end_matches("@openssh.com");
        match self.mac {
            Some(mac) => format!("{}-{}", self.cipher, short(mac)),
            None => short(self.cipher).to_owned(),
        }
    }
}

impl TransferKind {
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Download => "download",
            Self::Upload => "upload",
            Self::Scp => "scp",
        }
    }
}
