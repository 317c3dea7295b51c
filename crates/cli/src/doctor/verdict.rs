//! The answer in words: whether a program uses the provider, which of its work gains and which does not, and what to set.

use std::ffi::OsStr;
use std::fmt::Write as _;
use std::path::Path;

use oarlock_engine::Primitive;
use serde::Serialize;

use super::certificates::Server;
use super::finding::{Finding, State};
use super::servers;
use super::speed::Speed;
use crate::offers::Offer;

/// The summary, which comes first.
#[derive(Serialize)]
pub(super) struct Verdict {
    /// The subject, and whether it uses the provider.
    summary: String,
    /// Operations that are offered and faster, by falling gain.
    gains: Vec<Gain>,
    /// The source of the figures.
    figures: String,
    /// The operations and keys that gain nothing, and why.
    gains_nothing: Vec<String>,
    /// The steps to take, the smallest first.
    to_set: Vec<Step>,
}

#[derive(Serialize)]
struct Step {
    what: String,
    /// Commands for a root shell.
    commands: Vec<String>,
}

impl Step {
    fn new(what: impl Into<String>) -> Self {
        Self {
            what: what.into(),
            commands: Vec::new(),
        }
    }
}

#[derive(Serialize)]
struct Gain {
    operation: &'static str,
    /// The size of a cipher's requests.
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<usize>,
    /// The ratio to OpenSSL's own rate at that size, or in the call that gains least.
    ratio: f64,
}

/// The input of a verdict.
pub(super) struct About<'a> {
    pub(super) program: Option<&'a OsStr>,
    pub(super) findings: &'a [Finding],
    pub(super) speed: &'a Speed,
    /// Whether the machine's configuration already gives programs the provider.
    pub(super) is_installed: bool,
}

impl Verdict {
    pub(super) fn of(about: &About<'_>) -> Self {
        let name = about
            .program
            .and_then(|program| Path::new(program).file_name());
        let name = name.map(|name| name.display().to_string());
        let obstacles: Vec<_> = about
            .findings
            .iter()
            .filter(|finding| finding.state == State::No)
            .map(|finding| finding.text.as_str())
            .collect();
        let subject = match &name {
            Some(name) => name.clone(),
            None => "this machine's OpenSSL".into(),
        };
        let takes_it = obstacles.is_empty();
        let summary = match takes_it {
            true => format!("{subject} takes the provider"),
            false => format!(
                "{subject} does not take the provider: {}",
                obstacles.join("; ")
            ),
        };
        let mut verdict = Self {
            summary,
            gains: Vec::new(),
            figures: String::new(),
            gains_nothing: Vec::new(),
            to_set: Vec::new(),
        };
        if takes_it {
            verdict.add_rates(name.as_deref(), about.speed);
        }
        let of_keys = about.findings.iter().filter(|it| it.about == "keys");
        verdict
            .gains_nothing
            .extend(of_keys.map(|it| it.text.clone()));
        if takes_it {
            verdict.add_settings(name.as_deref(), about);
        }
        verdict
    }

    fn add_rates(&mut self, name: Option<&str>, speed: &Speed) {
        // Prefer figures measured for this answer.
        let figures = speed.measured.as_ref().unwrap_or(&speed.offers);
        let mut left = Vec::new();
        for (offered, figure) in speed.offers.iter().zip(figures) {
            if !is_used_by(name, offered.operation) {
                continue;
            }
            let (bytes, ratio) = match figure.is_cipher() {
                true => (Some(BULK_BYTES), figure.ratio(BULK_BYTES)),
                false => (None, figure.slowest().map(|(_, ratio)| ratio)),
            };
            let Some(ratio) = ratio.filter(|_| offered.is_offered) else {
                // OpenSSL does not have this group, so it is not left to OpenSSL.
                if figure.is_cipher() || figure.is_measured() {
                    left.push(offered);
                }
                continue;
            };
            if ratio >= GAIN_MIN {
                self.gains.push(Gain {
                    operation: offered.operation,
                    bytes,
                    ratio,
                });
                continue;
            }
            let how = match figure.is_offered {
                true => "about equal",
                false => "slower here: a calibration leaves it to OpenSSL",
            };
            let at = match bytes {
                Some(_) => "at 16 KiB",
                None => "in the call that gains least",
            };
            let text = format!("{}: {ratio:.2}x {at}, {how}", offered.operation);
            self.gains_nothing.push(text);
        }
        self.gains
            .sort_by(|one, other| other.ratio.total_cmp(&one.ratio));
        self.figures = crate::offers::sources(figures);
        let names = |left: &[&Offer]| {
            let names: Vec<_> = left.iter().map(|one| one.operation).collect();
            names.join(", ")
        };
        if !left.is_empty() {
            let text = format!(
                "{}: left to OpenSSL, which is faster at some size or in some call",
                names(&left)
            );
            self.gains_nothing.push(text);
        }
    }

    fn add_settings(&mut self, name: Option<&str>, about: &About<'_>) {
        let advice = about
            .findings
            .iter()
            .filter(|it| it.about == servers::ABOUT);
        let advice = advice.filter(|it| it.state == State::Note);
        if about.speed.measured.is_some() {
            self.to_set.push(Step {
                what: "programs go by the tables until this machine's figures are stored".into(),
                commands: vec!["oarlock provider calibrate".into()],
            });
        }
        if about.is_installed {
            let text = "nothing more: it is installed for the whole machine";
            self.to_set.push(Step::new(text));
        } else {
            self.to_set.push(match name {
                Some(name) if Server::named(name).is_some() => of_service(name),
                name => Step {
                    what: "for one command".into(),
                    commands: vec![format!("oarlock run -- {}", name.unwrap_or("COMMAND"))],
                },
            });
            self.to_set.push(Step {
                what: "or for the whole machine".into(),
                commands: vec!["sudo oarlock provider install".into()],
            });
        }
        self.to_set.extend(advice.map(|it| Step::new(&it.text)));
    }

    pub(super) fn to_text(&self) -> String {
        // Writing to a String does not fail.
        let mut text = format!("{}.\n", self.summary);
        let kinds = [
            (true, "bulk, at 16 KiB"),
            (false, "handshakes, in the call that gains least"),
        ];
        for (is_cipher, what) in kinds {
            let gains = self
                .gains
                .iter()
                .filter(|it| it.bytes.is_some() == is_cipher);
            let gains: Vec<_> = gains
                .map(|gain| format!("{} {:.2}x", gain.operation, gain.ratio))
                .collect();
            if !gains.is_empty() {
                let _ = writeln!(
                    text,
                    "  gains     {what}: {} (rate over OpenSSL's own, {})",
                    gains.join(", "),
                    self.figures
                );
            }
        }
        if !self.gains.is_empty() {
            text.push_str(
                "            this is only a part of the program's time: `oarlock run --stats` says how much\n",
            );
        }
        for line in &self.gains_nothing {
            let _ = writeln!(text, "  no gain   {line}");
        }
        for step in &self.to_set {
            let colon = if step.commands.is_empty() { "" } else { ":" };
            let _ = writeln!(text, "  to set    {}{colon}", step.what);
            for command in &step.commands {
                let _ = writeln!(text, "              {command}");
            }
        }
        text
    }
}

/// Returns the step for one service, as in docs/provider.md, "One service".
fn of_service(name: &str) -> Step {
    Step {
        what: "for this service alone, by a drop-in (docs/provider.md, \"One service\")".into(),
        commands: vec![
            format!("sudo install -Dm644 /etc/ssl/openssl.cnf /etc/oarlock/{name}.cnf"),
            format!("sudo oarlock provider install --config /etc/oarlock/{name}.cnf"),
            format!(
                "sudo systemctl edit {name}   # [Service], Environment=OPENSSL_CONF=/etc/oarlock/{name}.cnf"
            ),
            format!("sudo systemctl restart {name}"),
        ],
    }
}

/// Whether a program uses the operation. Web servers and clients use TLS's AEADs and all of its handshake; OpenSSH uses
/// counter mode and GCM. Of other programs nothing is known.
fn is_used_by(name: Option<&str>, operation: &str) -> bool {
    let speaks = |names: &[&str]| name.is_some_and(|name| names.contains(&name));
    if name.is_some_and(|name| Server::named(name).is_some())
        || speaks(&["curl", "wget", "lighttpd"])
    {
        return ["aes-128-gcm", "aes-256-gcm", "chacha20-poly1305"].contains(&operation)
            || Primitive::named(operation).is_some_and(|one| one != Primitive::Hkdf);
    }
    if speaks(&["ssh", "sshd", "scp", "sftp"]) {
        return operation.starts_with("aes-") || operation == "chacha20";
    }
    true
}

/// The size of a TLS record.
const BULK_BYTES: usize = 16384;
/// Smaller gains are within the noise of measurements.
const GAIN_MIN: f64 = 1.05;

#[cfg(test)]
mod tests {
    use super::*;

    fn about<'a>(program: &'a str, findings: &'a [Finding], speed: &'a Speed) -> About<'a> {
        About {
            program: Some(OsStr::new(program)),
            findings,
            speed,
            is_installed: false,
        }
    }

    #[test]
    fn it_begins_with_whether_the_provider_is_taken() {
        let speed = Speed::default();
        let findings = [Finding::ok("library", "libcrypto.so.3")];
        let text = Verdict::of(&about("/usr/sbin/nginx", &findings, &speed)).to_text();
        assert!(text.starts_with("nginx takes the provider.\n"), "{text}");
        let service = text.find("for this service alone").unwrap();
        assert!(
            service < text.find("for the whole machine").unwrap(),
            "{text}"
        );
        let findings = [Finding::no("library", "GnuTLS, not OpenSSL")];
        let text = Verdict::of(&about("wget", &findings, &speed)).to_text();
        assert_eq!(
            text,
            "wget does not take the provider: GnuTLS, not OpenSSL.\n"
        );
    }

    #[test]
    fn keys_that_gain_nothing_are_named() {
        let findings = [Finding::note("keys", "nginx has the key P-256 (/x.pem)")];
        let speed = Speed::default();
        let text = Verdict::of(&about("nginx", &findings, &speed)).to_text();
        assert!(
            text.contains("  no gain   nginx has the key P-256"),
            "{text}"
        );
    }
}
