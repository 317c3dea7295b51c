//! Encrypts a file for an age recipient on all cores; `age -d` opens it:
//!
//! ```text
//! age-keygen -o key.txt
//! cargo run --release --package oarlock-file --example encrypt -- age1... movie.mkv movie.mkv.age
//! age -d -i key.txt movie.mkv.age
//! ```

use std::error::Error;
use std::fs::File;
use std::io::Write as _;
use std::os::fd::BorrowedFd;

use oarlock::Accelerator;
use oarlock_file::age::Encryptor;
use oarlock_file::{Cache, Ends, Watch, run};
use rustix::event::PollFlags;

/// A watch that never stops the work.
struct Unwatched;

impl Watch for Unwatched {
    fn is_stopped(&self) -> bool {
        false
    }
    fn wait(&self, _: BorrowedFd<'_>, _: PollFlags) -> bool {
        true
    }
    fn advanced(&self, _bytes: u64) {}
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<_> = std::env::args().skip(1).collect();
    let [recipient, from, to] = &arguments[..] else {
        return Err("usage: encrypt RECIPIENT INPUT OUTPUT".into());
    };
    let recipient: age::x25519::Recipient = recipient.parse()?;
    let accelerator = Accelerator::builder().build()?;
    let encryptor = Encryptor::new(&[&recipient], accelerator.cpu())?;

    let input = File::open(from)?;
    let mut output = File::create_new(to)?;
    output.write_all(&encryptor.prologue)?;
    let bytes = input.metadata()?.len();
    let ends = Ends {
        input: &input,
        input_bytes: Some(bytes),
        output: &output,
        is_positional: true,
        is_regular: true,
        makes_holes: false,
        cache: Cache::for_file(bytes),
    };
    // This thread works too.
    let helpers = std::thread::available_parallelism()?.get() - 1;
    run(&accelerator, helpers, &ends, &encryptor.payload, &Unwatched)?;
    Ok(())
}
