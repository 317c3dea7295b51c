//! Programs that use the library as intended, and programs that misuse it.

use std::path::{Path, PathBuf};
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
fn packets_of_ipsec_go_by_the_ring() {
    let program = compiled("gcc", &["-std=c89"], &example("esp.c"), &[]);
    assert_eq!(
        lossy(&succeeds(&mut started(&program)).stdout),
        "6300 packets opened, 100 forged\n"
    );
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
fn keys_of_every_type_are_written_read_and_used() {
    let program = compiled("gcc", &["-std=c89"], &here("tests/c/keys.c"), &[]);
    let output = succeeds(started(&program).arg(here(KEY)));
    assert_eq!(lossy(&output.stdout), "keys of 11 types\n");
}

#[test]
fn packets_go_there_and_back_and_what_is_wrong_is_told() {
    let program = compiled("gcc", &["-std=c89"], &here("tests/c/packets.c"), &[]);
    succeeds(&mut started(&program));
}

/// A program of this folder or the examples, and its arguments.
type Started = (PathBuf, Vec<PathBuf>);

/// Compiles the programs; of those that loop over a thousand signatures, only one.
fn every_program(arguments: &[&str]) -> Vec<Started> {
    let file = prefix().join("to-be-sealed");
    std::fs::write(&file, noise(100_000)).unwrap();
    // Uses a short key, since Valgrind is slow.
    let key = here("../oarlock/tests/keys/rsa1024.pem");
    let sealed = file.with_extension("sealed");
    let of = |compiler, source: PathBuf, packages: &[&str], started| {
        (compiled(compiler, arguments, &source, packages), started)
    };
    vec![
        of("gcc", example("seed.c"), &[], vec![]),
        of("gcc", example("seal_file.c"), &[], vec![file, sealed]),
        of("gcc", example("device.c"), &["libcrypto"], vec![]),
        of("gcc", example("keys.c"), &["libcrypto"], vec![key.clone()]),
        of("gcc", example("sign_poll.c"), &[], vec![key.clone()]),
        of("gcc", here("tests/c/keys.c"), &[], vec![key]),
        of("g++", example("seal.cpp"), &[], vec![]),
        of("gcc", example("esp.c"), &[], vec![]),
        of("gcc", here("tests/c/packets.c"), &[], vec![]),
    ]
}

/// Whether a device's thread may outlive `main`.
fn leaves_threads(program: &Path) -> bool {
    let name = program.to_string_lossy();
    let those = ["device.c", "keys.c"];
    those.iter().any(|end| name.ends_with(end))
}

#[test]
fn sanitizers_find_nothing() {
    let sanitized = ["-fsanitize=address,undefined", "-fno-sanitize-recover=all"];
    for (program, arguments) in every_program(&sanitized) {
        let leaks = if leaves_threads(&program) { "0" } else { "1" };
        let mut command = started(&program);
        command.env("ASAN_OPTIONS", format!("detect_leaks={leaks}"));
        succeeds(command.args(arguments));
    }
}

/// Valgrind's CPU has no AVX-512, and rounds its FMA differently, so lanes must not be used there.
#[test]
fn valgrind_finds_nothing() {
    for (program, arguments) in every_program(&["-DSIGNATURES=100", "-DROUNDS=1"]) {
        let leak_check = match leaves_threads(&program) {
            true => "--leak-check=no",
            false => "--leak-check=full",
        };
        let mut valgrind = started(Path::new("valgrind"));
        valgrind.env("OARLOCK_CPU", "-avx512");
        valgrind.args([
            "-q",
            "--error-exitcode=9",
            "--errors-for-leak-kinds=definite",
        ]);
        succeeds(valgrind.arg(leak_check).arg(&program).args(arguments));
    }
}

#[test]
fn loading_makes_no_thread_and_opens_no_file_and_unloading_is_harmless() {
    // Not linked with the library, which would then be loaded from the start.
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
    // The time is printed, not asserted.
    assert!(lossy(&output.stdout).ends_with("us\n"));
}
