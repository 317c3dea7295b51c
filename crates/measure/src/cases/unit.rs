//! The units of figures.

/// The unit of a figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// 10^9 bytes of input per second.
    GigabytesPerSecond,
    /// Completed requests per second.
    OperationsPerSecond,
}

impl Unit {
    /// Returns the name of the unit in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::GigabytesPerSecond => "GB/s",
            Self::OperationsPerSecond => "op/s",
        }
    }
}
