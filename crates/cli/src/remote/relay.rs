//! The `oarlock relay` subcommand.

use std::io::Write as _;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use oarlock::keys;
use oarlock::keys::KeyType;
use oarlock::rsa::{EncryptionScheme, Hash};
use oarlock_local::relay::{
    Allowed, KeyList, ListedKey, Operation, Question, Relay, Reply, Rights, Scheme,
};
use oarlock_net::client::{CallOptions, Client, Operation as Request};
use oarlock_net::proto;
use rustix::process::geteuid;

use super::{Access, refused};
use crate::daemon;
use crate::failure::{Failure, printable};
use crate::interrupt::Interrupt;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Server, as host:port; repeat for several, among which requests are divided
    #[arg(long, value_name = "SERVER", required = true)]
    remote: Vec<String>,

    #[command(flatten)]
    access: Access,

    /// The socket; repeat for several, as for programs in a changed root
    #[arg(
        long,
        value_name = "PATH",
        default_value = "/run/oarlock/relay.sock",
        conflicts_with = "stdin"
    )]
    socket: Vec<PathBuf>,

    /// The socket is standard input, and listens: as a service manager hands it over
    #[arg(long)]
    stdin: bool,

    /// A user whose processes are served, by name or number, and the ids of the keys that they may use, all if none is
    /// given; may be repeated. Root and the user of the relay may use all
    #[arg(long, value_name = "USER[=ID,...]")]
    allow: Vec<String>,
}

pub(crate) const EXAMPLES: &str = "\
An unmodified server whose private key is on another machine: the file that it loads in place of the key is written by \
`oarlock pubkey --reference`, and the provider's section has the line `relay = /run/oarlock/relay.sock`. The relay has the \
client certificate and the connections; the programs that ask it have neither. It gives up on a server after 4 s at most.

Examples:
  oarlock pubkey --remote keys.example:7443 --pki demo --key web --reference -o /etc/nginx/site-key.pem
  sudo oarlock relay --remote keys.example:7443 --pki demo --allow www-data=web
  sudo oarlock run --relay -- nginx";

/// The list of keys from the server, or the reason why there is none.
type List = Result<KeyList, String>;

pub(crate) fn run(args: &Args) -> Result<(), Failure> {
    let fail = |error: oarlock_local::Error| Failure::new(error.to_string());
    let allowed = allowed(&args.allow)?;
    daemon::prepare()?;
    let mut settings = args.access.settings(&args.remote)?;
    settings.timeout = settings.timeout.min(SERVER_PATIENCE);
    let interrupt = Interrupt::catch(true)?;
    interrupt.leaves_something();
    let relay = if args.stdin {
        Relay::on(daemon::listener()?).map_err(fail)?
    } else {
        args.socket
            .iter()
            .for_each(|path| daemon::make_folder_of(path));
        let relay = Relay::bind(&args.socket).map_err(fail)?;
        for path in &args.socket {
            // Serve whether or not anybody reads this line.
            let _ = writeln!(std::io::stdout(), "listening on {}", path.display());
        }
        relay
    };
    // Threads exist from here on.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .thread_name("oarlock-relay")
        .enable_all()
        .build()
        .map_err(|error| Failure::new(format!("no runtime: {error}")))?;
    let client = {
        let _entered = runtime.enter();
        Client::new(settings).map_err(refused)?
    };
    let log = Arc::new(Log::default());
    let asking = Arc::new(AtomicUsize::new(0));
    {
        let (client, log) = (client.clone(), Arc::clone(&log));
        runtime.spawn(async move {
            // Serve all the same: the server may start later.
            if let Err(error) = client.ready(SERVER_PATIENCE).await {
                log.tell(&error.message);
            }
        });
    }
    let list: Arc<tokio::sync::Mutex<Option<(Instant, List)>>> = Arc::default();
    let mut ask = |question: Question, reply: Reply| {
        let key_id = question.key_id.clone();
        let (client, log) = (client.clone(), Arc::clone(&log));
        let under_way = UnderWay::new(&asking);
        if question.operation == Operation::Keys {
            let list = Arc::clone(&list);
            runtime.spawn(async move {
                // Lists count against what the server holds for this client, and so against the signatures of others.
                let mut kept = list.lock().await;
                let is_old = |(at, _): &(Instant, _)| at.elapsed() >= LISTS_APART;
                if kept.as_ref().is_none_or(is_old) {
                    let made = client.list_keys().await;
                    let made = made
                        .map(|keys| KeyList::new(keys.into_iter().map(listed).collect()))
                        .map_err(|error| error.message);
                    if let Err(why) = &made {
                        log.tell(&format!("the list of keys: {why}"));
                    }
                    *kept = Some((Instant::now(), made));
                }
                match kept.as_ref().map(|(_, made)| made) {
                    Some(Ok(keys)) => reply.give_keys(keys, &key_id),
                    Some(Err(why)) => reply.give(Err(why)),
                    None => {}
                }
                drop(under_way);
            });
            return;
        }
        let options = CallOptions {
            public_key_sha256: question.public_key,
            ..CallOptions::default()
        };
        let Some(request) = request(question) else {
            reply.give(Err("the cryptoserver knows no such scheme"));
            return;
        };
        runtime.spawn(async move {
            match client.call(request, options).await {
                Ok(made) => reply.give(Ok(&made)),
                Err(error) => {
                    reply.give(Err(&error.message));
                    log.tell(&format!("key {key_id:?}: {}", error.message));
                }
            }
            drop(under_way);
        });
    };
    let mut report = |what: &str| log.tell(what);
    relay
        .serve(
            &allowed,
            UNDER_WAY_OF_USER,
            interrupt.seen(),
            &mut ask,
            &mut report,
        )
        .map_err(fail)?;
    // Others may listen there now; pending questions are still answered.
    drop(relay);
    let since = Instant::now();
    while asking.load(Ordering::Acquire) > 0 && since.elapsed() < SERVER_PATIENCE {
        std::thread::sleep(Duration::from_millis(5));
    }
    runtime.shutdown_background();
    Ok(())
}

/// Returns the request that asks a server for a question; `None` if the protocol has no such scheme.
fn request(question: Question) -> Option<Request> {
    let Question {
        key_id, operation, ..
    } = question;
    Some(match operation {
        Operation::Sign { scheme, digest } => Request::Sign(proto::Sign {
            key_id,
            scheme: named(scheme)?.into(),
            digest,
        }),
        Operation::Decrypt { scheme, ciphertext } => {
            let (scheme, label) = padding(scheme)?;
            Request::Decrypt(proto::Decrypt {
                key_id,
                scheme: scheme.into(),
                ciphertext,
                label,
                ..Default::default()
            })
        }
        Operation::RawPrivate(number) => Request::RawPrivate(proto::RawPrivate { key_id, number }),
        Operation::Keys => return None,
    })
}

/// Returns the padding in the protocol's terms, and the label.
fn padding(scheme: EncryptionScheme) -> Option<(proto::EncryptionScheme, Vec<u8>)> {
    Some(match scheme {
        EncryptionScheme::Pkcs1 => (proto::EncryptionScheme::RsaPkcs1, Vec::new()),
        EncryptionScheme::Oaep { hash, mgf1, label } if hash == mgf1 => {
            let scheme = match hash {
                Hash::Sha1 => proto::EncryptionScheme::RsaOaepSha1,
                Hash::Sha256 => proto::EncryptionScheme::RsaOaepSha256,
                Hash::Sha384 => proto::EncryptionScheme::RsaOaepSha384,
                Hash::Sha512 => proto::EncryptionScheme::RsaOaepSha512,
                _ => return None,
            };
            (scheme, label)
        }
        _ => return None,
    })
}

/// Returns a key of a server's list in the relay's terms.
fn listed(key: proto::Key) -> ListedKey {
    let may = |permission: proto::Permission| key.permissions.contains(&permission.into());
    ListedKey {
        rights: Rights {
            sign: may(proto::Permission::Sign),
            decrypt: may(proto::Permission::Decrypt),
            raw_private: may(proto::Permission::RawPrivate),
        },
        key_id: key.id,
        public_key: key.public_key,
    }
}

/// Returns the scheme in the protocol's terms.
fn named(scheme: Scheme) -> Option<proto::SignatureScheme> {
    let (key_type, scheme) = match scheme {
        Scheme::Rsa(scheme) => (KeyType::Rsa, keys::Scheme::Rsa(scheme)),
        Scheme::Ecdsa(curve) => {
            let key_type = KeyType::Ec(curve);
            (key_type, keys::Scheme::usual(key_type)?)
        }
        Scheme::Ed25519 => (KeyType::Ed25519, keys::Scheme::Ed25519),
        Scheme::MlDsa(set) => (KeyType::MlDsa(set), keys::Scheme::ML_DSA),
    };
    proto::SignatureScheme::of(key_type, &scheme)
}

/// Returns the users that `--allow` names, and the keys that each may use.
fn allowed(given: &[String]) -> Result<Vec<Allowed>, Failure> {
    let mut allowed: Vec<Allowed> = Vec::new();
    for text in given {
        let (name, keys) = match text.split_once('=') {
            None => (text.as_str(), None),
            Some((name, keys)) => (name, Some(keys.split(',').map(str::to_owned).collect())),
        };
        let keys: Option<Vec<String>> = keys;
        if keys.iter().flatten().any(String::is_empty) {
            return Err(Failure::usage(format!(
                "--allow {text}: give the ids of keys as in www-data=web,shop"
            )));
        }
        let user = daemon::user(name)?;
        match allowed.iter_mut().find(|allowed| allowed.user == user) {
            None => allowed.push(Allowed { user, keys }),
            Some(before) => match (&mut before.keys, keys) {
                (Some(before), Some(keys)) => before.extend(keys),
                (all, _) => *all = None,
            },
        }
    }
    for user in [0, geteuid().as_raw()] {
        allowed.retain(|allowed| allowed.user != user);
        allowed.push(Allowed { user, keys: None });
    }
    Ok(allowed)
}

/// A question that counts as pending until it is answered.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(Arc::clone(count))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

/// A log on standard error of at most one line a second: a client must not be able to fill it.
#[derive(Default)]
struct Log(Mutex<Option<Instant>>);

impl Log {
    fn tell(&self, what: &str) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if last.is_none_or(|last| last.elapsed() >= Duration::from_secs(1)) {
            *last = Some(Instant::now());
            let _ = writeln!(std::io::stderr(), "{}", line(what));
        }
    }
}

/// Formats a line of the log. Some of the text comes from a server.
fn line(what: &str) -> String {
    let what: String = what.chars().take(LINE_MAX).collect();
    format!("oarlock: {}", printable(&what))
}

/// How old a list of keys may be.
const LISTS_APART: Duration = Duration::from_secs(1);
/// Less time than clients wait for the relay.
const SERVER_PATIENCE: Duration = Duration::from_secs(4);
/// The most pending questions of one user: a quarter of what a cryptoserver accepts from a client (`per_client_max`), which
/// the relay is.
const UNDER_WAY_OF_USER: usize = 256;
/// The most characters of a text in the log.
const LINE_MAX: usize = 1000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_forges_no_line_of_the_log_and_makes_none_long() {
        let said = format!("no\nforged\x1b[2J\u{202e}{}", "x".repeat(1 << 20));
        let line = line(&format!("key {:?}: {said}", "web\n"));
        assert!(
            line.starts_with("oarlock: key \"web\\n\": no?forged?[2J?xxx"),
            "{line}"
        );
        assert!(line.len() < 1100, "{}", line.len());
    }
}
