//! Providers that are unloaded while a key lives: this one, the default one that it calls, or both, before and after the
//! key, its operations and the library context. Whatever a program may do with the default provider's keys, it may do with
//! ours: an operation works or returns an error.
//!
//! `tests/c/unload.c` takes the steps, by itself and under valgrind. The default provider alone goes through the same
//! steps, which shows that they are legal.

use std::fs;
use std::path::Path;
use std::process::Command;

use oarlock_testing::lossy;

use crate::driver::libcrypto;
use crate::host::{compiled, module, open_folder, succeeds, with_conf};

/// The orders of steps (see `tests/c/unload.c`) in which everything is freed. `u` unloads this provider, `d` the default
/// one, `k` frees the key and `c` the library context.
const COMPLETE: [&str; 5] = [
    // The key is freed first, before or after an operation.
    "kudc okudc okduc bekfudc",
    // The key is used after this provider was unloaded, and after both were.
    "ouokdc ougykdc buefkdc bukefdc oudokc budefkc duokc odukc",
    // This provider is loaded again.
    "oulokudc buleofkudc",
    // The default provider is unloaded first, under this one.
    "doukc dokuc bdefkuc dougykc",
    // The key, and an operation that was begun, outlive the library context.
    "oudck uybdcfk",
];

/// Orders in which the program ends with a key, with an operation, and without its library context.
const CUT_SHORT: [&str; 1] = ["o bu oud oudc"];

/// The provider that is unloaded, the provider of keys, and that of operations.
type Case = [&'static str; 3];

const STOCK: Case = ["default"; 3];
const OURS: Case = ["oarlock"; 3];
const KEYS_OF_DEFAULT: Case = ["oarlock", "default", "oarlock"];
const KEYS_OF_OURS: Case = ["oarlock", "oarlock", "default"];

/// The cases for a type that the default provider has.
const OF_DEFAULT: [Case; 4] = [STOCK, OURS, KEYS_OF_DEFAULT, KEYS_OF_OURS];

fn unloaded(key_type: &str, cases: &[Case]) {
    let folder = open_folder();
    let program = compiled("unload", folder.path());
    let configuration = folder.path().join("providers.cnf");
    // Valgrind's CPU has no lanes, without which RSA is offered if there may be keys of another machine. A relay is asked
    // for those alone.
    let relay = match key_type {
        "RSA" => format!("relay = {}\n", folder.path().join("none.sock").display()),
        _ => String::new(),
    };
    let text = format!(
        "openssl_conf = openssl_init\n\
         [openssl_init]\n\
         providers = providers\n\
         [providers]\n\
         default = default_provider\n\
         oarlock = oarlock_provider\n\
         [default_provider]\n\
         [oarlock_provider]\n\
         module = {}\n\
         options = offer=all\n\
         post-quantum = yes\n\
         {relay}",
        module().display()
    );
    fs::write(&configuration, text).unwrap();
    for case in cases {
        let [tested, makes, does] = case;
        for (orders, leak_check) in [(&COMPLETE[..], "full"), (&CUT_SHORT, "no")] {
            let orders: Vec<&str> = orders.iter().flat_map(|some| some.split(' ')).collect();
            let run = |mut command: Command| {
                command.arg(&configuration).arg(tested);
                command.args([makes, does].map(|name| format!("provider={name}")));
                command.arg(key_type).args(&orders);
                let said = lossy(&succeeds(with_conf(&mut command, None)));
                assert_eq!(said.lines().count(), orders.len(), "{said}");
                for (line, order) in said.lines().zip(&orders) {
                    check(line, order);
                }
            };
            run(Command::new(&program));
            // It takes seconds to start.
            if leak_check == "full" || *case == OURS {
                run(under_valgrind(&program, leak_check));
            }
        }
    }
}

/// Checks that all steps were taken, and succeeded as long as every provider was loaded.
fn check(line: &str, order: &str) {
    let steps: String = line.chars().filter(|step| step.is_alphabetic()).collect();
    assert_eq!(steps, order);
    let first = line.find(['u', 'd']).unwrap_or(line.len());
    assert!(!line[..first].contains('-'), "{line}");
}

fn under_valgrind(program: &Path, leak_check: &str) -> Command {
    let mut valgrind = Command::new("valgrind");
    valgrind.args(["-q", "--error-exitcode=9"]);
    valgrind.args(["--errors-for-leak-kinds=definite"]);
    valgrind.arg(format!("--leak-check={leak_check}"));
    // It has no AVX-512, and rounds its FMA differently.
    valgrind.env("OARLOCK_CPU", "-avx512").arg(program);
    valgrind
}

#[test]
fn while_an_rsa_key_lives() {
    unloaded("RSA", &OF_DEFAULT);
}

#[test]
fn while_an_ec_key_lives() {
    unloaded("EC", &OF_DEFAULT);
}

#[test]
fn while_a_key_of_x25519_lives() {
    unloaded("X25519", &OF_DEFAULT);
}

#[test]
fn while_a_key_of_ed25519_lives() {
    unloaded("ED25519", &OF_DEFAULT);
}

/// ML-KEM with a curve, which the default provider has since OpenSSL 3.5, as it has ML-KEM and ML-DSA by themselves.
#[test]
fn while_a_key_on_lattices_lives() {
    let has_lattices = libcrypto().release() >= (3, 5);
    for key_type in ["X25519MLKEM768", "SecP256r1MLKEM768", "SecP384r1MLKEM1024"] {
        let cases = if has_lattices {
            &[STOCK, OURS][..]
        } else {
            &[OURS]
        };
        unloaded(key_type, cases);
    }
    if has_lattices {
        unloaded("ML-KEM-768", &OF_DEFAULT);
        unloaded("ML-DSA-65", &OF_DEFAULT);
    }
}
