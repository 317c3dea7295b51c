//! The metrics page of a cryptoserver, as `oarlock top` reads it. The page is untrusted input: an address may lead anywhere.
//!
//! The parser is our own and handles only the OpenMetrics lines of counters and gauges. The crates that parse the format
//! bring regular expressions or a parser generator, keep every series in memory, and have no bound.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The figures on a page. All counts are since the start of the server.
///
/// ```
/// use oarlock_net::client::PageFigures;
///
/// let page = "oarlock_requests_total{client=\"web\",operation=\"sign\",key=\"k\",code=\"ok\"} 3\n\
///     oarlock_device_up{device=\"cpu\"} 1\n";
/// let figures = PageFigures::parse(page)?;
/// assert_eq!(figures.requests[0].count, 3);
/// assert!(figures.devices["cpu"].is_up);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageFigures {
    /// Requests by client, operation, key and result.
    pub requests: Vec<PageRequests>,
    /// Devices by name.
    pub devices: BTreeMap<String, PageDevice>,
    /// Requests that no worker has started.
    pub waiting: u64,
    /// Requests that have not been answered.
    pub unanswered: u64,
    /// Open connections.
    pub connections: u64,
    /// Connections that were refused.
    pub refused: u64,
    /// Clients with a stream, a request or an unread reply.
    pub clients: u64,
    /// Calls of clients that no entry of the access list matches.
    pub strangers: u64,
    /// The reason why the server is not serving, from its health page; `None` while it serves.
    pub unwell: Option<String>,
}

/// The requests of one client, operation and result.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PageRequests {
    /// The entry of the access list.
    pub client: String,
    /// The operation.
    pub operation: String,
    /// The result, a gRPC code.
    pub code: String,
    /// The number of these requests.
    pub count: u64,
}

/// A device of a cryptoserver.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PageDevice {
    /// Whether the device receives requests.
    pub is_up: bool,
    /// Requests that the device is computing.
    pub in_work: u64,
    /// The number of its failures.
    pub failures: u64,
    /// Requests that the device answered.
    pub served: u64,
    /// The total time of these requests in the device, in seconds.
    pub served_seconds: f64,
    /// Batches that the device computed. `in_batches / batches` is the average fill of its lanes.
    pub batches: u64,
    /// Requests in all batches.
    pub in_batches: u64,
}

impl PageFigures {
    /// Parses the figures in the text of a page. Series of other names are skipped.
    ///
    /// # Errors
    /// Fails if the page has no line of a cryptoserver, if a line is not valid OpenMetrics (the error has its number), or if
    /// there are more than [`SERIES_MAX`] series of a cryptoserver.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut figures = Self::default();
        let mut series = 0;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim_end_matches('\r');
            let Some(rest) = line.strip_prefix("oarlock_") else {
                continue;
            };
            series += 1;
            if series > SERIES_MAX {
                return Err(format!("more than {SERIES_MAX} series"));
            }
            let sample = Sample::parse(rest).ok_or_else(|| format!("line {number}: no metric"))?;
            figures.take(&sample);
        }
        match series {
            0 => Err("no page of metrics of a cryptoserver".into()),
            _ => Ok(figures),
        }
    }

    /// Fetches the pages of metrics and health from `address`. It takes at most 2 seconds and reads at most 1 MiB of a page,
    /// whatever answers there.
    ///
    /// # Errors
    /// A message: no answer, none in time, or not a page of a cryptoserver.
    pub async fn fetch(address: SocketAddr) -> Result<Self, String> {
        let both = async {
            let (status, text) = get(address, "/metrics").await?;
            if status != 200 {
                return Err(format!("/metrics: status {status}"));
            }
            let mut figures = Self::parse(&text)?;
            let (status, text) = get(address, "/healthz").await?;
            if status != 200 {
                figures.unwell = Some(shown(text.trim(), TEXT_MAX));
            }
            Ok(figures)
        };
        let in_time = timeout(FETCH_MAX, both).await;
        in_time.unwrap_or_else(|_| Err(format!("no answer within {} s", FETCH_MAX.as_secs())))
    }

    fn take(&mut self, sample: &Sample) {
        let count = sample.count();
        match &*sample.name {
            "requests_total" => self.requests.push(PageRequests {
                client: sample.label("client"),
                operation: sample.label("operation"),
                code: sample.label("code"),
                count,
            }),
            "strangers_total" => self.strangers = count,
            "waiting" => self.waiting = count,
            "unanswered" => self.unanswered = count,
            "connections" => self.connections = count,
            "connections_refused" => self.refused = count,
            "clients" => self.clients = count,
            "device_up" => self.device(sample).is_up = count > 0,
            "device_in_work" => self.device(sample).in_work = count,
            "device_failures" => self.device(sample).failures = count,
            "service_seconds_count" => self.device(sample).served = count,
            "service_seconds_sum" => self.device(sample).served_seconds = sample.value,
            "batches" => {
                let requests = sample.label("requests").parse().unwrap_or(0);
                let device = self.device(sample);
                device.batches = device.batches.saturating_add(count);
                let more = count.saturating_mul(requests);
                device.in_batches = device.in_batches.saturating_add(more);
            }
            _ => {}
        }
    }

    fn device(&mut self, sample: &Sample) -> &mut PageDevice {
        self.devices.entry(sample.label("device")).or_default()
    }
}

/// A line: `name{label="value",...} value`, and the rest, which is ignored.
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

impl Sample {
    fn parse(line: &str) -> Option<Self> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let end = line.find(|c| !is_of_name(c))?;
        let (name, mut rest) = line.split_at(end);
        let mut labels = Vec::new();
        if let Some(behind) = rest.strip_prefix('{') {
            rest = behind;
            while !rest.starts_with('}') {
                let (label, behind) = rest.split_once("=\"")?;
                if labels.len() == LABELS_MAX || !label.chars().all(is_of_name) {
                    return None;
                }
                let (value, behind) = quoted(behind)?;
                labels.push((label.to_owned(), value));
                rest = behind.strip_prefix(',').unwrap_or(behind);
            }
            rest = &rest[1..];
        }
        let value = rest.strip_prefix(' ')?.split(' ').next()?.parse().ok()?;
        Some(Self {
            name: name.to_owned(),
            labels,
            value,
        })
    }

    fn label(&self, name: &str) -> String {
        let found = self.labels.iter().find(|(label, _)| label == name);
        found.map(|(_, value)| value.clone()).unwrap_or_default()
    }

    /// Returns the value as a count: 0 if it is negative or not a number.
    fn count(&self) -> u64 {
        self.value as u64
    }
}

/// Returns the text up to the next unescaped quotation mark, and the rest behind it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut value = String::new();
    let mut chars = text.char_indices();
    while let Some((at, c)) = chars.next() {
        match c {
            '"' => return Some((shown(&value, TEXT_MAX), &text[at + 1..])),
            '\\' => match chars.next()?.1 {
                'n' => value.push('\n'),
                c => value.push(c),
            },
            c => value.push(c),
        }
    }
    None
}

/// Returns `text`, cut to `most` characters, with `?` for all that a terminal could interpret.
pub(super) fn shown(text: &str, most: usize) -> String {
    let mut shown = String::new();
    for c in text.chars().take(most) {
        let is_plain = c.is_alphanumeric() || c.is_ascii_graphic() || c == ' ';
        shown.push(if is_plain { c } else { '?' });
    }
    shown
}

/// Returns status and body of a page. With HTTP/1.0 the body ends where the connection does.
async fn get(address: SocketAddr, path: &str) -> Result<(u16, String), String> {
    let failed = |error: std::io::Error| error.kind().to_string();
    let mut stream = TcpStream::connect(address).await.map_err(failed)?;
    let mut request = String::new();
    // Writing to a String cannot fail.
    let _ = write!(
        request,
        "GET {path} HTTP/1.0\r\nHost: {address}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.map_err(failed)?;
    let mut answer = Vec::new();
    let mut bounded = stream.take(PAGE_BYTES_MAX + 1);
    bounded.read_to_end(&mut answer).await.map_err(failed)?;
    if answer.len() as u64 > PAGE_BYTES_MAX {
        return Err(format!("{path}: longer than {PAGE_BYTES_MAX} bytes"));
    }
    let answer = String::from_utf8_lossy(&answer);
    let no_http = || format!("{path}: no answer of HTTP");
    let (head, body) = answer.split_once("\r\n\r\n").ok_or_else(no_http)?;
    let status = head
        .strip_prefix("HTTP/1.")
        .and_then(|rest| rest.split(' ').nth(1)?.get(..3)?.parse().ok())
        .ok_or_else(no_http)?;
    Ok((status, body.to_owned()))
}

/// The most series of a cryptoserver that a page may have.
pub const SERIES_MAX: usize = 16384;
const LABELS_MAX: usize = 16;
const TEXT_MAX: usize = 128;
const PAGE_BYTES_MAX: u64 = 1 << 20;
const FETCH_MAX: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_writes_is_read() {
        let page = "# HELP oarlock_requests Requests answered.\n# TYPE oarlock_requests counter\n\
            oarlock_requests_total{client=\"a \\\"b\\\" \\\\\",operation=\"sign\",key=\"k\",code=\"ok\"} 7\n\
            oarlock_strangers_total 2\n\
            oarlock_service_seconds_sum{device=\"cpu\"} 0.5\n\
            oarlock_service_seconds_count{device=\"cpu\"} 40\n\
            oarlock_service_seconds_bucket{le=\"+Inf\",device=\"cpu\"} 40 # {trace=\"x\"} 1 2\n\
            oarlock_batches{device=\"cpu\",requests=\"8\"} 4\n\
            oarlock_batches{device=\"cpu\",requests=\"4\"} 2\n\
            oarlock_device_up{device=\"cpu\"} 1\noarlock_device_failures{device=\"cpu\"} 3\n\
            oarlock_device_in_work{device=\"cpu\"} 9\n\
            oarlock_waiting 5\noarlock_unanswered 6\noarlock_connections 3\noarlock_clients 1\n\
            other_series{ 1\n# EOF\n";
        let figures = PageFigures::parse(page).unwrap();
        assert_eq!(figures.requests[0].client, "a \"b\" \\");
        assert_eq!(figures.requests[0].count, 7);
        let cpu = &figures.devices["cpu"];
        assert!(cpu.is_up);
        assert_eq!((cpu.batches, cpu.in_batches, cpu.served), (6, 40, 40));
        assert_eq!((cpu.failures, cpu.in_work), (3, 9));
        assert_eq!((figures.waiting, figures.unanswered), (5, 6));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        for (page, why) in [
            ("", "no page of metrics"),
            ("<html>oarlock_waiting 1", "no page of metrics"),
            ("a 1\noarlock_waiting", "line 2"),
            ("oarlock_waiting x", "line 1"),
            ("oarlock_x{a=\"b} 1", "line 1"),
            ("oarlock_x{a=\"b\"", "line 1"),
            ("oarlock_x{a=\"\\", "line 1"),
        ] {
            let error = PageFigures::parse(page).unwrap_err();
            assert!(error.contains(why), "{page}: {error}");
        }
        let many = "oarlock_requests_total{client=\"a\"} 1\n".repeat(SERIES_MAX + 1);
        assert!(PageFigures::parse(&many).is_err());
        let labels = format!("oarlock_x{{{}}} 1", "a=\"b\",".repeat(LABELS_MAX + 1));
        assert!(PageFigures::parse(&labels).is_err());
    }

    #[test]
    fn nothing_that_a_terminal_acts_on_gets_through() {
        let page =
            "oarlock_device_up{device=\"\\u{1b}[31m\u{1b}]0;x\u{7}\u{202e}\u{9b}2J\\n\"} 1\n";
        let figures = PageFigures::parse(page).unwrap();
        let name = figures.devices.keys().next().unwrap();
        let acts = |c: char| c.is_control() || c == '\u{202e}';
        assert!(!name.chars().any(acts), "{name:?}");
        let long = format!("oarlock_device_up{{device=\"{}\"}} 1\n", "x".repeat(9999));
        let figures = PageFigures::parse(&long).unwrap();
        assert_eq!(figures.devices.keys().next().unwrap().len(), TEXT_MAX);
    }

    #[test]
    fn numbers_beyond_any_count_do_no_harm() {
        let page = "oarlock_batches{device=\"d\",requests=\"18446744073709551615\"} 1e300\n\
            oarlock_batches{device=\"d\",requests=\"2\"} inf\noarlock_waiting NaN\noarlock_clients -1\n";
        let figures = PageFigures::parse(page).unwrap();
        assert_eq!(figures.devices["d"].in_batches, u64::MAX);
        assert_eq!((figures.waiting, figures.clients), (0, 0));
    }
}
