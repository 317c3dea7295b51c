//! The `oarlock keys` subcommand.

use oarlock_net::proto::{self, Permission};
use serde::Serialize;

use super::{Access, manage, public, refused};
use crate::failure::{Failure, printable};
use crate::stdout;

#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    change: Option<manage::Command>,

    /// Server, as host:port; repeat for several, of which the first to answer is asked
    #[arg(long, value_name = "SERVER", required = true)]
    remote: Vec<String>,

    #[command(flatten)]
    access: Access,

    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

pub(crate) const EXAMPLES: &str = "\
It lists the keys that the certificate of this client gives it a right to. The client needs the operation \
`list`. The subcommands change keys in the server's managed directory; they need operations of their own.

Examples:
  oarlock keys --remote localhost:7443 --pki demo
  oarlock keys create shop --type p256 --remote localhost:7443 --pki demo
  oarlock keys rotate shop --remote localhost:7443 --pki demo";

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    if let Some(change) = &args.change {
        return manage::run(change);
    }
    let keys = args.access.ask(&args.remote, async |client| {
        client.list_all_keys().await.map_err(refused)
    })?;
    if keys.is_empty() && !args.json {
        return stdout::write("no keys that this client may use\n");
    }
    print(&keys, args.json)
}

/// Prints a table of keys, or a JSON array.
pub(super) fn print(keys: &[proto::Key], is_json: bool) -> Result<(), Failure> {
    let rows = keys.iter().map(Row::of).collect::<Result<Vec<_>, _>>()?;
    match is_json {
        true => stdout::write(stdout::json("keys", &rows)?),
        false => stdout::write(table(&rows)),
    }
}

#[derive(Serialize)]
struct Row {
    id: String,
    algorithm: String,
    /// The length of the modulus, or of the order of a curve's group.
    bits: Option<u32>,
    /// The client's rights, as `operations` of the server's configuration names them.
    rights: Vec<&'static str>,
    /// The only device that holds the key.
    device: Option<String>,
    /// The recipient of an identity of age.
    #[serde(skip_serializing_if = "Option::is_none")]
    recipient: Option<String>,
    /// The newest version of a key with versions.
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    /// Whether requests with it are refused.
    #[serde(skip_serializing_if = "is_off")]
    disabled: bool,
}

fn is_off(disabled: &bool) -> bool {
    !disabled
}

impl Row {
    fn of(key: &proto::Key) -> Result<Self, Failure> {
        let (algorithm, bits) = match (&key.recipient[..], &key.algorithm[..]) {
            ("", "") => {
                let public = public(key)?;
                (public.key_type().name(), proto::bits_of(&public))
            }
            ("", secret) => (secret, None),
            (hybrid, _) if hybrid.starts_with("age1pq1") => ("age, ML-KEM-768 with X25519", None),
            _ => ("age, X25519", None),
        };
        Ok(Self {
            id: key.id.clone(),
            algorithm: algorithm.to_owned(),
            bits,
            rights: key.permissions().filter_map(Permission::name).collect(),
            device: Some(key.device.clone()).filter(|device| !device.is_empty()),
            recipient: Some(key.recipient.clone()).filter(|recipient| !recipient.is_empty()),
            version: Some(key.version).filter(|version| *version > 0),
            disabled: key.disabled,
        })
    }

    fn cells(&self) -> [String; 5] {
        let mut rights = match &self.rights[..] {
            [] => "none".into(),
            rights => rights.join(", "),
        };
        if self.disabled {
            rights = format!("disabled ({rights})");
        }
        [
            printable(&self.id),
            printable(&self.algorithm),
            self.bits
                .map_or_else(|| "-".into(), |bits| bits.to_string()),
            rights,
            printable(self.device.as_deref().unwrap_or("any")),
        ]
    }
}

/// Formats the rows in columns as wide as their longest cell.
fn table(rows: &[Row]) -> String {
    let head = ["KEY", "ALGORITHM", "BITS", "RIGHTS", "DEVICE"].map(String::from);
    let lines: Vec<_> = std::iter::once(head)
        .chain(rows.iter().map(Row::cells))
        .collect();
    let width = |column: usize| {
        let cells = lines.iter().map(|line| line[column].chars().count());
        cells.max().unwrap_or_default()
    };
    let widths = [0, 1, 2, 3, 4].map(width);
    let mut text = String::new();
    for line in &lines {
        let cells = line.iter().zip(widths);
        let cells = cells.map(|(cell, width)| format!("{cell:width$}"));
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}
