//! The reason for refusing a connection, for the log: on which side, and because of which of the server's files.

use std::io::{self, ErrorKind};

use rustls::{AlertDescription, CertificateError};

use crate::tls::{TlsFiles, date};

/// A refused connection and the reason.
pub(super) struct Refusal {
    pub(super) reason: String,
    /// Whether it is not worth a log line, such as a load balancer that checks whether the port is open.
    pub(super) is_silent: bool,
}

impl Refusal {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_silent: false,
        }
    }

    /// Describes a failed handshake, and names the file that decided it, if one did.
    pub(super) fn of(error: &io::Error, files: &TlsFiles) -> Self {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        let Some(inner) = inner else {
            return Self {
                reason: format!("the handshake was broken off: {error}"),
                is_silent: matches!(
                    error.kind(),
                    ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset
                ),
            };
        };
        let (own, roots) = (files.certificate.display(), files.roots.display());
        Self::new(match inner {
            rustls::Error::NoCertificatesPresented => format!(
                "the client has no certificate: it needs one of a CA in {roots} (client_ca)"
            ),
            rustls::Error::InvalidCertificate(problem) => of_client(problem, files),
            rustls::Error::PeerIncompatible(problem) => {
                format!("the client offers no suitable TLS 1.3: {problem:?}")
            }
            rustls::Error::InvalidMessage(_) => "the client does not speak TLS".to_owned(),
            // A CA of the same name with another key makes the client send `DecryptError`.
            rustls::Error::AlertReceived(
                AlertDescription::UnknownCA | AlertDescription::DecryptError,
            ) => format!("the client's CA file lacks the CA that issued {own} (certificate)"),
            rustls::Error::AlertReceived(AlertDescription::BadCertificate) => format!(
                "the client rejected {own} (certificate): did it connect by a name that is not in it?"
            ),
            rustls::Error::AlertReceived(AlertDescription::CertificateExpired) => format!(
                "the client finds {own} (certificate) expired or not valid yet: renew it, or set the clocks"
            ),
            rustls::Error::AlertReceived(alert) => {
                format!("the client rejected {own} (certificate) or TLS parameters: {alert:?}")
            }
            error => error.to_string(),
        })
    }
}

/// Explains what is wrong with a client's certificate.
fn of_client(problem: &CertificateError, files: &TlsFiles) -> String {
    let roots = files.roots.display();
    let lists = files.revoked_name();
    use CertificateError as Problem;
    match problem {
        // A CA of the same name with another key makes the check end with `BadSignature`.
        Problem::UnknownIssuer | Problem::BadSignature => {
            format!("no CA in {roots} (client_ca) issued the client's certificate")
        }
        Problem::ExpiredContext { not_after, .. } => {
            format!("the client's certificate expired at {}", date(*not_after))
        }
        Problem::NotValidYetContext { not_before, .. } => format!(
            "the client's certificate is valid from {} on",
            date(*not_before)
        ),
        Problem::Revoked => format!("{lists} (client_crl) revokes the client's certificate"),
        Problem::UnknownRevocationStatus => format!(
            "{lists} (client_crl) has no list of the CA that issued the client's certificate"
        ),
        Problem::ExpiredRevocationListContext { next_update, .. } => format!(
            "the next update of {lists} (client_crl) was due at {}: fetch it, then send SIGHUP",
            date(*next_update)
        ),
        Problem::InvalidPurpose | Problem::InvalidPurposeContext { .. } => {
            "the client's certificate is not for clients: it needs the extended key usage clientAuth"
                .into()
        }
        problem => format!("the client's certificate: {problem}"),
    }
}
