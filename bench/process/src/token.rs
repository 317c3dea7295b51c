//! Signatures by a PKCS#11 module, of one key, by threads with a session each.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;

use crate::tally::{Report, Tally};
use crate::watch;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// File of the module; any will do
    #[arg(long)]
    module: PathBuf,

    /// Label of the token
    #[arg(long)]
    token: String,

    /// PIN of the user, if the token wants one
    #[arg(long)]
    pin: Option<String>,

    /// Label of the key
    #[arg(long)]
    key: String,

    /// Sign with ECDSA instead of RSA
    #[arg(long)]
    p256: bool,

    #[arg(long, default_value_t = 8)]
    threads: usize,

    /// Seconds before anything counts
    #[arg(long, default_value_t = 0.5)]
    warm_up: f64,

    #[arg(long, default_value_t = 2.0)]
    seconds: f64,
}

/// The most signatures that a thread keeps to verify at the end.
const VERIFIED: usize = 64;

pub(crate) fn run(args: &Args) -> Result<Report, String> {
    Token::open(args)
        .and_then(|token| token.measure(args))
        .map_err(|error| format!("{}: {error}", args.module.display()))
}

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

fn mechanism(args: &Args) -> Mechanism<'static> {
    match args.p256 {
        true => Mechanism::Ecdsa,
        false => Mechanism::Sha256RsaPkcs,
    }
}

struct Token {
    module: Pkcs11,
    slot: Slot,
    /// Keeps the user logged in.
    first: Session,
}

impl Token {
    fn open(args: &Args) -> Result<Self> {
        let module = Pkcs11::new(&args.module)?;
        module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK))?;
        let slots = module.get_slots_with_token()?;
        let is_it = |slot: &Slot| {
            let info = module.get_token_info(*slot);
            info.is_ok_and(|info| info.label() == args.token)
        };
        let slot = slots.into_iter().find(is_it);
        let slot = slot.ok_or_else(|| format!("no token {:?}", args.token))?;
        let first = module.open_ro_session(slot)?;
        if let Some(pin) = &args.pin {
            first.login(UserType::User, Some(&pin.as_str().into()))?;
        }
        Ok(Self {
            module,
            slot,
            first,
        })
    }

    fn key(&self, class: ObjectClass, label: &str) -> Result<ObjectHandle> {
        let template = [
            Attribute::Class(class),
            Attribute::Label(label.as_bytes().to_vec()),
        ];
        let found = self.first.find_objects(&template)?;
        let key = found.first().copied();
        key.ok_or_else(|| format!("no key {label:?}").into())
    }

    fn measure(self, args: &Args) -> Result<Report> {
        let private = self.key(ObjectClass::PRIVATE_KEY, &args.key)?;
        let sessions = (0..args.threads).map(|_| self.module.open_ro_session(self.slot));
        let sessions = sessions.collect::<Result<Vec<_>, _>>()?;
        let begins = Instant::now() + Duration::from_secs_f64(args.warm_up);
        let length = Duration::from_secs_f64(args.seconds);
        let tally = Mutex::new(Tally::of(begins, length));
        let pid = std::process::id();
        let made = std::thread::scope(|scope| {
            let tally = &tally;
            let sign = move |session: Session, thread: u8| -> Result<_> {
                let (mechanism, mut made) = (mechanism(args), Vec::new());
                for number in 0u64.. {
                    let asked = Instant::now();
                    if asked >= begins + length {
                        break;
                    }
                    let mut digest = [thread; 32];
                    digest[..8].copy_from_slice(&number.to_le_bytes());
                    let signature = session.sign(&mechanism, private, &digest)?;
                    if let Ok(mut tally) = tally.lock() {
                        tally.note(asked, Ok(true));
                    }
                    if made.len() < VERIFIED {
                        made.push((digest, signature));
                    }
                }
                Ok(made)
            };
            let threads: Vec<_> = (0u8..)
                .zip(sessions)
                .map(|(thread, session)| scope.spawn(move || sign(session, thread)))
                .collect();
            let made = threads.into_iter().map(|thread| match thread.join() {
                Ok(made) => made,
                Err(_) => Err("a thread panicked".into()),
            });
            made.collect::<Result<Vec<_>>>()
        })?;
        let public = self.key(ObjectClass::PUBLIC_KEY, &args.key)?;
        for (digest, signature) in made.iter().flatten() {
            self.first
                .verify(&mechanism(args), public, digest, signature)?;
        }
        let cpu = watch::cpu_seconds(pid).unwrap_or_default();
        let tally = tally.into_inner().map_err(|_| "a thread panicked")?;
        Ok(tally.report(cpu, &[], None))
    }
}
