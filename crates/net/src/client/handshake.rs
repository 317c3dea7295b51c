//! The reason why TLS failed, from the client's view: on which side, and because of which file.
//!
//! In TLS 1.3 a client learns only after its own handshake whether the server accepts its certificate, so the reason may
//! arrive with any later read. HTTP/2 reduces it to a text. The stream below HTTP/2 therefore remembers it.

use std::io;
use std::net::IpAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use rustls::{AlertDescription, CertificateError, Error};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

use crate::tls::{ClientTls, TlsFiles, date};

/// The first TLS fault of a connection. Clones share it.
#[derive(Clone, Debug, Default)]
pub(super) struct Witness(Arc<Mutex<Option<Fault>>>);

#[derive(Debug)]
enum Fault {
    OfTls(Error),
    /// An alert arrived on a connection without TLS.
    RequiresTls,
}

impl Witness {
    /// Remembers `error` if TLS caused it.
    pub(super) fn note(&self, error: &io::Error) {
        let inner = error.get_ref().and_then(|inner| inner.downcast_ref());
        if let Some(fault) = inner.cloned() {
            self.remember(Fault::OfTls(fault));
        }
    }

    fn remember(&self, fault: Fault) {
        let mut first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.get_or_insert(fault);
    }

    /// Returns what happened and what to do; `None` if TLS is not at fault.
    pub(super) fn explain(&self, tls: Option<&ClientTls>) -> Option<String> {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match (first.as_ref()?, tls) {
            (Fault::OfTls(fault), Some(tls)) => Some(explain(fault, tls.files())),
            (Fault::OfTls(fault), None) => Some(fault.to_string()),
            (Fault::RequiresTls, _) => {
                Some("the server requires TLS: connect with a client certificate".into())
            }
        }
    }
}

fn explain(fault: &Error, files: &TlsFiles) -> String {
    let own = files.certificate.display();
    match fault {
        Error::InvalidCertificate(problem) => of_server(problem, files),
        Error::AlertReceived(alert) => match alert {
            // A CA of the same name with another key causes `DecryptError`.
            AlertDescription::UnknownCA | AlertDescription::DecryptError => format!(
                "the server does not accept the certificate in {own}: no CA in its `client_ca` issued it, \
                 or its `client_crl` lacks a current list of that CA"
            ),
            AlertDescription::CertificateExpired => format!(
                "the server finds the certificate in {own} expired or not valid yet: renew it, or set the clocks"
            ),
            AlertDescription::CertificateRevoked => format!(
                "the server's `client_crl` revokes the certificate in {own}: ask for another"
            ),
            AlertDescription::UnsupportedCertificate => format!(
                "the certificate in {own} is not for clients: ask for one with the extended key usage clientAuth"
            ),
            AlertDescription::CertificateRequired => {
                "the server requires a client certificate".into()
            }
            AlertDescription::BadCertificate
            | AlertDescription::CertificateUnknown
            | AlertDescription::AccessDenied => format!(
                "the server does not accept the certificate in {own}: its log says why"
            ),
            AlertDescription::ProtocolVersion | AlertDescription::HandshakeFailure => {
                NO_TLS_1_3.into()
            }
            AlertDescription::NoApplicationProtocol => {
                "the server does not speak HTTP/2: it is not a cryptoserver".into()
            }
            alert => format!(
                "the server ended TLS with alert {}: its log says why",
                u8::from(*alert)
            ),
        },
        Error::PeerIncompatible(_) => NO_TLS_1_3.into(),
        Error::InvalidMessage(_) => {
            "the server does not speak TLS: it is not a cryptoserver, or its configuration has `plaintext`"
                .into()
        }
        fault => format!("TLS failed: {fault}"),
    }
}

/// Explains what is wrong with the server's certificate.
fn of_server(problem: &CertificateError, files: &TlsFiles) -> String {
    let roots = files.roots.display();
    let lists = files.revoked_name();
    use CertificateError as Problem;
    match problem {
        // A CA of the same name with another key causes `BadSignature`.
        Problem::UnknownIssuer | Problem::BadSignature => format!(
            "no CA in {roots} issued the server's certificate: give the CA file that belongs to this server"
        ),
        Problem::ExpiredContext { not_after, .. } => format!(
            "the server's certificate expired at {}: renew it on the server, or set this machine's clock",
            date(*not_after)
        ),
        Problem::NotValidYetContext { not_before, .. } => format!(
            "the server's certificate is valid from {} on: wait, or set this machine's clock",
            date(*not_before)
        ),
        Problem::NotValidForNameContext {
            expected,
            presented,
        } => {
            let names: Vec<_> = presented.iter().map(|name| plain(name)).collect();
            let names = match &names[..] {
                [] => "has no DNS name and no IP address".into(),
                names => format!("is for {}", names.join(", ")),
            };
            format!(
                "the server's certificate {names}, not for {}: use a name that it has, as address or as server name",
                expected.to_str()
            )
        }
        Problem::Revoked => format!("{lists} revokes the server's certificate"),
        Problem::UnknownRevocationStatus => {
            format!("{lists} has no list of the CA that issued the server's certificate")
        }
        Problem::ExpiredRevocationListContext { next_update, .. } => format!(
            "the next update of {lists} was due at {}: fetch it",
            date(*next_update)
        ),
        Problem::InvalidPurpose | Problem::InvalidPurposeContext { .. } => {
            "the server's certificate is not for servers: it needs the extended key usage serverAuth"
                .into()
        }
        problem => format!("the server's certificate cannot be accepted: {problem}"),
    }
}

/// Returns the plain form of `DnsName("localhost")` or `IpAddress(0::1)`.
fn plain(name: &str) -> String {
    let inner = name.split_once('(').map_or(name, |(_, rest)| rest);
    let inner = inner.trim_end_matches(')').trim_matches('"');
    match inner.parse::<IpAddr>() {
        Ok(address) => address.to_string(),
        Err(_) => inner.to_owned(),
    }
}

/// A stream that reports TLS faults to its witness.
pub(super) struct Watched<S> {
    stream: S,
    witness: Witness,
    has_tls: bool,
    has_read: bool,
    /// The error of a write that failed before anything was read.
    broken: Option<io::Error>,
}

impl<S: AsyncRead + Unpin> Watched<S> {
    pub(super) fn new(stream: S, witness: Witness, has_tls: bool) -> Self {
        Self {
            stream,
            witness,
            has_tls,
            has_read: false,
            broken: None,
        }
    }

    /// Writes, and if that fails before anything was read, waits for the server's last words. A server that refuses a client
    /// sends the reason and closes the connection; the client writes first, so it may see the closed connection before the
    /// reason.
    fn written<T>(
        &mut self,
        context: &mut Context<'_>,
        write: impl FnOnce(Pin<&mut S>, &mut Context<'_>) -> Poll<io::Result<T>>,
    ) -> Poll<io::Result<T>> {
        if self.broken.is_none() {
            match ready!(write(Pin::new(&mut self.stream), context)) {
                Err(error) if !self.has_read => self.broken = Some(error),
                written => return Poll::Ready(written),
            }
        }
        let mut bytes = [0; 64];
        let mut buffer = ReadBuf::new(&mut bytes);
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer));
        self.see(&read, buffer.filled());
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        Poll::Ready(Err(self.broken.take().unwrap_or_else(closed)))
    }

    fn see(&mut self, read: &io::Result<()>, filled: &[u8]) {
        match read {
            Err(error) => self.witness.note(error),
            // HTTP/2 begins with a SETTINGS frame, whose first byte belongs to a length.
            Ok(()) if !self.has_tls && !self.has_read && filled.first() == Some(&TLS_ALERT) => {
                self.witness.remember(Fault::RequiresTls);
            }
            Ok(()) => self.has_read = true,
        }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Watched<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = ready!(Pin::new(&mut self.stream).poll_read(context, buffer));
        self.see(&read, &buffer.filled()[before..]);
        Poll::Ready(read)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Watched<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.written(context, |stream, context| stream.poll_write(context, bytes))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.written(context, |stream, context| stream.poll_flush(context))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}

/// The content type of an alert, the first byte of its record (RFC 8446, 5.1).
const TLS_ALERT: u8 = 21;
const NO_TLS_1_3: &str = "the server offers no TLS 1.3, which this client requires";
