//! The protection of connections, and the ways to transfer a file.

/// The protection of a connection.
#[derive(Debug)]
pub(crate) struct Suite {
    /// OpenSSH's name of the cipher.
    pub(crate) cipher: &'static str,
    /// OpenSSH's name of the MAC; `None` for an AEAD.
    pub(crate) mac: Option<&'static str>,
    /// The operation in libcrypto.
    pub(crate) operation: &'static str,
}

/// The way a file is transferred.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TransferKind {
    /// From a command on the server.
    Download,
    /// To a command on the server.
    Upload,
    /// To a file on the server.
    Scp,
}

/// The network of a transfer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Setting {
    /// Loopback.
    Here,
    /// A link of 1 Gbit/s.
    Gigabit,
    /// Loopback, with everything on one CPU.
    OneCpu,
}

impl Suite {
    /// Returns the name of the suite, without vendor suffixes.
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
