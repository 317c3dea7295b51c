//! Measures how many signatures a PKCS#11 module makes in a second: of a token and key, by threads with a session each.
//!
//! ```text
//! cargo run --release --package oarlock-pkcs11 --example rate -- MODULE TOKEN KEY ecdsa|rsa THREADS SECONDS [PIN]
//! ```
//!
//! It takes any module, so that modules can be compared.

use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use cryptoki::context::{CInitializeArgs, CInitializeFlags, Pkcs11};
use cryptoki::mechanism::Mechanism;
use cryptoki::object::{Attribute, ObjectClass};
use cryptoki::session::{Session, UserType};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [module, token, key, mechanism, threads, seconds, pin @ ..] = &arguments[..] else {
        return Err("usage: rate MODULE TOKEN KEY ecdsa|rsa THREADS SECONDS [PIN]".into());
    };
    let is_rsa = match mechanism.as_str() {
        "ecdsa" => false,
        "rsa" => true,
        other => return Err(format!("{other}: measure ecdsa or rsa").into()),
    };
    let module = Pkcs11::new(module)?;
    module.initialize(CInitializeArgs::new(CInitializeFlags::OS_LOCKING_OK))?;
    let mut slots = module.get_slots_with_token()?.into_iter();
    let is_it = |slot: &_| {
        module
            .get_token_info(*slot)
            .is_ok_and(|info| info.label() == token)
    };
    let slot = slots
        .find(is_it)
        .ok_or_else(|| format!("there is no token {token:?}"))?;
    let first = module.open_ro_session(slot)?;
    if let Some(pin) = pin.first() {
        first.login(UserType::User, Some(&pin.as_str().into()))?;
    }
    let class = Attribute::Class(ObjectClass::PRIVATE_KEY);
    let template = [class, Attribute::Label(key.as_bytes().to_vec())];
    let found = first.find_objects(&template)?;
    let key = *found
        .first()
        .ok_or_else(|| format!("there is no private key {key:?}"))?;

    let sessions: Vec<Session> = (0..threads.parse()?)
        .map(|_| module.open_ro_session(slot))
        .collect::<Result<_, _>>()?;
    let (made, is_over) = (AtomicUsize::new(0), AtomicBool::new(false));
    let began = Instant::now();
    std::thread::scope(|scope| {
        let (made, is_over) = (&made, &is_over);
        let sign = move |session: Session| {
            let mechanism = match is_rsa {
                true => Mechanism::Sha256RsaPkcs,
                false => Mechanism::Ecdsa,
            };
            while !is_over.load(Ordering::Relaxed) {
                session.sign(&mechanism, key, &[7; 32])?;
                made.fetch_add(1, Ordering::Relaxed);
            }
            Ok::<(), cryptoki::error::Error>(())
        };
        let signing: Vec<_> = sessions
            .into_iter()
            .map(|session| scope.spawn(move || sign(session)))
            .collect();
        std::thread::sleep(Duration::from_secs_f64(seconds.parse().unwrap_or(1.0)));
        is_over.store(true, Ordering::Relaxed);
        for thread in signing {
            thread.join().map_err(|_| "a thread failed")??;
        }
        Ok::<(), Box<dyn Error>>(())
    })?;
    let rate = made.load(Ordering::Relaxed) as f64 / began.elapsed().as_secs_f64();
    println!("{rate:.0} signatures a second");
    Ok(())
}
