//! The end that reads.

use std::error::Error;
use std::fs::File;
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::path::PathBuf;

use super::ssl::{Ssl, Wish};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Opens it and writes it there
    #[arg(long)]
    copy: Option<PathBuf>,
}

pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    println!("{}", listener.local_addr()?.port());
    let (mut socket, _) = listener.accept()?;
    let mut ssl = Ssl::connect(&socket, &Wish::default())?;
    let mut room = vec![0; ROOM_BYTES];
    let mut file = args.copy.as_ref().map(File::create).transpose()?;
    loop {
        let bytes = match file {
            Some(_) => ssl.read(&mut room),
            None => socket.read(&mut room)?,
        };
        if bytes == 0 {
            return Ok(());
        }
        if let Some(file) = &mut file {
            file.write_all(&room[..bytes])?;
        }
    }
}

const ROOM_BYTES: usize = 1 << 18;
