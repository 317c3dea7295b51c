//! `oarlock run --stats` with the real provider and real programs.

use std::fs::{self, Permissions};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use oarlock::Accelerator;
use oarlock_testing::{is_root, lossy, noise, skip, until, until_some};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use crate::common::{
    IV, KEY, assert_fails, ends_soon, free_port, oarlock, openssl, provider, run, stderr,
};

#[test]
fn a_programs_output_is_that_of_stock_and_all_of_it_is_counted() {
    let data = noise(1_000_001);
    let mut command = with_provider(&["--stats"]);
    command.args(["openssl", "enc", "-aes-256-ctr", "-K", KEY, "-iv", IV]);
    let output = run(&mut command, &data);
    assert!(
        output.stdout == openssl(256, IV, &data),
        "{}",
        stderr(&output)
    );
    let said = stderr(&output);
    assert!(
        said.starts_with("oarlock: 1 process loaded the provider\n"),
        "{said}"
    );
    let line = said.lines().find(|line| line.contains(" 4 KiB ")).unwrap();
    assert!(
        line.starts_with("aes-256-ctr") && line.contains("encrypt") && line.contains("GB/s"),
        "{said}"
    );
    assert!(
        said.lines()
            .last()
            .unwrap()
            .contains("at rates just measured here"),
        "{said}"
    );

    let mut command = with_provider(&["--stats", "--json"]);
    command.args(["openssl", "enc", "-aes-256-ctr", "-K", KEY, "-iv", IV]);
    let report = report(&run(&mut command, &data));
    assert_eq!(sum(&report, "bytes"), 1_000_001);
}

/// The way of a signature depends on current times on this machine.
#[test]
fn signatures_with_rsa_keys_are_counted_by_how_they_were_made() {
    let has_lanes = Accelerator::builder().build().unwrap().lanes().is_some();
    if !has_lanes {
        return skip("lanes for RSA");
    }
    for jobs in [&[][..], &["-async_jobs", "8"]] {
        let mut command = with_provider(&["--stats", "--json"]);
        command.args(["openssl", "speed", "-seconds", "1"]);
        let output = run(command.args(jobs).arg("rsa2048"), b"");
        let said = stderr(&output);
        let made: u64 = said
            .lines()
            .find_map(|line| {
                line.split_once(" 2048 bits private RSA's in ")?
                    .0
                    .rsplit(' ')
                    .next()
            })
            .unwrap_or_else(|| panic!("{said}"))
            .parse()
            .unwrap();
        let report = report(&output);
        let counted = |how: &str| report["rsa_private_operations"][how].as_u64().unwrap();
        let all = counted("alone") + counted("in_lanes");
        // speed makes one for each job before it begins, and finishes those that had begun when time was up.
        assert!((made..made + 32).contains(&all), "{made}: {report}");
        assert_eq!(counted("remotely"), 0);
        // A way that does not pay is tried occasionally.
        assert!(counted("in_lanes") > 0 || jobs.is_empty(), "{report}");
    }
}

/// With the tests' option every operation is computed in lanes, whatever a plan would choose: in jobs, the first ones of a
/// key, which otherwise stay with the default provider, and the only one of a process.
#[test]
fn every_rsa_operation_goes_to_the_lanes_where_the_options_say_so() {
    let has_lanes = Accelerator::builder().build().unwrap().lanes().is_some();
    if !has_lanes {
        return skip("lanes for RSA");
    }
    for jobs in [&[][..], &["-async_jobs", "8"]] {
        let mut command = with_provider(&["--stats", "--json", "--options", "lanes=always"]);
        command.args(["openssl", "speed", "-seconds", "1"]);
        let output = run(command.args(jobs).args(["rsa2048", "rsa4096"]), b"");
        let report = report(&output);
        let counted = |how: &str| report["rsa_private_operations"][how].as_u64().unwrap();
        assert_eq!(counted("alone"), 0, "{report}");
        assert!(counted("in_lanes") > 10, "{report}");
    }
    let folder = tempfile::tempdir().unwrap();
    let script = "openssl genrsa -out key 2048 2> /dev/null; openssl dgst -sha256 -sign key -out s /bin/ls; \
                  openssl rsa -in key -pubout -out public 2> /dev/null; \
                  openssl dgst -sha256 -verify public -signature s /bin/ls";
    let mut command = with_provider(&["--stats", "--json", "--options", "lanes=always"]);
    command
        .args(["sh", "-c", script])
        .current_dir(folder.path());
    let output = run(&mut command, b"");
    let said = lossy(&output.stdout);
    assert!(said.contains("Verified OK"), "{said}{}", stderr(&output));
    let operations = &report(&output)["rsa_private_operations"];
    assert_eq!(
        (&operations["alone"], &operations["in_lanes"]),
        (&Value::from(0), &Value::from(1)),
        "{operations}"
    );
}

#[test]
fn processes_of_a_command_are_counted_together_and_ways_apart() {
    let script = "for way in -e -d; do head -c 65536 /dev/zero | \
                  openssl enc $way -nopad -aes-128-cbc -K $KEY -iv $KEY > /dev/null; done; openssl version";
    let mut command = with_provider(&["--stats", "--json"]);
    command.args(["sh", "-c", script]).env("KEY", &KEY[..32]);
    let report = report(&run(&mut command, b""));
    assert_eq!(report["processes"], 3);
    assert_eq!(sum(&report, "bytes"), 2 * 65536);
    for direction in ["encrypt", "decrypt"] {
        let lines = lines(&report).filter(|line| line["direction"] == direction);
        let bytes: u64 = lines.map(|line| line["bytes"].as_u64().unwrap()).sum();
        assert_eq!(bytes, 65536, "{direction}: {report}");
    }
    let measured: Vec<_> = lines(&report)
        .filter(|line| line["stock_bytes_per_second"].is_number())
        .collect();
    let bytes: u64 = measured
        .iter()
        .map(|line| line["bytes"].as_u64().unwrap())
        .sum();
    assert!(bytes >= 2 * 65536 * 99 / 100, "{report}");
    for line in measured {
        let rate = |name: &str| line[name].as_f64().unwrap();
        let (stock, ours) = (
            rate("stock_bytes_per_second"),
            rate("oarlock_bytes_per_second"),
        );
        let expected = rate("bytes") / stock - rate("bytes") / ours;
        assert!(stock > 0.0 && ours > 0.0 && (rate("saved_seconds") - expected).abs() < 1e-9);
    }
}

#[test]
fn records_of_tls_are_counted_at_both_ends() {
    // openssl connects to itself with TLS: both ends are processes of the command.
    let folder = tempfile::tempdir().unwrap();
    let script = "
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
            -keyout key -out cert 2> /dev/null
        openssl s_server -accept 127.0.0.1:0 -key key -cert cert -tls1_3 \
            -ciphersuites TLS_AES_256_GCM_SHA384 -rev > log 2>&1 &
        server=$!
        until grep -q ACCEPT log; do sleep 0.05; done
        port=$(sed -n 's/^ACCEPT 127.0.0.1://p' log)
        (head -c 100000 /dev/zero | tr '\\0' a; echo; sleep 1) | \
            openssl s_client -connect 127.0.0.1:$port -quiet -no_ign_eof > answer 2> /dev/null
        kill $server
        wc -c < answer";
    let mut command = with_provider(&["--stats", "--json"]);
    command
        .args(["bash", "-c", script])
        .current_dir(folder.path());
    let output = run(&mut command, b"");
    let report = report(&output);
    let gcm: Vec<_> = lines(&report)
        .filter(|line| line["operation"] == "aes-256-gcm")
        .collect();
    for direction in ["encrypt", "decrypt"] {
        let bytes: u64 = gcm
            .iter()
            .filter(|line| line["direction"] == direction)
            .map(|line| line["bytes"].as_u64().unwrap())
            .sum();
        assert!(bytes >= 200_000, "{direction}: {report}");
    }
}

/// `s_server` and its clients are all processes of the command: each handshake has a side that encapsulates and one that
/// decapsulates.
#[test]
fn handshakes_by_post_quantum_groups_are_counted_at_both_ends() {
    const CLIENTS: u64 = 3;
    let script = "
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
            -keyout key -out cert 2> /dev/null
        openssl s_server -accept 127.0.0.1:0 -key key -cert cert -rev > log 2>&1 &
        server=$!
        until grep -q ACCEPT log; do sleep 0.05; done
        port=$(sed -n 's/^ACCEPT 127.0.0.1://p' log)
        for group in X25519MLKEM768 X25519MLKEM768 X25519MLKEM768 X25519; do
            echo Q | openssl s_client -connect 127.0.0.1:$port -groups $group 2> /dev/null | grep -c '^New, TLSv1.3'
        done
        kill $server";
    for json in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let options = ["--stats", "--post-quantum", "--json"];
        let mut command = with_provider(&options[..if json { 3 } else { 2 }]);
        command
            .args(["bash", "-c", script])
            .current_dir(folder.path());
        let output = run(&mut command, b"");
        let said = lossy(&output.stdout);
        assert_eq!(
            said.lines().filter(|it| *it == "1").count(),
            4,
            "{said}{}",
            stderr(&output)
        );
        if json {
            let exchanges = &report(&output)["key_exchanges"];
            let expected = serde_json::json!([{
                "group": "x25519-mlkem768",
                "encapsulated": CLIENTS,
                "decapsulated": CLIENTS,
            }]);
            assert_eq!(*exchanges, expected);
        } else {
            let line = "6 key exchanges by x25519-mlkem768: 3 as server, 3 as client\n";
            assert!(stderr(&output).contains(line), "{}", stderr(&output));
        }
    }
}

/// A handshake with a P-256 certificate and no bulk data still shows what was done for it. The server sends the client's line
/// back in reverse: it has then finished its side of the handshake, and is ended.
#[test]
fn primitives_of_a_handshake_are_counted() {
    let script = "
        openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=localhost \
            -keyout key -out cert 2> /dev/null
        openssl s_server -accept 127.0.0.1:0 -key key -cert cert -rev > log 2>&1 &
        server=$!
        until grep -q ACCEPT log; do sleep 0.05; done
        port=$(sed -n 's/^ACCEPT 127.0.0.1://p' log)
        mkfifo said
        openssl s_client -connect 127.0.0.1:$port -groups X25519 < said > heard 2> /dev/null &
        client=$!
        exec 3> said
        echo handshake >&3
        until grep -q ^ekahsdnah heard || ! kill -0 $client; do sleep 0.05; done
        echo Q >&3
        wait $client
        grep -c '^New, TLSv1.3' heard
        kill $server
        wait $server";
    for json in [true, false] {
        let folder = tempfile::tempdir().unwrap();
        let options = ["--stats", "--options", "offer=all", "--json"];
        let mut command = with_provider(&options[..if json { 4 } else { 3 }]);
        command
            .args(["bash", "-c", script])
            .current_dir(folder.path());
        let output = run(&mut command, b"");
        assert_eq!(lossy(&output.stdout), "1\n", "{}", stderr(&output));
        if json {
            let report = report(&output);
            let operations = report["primitive_operations"].as_array().unwrap();
            let of = |name: &str| {
                let found = operations.iter().find(|it| it["operation"] == name);
                found.unwrap_or_else(|| panic!("no {name} in {report}"))
            };
            let x25519 = serde_json::json!({"operation": "x25519", "generated": 2, "derived": 2});
            assert_eq!(*of("x25519"), x25519);
            // The certificate's own signature, and the server's.
            assert_eq!(of("ec-p256")["signed"], 2);
            assert!(of("ec-p256")["verified"].as_u64() >= Some(1), "{report}");
            // The key schedule: 19 secrets or more at each side.
            assert!(of("tls13-kdf")["derived"].as_u64() >= Some(38), "{report}");
            assert!(of("hmac")["authenticated"].as_u64() >= Some(1), "{report}");
        } else {
            let line = "\nx25519: 2 key pairs generated, 2 secrets derived\n";
            assert!(stderr(&output).contains(line), "{}", stderr(&output));
        }
    }
}

/// Builds a C program that uses libcrypto.
fn build(source: &str, program: &Path) {
    build_with(&["-lcrypto"], source, program);
}

fn build_with(libcrypto: &[&str], source: &str, program: &Path) {
    let mut gcc = Command::new("gcc");
    gcc.args(["-x", "c", "-"])
        .args(libcrypto)
        .arg("-o")
        .arg(program);
    let built = run(&mut gcc, source.as_bytes());
    assert!(built.status.success(), "{}", stderr(&built));
}

/// The uses of contexts are counted, and so is every process with requests.
#[test]
fn contexts_and_forked_processes_are_counted() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let source = "
        #include <openssl/evp.h>
        #include <sys/wait.h>
        #include <unistd.h>
        static unsigned char key[16], iv[16], data[64];
        static void use(EVP_CIPHER_CTX *ctx) { int n; EVP_EncryptUpdate(ctx, data, &n, data, sizeof data); }
        int main(void) {
            EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, \"AES-128-CTR\", NULL);
            for (int child = 0; child < 8; child++) if (fork() == 0) {
                for (int i = 0; i < 10; i++) {
                    EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
                    EVP_EncryptInit_ex2(ctx, cipher, key, iv, NULL);
                    EVP_CIPHER_CTX_copy(copy, ctx);
                    EVP_EncryptInit_ex2(copy, NULL, NULL, iv, NULL);
                    EVP_EncryptInit_ex2(copy, NULL, NULL, iv, NULL);
                    use(copy);
                    EVP_CIPHER_CTX_free(copy); EVP_CIPHER_CTX_free(ctx);
                }
                _exit(0);
            }
            if (fork() == 0) _exit(0); /* one that does nothing */
            while (wait(NULL) > 0);
            return 0;
        }";
    build(source, &program);
    let mut command = with_provider(&["--stats", "--json"]);
    let report = report(&run(command.arg(&program), b""));
    assert_eq!(report["processes"], 9, "{report}");
    let [contexts] = &report["contexts"].as_array().unwrap()[..] else {
        panic!("{report}");
    };
    let count = |name: &str| contexts[name].as_u64().unwrap();
    assert_eq!(
        (count("keyed"), count("ivs"), count("copies")),
        (80, 160, 80),
        "{report}"
    );
    // Their cost is part of the time saved.
    let saved = |value: &Value| value["saved_seconds"].as_f64().unwrap();
    let sum: f64 = lines(&report).map(saved).sum::<f64>() + saved(contexts);
    assert!((saved(&report) - sum).abs() < 1e-9, "{report}");
    assert!(report["cpu_seconds"].as_f64().unwrap() > 0.0, "{report}");
}

/// OpenSSL 3.0 to 3.2 cannot copy a context of ChaCha20-Poly1305, so there is nothing to compare with.
#[test]
fn what_cannot_be_measured_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("program");
    let source = "
        #include <openssl/evp.h>
        static unsigned char key[32], iv[12], data[64];
        int main(void) {
            EVP_CIPHER *cipher = EVP_CIPHER_fetch(NULL, \"ChaCha20-Poly1305\", NULL);
            for (int i = 0; i < 10; i++) {
                int n, copied;
                EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new(), *copy = EVP_CIPHER_CTX_new();
                EVP_EncryptInit_ex2(ctx, cipher, key, iv, NULL);
                copied = EVP_CIPHER_CTX_copy(copy, ctx);
                EVP_EncryptUpdate(copied == 1 ? copy : ctx, data, &n, data, sizeof data);
                EVP_CIPHER_CTX_free(copy); EVP_CIPHER_CTX_free(ctx);
                if (copied != 1) return 1;
            }
            return 0;
        }";
    build(source, &program);
    let stock = run(Command::new(&program).env_remove("OPENSSL_CONF"), b"");
    let mut command = with_provider(&["--stats", "--json"]);
    let output = run(command.arg(&program), b"");
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let report = report(&output);
    assert_eq!(report["contexts"][0]["copies"], 10, "{report}");
    assert!(
        report["contexts"][0]["saved_seconds"].is_number(),
        "{report}"
    );
    if stock.status.success() {
        assert!(report.get("unmeasured").is_none(), "{report}");
        return;
    }
    let [copies] = &report["unmeasured"].as_array().unwrap()[..] else {
        panic!("{report}");
    };
    assert_eq!(copies["operation"], "chacha20-poly1305");
    assert_eq!(
        (&copies["count"], &copies["what"]),
        (&10.into(), &"contexts copied".into())
    );
    let mut command = with_provider(&["--stats"]);
    let said = stderr(&run(command.arg(&program), b""));
    assert!(
        said.contains(
            " 10 contexts copied count for nothing in the time saved: openssl refuses a copy of a context\n"
        ),
        "{said}"
    );
}

/// nginx loads the provider once and then forks its workers. All of them are counted, and the sum includes what lanes saved
/// with the site's key.
#[test]
fn workers_of_nginx_are_counted_with_their_signatures() {
    if Accelerator::builder().build().unwrap().lanes().is_none() {
        return skip("lanes for RSA");
    }
    let site = Site::new();
    let report = report(&site.is_served(&["--json"]));
    assert_eq!(report["processes"], 1 + WORKERS, "{report}");
    let made = &report["rsa_private_operations"];
    assert_eq!(made["in_lanes"], CLIENTS_SERVED, "{report}");
    let sent = lines(&report).filter(|line| line["direction"] == "encrypt");
    let sent: u64 = sent.map(|line| line["bytes"].as_u64().unwrap()).sum();
    assert!(sent >= CLIENTS_SERVED * SITE_BYTES as u64, "{report}");
    // Each part may be positive or negative.
    let saved = |value: &Value| value["saved_seconds"].as_f64().unwrap_or(0.0);
    let contexts = report["contexts"].as_array().unwrap().iter();
    let sum: f64 = lines(&report).chain(contexts).map(saved).sum();
    assert_ne!(saved(made), 0.0, "{report}");
    assert!(
        (saved(&report) - sum - saved(made)).abs() < 1e-9,
        "{report}"
    );
    let (all, ours) = (&report["cpu_seconds"], &report["oarlock_seconds"]);
    assert!(all.as_f64().unwrap() > 0.0, "{report}");
    assert!(ours.as_f64().unwrap() > 0.0, "{report}");

    let said = stderr(&site.is_served(&[]));
    for part in [
        "oarlock: 9 processes loaded the provider\n",
        "160 signatures and decryptions with RSA keys, 160 (100 %) in lanes",
        "\nlanes saved ",
        " of CPU time, its ciphers through Oarlock ",
        ", at rates just measured here",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

/// Times are compared with the libcrypto that the processes loaded, or with none.
#[test]
fn time_is_compared_with_the_library_of_the_processes() {
    let linked = run(
        Command::new("sh").args(["-c", "ldd $(command -v openssl)"]),
        b"",
    );
    let linked = lossy(&linked.stdout);
    let machines = linked.lines().find_map(|line| {
        let (name, path) = line.trim().split_once(" => ")?;
        (name == "libcrypto.so.3").then(|| path.split(' ').next().unwrap().to_owned())
    });
    let Some(machines) = machines else {
        return skip("an openssl that is linked with libcrypto.so.3");
    };
    let folder = tempfile::tempdir().unwrap();
    let other = folder.path().join("libcrypto.so.3");
    std::fs::copy(&machines, &other).unwrap();
    let report_of = |script: &str| {
        let mut command = with_provider(&["--stats", "--json"]);
        command.args(["sh", "-c", script]).env("KEY", &KEY[..32]);
        report(&run(command.env("OTHER", folder.path()), b""))
    };
    let enc = "openssl enc -aes-128-cbc -K $KEY -iv $KEY -in /bin/ls > /dev/null";
    let own = report_of(enc);
    assert!(own["saved_seconds"].is_number(), "{own}");
    let other_alone = report_of(&format!("LD_LIBRARY_PATH=$OTHER {enc}"));
    assert_eq!(other_alone["library"], other.to_str().unwrap());
    assert!(other_alone["saved_seconds"].is_number(), "{other_alone}");
    let unknown = |report: Value, why: &str| {
        assert!(report["saved_seconds"].is_null(), "{report}");
        let said = report["unknown"].as_str().unwrap();
        assert!(said.contains(why), "{report}");
    };
    let both = format!("{enc}; LD_LIBRARY_PATH=$OTHER {enc}");
    unknown(report_of(&both), "several libcryptos");
    // As Python's wheels have it.
    let inside = folder.path().join("inside");
    let source = "
        #include <openssl/evp.h>
        static unsigned char key[16], iv[16], data[4096];
        int main(void) {
            int n;
            EVP_CIPHER_CTX *ctx = EVP_CIPHER_CTX_new();
            EVP_EncryptInit_ex2(ctx, EVP_CIPHER_fetch(NULL, \"AES-128-CBC\", NULL), key, iv, NULL);
            return !EVP_EncryptUpdate(ctx, data, &n, data, sizeof data - 16);
        }";
    let libcrypto = ["-l:libcrypto.a", "-ldl", "-lpthread"];
    build_with(&libcrypto, source, &inside);
    let inside = report_of(inside.to_str().unwrap());
    assert_eq!(inside["lines"][0]["requests"], 1, "{inside}");
    unknown(inside, "one inside the program");
    // A process that has changed its user may have written the name.
    if is_root("files of other users") {
        std::os::unix::fs::chown(&other, Some(65534), None).unwrap();
        let theirs = report_of(&format!("LD_LIBRARY_PATH=$OTHER {enc}"));
        unknown(theirs, "belongs to another user");
    }
}

#[test]
fn nothing_is_said_plainly() {
    let output = with_provider(&["--stats"]).arg("true").output().unwrap();
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(0));
    assert!(
        said.contains("nothing went through Oarlock: no process loaded the provider"),
        "{said}"
    );
    assert!(
        said.contains("oarlock doctor -- COMMAND") && said.lines().count() == 1,
        "{said}"
    );
    let output = with_provider(&["--stats"])
        .args(["openssl", "version"])
        .output()
        .unwrap();
    assert!(
        stderr(&output).contains("1 process loaded the provider"),
        "{}",
        stderr(&output)
    );
    let output = with_provider(&["--stats"])
        .args(["sh", "-c", "exit 9"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(9));
    let output = with_provider(&["--json"]).arg("true").output().unwrap();
    assert_fails(&output, 2, &["--stats"]);
}

#[test]
fn options_reach_the_provider() {
    let listed = |options: &str| {
        let mut command = with_provider(&["--options", options]);
        let output = command
            .args(["openssl", "list", "-providers"])
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = listed("max_threads=2,cipher_threads=1,strategy=inline");
    assert!(
        text.contains("name: Oarlock") && !text.contains("inactive"),
        "{text}"
    );
    let dump = with_provider(&["--options", "max_threads=2,strategy=inline"])
        .args(["sh", "-c", "cat \"${OPENSSL_CONF%.cnf}\"\\$openssl3.cnf"])
        .stdin(Stdio::null())
        .output()
        .unwrap();
    let dump = String::from_utf8(dump.stdout).unwrap();
    assert!(
        dump.contains("\noptions = publish=on,max_threads=2,strategy=inline\n"),
        "{dump}"
    );
}

/// A site with an RSA key and one file.
struct Site(tempfile::TempDir);

impl Site {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Workers run as another user.
        let mode = Permissions::from_mode(0o755);
        fs::set_permissions(folder.path(), mode).unwrap();
        let mut request = Command::new("openssl");
        request.current_dir(folder.path());
        request.args(["req", "-x509", "-newkey", "rsa:2048", "-nodes"]);
        request.args(["-keyout", "key.pem", "-out", "cert.pem"]);
        request.args(["-days", "2", "-subj", "/CN=localhost"]);
        request.args(["-addext", "subjectAltName=DNS:localhost"]);
        let made = run(&mut request, b"");
        assert!(made.status.success(), "{}", stderr(&made));
        fs::write(folder.path().join("file"), noise(SITE_BYTES)).unwrap();
        Self(folder)
    }

    /// Runs nginx with eight workers and the provider, with RSA operations in lanes, from start to end.
    fn is_served(&self, options: &[&str]) -> Output {
        let (place, folder) = (self.0.path().display(), self.0.path());
        let port = free_port();
        let temporary = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|what| format!("{what}_temp_path {place}/{what};"))
            .concat();
        // Each worker has a socket of its own, so that all of them get clients.
        let conf = format!(
            "user nobody nogroup; daemon off; worker_processes {WORKERS}; pid {place}/pid; error_log {place}/log;
             events {{}}
             http {{
                 access_log off; ssl_session_tickets off; ssl_session_cache off; {temporary}
                 ssl_certificate cert.pem; ssl_certificate_key key.pem; ssl_protocols TLSv1.3;
                 server {{ listen 127.0.0.1:{port} ssl reuseport; location / {{ root {place}; }} }}
             }}"
        );
        fs::write(folder.join("nginx.conf"), conf).unwrap();
        let mut command =
            with_provider(&[&["--stats", "--options", "lanes=always"], options].concat());
        command.args(["nginx", "-e"]).arg(folder.join("log"));
        command.arg("-p").arg(folder).args(["-c", "nginx.conf"]);
        let child = command.stderr(Stdio::piped()).spawn().unwrap();
        let log = || fs::read_to_string(folder.join("log")).unwrap_or_default();
        until("nginx listens", || {
            TcpStream::connect(("127.0.0.1", port)).is_ok()
        });
        let mut clients = Command::new("python3");
        clients.env_remove("OPENSSL_CONF").args(["-c", CLIENTS]);
        clients.arg(folder.join("cert.pem")).arg(port.to_string());
        let served = run(clients.arg(CLIENTS_SERVED.to_string()), b"");
        let master = until_some("nginx has written its number", || {
            let number = fs::read_to_string(folder.join("pid")).ok()?;
            Pid::from_raw(number.trim().parse().ok()?)
        });
        kill_process(master, Signal::QUIT).unwrap();
        let output = ends_soon(child);
        let bytes = CLIENTS_SERVED as usize * SITE_BYTES;
        let said = format!("{}{}", stderr(&served), log());
        assert_eq!(lossy(&served.stdout), format!("{bytes}\n"), "{said}");
        output
    }
}

const WORKERS: u64 = 8;
const CLIENTS_SERVED: u64 = 160;
const SITE_BYTES: usize = 100_000;

/// Arguments: certificate, port, number of clients in sequence. Prints the number of bytes of the file received.
const CLIENTS: &str = r#"
import signal, socket, ssl, sys
signal.alarm(60)
context = ssl.create_default_context(cafile=sys.argv[1])
received = 0
for _ in range(int(sys.argv[3])):
    client = socket.create_connection(("127.0.0.1", int(sys.argv[2])), timeout=10)
    client = context.wrap_socket(client, server_hostname="localhost")
    client.sendall(b"GET /file HTTP/1.0\r\n\r\n")
    answer = b""
    while got := client.recv(65536): answer += got
    client.close()
    received += len(answer.split(b"\r\n\r\n", 1)[1])
print(received)
"#;

/// Returns `oarlock run` with the provider and the given options.
fn with_provider(options: &[&str]) -> Command {
    let mut command = oarlock();
    command.arg("run").args(options);
    command.arg("--provider").arg(provider()).arg("--");
    command
}

fn report(output: &Output) -> Value {
    let said = stderr(output);
    let line = said.lines().last().unwrap_or_default();
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {said}"))
}

fn lines(report: &Value) -> impl Iterator<Item = &Value> {
    report["lines"].as_array().unwrap().iter()
}

fn sum(report: &Value, name: &str) -> u64 {
    lines(report).map(|line| line[name].as_u64().unwrap()).sum()
}
