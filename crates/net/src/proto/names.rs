//! The names of status codes and of rights.

use tonic::Code;

use super::Permission;

impl Permission {
    /// Returns the name that `operations` of the server's configuration has for it; `None` for `Unspecified`.
    pub fn name(self) -> Option<&'static str> {
        match self {
            Self::Unspecified => None,
            Self::Sign => Some("sign"),
            Self::Decrypt => Some("decrypt"),
            Self::RawPrivate => Some("raw_private"),
            Self::ModExp => Some("mod_exp"),
            Self::Random => Some("random"),
            Self::Unwrap => Some("unwrap"),
            Self::Mac => Some("mac"),
            Self::VerifyMac => Some("verify_mac"),
            Self::Seal => Some("seal"),
            Self::Open => Some("open"),
            Self::Rotate => Some("rotate"),
            Self::Disable => Some("disable"),
            Self::Enable => Some("enable"),
        }
    }
}

/// Returns the gRPC name of a code, such as "ALREADY_EXISTS".
pub fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}
