//! Keys in files, a relay in this process, and the module.

use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::thread::JoinHandle;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::object::{Attribute, ObjectClass, ObjectHandle};
use cryptoki::session::Session;
use oarlock::Accelerator;
use oarlock::keys::{AcceleratedKey, KeyType, PrivateKey, Scheme};
use oarlock_local::relay::{
    Allowed, KeyList, ListedKey, Operation, Question, Relay, Reply, Rights, Scheme as RelayScheme,
    public_key_digest,
};
use oarlock_testing::lossy;
use oarlock_testing::process::{alone_as, is_child};
use rustix::event::{EventfdFlags, eventfd};
use tempfile::TempDir;

/// The types of keys that sign, with the names of their files.
pub const KEYS: [(&str, &str); 8] = [
    ("rsa", "RSA"),
    ("p256", "P-256"),
    ("p384", "P-384"),
    ("p521", "P-521"),
    ("ed25519", "Ed25519"),
    ("ml-dsa-44", "ML-DSA-44"),
    ("ml-dsa-65", "ML-DSA-65"),
    ("ml-dsa-87", "ML-DSA-87"),
];
/// Those that openssl of any release makes certificates with.
pub const CERTIFIED: [&str; 4] = ["rsa", "p256", "p384", "p521"];

/// A directory with keys, certificates and a configuration.
pub struct Home(TempDir);

impl Home {
    /// Keys of each type, and the token `files`.
    pub fn new() -> Self {
        Self::with(&KEYS.map(|(name, _)| name))
    }

    /// Keys of some types.
    pub fn with(names: &[&str]) -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        fs::create_dir(home.keys()).unwrap();
        for name in names {
            write_key(&home.key_file(name), name);
            if CERTIFIED.contains(name) {
                home.certify(name);
            }
        }
        home.configure(&home.files_token(""));
        home
    }

    fn certify(&self, name: &str) {
        let mut request = Command::new("openssl");
        request.args([
            "req",
            "-x509",
            "-days",
            "2",
            "-subj",
            &format!("/CN={name}"),
        ]);
        request.arg("-key").arg(self.key_file(name));
        request
            .arg("-out")
            .arg(self.keys().join(format!("{name}.crt")));
        succeeds(&mut request);
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }

    pub fn keys(&self) -> PathBuf {
        self.path().join("keys")
    }

    pub fn key_file(&self, name: &str) -> PathBuf {
        self.keys().join(format!("{name}.pem"))
    }

    pub fn socket(&self) -> PathBuf {
        self.path().join("relay.sock")
    }

    pub fn config(&self) -> PathBuf {
        self.path().join("pkcs11.toml")
    }

    pub fn configure(&self, text: &str) {
        fs::write(self.config(), text).unwrap();
    }

    /// The section of the token `files`.
    pub fn files_token(&self, more: &str) -> String {
        format!(
            "[[token]]\nlabel = \"files\"\nkeys = \"{}\"\n{more}\n",
            self.keys().display()
        )
    }

    /// The section of the token `remote`.
    pub fn relay_token(&self) -> String {
        format!(
            "[[token]]\nlabel = \"remote\"\nrelay = \"{}\"\ncertificates = \"{}\"\n",
            self.socket().display(),
            self.keys().display()
        )
    }

    /// Runs the running test again in a process whose configuration this is; false in that process.
    pub fn runs_alone(&self) -> bool {
        if is_child() {
            return false;
        }
        let mut command = Command::new(std::env::current_exe().unwrap());
        self.configures(&mut command);
        command.env("OARLOCK_TEST_HOME", self.path());
        alone_as(command)
    }

    /// Has a program read the configuration.
    pub fn configures<'a>(&self, command: &'a mut Command) -> &'a mut Command {
        command.env("OARLOCK_PKCS11_CONFIG", self.config())
    }

    pub fn program(&self, name: &str) -> Command {
        let mut command = Command::new(name);
        self.configures(&mut command);
        command.current_dir(self.path());
        command
    }
}

/// The home of the parent, in a process of [`Home::runs_alone`].
pub fn home() -> PathBuf {
    std::env::var_os("OARLOCK_TEST_HOME").unwrap().into()
}

/// Runs a test with a home, in a process of its own. Returns false in the parent, where the test is then over.
pub fn is_over(make: impl FnOnce() -> Home) -> bool {
    if is_child() {
        return false;
    }
    let home = make();
    home.runs_alone()
}

/// The module of the tree, which cargo builds next to this program.
pub fn module() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    let module = program.with_file_name("liboarlock_pkcs11.so");
    assert!(module.exists(), "{}: build it", module.display());
    module
}

/// The module, initialized.
pub fn initialized() -> Pkcs11 {
    let module = Pkcs11::new(module()).unwrap();
    module
        .initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK))
        .unwrap();
    module
}

/// A session with the token of this label.
pub fn session(module: &Pkcs11, label: &str) -> Session {
    let slots = module.get_slots_with_token().unwrap();
    let slot = slots
        .into_iter()
        .find(|slot| module.get_token_info(*slot).unwrap().label() == label);
    module.open_ro_session(slot.unwrap()).unwrap()
}

/// The object of a class and label.
pub fn object(session: &Session, class: ObjectClass, label: &str) -> ObjectHandle {
    let template = [Attribute::Class(class), Attribute::Label(label.into())];
    let found = session.find_objects(&template).unwrap();
    assert_eq!(found.len(), 1, "{class} {label}");
    found[0]
}

/// Writes a new key of this name's type.
pub fn write_key(path: &Path, name: &str) {
    let (_, named) = KEYS.iter().find(|(known, _)| *known == name).unwrap();
    let key = PrivateKey::generate(KeyType::named(named).unwrap()).unwrap();
    fs::write(path, key.to_pkcs8_pem().unwrap()).unwrap();
}

pub fn private_key(home: &Path, name: &str) -> PrivateKey {
    let pem = fs::read(home.join(format!("keys/{name}.pem"))).unwrap();
    PrivateKey::from_bytes(&pem).unwrap()
}

pub fn run(command: &mut Command) -> Output {
    command.stdin(std::process::Stdio::null());
    command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"))
}

/// Runs a program that has to succeed, and returns what it printed.
pub fn succeeds(command: &mut Command) -> String {
    let output = run(command);
    let (out, err) = (lossy(&output.stdout), lossy(&output.stderr));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{out}\n{err}",
        output.status
    );
    out
}

type Answer = Box<dyn FnMut(&Keys, Question, Reply) + Send>;

/// The keys of a relay.
pub struct Keys(HashMap<String, AcceleratedKey>);

impl Keys {
    pub fn of(home: &Path) -> Self {
        let accelerator = Accelerator::builder().build().unwrap();
        let keys = KEYS
            .iter()
            .filter(|(name, _)| home.join(format!("keys/{name}.pem")).exists());
        let keys = keys.map(|(name, _)| {
            let key = private_key(home, name);
            ((*name).to_owned(), accelerator.key(&key))
        });
        Self(keys.collect())
    }

    pub fn get(&self, name: &str) -> &AcceleratedKey {
        &self.0[name]
    }

    pub fn listed(&self) -> Vec<ListedKey> {
        let listed = self.0.iter().map(|(name, key)| ListedKey {
            key_id: name.clone(),
            rights: Rights {
                sign: true,
                decrypt: true,
                raw_private: true,
            },
            public_key: key.key().public_key().to_spki_der().unwrap(),
        });
        listed.collect()
    }

    /// Computes what a cryptoserver would.
    pub fn answer(&self, question: &Question) -> Vec<u8> {
        let key = self.get(&question.key_id);
        match &question.operation {
            Operation::Sign { scheme, digest } => match scheme {
                RelayScheme::Rsa(scheme) => key.sign_digest(&Scheme::Rsa(*scheme), digest).unwrap(),
                RelayScheme::Ecdsa(_) => {
                    let scheme = Scheme::usual(key.key().key_type()).unwrap();
                    key.sign_digest(&scheme, digest).unwrap()
                }
                _ => {
                    let scheme = Scheme::usual(key.key().key_type()).unwrap();
                    key.sign(&scheme, digest).unwrap()
                }
            },
            Operation::Decrypt { scheme, ciphertext } => key
                .as_rsa()
                .unwrap()
                .decrypt(scheme, ciphertext)
                .unwrap()
                .to_vec(),
            Operation::RawPrivate(number) => {
                key.as_rsa().unwrap().raw_private(number).unwrap().to_vec()
            }
            Operation::Keys => panic!("this is no key's operation"),
        }
    }

    fn is_meant(&self, question: &Question) -> bool {
        let key = self.get(&question.key_id).key().public_key();
        question.public_key == Some(public_key_digest(key))
    }

    pub fn give(&self, question: Question, reply: Reply) {
        match question.operation {
            Operation::Keys => reply.give_keys(&KeyList::new(self.listed()), &question.key_id),
            _ if !self.is_meant(&question) => reply.give(Err("the key was replaced")),
            _ => reply.give(Ok(&self.answer(&question))),
        }
    }
}

/// A relay in this process.
pub struct Relayed {
    stop: Arc<OwnedFd>,
    serving: Option<JoinHandle<()>>,
}

impl Relayed {
    pub fn honest(home: &Path) -> Self {
        Self::with(
            home,
            Box::new(|keys, question, reply| keys.give(question, reply)),
        )
    }

    pub fn with(home: &Path, mut answer: Answer) -> Self {
        let relay = Relay::bind(&[home.join("relay.sock")]).unwrap();
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).unwrap());
        let stopped = Arc::clone(&stop);
        let keys = Keys::of(home);
        let allowed = [Allowed {
            user: rustix::process::geteuid().as_raw(),
            keys: None,
        }];
        let serving = std::thread::spawn(move || {
            let mut ask = |question, reply| answer(&keys, question, reply);
            relay
                .serve(&allowed, 256, stopped.as_fd(), &mut ask, &mut |_| ())
                .unwrap();
        });
        Self {
            stop,
            serving: Some(serving),
        }
    }
}

impl Drop for Relayed {
    fn drop(&mut self) {
        rustix::io::write(&self.stop, &1u64.to_ne_bytes()).unwrap();
        let ended = self.serving.take().unwrap().join();
        assert!(ended.is_ok() || std::thread::panicking());
    }
}
