//! Tokens of SoftHSM, and of kryoptic if `cargo xtask peers tokens` has built it. Each test runs in a process of its own,
//! with its own tokens, once for each module.

mod keys;
mod sessions;
mod tokens;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::object::{Attribute, KeyType, ObjectClass, ObjectHandle};
use cryptoki::session::{Session, UserType};
use cryptoki::slot::Slot;
use cryptoki::types::AuthPin;
use oarlock::device::{DeviceError, Pkcs11Device, Pkcs11Options, TokenKey, TokenName};
use oarlock::rsa::{Hash, RsaPrivateKey, SignatureScheme};
use oarlock_testing::process::{alone_as, is_child};
use oarlock_testing::skip;
use pkcs1::der::Decode;
use zeroize::Zeroizing;

use crate::common::accelerator;

const SCHEME: SignatureScheme = SignatureScheme::Pkcs1(Hash::Sha256);
const PIN: &str = "correct-horse-17";
const SO_PIN: &str = "officer-of-tokens";

/// One module's tokens, in the process of one test.
struct Bench {
    module: PathBuf,
    folder: PathBuf,
    /// The PKCS#11 context of another part of the program.
    context: Pkcs11,
}

impl Bench {
    fn here() -> Self {
        let variable = |name| PathBuf::from(std::env::var_os(name).unwrap());
        let real = variable("OARLOCK_TEST_REAL_MODULE");
        let context = Pkcs11::new(&real).unwrap();
        let arguments = CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK);
        context.initialize(arguments).unwrap();
        Self {
            module: variable("OARLOCK_TEST_MODULE"),
            folder: variable("OARLOCK_TEST_FOLDER"),
            context,
        }
    }

    fn is_softhsm(&self) -> bool {
        self.module == softhsm()
    }

    /// Creates a token with the objects that `fill` stores on it.
    fn make_token(&self, label: &str, user_pin: &str, fill: impl FnOnce(&Session)) -> Slot {
        let slots = self.context.get_slots_with_token().unwrap();
        let is_free = |slot: &Slot| {
            !self
                .context
                .get_token_info(*slot)
                .unwrap()
                .token_initialized()
        };
        let slot = slots.into_iter().find(is_free).unwrap();
        self.context.init_token(slot, &pin(SO_PIN), label).unwrap();
        // SoftHSM has renumbered its slots.
        let is_made = |slot: &Slot| self.context.get_token_info(*slot).unwrap().label() == label;
        let mut slots = self.context.get_slots_with_token().unwrap().into_iter();
        let slot = slots.find(is_made).unwrap();
        let session = self.context.open_rw_session(slot).unwrap();
        session.login(UserType::So, Some(&pin(SO_PIN))).unwrap();
        session.init_pin(&pin(user_pin)).unwrap();
        session.logout().unwrap();
        session.login(UserType::User, Some(&pin(user_pin))).unwrap();
        fill(&session);
        session.logout().unwrap();
        slot
    }

    fn options(&self, label: &str) -> Pkcs11Options {
        let pin = Some(Zeroizing::new(PIN.to_owned()));
        Pkcs11Options::new(&self.module, TokenName::Label(label.into()), pin)
    }

    fn open(&self, label: &str) -> Result<Arc<Pkcs11Device>, DeviceError> {
        Pkcs11Device::open(self.options(label))
    }

    fn open_as(&self, token: TokenName, pin: &str) -> Result<Arc<Pkcs11Device>, DeviceError> {
        let pin = Some(Zeroizing::new(pin.to_owned()));
        Pkcs11Device::open(Pkcs11Options::new(&self.module, token, pin))
    }

    fn pull(&self) {
        std::fs::write(self.folder.join("pulled"), "").unwrap();
    }

    fn plug_in(&self) {
        std::fs::remove_file(self.folder.join("pulled")).unwrap();
    }

    fn steer(&self, name: &str, content: &str) {
        // Renamed into place, because the module reads the file all the time.
        let made = self.folder.join("steering");
        std::fs::write(&made, content).unwrap();
        std::fs::rename(made, self.folder.join(name)).unwrap();
    }

    fn let_go(&self, name: &str) {
        let _ = std::fs::remove_file(self.folder.join(name));
    }

    fn count(&self, name: &str) -> u64 {
        std::fs::metadata(self.folder.join(name)).map_or(0, |file| file.len())
    }

    /// Returns the number of logins through the module whose tokens can be pulled out.
    fn logins(&self) -> u64 {
        self.count("logins")
    }
}

/// Runs `body` for each module.
fn each(body: fn(&Bench)) {
    if is_child() {
        return body(&Bench::here());
    }
    for module in modules() {
        let folder = tempfile::tempdir().unwrap();
        configure(folder.path());
        println!("{}", module.display());
        assert!(alone_as(child(&module, folder.path())));
    }
}

/// Runs `body` for each module, through one whose tokens can be pulled out.
fn each_pullable(body: fn(&Bench)) {
    if is_child() {
        return body(&Bench::here());
    }
    for module in modules() {
        let folder = tempfile::tempdir().unwrap();
        configure(folder.path());
        let pullable = folder.path().join("pullable.so");
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pkcs11/pullable.c");
        let built = Command::new("gcc")
            .args(["-Wall", "-shared", "-fPIC", "-o"])
            .args([&pullable, Path::new(source)])
            .args(["-ldl"])
            .status();
        assert!(built.unwrap().success());
        let mut command = child(&pullable, folder.path());
        command
            .env("OARLOCK_TEST_REAL_MODULE", &module)
            .env("REAL_MODULE", &module);
        assert!(alone_as(command));
    }
}

fn child(module: &Path, folder: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .env("OARLOCK_TEST_MODULE", module)
        .env("OARLOCK_TEST_REAL_MODULE", module)
        .env("OARLOCK_TEST_FOLDER", folder)
        .env("PULLED", folder.join("pulled"))
        .env("STEERING", folder)
        .env("LOGINS", folder.join("logins"))
        .env("SOFTHSM2_CONF", folder.join("softhsm2.conf"))
        .env("KRYOPTIC_CONF", folder.join("kryoptic.conf"));
    command
}

fn configure(folder: &Path) {
    let tokens = folder.join("tokens");
    std::fs::create_dir(&tokens).unwrap();
    let softhsm = format!(
        "directories.tokendir = {}\nobjectstore.backend = file\nlog.level = ERROR\n",
        tokens.display()
    );
    std::fs::write(folder.join("softhsm2.conf"), softhsm).unwrap();
    let kryoptic = format!(
        "[[slots]]\nslot = 3\ndbtype = \"sqlite\"\ndbargs = \"{}/token.sql\"\n",
        tokens.display()
    );
    std::fs::write(folder.join("kryoptic.conf"), kryoptic).unwrap();
}

fn modules() -> Vec<PathBuf> {
    let mut modules = vec![softhsm()];
    let tools = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let kryoptic = tools.join("peers/kryoptic/libkryoptic.so");
    if kryoptic.exists() {
        modules.push(kryoptic);
    } else {
        skip("with SoftHSM alone: kryoptic is not built (cargo xtask peers tokens)");
    }
    modules
}

fn softhsm() -> PathBuf {
    let places = [
        "/usr/lib/softhsm/libsofthsm2.so",
        "/usr/lib64/softhsm/libsofthsm.so",
        "/usr/lib64/pkcs11/libsofthsm2.so",
    ];
    let mut places = places.iter().map(PathBuf::from);
    let found = places.find(|place| place.exists());
    found.unwrap_or_else(|| panic!("no SoftHSM: scripts/system-packages test installs it"))
}

fn pin(pin: &str) -> AuthPin {
    AuthPin::new(pin.into())
}

/// Returns the attributes for a private key's uses and names.
fn usage(id: &[u8], label: &str, decrypt: bool, sign: bool) -> Vec<Attribute> {
    vec![
        Attribute::Id(id.to_vec()),
        Attribute::Label(label.as_bytes().to_vec()),
        Attribute::Decrypt(decrypt),
        Attribute::Sign(sign),
    ]
}

fn create(session: &Session, pem: &str, usage: &[Attribute]) {
    let mut template = private_template(pem);
    template.extend_from_slice(usage);
    session.create_object(&template).unwrap();
}

/// Creates a key, unless the token does not support it.
fn try_create(session: &Session, pem: &str, usage: &[Attribute]) {
    let mut template = private_template(pem);
    template.extend_from_slice(usage);
    let _ = session.create_object(&template);
}

fn private_template(pem: &str) -> Vec<Attribute> {
    let (_, document) = pkcs8::SecretDocument::from_pem(pem).unwrap();
    let info = pkcs8::PrivateKeyInfoRef::from_der(document.as_bytes()).unwrap();
    let key = pkcs1::RsaPrivateKeyRef::from_der(info.private_key.as_bytes()).unwrap();
    let bytes = |number: pkcs1::UintRef<'_>| number.as_bytes().to_vec();
    vec![
        Attribute::Class(ObjectClass::PRIVATE_KEY),
        Attribute::KeyType(KeyType::RSA),
        Attribute::Token(true),
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(false),
        Attribute::Modulus(bytes(key.modulus)),
        Attribute::PublicExponent(bytes(key.public_exponent)),
        Attribute::PrivateExponent(bytes(key.private_exponent)),
        Attribute::Prime1(bytes(key.prime1)),
        Attribute::Prime2(bytes(key.prime2)),
        Attribute::Exponent1(bytes(key.exponent1)),
        Attribute::Exponent2(bytes(key.exponent2)),
        Attribute::Coefficient(bytes(key.coefficient)),
    ]
}

/// Returns the modulus and public exponent.
fn numbers(pem: &str) -> (Vec<u8>, Vec<u8>) {
    let key = RsaPrivateKey::from_pem(pem).unwrap();
    let public = key.public_key();
    (public.modulus().to_vec(), public.exponent().to_vec())
}

fn private(session: &Session, label: &str) -> ObjectHandle {
    let template = [
        Attribute::Class(ObjectClass::PRIVATE_KEY),
        Attribute::Label(label.as_bytes().to_vec()),
    ];
    session.find_objects(&template).unwrap()[0]
}

fn labelled<'a>(keys: &'a [TokenKey], label: &str) -> &'a TokenKey {
    let found = keys.iter().find(|key| key.label() == label);
    found.unwrap_or_else(|| panic!("no key {label:?}: {keys:?}"))
}

fn held(device: &Arc<Pkcs11Device>, label: &str) -> RsaPrivateKey {
    device
        .key(labelled(&device.keys().unwrap(), label))
        .unwrap()
}

fn sign_with(key: &RsaPrivateKey) {
    let rsa = accelerator().rsa(key);
    let signature = rsa.sign(SCHEME, b"message").unwrap();
    rsa.public().verify(SCHEME, b"message", &signature).unwrap();
}
