//! The end that sends.

use std::error::Error;
use std::fs::File;
use std::net::TcpStream;
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;
use std::time::Instant;

use oarlock::Accelerator;
use oarlock::packet::tls::{Keys, Suite};
use oarlock_file::tls::{Ended, Sender};
use rustix::time::{ClockId, clock_gettime};

use super::ssl::{Missing, Ssl, Wish};

/// How the file is sent.
#[derive(clap::ValueEnum, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// By one call of Oarlock
    Oarlock,
    /// A record's bytes at a time are read and given to SSL_write
    SslWrite,
    /// The same with 256 KiB at a time, which SSL_write makes records of
    SslWriteLong,
    /// By SSL_sendfile, where the kernel does TLS
    SslSendfile,
}

#[derive(clap::Args)]
pub(crate) struct Args {
    #[arg(long, value_enum)]
    way: Way,
    #[arg(long)]
    suite: String,
    /// With the certificate and its key, both in PEM
    #[arg(long)]
    certificate: PathBuf,
    #[arg(long)]
    port: u16,
    #[arg(long, default_value_t = 1)]
    times: usize,
    file: PathBuf,
}

pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let Args { way, port, .. } = *args;
    let suite = args.suite.as_str();
    let file = File::open(&args.file)?;
    let bytes = file.metadata()?.len();
    let socket = TcpStream::connect(("127.0.0.1", port))?;
    socket.set_nodelay(true)?;
    let wish = Wish {
        suite: Some(suite),
        wants_ktls: way == Way::SslSendfile,
    };
    let mut ssl = Ssl::accept(&socket, &wish, &args.certificate)?;
    if way == Way::SslSendfile && !ssl.has_ktls() {
        return Err(Missing("the kernel does no TLS here (its module `tls`)".to_owned()).into());
    }
    let mut send: Send<'_> = match way {
        Way::Oarlock => {
            let mut sender = sender(&ssl, suite)?;
            let (socket, file) = (&socket, &file);
            Box::new(
                move || match sender.send_file(socket, file, 0..bytes)?.ended {
                    Ended::Done => Ok(()),
                    ended => Err(format!("it ended with {ended:?}").into()),
                },
            )
        }
        Way::SslWrite => write_loop(&mut ssl, &file, bytes, 16 << 10),
        Way::SslWriteLong => write_loop(&mut ssl, &file, bytes, 256 << 10),
        Way::SslSendfile => {
            let (ssl, file) = (&mut ssl, &file);
            Box::new(move || ssl.send_file(file, bytes))
        }
    };
    let cpu = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let (cpu_began, began) = (cpu(), Instant::now());
    for _ in 0..args.times {
        send()?;
    }
    println!("{} {}", cpu() - cpu_began, began.elapsed().as_secs_f64());
    Ok(())
}

/// With the keys of the handshake, on this thread alone.
fn sender(ssl: &Ssl, suite: &str) -> Result<Sender, Box<dyn Error>> {
    let suite = match suite {
        "TLS_AES_128_GCM_SHA256" => Suite::Aes128GcmSha256,
        "TLS_AES_256_GCM_SHA384" => Suite::Aes256GcmSha384,
        _ => Suite::ChaCha20Poly1305Sha256,
    };
    let secret = ssl.secret()?;
    let accelerator = Accelerator::builder().max_threads(0).build()?;
    let outbound = accelerator.tls_outbound(&Keys::from_secret(suite, &secret))?;
    Ok(Sender::new(outbound))
}

type Send<'a> = Box<dyn FnMut() -> Result<(), Box<dyn Error>> + 'a>;

fn write_loop<'a>(ssl: &'a mut Ssl, file: &'a File, bytes: u64, at_once: usize) -> Send<'a> {
    let mut room = vec![0; at_once];
    Box::new(move || {
        let mut at = 0;
        while at < bytes {
            let read = file.read_at(&mut room, at)?;
            if read == 0 {
                return Err("the file became shorter".into());
            }
            ssl.write(&room[..read])?;
            at += read as u64;
        }
        Ok(())
    })
}
