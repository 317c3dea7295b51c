//! What figures count.

/// What figures count.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// 10^9 bytes of input a second.
    GigabytesPerSecond,
    /// Requests done a second.
    OperationsPerSecond,
}

impl Unit {
    /// As in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GigabytesPerSecond => "GB/s",
            Self::OperationsPerSecond => "op/s",
        }
    }
}
