//! Programs as users write them, and as they should not.

use std::path::Path;
use std::process::Command;

use oarlock_testing::{lossy, noise};

use crate::library::{compiled, example, here, prefix, started, succeeds};

const KEY: &str = "../oarlock/tests/keys/rsa2048.pem";

#[test]
fn the_header_is_c89_c17_and_cpp17() {
    for (compiler, standard, source) in [
        ("gcc", "-std=c89", "tests/c/header.c"),
        ("gcc", "-std=c17", "tests/c/header.c"),
        ("g++", "-std=c++17", "tests/c/header.cpp"),
        ("clang", "-std=c89", "tests/c/header.c"),
        ("clang", "-std=c17", "tests/c/header.c"),
        ("clang++", "-std=c++17", "tests/c/header.cpp"),
    ] {
        succeeds(&mut started(&compiled(
            compiler,
            &[standard],
            &here(source),
            &[],
        )));
    }
}

#[test]
fn the_seeds_example_gives_what_openssl_gives() {
    let program = compiled("gcc", &["-std=c89"], &example("seed.c"), &[]);
    let hex = lossy(&succeeds(&mut started(&program)).stdout);
    let message: Vec<u8> = (0..799_u32).map(|number| number as u8).collect();
    let file = prefix().join("message");
    std::fs::write(&file, message).unwrap();
    let digits = |text: &[u8]| {
        text.iter()
            .map(|byte| format!("{byte:02x}"))
            .collect::<String>()
    };
    let mut openssl = Command::new("openssl");
    openssl.args([
        "enc",
        "-aes-256-ctr",
        "-K",
        &digits(b"a key of thirty-two bytes, here\0"),
    ]);
    openssl
        .args(["-iv", &digits(b"an IV of sixteen"), "-in"])
        .arg(&file);
    assert_eq!(hex.trim(), digits(&succeeds(&mut openssl).stdout));
}

#[test]
fn event_loops_of_every_kind_take_a_thousand_signatures() {
    for (source, package) in [
        ("sign_poll.c", None),
        ("sign_libuv.c", Some("libuv")),
        ("sign_libevent.c", Some("libevent_core")),
    ] {
        let packages: Vec<_> = package.into_iter().collect();
        let program = compiled("gcc", &[], &example(source), &packages);
        let output = succeeds(started(&program).arg(here(KEY)));
        assert_eq!(lossy(&output.stdout), "1000 signatures\n", "{source}");
    }
}

#[test]
fn a_file_is_sealed_by_a_ring_of_packets() {
    let program = compiled("gcc", &["-std=c89"], &example("seal_file.c"), &[]);
    let (file, sealed) = (prefix().join("file"), prefix().join("sealed"));
    std::fs::write(&file, noise(3_000_001)).unwrap();
    let output = succeeds(started(&program).arg(&file).arg(&sealed));
    assert_eq!(lossy(&output.stdout), "184 pieces\n");
    let bytes = sealed.metadata().unwrap().len();
    assert_eq!(bytes, 3_000_001 + 184 * 16);
}

#[test]
fn a_device_is_a_table_of_functions() {
    let program = compiled("gcc", &["-std=c11"], &example("device.c"), &["libcrypto"]);
    let output = succeeds(&mut started(&program));
    assert_eq!(
        lossy(&output.stdout),
        "libcrypto: 1 request, the same digest\n"
    );
}

#[test]
fn a_device_for_keys_is_a_table_of_functions() {
    let program = compiled("gcc", &["-std=c11"], &example("keys.c"), &["libcrypto"]);
    let output = succeeds(started(&program).arg(here(KEY)));
    assert_eq!(
        lossy(&output.stdout),
        "libcrypto: 2 requests, a signature of 256 bytes, 3^5 mod 101 = 41\n"
    );
}

#[test]
fn handles_free_themselves_in_cpp() {
    let program = compiled("g++", &["-std=c++17"], &example("seal.cpp"), &[]);
    assert_eq!(
        lossy(&succeeds(&mut started(&program)).stdout),
        "attack at dawn\n"
    );
}

#[test]
fn misuse_is_told() {
    let sanitized = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"][..];
    for arguments in [&[][..], sanitized] {
        let program = compiled("gcc", arguments, &here("tests/c/misuse.c"), &[]);
        let output = succeeds(started(&program).arg(here(KEY)));
        assert_eq!(lossy(&output.stdout), "misuse was told\n");
    }
}

#[test]
fn packets_go_there_and_back_and_what_is_wrong_is_told() {
    let sanitized = &["-fsanitize=address,undefined", "-fno-sanitize-recover=all"][..];
    for arguments in [&["-std=c89"][..], sanitized] {
        let program = compiled("gcc", arguments, &here("tests/c/packets.c"), &[]);
        succeeds(&mut started(&program));
    }
}

/// Valgrind's CPU has FMA and rounds it as it likes, so that lanes must not be used there.
#[test]
fn valgrind_finds_nothing() {
    let program = compiled("gcc", &["-DSIGNATURES=200"], &example("sign_poll.c"), &[]);
    let mut valgrind = started(Path::new("valgrind"));
    valgrind.args([
        "-q",
        "--leak-check=full",
        "--errors-for-leak-kinds=definite",
    ]);
    valgrind
        .arg("--error-exitcode=9")
        .arg(program)
        .arg(here(KEY));
    let output = succeeds(&mut valgrind);
    assert_eq!(lossy(&output.stdout), "200 signatures\n");
}

#[test]
fn loading_makes_no_thread_and_opens_no_file_and_unloading_is_harmless() {
    // Not linked with it, or it would be there from the start.
    let program = prefix().join("load");
    let mut gcc = Command::new("gcc");
    gcc.args(["-Wall", "-Wextra", "-Werror", "-I"]);
    gcc.arg(prefix().join("include"))
        .arg(here("tests/c/load.c"));
    succeeds(gcc.arg("-o").arg(&program).arg("-ldl"));
    let library = prefix().join("lib/liboarlock.so.1");
    let copy = prefix().join("a-copy.so");
    std::fs::copy(&library, &copy).unwrap();
    let output = succeeds(Command::new(&program).arg(&library).arg(&copy));
    // How long it took is told, not asserted.
    assert!(lossy(&output.stdout).ends_with("us\n"));
}
