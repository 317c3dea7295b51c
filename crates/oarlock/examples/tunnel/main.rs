//! A tunnel between two hosts: packets of a TUN device, sealed as ESP (RFC 4303) and carried in UDP
//! (RFC 3948). crates/oarlock/examples/tunnel/README.md says how to use it.
//!
//! ```text
//! TUN device -> all packets that wait there -> one call of `seal` -> UDP
//! UDP -> all datagrams that wait there -> one call of `open` -> TUN device
//! ```
//!
//! Two threads forward, one for each direction; the accelerator's workers help them with large batches. The kernel passes
//! runs of packets as one piece at both ends (TSO, UDP GSO and GRO), so that a batch costs a few system calls.

mod counters;
mod forward;
mod keys;
mod udp;

use std::io::{self, BufRead as _, Write as _};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

use clap::{Args, Parser, Subcommand};
use oarlock::Accelerator;
use oarlock::packet::esp::Workers;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use tun_rs::{DeviceBuilder, SyncDevice};

use self::counters::{Counters, Moment};
use self::forward::{Fault, Stop};
use self::keys::{Keys, SuiteName};
use self::udp::Udp;

/// Joins a TUN device to a peer by ESP in UDP
#[derive(Parser)]
#[command(name = "tunnel", max_term_width = 100)]
struct Command {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Write a file of new keys for each of the two ends, for one run
    Keys {
        /// The file for one end
        left: PathBuf,
        /// The file for the other
        right: PathBuf,
        /// What encrypts and authenticates
        #[arg(long, value_enum, default_value = "aes256gcm")]
        suite: SuiteName,
    },
    /// Forward packets until SIGINT or SIGTERM; `workers N` on standard input changes the workers
    Run(Run),
}

#[derive(Args)]
struct Run {
    /// The name of the TUN device, which is made
    #[arg(long, value_name = "NAME", default_value = "oarlock0")]
    device: String,
    /// The device's own address, with the length of the prefix that it reaches
    #[arg(long, value_name = "ADDRESS/BITS", value_parser = prefix)]
    address: (IpAddr, u8),
    /// The longest packet of the device in bytes; outside, each is up to 65 bytes longer, or 85 with IPv6
    #[arg(long, value_name = "BYTES", default_value_t = 1400, value_parser = clap::value_parser!(u16).range(576..=9000))]
    mtu: u16,
    /// Where datagrams arrive
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:4500")]
    listen: SocketAddr,
    /// Where datagrams go
    #[arg(long, value_name = "ADDRESS:PORT")]
    peer: SocketAddr,
    /// The file of keys, of mode 0600; it is removed before the first packet, since keys serve once
    #[arg(long, value_name = "FILE")]
    keys: PathBuf,
    /// Threads that may help each of the two that forward to seal and open
    #[arg(long, value_name = "COUNT", default_value_t = 1)]
    workers: usize,
}

fn main() -> ExitCode {
    let task = Command::parse().task;
    let done = match task {
        Task::Keys { left, right, suite } => keys::write_pair(&left, &right, suite),
        Task::Run(run) => forward_until_told(&run),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tunnel: {error}");
            ExitCode::FAILURE
        }
    }
}

/// An event that the main thread waits for.
enum Event {
    Signal,
    Line(String),
    /// A forwarding thread has ended.
    Ended(Result<(), Fault>),
}

fn forward_until_told(run: &Run) -> Result<(), Fault> {
    let keys = Keys::read(&run.keys)?;
    let accelerator = Accelerator::builder().build();
    let accelerator = accelerator.map_err(|error| Fault::of("the accelerator", error))?;
    let outbound = accelerator.esp_outbound(&keys.outbound.association());
    let mut outbound = outbound.map_err(|error| Fault::of("the line `out` of the keys", error))?;
    outbound.set_sequence(keys.outbound.after);
    let inbound = accelerator.esp_inbound(&keys.inbound.association());
    let inbound = inbound.map_err(|error| Fault::of("the line `in` of the keys", error))?;

    let workers = [outbound.workers().clone(), inbound.workers().clone()];
    set_workers(&workers, run.workers);

    let udp = Udp::bind(run.listen, run.peer)
        .map_err(|error| Fault::of(format!("cannot listen on {}", run.listen), error))?;
    let device = open_device(run)
        .map_err(|error| Fault::of(format!("cannot make the device {}", run.device), error))?;
    let signals = Signals::new([SIGINT, SIGTERM]);
    let mut signals = signals.map_err(|error| Fault::of("cannot wait for signals", error))?;
    let stop = Stop::new().map_err(|error| Fault::of("cannot make an event", error))?;
    // Sequence numbers restart with each run: reusing the keys would repeat nonces.
    keys.remove(&run.keys)?;

    let (sender, events) = channel();
    let told = sender.clone();
    thread::spawn(move || signals.forever().all(|_| told.send(Event::Signal).is_ok()));
    let told = sender.clone();
    thread::spawn(move || {
        let mut lines = io::stdin().lock().lines().map_while(Result::ok);
        lines.all(|line| told.send(Event::Line(line)).is_ok())
    });
    let counters = Counters::default();
    let mtu = usize::from(run.mtu);
    println!("ready: {} to {}", run.device, run.peer);
    thread::scope(|scope| {
        let (udp, device, stop, counters) = (&udp, &device, &stop, &counters);
        let ended = sender.clone();
        let outward = named("outward").spawn_scoped(scope, move || {
            let how = forward::outward(device, outbound, udp, mtu, stop, counters);
            let _ = ended.send(Event::Ended(how));
        });
        let inward = named("inward").spawn_scoped(scope, move || {
            let how = forward::inward(udp, inbound, device, mtu, stop, counters);
            let _ = sender.send(Event::Ended(how));
        });
        let told = match outward.and(inward) {
            Ok(_) => watch(&events, &workers, udp, counters),
            Err(error) => Err(Fault::of("cannot start a thread", error)),
        };
        stop.tell();
        told
    })?;
    println!("{}", counters.totals());
    Ok(())
}

fn named(name: &str) -> thread::Builder {
    thread::Builder::new().name(name.to_owned())
}

/// Handles events and prints a line of rates once a second, until a signal or a fault.
fn watch(
    events: &Receiver<Event>,
    workers: &[Workers],
    udp: &Udp,
    counters: &Counters,
) -> Result<(), Fault> {
    let mut last = Moment::of(counters);
    let mut idle_seconds = 0;
    let mut next = Instant::now() + SECOND;
    loop {
        match events.recv_timeout(next.saturating_duration_since(Instant::now())) {
            Ok(Event::Signal) => return Ok(()),
            Ok(Event::Ended(how)) => return how,
            Ok(Event::Line(line)) => obey(&line, workers),
            Err(RecvTimeoutError::Timeout) => {
                next += SECOND;
                let now = Moment::of(counters);
                let workers = workers.iter().find_map(Workers::get).unwrap_or_default();
                // The reader of the output may be gone; the tunnel continues.
                let _ = writeln!(io::stdout(), "{} | {workers} workers", now.since(&last));
                idle_seconds = if now.sent() == last.sent() {
                    idle_seconds + 1
                } else {
                    0
                };
                if idle_seconds == KEEPALIVE_SECONDS {
                    udp.keep_alive();
                    idle_seconds = 0;
                }
                last = now;
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(()),
        }
    }
}

/// Executes a line of standard input.
fn obey(line: &str, workers: &[Workers]) {
    let words: Vec<_> = line.split_whitespace().collect();
    let result = match words[..] {
        [] => return,
        ["workers", count] => count
            .parse()
            .map(|count| set_workers(workers, count))
            .map_err(|error| error.to_string()),
        _ => Err("expected `workers COUNT`".to_owned()),
    };
    if let Err(error) = result {
        eprintln!("tunnel: `{}`: {error}", line.trim());
    }
}

/// Sets the number of workers of both directions, which share the accelerator's threads.
fn set_workers(workers: &[Workers], count: usize) {
    for workers in workers {
        workers.set(count);
    }
}

fn open_device(run: &Run) -> io::Result<SyncDevice> {
    let (address, bits) = run.address;
    let builder = DeviceBuilder::new().name(&run.device).mtu(run.mtu);
    let builder = match address {
        IpAddr::V4(address) => builder.ipv4(address, bits, None),
        IpAddr::V6(address) => builder.ipv6(address, bits),
    };
    let device = builder
        .with(|builder| {
            builder.offload(true);
        })
        .build_sync()?;
    device.set_nonblocking(true)?;
    Ok(device)
}

fn prefix(text: &str) -> Result<(IpAddr, u8), String> {
    let (address, bits) = text.split_once('/').ok_or("the `/BITS` is missing")?;
    let address: IpAddr = address.parse().map_err(|error| format!("{error}"))?;
    let bits = bits.parse().map_err(|error| format!("{error}"))?;
    let most = if address.is_ipv4() { 32 } else { 128 };
    if bits > most {
        return Err(format!(
            "{bits} is more than the {most} bits of the address"
        ));
    }
    Ok((address, bits))
}

const SECOND: Duration = Duration::from_secs(1);
/// The keepalive interval of RFC 3948, 4.
const KEEPALIVE_SECONDS: u32 = 20;
