//! The key exchange of this machine's servers, or of one of them: whether it combines ML-KEM and a curve with clients that
//! offer this.

use std::ffi::OsStr;

use super::certificates::{Server, after};
use super::finding::Finding;
use super::servers::here;
use crate::openssl::{self, Installed};
use crate::openssl_conf::UserConf;

/// Returns a finding for each server.
pub(super) fn findings(program: Option<&OsStr>, user: &UserConf) -> Vec<Finding> {
    let version = Installed::find().version().unwrap_or_default();
    let machine = Machine {
        has_hybrids: openssl::has_hybrid_groups(&version),
        is_post_quantum: user.is_post_quantum(),
        list: user.groups(),
        version,
    };
    here(program)
        .map(|(name, server)| {
            let mut lists = Vec::new();
            server.each_statement(&mut |_, words| lists.extend(list_of(server, words)));
            finding(name, &lists, &machine)
        })
        .collect()
}

/// Settings of this machine that apply to every server.
struct Machine {
    version: String,
    /// Whether OpenSSL itself has these groups, and prefers them.
    has_hybrids: bool,
    /// Whether the provider must supply them.
    is_post_quantum: bool,
    /// The groups that OpenSSL's configuration lists.
    list: Option<String>,
}

/// Returns the list of groups in a statement of a server's configuration, as it is written there.
fn list_of(server: Server, words: &[&str]) -> Option<String> {
    let names: &[&str] = match server {
        Server::Apache => match after(words, "SSLOpenSSLConfCmd") {
            Some(_) => &["Groups", "Curves"],
            None => &[],
        },
        Server::Haproxy => &["ssl-default-bind-curves", "curves", "ecdhe"],
        Server::Nginx => &["ssl_ecdh_curve"],
    };
    let (name, list) = names
        .iter()
        .find_map(|name| Some((*name, after(words, name)?)))?;
    // OpenSSL's own list.
    (list != "auto").then(|| format!("{name} {list}"))
}

fn finding(server: &str, lists: &[String], machine: &Machine) -> Finding {
    let version = &machine.version;
    let start = match machine.has_hybrids {
        true => "",
        false => {
            ". With such a name in its own configuration it does not start where the provider is missing"
        }
    };
    if let Some(list) = lists.iter().find(|list| !is_hybrid(list)) {
        let text = format!(
            "{server} has a list of its own ({list}), so it agrees on no key by ML-KEM there: remove the line, or begin it \
             with X25519MLKEM768{start}"
        );
        return Finding::note(ABOUT, text);
    }
    if let (Some(list), false) = (lists.first(), machine.has_hybrids) {
        let text = format!(
            "{server} names a group of the provider's in its own configuration ({list}): it does not start where the \
             provider is missing. Without the line, `oarlock provider install --post-quantum` does the same"
        );
        return Finding::note(ABOUT, text);
    }
    let is_listed = machine.list.as_deref().is_none_or(is_hybrid);
    if let (Some(list), false, true) = (&machine.list, is_listed, lists.is_empty()) {
        let text = format!(
            "OpenSSL's configuration lists groups itself (Groups = {list}), so {server} agrees on no key by ML-KEM: add \
             X25519MLKEM768 there"
        );
        return Finding::note(ABOUT, text);
    }
    if machine.has_hybrids || machine.is_post_quantum {
        let text = format!(
            "{server} agrees on X25519MLKEM768 with clients that send a share of it, as browsers do"
        );
        return Finding::ok(ABOUT, text);
    }
    let text = format!(
        "{version} has no key exchange by ML-KEM. `oarlock provider install --post-quantum` has {server} agree on \
         X25519MLKEM768 with clients that send a share of it, as browsers do"
    );
    Finding::note(ABOUT, text)
}

fn is_hybrid(list: &str) -> bool {
    list.to_ascii_uppercase().contains("MLKEM") || list.to_ascii_uppercase().contains("DEFAULT")
}

const ABOUT: &str = "key exchange";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::finding::State;

    fn machine(has_hybrids: bool, is_post_quantum: bool, list: Option<&str>) -> Machine {
        Machine {
            version: "OpenSSL 3.0.19".into(),
            has_hybrids,
            is_post_quantum,
            list: list.map(str::to_owned),
        }
    }

    #[test]
    fn lists_of_servers_are_found() {
        for (server, line, expected) in [
            (
                Server::Nginx,
                "ssl_ecdh_curve X25519:P-256",
                Some("ssl_ecdh_curve X25519:P-256"),
            ),
            (Server::Nginx, "ssl_ecdh_curve auto", None),
            (Server::Nginx, "ssl_ciphers X25519", None),
            (
                Server::Haproxy,
                "bind :443 ssl crt a.pem curves P-256",
                Some("curves P-256"),
            ),
            (
                Server::Haproxy,
                "ssl-default-bind-curves X25519",
                Some("ssl-default-bind-curves X25519"),
            ),
            (
                Server::Apache,
                "SSLOpenSSLConfCmd Curves P-384",
                Some("Curves P-384"),
            ),
            (Server::Apache, "SSLOpenSSLConfCmd Options x", None),
            (Server::Apache, "Groups x", None),
        ] {
            let words: Vec<_> = line.split(' ').collect();
            assert_eq!(list_of(server, &words).as_deref(), expected, "{line}");
        }
    }

    #[test]
    fn what_a_server_agrees_on_is_said() {
        let own = ["ssl_ecdh_curve X25519:P-256".to_owned()];
        let hybrid = ["ssl_ecdh_curve X25519MLKEM768:X25519".to_owned()];
        for (lists, machine, state, said) in [
            (
                &[][..],
                machine(false, false, None),
                State::Note,
                "install --post-quantum",
            ),
            (
                &[],
                machine(false, true, Some("X25519:X25519MLKEM768")),
                State::Ok,
                "agrees",
            ),
            (&[], machine(true, false, None), State::Ok, "agrees"),
            (
                &[],
                machine(true, false, Some("?*X25519MLKEM768:DEFAULT")),
                State::Ok,
                "agrees",
            ),
            (
                &[],
                machine(false, true, Some("P-256")),
                State::Note,
                "Groups = P-256",
            ),
            (
                &own,
                machine(true, false, None),
                State::Note,
                "with X25519MLKEM768",
            ),
            (
                &own,
                machine(false, true, None),
                State::Note,
                "does not start",
            ),
            (
                &hybrid,
                machine(false, true, None),
                State::Note,
                "does not start",
            ),
            (&hybrid, machine(true, false, None), State::Ok, "agrees"),
            (
                &hybrid,
                machine(true, false, Some("P-256")),
                State::Ok,
                "agrees",
            ),
        ] {
            let found = finding("nginx", lists, &machine);
            assert_eq!(found.state, state, "{}", found.text);
            assert!(found.text.contains(said), "{}", found.text);
        }
    }
}
