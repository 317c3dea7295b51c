//! What is seen of a server from outside.

use std::fs;
use std::io::{self, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Resident memory of a process in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// At the moment.
    pub now: u64,
    /// The most since the start, or since [`forget_peak`].
    pub peak: u64,
}

/// What the kernel reports of the process `pid`: `VmRSS` and `VmHWM` (proc_pid_status(5)).
///
/// # Errors
/// The process has ended.
pub fn memory(pid: u32) -> io::Result<Memory> {
    let text = fs::read_to_string(format!("/proc/{pid}/status"))?;
    let bytes = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name));
        let kib = line.and_then(|line| line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok());
        kib.map(|kib| kib << 10)
            .ok_or_else(|| io::Error::other(format!("no {name} of process {pid}")))
    };
    Ok(Memory {
        now: bytes("VmRSS:")?,
        peak: bytes("VmHWM:")?,
    })
}

/// Has the peak begin at what is resident now (proc_pid_clear_refs(5)).
///
/// # Errors
/// The process has ended, or belongs to another user.
pub fn forget_peak(pid: u32) -> io::Result<()> {
    fs::write(format!("/proc/{pid}/clear_refs"), "5")
}

/// Status and body of a page of the metrics port; an error after `limit` without a byte.
///
/// # Errors
/// No answer, or something else than HTTP.
pub fn page(address: SocketAddr, path: &str, limit: Duration) -> io::Result<(u16, String)> {
    let mut socket = TcpStream::connect_timeout(&address, limit)?;
    socket.set_read_timeout(Some(limit))?;
    socket.set_write_timeout(Some(limit))?;
    let ask = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
    socket.write_all(ask.as_bytes())?;
    let mut text = String::new();
    socket.read_to_string(&mut text)?;
    let status = text
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok());
    let (_, body) = text.split_once("\r\n\r\n").unwrap_or_default();
    match status {
        Some(status) => Ok((status, body.to_owned())),
        None => Err(io::Error::other(format!("not a page: {text:?}"))),
    }
}

/// The number of series on a page of metrics.
pub fn series(page: &str) -> u64 {
    let samples = page
        .lines()
        .filter(|line| !line.is_empty() && !line.starts_with('#'));
    samples.count() as u64
}

/// The sum of the samples of `name`.
pub fn metric(page: &str, name: &str) -> f64 {
    let samples = page.lines().filter(|line| {
        line.strip_prefix(name)
            .is_some_and(|rest| rest.starts_with([' ', '{']))
    });
    let values = samples.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok());
    values.sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_counted_and_added() {
        let page = "# HELP a b\na_total{x=\"1\"} 3\na_total{x=\"2\"} 4\na_totals 5\nb 0.5\n# EOF\n";
        assert_eq!(series(page), 4);
        assert_eq!(metric(page, "a_total"), 7.0);
        assert_eq!(metric(page, "b"), 0.5);
        assert_eq!(metric(page, "c"), 0.0);
    }

    #[test]
    fn a_peak_is_remembered_until_it_is_forgotten() {
        let pid = std::process::id();
        drop(std::hint::black_box(vec![1u8; 64 << 20]));
        let before = memory(pid).unwrap();
        assert!(
            before.peak >= before.now && before.peak > 64 << 20,
            "{before:?}"
        );
        forget_peak(pid).unwrap();
        assert!(memory(pid).unwrap().peak < before.peak);
    }
}
