//! An HTTPS server for the files of a directory. rustls does the handshake and hands over the keys. From then on a file goes
//! to the socket in one call, and this program never touches its bytes:
//!
//! ```text
//! cargo run --release --package oarlock-file --example https_server -- DIRECTORY CERTIFICATE 8443
//! curl --cacert CERTIFICATE https://localhost:8443/movie.mkv --output movie.mkv
//! ```
//!
//! It creates a certificate for `localhost` and writes it to the file CERTIFICATE. One thread serves one client, which may
//! update its keys at any time, and request a range.

use std::error::Error;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::ops::Range;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use oarlock::Accelerator;
use oarlock::packet::tls::{
    ContentType, Inbound, InboundRecord, Keys, Suite, is_key_update, key_update,
};
use oarlock_file::tls::{Ended, Sender, Sent};
use rcgen::{CertifiedKey, generate_simple_self_signed};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::kernel::KernelConnection;
use rustls::pki_types::PrivateKeyDer;
use rustls::server::{ServerConnectionData, UnbufferedServerConnection};
use rustls::unbuffered::{ConnectionState, UnbufferedStatus};
use rustls::{ConnectionTrafficSecrets, ServerConfig};

type Fault = Box<dyn Error + Send + Sync>;

fn main() -> Result<(), Fault> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [directory, certificate, port] = &arguments[..] else {
        return Err("usage: https_server DIRECTORY CERTIFICATE PORT".into());
    };
    let directory: Arc<Path> = PathBuf::from(directory).into();
    let CertifiedKey { cert, signing_key } = generate_simple_self_signed(["localhost".to_owned()])?;
    std::fs::write(certificate, cert.pem())?;
    let key = PrivateKeyDer::Pkcs8(signing_key.serialize_der().into());
    let mut config = ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![cert.der().clone()], key)?;
    config.enable_secret_extraction = true;
    let config = Arc::new(config);
    let accelerator = Accelerator::builder().build()?;

    let listener = TcpListener::bind(("127.0.0.1", port.parse()?))?;
    println!("https://localhost:{}/", listener.local_addr()?.port());
    for socket in listener.incoming() {
        let (config, directory) = (Arc::clone(&config), Arc::clone(&directory));
        let (accelerator, socket) = (accelerator.clone(), socket?);
        std::thread::spawn(move || {
            // The timeout frees the thread if a client connects and sends nothing.
            let served = socket
                .set_read_timeout(Some(PATIENCE))
                .map_err(Fault::from)
                .and_then(|()| Connection::accept(socket, config, &accelerator)?.serve(&directory));
            if let Err(fault) = served {
                eprintln!("{fault}");
            }
        });
    }
    Ok(())
}

/// A connection whose handshake is complete.
struct Connection {
    socket: TcpStream,
    sender: Sender,
    inbound: Inbound,
    /// Derives the keys of the next generation.
    keys: KernelConnection<ServerConnectionData>,
    /// Received bytes that do not form a whole record yet.
    incoming: Vec<u8>,
    request: Vec<u8>,
    records: Vec<InboundRecord>,
    /// Whether we have to send a KeyUpdate.
    owes_update: bool,
}

impl Connection {
    fn accept(
        mut socket: TcpStream,
        config: Arc<ServerConfig>,
        accelerator: &Accelerator,
    ) -> Result<Self, Fault> {
        let mut connection = UnbufferedServerConnection::new(config)?;
        let (mut incoming, mut outgoing) = (Vec::new(), Vec::new());
        let mut offered = 0;
        loop {
            let UnbufferedStatus { discard, state } =
                connection.process_tls_records(&mut incoming[..offered]);
            let mut is_done = false;
            let mut is_blocked = false;
            match state? {
                ConnectionState::EncodeTlsData(mut message) => {
                    let mut room = [0; MESSAGE_BYTES_MAX];
                    let bytes = message.encode(&mut room)?;
                    outgoing.extend_from_slice(&room[..bytes]);
                }
                ConnectionState::TransmitTlsData(transmit) => {
                    socket.write_all(&outgoing)?;
                    outgoing.clear();
                    transmit.done();
                }
                ConnectionState::BlockedHandshake => is_blocked = true,
                ConnectionState::WriteTraffic(_) => is_done = true,
                state => return Err(format!("the handshake ended with {state:?}").into()),
            }
            incoming.drain(..discard);
            offered -= discard;
            if is_done {
                break;
            }
            // Record by record: rustls would process a KeyUpdate that arrives with the end of the handshake, and its answer
            // would be lost with the connection that hands over the keys.
            while is_blocked {
                if let Some(bytes) = first_record(&incoming[offered..]) {
                    offered += bytes;
                    is_blocked = false;
                } else if receive(&mut socket, &mut incoming)? == 0 {
                    return Err("the client left before the handshake was done".into());
                }
            }
        }
        let (secrets, keys) = connection.dangerous_into_kernel_connection()?;
        let outbound = with_keys(secrets.tx, |keys| accelerator.tls_outbound(keys))?;
        Ok(Self {
            socket,
            sender: Sender::new(outbound),
            inbound: with_keys(secrets.rx, |keys| accelerator.tls_inbound(keys))?,
            keys,
            incoming,
            request: Vec::new(),
            records: vec![InboundRecord::default(); 64],
            owes_update: false,
        })
    }

    fn serve(&mut self, directory: &Path) -> Result<(), Fault> {
        while !self.request.windows(4).any(|bytes| bytes == b"\r\n\r\n") {
            if self.request.len() > REQUEST_BYTES_MAX {
                return Err("the request is too long".into());
            }
            // First what arrived with the handshake.
            if !self.open()? && (receive(&mut self.socket, &mut self.incoming)? == 0) {
                return Err("the client left before its request was done".into());
            }
        }
        self.socket.set_nonblocking(true)?;
        let request = String::from_utf8_lossy(&self.request).into_owned();
        match Answer::to(&request, directory) {
            Some(Answer {
                file,
                range,
                heading,
            }) => {
                self.send_data(heading.as_bytes())?;
                self.send_file(&file, range)?;
            }
            None => self.send_data(
                b"HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\nConnection: close\r\n\r\n",
            )?,
        }
        self.send_message(ContentType::ALERT, &CLOSE_NOTIFY)?;
        self.socket.shutdown(Shutdown::Write)?;
        Ok(())
    }

    fn send_file(&mut self, file: &File, mut range: Range<u64>) -> Result<(), Fault> {
        self.go_on(|this| {
            let sent = this.sender.send_file(&this.socket, file, range.clone())?;
            range.start += sent.bytes;
            Ok(sent)
        })
    }

    fn send_data(&mut self, mut data: &[u8]) -> Result<(), Fault> {
        self.go_on(|this| {
            let sent = this.sender.send(&this.socket, data)?;
            data = &data[sent.bytes as usize..];
            Ok(sent)
        })
    }

    fn send_message(&mut self, content_type: ContentType, message: &[u8]) -> Result<(), Fault> {
        let mut is_taken = false;
        self.go_on(|this| {
            let sent = match is_taken {
                false => (this.sender).send_message(&this.socket, content_type, message)?,
                true => this.sender.send(&this.socket, &[])?,
            };
            is_taken |= sent.bytes > 0;
            Ok(sent)
        })
    }

    /// Calls `what` until it has sent everything, and reads what the client sends in between.
    fn go_on(
        &mut self,
        mut what: impl FnMut(&mut Self) -> Result<Sent, Fault>,
    ) -> Result<(), Fault> {
        loop {
            if self.owes_update {
                self.update_keys()?;
            }
            match what(self)?.ended {
                Ended::Done => return Ok(()),
                Ended::EndOfFile => return Err("the file became shorter".into()),
                Ended::KeyExhausted => self.owes_update = true,
                Ended::WouldBlock => self.wait()?,
            }
        }
    }

    /// Announces new keys to the client and uses them (RFC 8446, 4.6.3).
    fn update_keys(&mut self) -> Result<(), Fault> {
        self.owes_update = false;
        self.send_message(ContentType::HANDSHAKE, &key_update(false))?;
        let sender = &mut self.sender;
        let next = self.keys.update_tx_secret()?;
        Ok(with_keys(next, |keys| {
            sender.outbound_mut().set_keys(keys)
        })?)
    }

    /// Waits until the socket accepts more, or data has arrived, and opens that.
    fn wait(&mut self) -> Result<(), Fault> {
        let wanted = PollFlags::IN | PollFlags::OUT;
        let mut ready = [PollFd::new(&self.socket, wanted)];
        let patience = Timespec::try_from(PATIENCE)?;
        if poll(&mut ready, Some(&patience))? == 0 {
            return Err("the client reads nothing".into());
        }
        if ready[0].revents().contains(PollFlags::IN) {
            match receive(&mut self.socket, &mut self.incoming) {
                Ok(0) => return Err("the client left".into()),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error.into()),
            }
            self.open()?;
        }
        Ok(())
    }

    /// Opens what has arrived. Returns whether there was anything.
    fn open(&mut self) -> Result<bool, Fault> {
        let mut has_opened = false;
        loop {
            let opened = self.inbound.open(&mut self.incoming, &mut self.records);
            if let Err(error) = opened.end {
                self.socket.set_nonblocking(false)?;
                let alert = [FATAL, BAD_RECORD_MAC];
                (self.sender).send_message(&self.socket, ContentType::ALERT, &alert)?;
                return Err(error.into());
            }
            has_opened |= opened.records > 0;
            for record in &self.records[..opened.records] {
                let content = &self.incoming[record.content()];
                match record.content_type() {
                    ContentType::APPLICATION_DATA => self.request.extend_from_slice(content),
                    ContentType::HANDSHAKE => {
                        // A client may send no other handshake message here.
                        let Some(asks) = is_key_update(content) else {
                            return Err("an unexpected handshake message".into());
                        };
                        let inbound = &mut self.inbound;
                        let next = self.keys.update_rx_secret()?;
                        with_keys(next, |keys| inbound.set_keys(keys))?;
                        self.owes_update |= asks;
                    }
                    _ => return Err("the client closed the connection".into()),
                }
            }
            self.incoming.drain(..opened.bytes);
            if opened.records == 0 {
                return Ok(has_opened);
            }
        }
    }
}

/// The answer to a request.
struct Answer {
    file: File,
    range: Range<u64>,
    heading: String,
}

impl Answer {
    fn to(request: &str, directory: &Path) -> Option<Self> {
        let path = request.strip_prefix("GET /")?.split(' ').next()?;
        let path = Path::new(path);
        if !path
            .components()
            .all(|part| matches!(part, Component::Normal(_)))
        {
            return None;
        }
        let file = File::open(directory.join(path)).ok()?;
        let metadata = file.metadata().ok().filter(|metadata| metadata.is_file())?;
        let bytes = metadata.len();
        let asked = request
            .lines()
            .find_map(|line| line.strip_prefix("Range: bytes=")?.split_once('-'));
        let (status, range) = match asked {
            Some((first, last)) => {
                let first: u64 = first.parse().ok()?;
                let last: u64 = last.parse().unwrap_or(bytes.saturating_sub(1));
                let end = last.saturating_add(1).min(bytes);
                let place = format!("Content-Range: bytes {first}-{last}/{bytes}\r\n");
                (
                    format!("206 Partial Content\r\n{place}"),
                    first.min(end)..end,
                )
            }
            None => ("200 OK\r\n".to_owned(), 0..bytes),
        };
        let length = range.end - range.start;
        let heading =
            format!("HTTP/1.1 {status}Content-Length: {length}\r\nConnection: close\r\n\r\n");
        Some(Self {
            file,
            range,
            heading,
        })
    }
}

/// Returns the length of the first record in `bytes`, if it is whole.
fn first_record(bytes: &[u8]) -> Option<usize> {
    let length = bytes.get(3..5)?;
    let end = 5 + usize::from(u16::from_be_bytes([length[0], length[1]]));
    (end <= bytes.len()).then_some(end)
}

/// Appends what the socket has, and returns its length.
fn receive(socket: &mut TcpStream, to: &mut Vec<u8>) -> io::Result<usize> {
    let mut room = [0; MESSAGE_BYTES_MAX];
    let bytes = socket.read(&mut room)?;
    to.extend_from_slice(&room[..bytes]);
    Ok(bytes)
}

/// Passes the keys to `take` in the library's form.
fn with_keys<T>(
    (sequence, secrets): (u64, ConnectionTrafficSecrets),
    take: impl FnOnce(&Keys<'_>) -> Result<T, oarlock::Error>,
) -> Result<T, oarlock::Error> {
    let (suite, key, iv) = match &secrets {
        ConnectionTrafficSecrets::Aes128Gcm { key, iv } => (Suite::Aes128GcmSha256, key, iv),
        ConnectionTrafficSecrets::Aes256Gcm { key, iv } => (Suite::Aes256GcmSha384, key, iv),
        ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => {
            (Suite::ChaCha20Poly1305Sha256, key, iv)
        }
        _ => return Err(oarlock::Error::InvalidKey("an unknown cipher suite".into())),
    };
    let Ok(iv) = iv.as_ref().try_into() else {
        return Err(oarlock::Error::InvalidKey("an IV has 12 bytes".into()));
    };
    take(&Keys::new(suite, key.as_ref(), iv).sequence(sequence))
}

const FATAL: u8 = 2;
const BAD_RECORD_MAC: u8 = 20;
/// The content of the alert: a warning, close_notify.
const CLOSE_NOTIFY: [u8; 2] = [1, 0];
const MESSAGE_BYTES_MAX: usize = 16_384 + 256 + 5;
const REQUEST_BYTES_MAX: usize = 16_384;
const PATIENCE: Duration = Duration::from_secs(20);
