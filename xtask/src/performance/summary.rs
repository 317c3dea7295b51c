//! The page: a table for each processor, with its newest record of each class.

use std::fmt::Write as _;

use super::class::CLASSES;
use super::record::Record;
use super::text::figure;

/// Returns a section for each processor in `records`, which start with the newest.
pub fn sections(records: &[Record]) -> String {
    let mut out = String::new();
    let mut seen: Vec<&str> = Vec::new();
    for record in records {
        if !seen.contains(&record.cpu.as_str()) {
            seen.push(&record.cpu);
            section(&record.cpu, records, &mut out);
        }
    }
    out
}

fn section(cpu: &str, records: &[Record], out: &mut String) {
    let newest = |class: &str| {
        let mut of_class = records.iter();
        of_class.find(|record| record.cpu == cpu && record.class == class)
    };
    let columns: Vec<&Record> = CLASSES
        .iter()
        .filter_map(|class| newest(class.name))
        .collect();
    let dates = columns.iter().map(|record| record.date.as_str());
    let (first, last) = (dates.clone().min(), dates.max());
    let (Some(first), Some(last)) = (first, last) else {
        return;
    };
    let dates = match first == last {
        true => first.to_owned(),
        false => format!("{first} to {last}"),
    };
    let versions = columns[0].peers().join(" and ");
    let _ = writeln!(out, "## {cpu}, {dates}\n\nCompared with {versions}.\n");
    let _ = write!(out, "| operation | compared with |");
    for record in &columns {
        let _ = write!(out, " {} |", record.class);
    }
    let _ = writeln!(out, "\n|---|---|{}", "--:|".repeat(columns.len()));
    for row in ROWS {
        let cells: Vec<String> = columns.iter().map(|record| row.cell(record)).collect();
        if cells.iter().any(|cell| !cell.is_empty()) {
            let _ = write!(out, "| {} | {} |", row.title, row.peer.title);
            for cell in cells {
                let _ = write!(out, " {cell} |");
            }
            out.push('\n');
        }
    }
    out.push('\n');
}

/// A row: operations of one kind, and the peer that they are compared with.
struct Row {
    title: &'static str,
    cases: &'static [&'static str],
    /// Requests in flight, if the case has several.
    depth: Option<&'static str>,
    peer: &'static Peer,
}

struct Peer {
    title: &'static str,
    /// The peer's name in targets.
    name: &'static str,
}

impl Row {
    /// Returns the median of all ratios, followed by the lowest one in brackets; empty without a measurement.
    fn cell(&self, record: &Record) -> String {
        let ratios = record.ratios();
        let mut ratios: Vec<f64> = ratios
            .filter(|(target, _)| self.holds(target))
            .map(|(_, ratio)| ratio)
            .collect();
        ratios.sort_by(f64::total_cmp);
        let Some(lowest) = ratios.first() else {
            return String::new();
        };
        let (low, high) = ((ratios.len() - 1) / 2, ratios.len() / 2);
        let median = f64::midpoint(ratios[low], ratios[high]);
        let is_loss = (lowest * 100.0).round() < LEVEL_PERCENT;
        let lowest = match is_loss {
            true => format!("**{}**", figure(*lowest)),
            false => figure(*lowest),
        };
        format!("{} ({lowest})", figure(median))
    }

    /// Whether the row includes `target`, such as `class-A aes-128-ctr 16: over openssl`.
    fn holds(&self, target: &str) -> bool {
        let Some((what, peer)) = target.split_once(": over ") else {
            return false;
        };
        let mut words = what.split(' ');
        if !words.next().is_some_and(|word| word.starts_with("class-")) {
            return false;
        }
        let case = words.next().unwrap_or_default();
        let depth = match words.next() {
            Some("depth") => words.next(),
            _ => None,
        };
        peer == self.peer.name && self.depth == depth && self.cases.contains(&case)
    }
}

const fn row(
    title: &'static str,
    cases: &'static [&'static str],
    depth: Option<&'static str>,
    peer: &'static Peer,
) -> Row {
    Row {
        title,
        cases,
        depth,
        peer,
    }
}

/// A ratio below this one counts as a loss: the noise of a comparison is about 3 %.
const LEVEL_PERCENT: f64 = 97.0;

const OPENSSL: &Peer = &Peer {
    title: "OpenSSL",
    name: "openssl",
};
const AWS_LC: &Peer = &Peer {
    title: "aws-lc",
    name: "aws-lc",
};
/// The lower of two ratios.
const BOTH: &Peer = &Peer {
    title: "the faster of both",
    name: "openssl and aws-lc",
};

const CTR: &[&str] = &["aes-128-ctr", "aes-192-ctr", "aes-256-ctr"];
const GCM: &[&str] = &[
    "aes-128-gcm",
    "aes-256-gcm",
    "aes-128-gcm-open",
    "aes-256-gcm-open",
];
const CBC: &[&str] = &["aes-128-cbc", "aes-256-cbc"];
const CBC_DECRYPT: &[&str] = &["aes-128-cbc-decrypt", "aes-256-cbc-decrypt"];
const CHACHA20: &[&str] = &["chacha20"];
const POLY1305: &[&str] = &["chacha20-poly1305", "chacha20-poly1305-open"];
const SIGN: &[&str] = &["rsa-2048-sign", "rsa-3072-sign", "rsa-4096-sign"];
const VERIFY: &[&str] = &["rsa-2048-verify"];

const ROWS: &[Row] = &[
    row("AES-CTR", CTR, None, OPENSSL),
    row("AES-CTR", CTR, None, AWS_LC),
    row("AES-GCM", GCM, None, OPENSSL),
    row("AES-GCM", GCM, None, AWS_LC),
    row("AES-CBC encryption", CBC, None, OPENSSL),
    row("AES-CBC encryption", CBC, None, AWS_LC),
    row("AES-CBC decryption", CBC_DECRYPT, None, OPENSSL),
    row("AES-CBC decryption", CBC_DECRYPT, None, AWS_LC),
    row("ChaCha20", CHACHA20, None, OPENSSL),
    row("ChaCha20", CHACHA20, None, AWS_LC),
    row("ChaCha20-Poly1305", POLY1305, None, OPENSSL),
    row("ChaCha20-Poly1305", POLY1305, None, AWS_LC),
    row("Camellia-CTR", &["camellia-128-ctr"], None, OPENSSL),
    row("Triple DES-CTR", &["des-ede3-ctr"], None, OPENSSL),
    row("RSA signatures, one", SIGN, Some("1"), BOTH),
    row("RSA signatures, 64 in flight", SIGN, Some("64"), BOTH),
    row("RSA verification, one", VERIFY, Some("1"), BOTH),
    row("RSA verification, 64 in flight", VERIFY, Some("64"), BOTH),
];
