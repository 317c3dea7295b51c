use std::fs;
use std::time::Duration;

use oarlock_net::server::access::{Operation, Pattern};
use oarlock_net::server::config::*;
use tempfile::TempDir;

/// Creates a directory with every file that the texts below name.
fn folder() -> TempDir {
    let folder = TempDir::new().unwrap();
    fs::create_dir(folder.path().join("keys.d")).unwrap();
    for name in [
        "server.pem",
        "server.key",
        "ca.pem",
        "crl.pem",
        "web.pem",
        "web.key",
        "*.pem",
        "module.so",
        "pin",
        "passphrase",
    ] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    folder
}

const HEAD: &str = r#"listen = ["127.0.0.1:7443"]
tls = { certificate = "server.pem", key = "server.key", client_ca = "ca.pem" }
"#;
const CLIENT: &str = "[[client]]\nidentity = '*'\noperations = ['random']\n";

fn error(text: &str) -> String {
    let folder = folder();
    let error = Config::parse(text, folder.path()).unwrap_err().to_string();
    let here = format!("{}/", folder.path().display());
    error.replace(&here, "")
}

#[test]
fn everything_has_its_place() {
    let folder = folder();
    let text = r#"
listen = ["127.0.0.1:7443", "[::1]:0"]
io_threads = 2
[tls]
certificate = "server.pem"
key = "server.key"
client_ca = "ca.pem"
client_crl = "crl.pem"
[limits]
queue_max = 1
per_client_max = 2
per_stream_max = 3
connections_max = 4
client_connections_max = 3
handshake_timeout_ms = 500
idle_timeout_ms = 600
connection_age_ms = 7000
message_bytes_max = 7000
timeout_ms_max = 8
drain_ms = 0
keys_max = 9
key_changes_per_minute = 10
[[device]]
kind = "cpu"
workers = 2
[[device]]
name = "board"
kind = "simulated"
preset = "axl200"
[[device]]
kind = "simulated"
coprocessors = 3
latency_ms = 92.5
latency_with_crt_ms = 27
[[device]]
name = "hsm"
kind = "pkcs11"
module = "module.so"
token = "oarlock"
pin_file = "pin"
[[device]]
kind = "library"
path = "module.so"
options = "a=b"
[[key]]
file = "web.pem"
passphrase_env = "PATH"
[[key]]
id = "other"
file = "web.key"
passphrase_file = "passphrase"
[[key]]
directory = "keys.d"
managed = true
[[key]]
token = "hsm"
label = "root"
[[key]]
token = "hsm"
[[client]]
identity = "web-*.example"
keys = ["web", "batch-*"]
operations = ["sign", "decrypt", "raw_private", "mod_exp", "random", "list",
    "create", "rotate", "disable", "enable"]
weight = 7
keys_max = 11
[metrics]
listen = "127.0.0.1:9464"
[audit]
file = "audit.jsonl"
required = false
"#;
    let at = |name: &str| folder.path().join(name);
    let config = Config::parse(text, folder.path()).unwrap();
    let device = |name: &str, workers, device| DeviceEntry {
        name: name.to_owned(),
        workers,
        device,
    };
    let expected = Config {
        listen: vec![
            "127.0.0.1:7443".parse().unwrap(),
            "[::1]:0".parse().unwrap(),
        ],
        io_threads: 2,
        tls: Some(TlsConfig {
            certificate: at("server.pem"),
            key: at("server.key"),
            client_ca: at("ca.pem"),
            client_crl: Some(at("crl.pem")),
        }),
        limits: Limits {
            queue_max: 1,
            per_client_max: 2,
            per_stream_max: 3,
            connections_max: 4,
            client_connections_max: 3,
            handshake_timeout: Duration::from_millis(500),
            idle_timeout: Duration::from_millis(600),
            connection_age: Duration::from_secs(7),
            message_bytes_max: 7000,
            timeout_max: Duration::from_millis(8),
            drain: Duration::ZERO,
            keys_max: 9,
            key_changes_per_minute: 10,
        },
        devices: vec![
            device("cpu", 2, DeviceConfig::Cpu),
            device("board", 32, DeviceConfig::Simulated(Simulation::Axl200)),
            device(
                "simulated",
                32,
                DeviceConfig::Simulated(Simulation::Board {
                    coprocessors: 3,
                    latency: Duration::from_micros(92_500),
                    latency_with_crt: Duration::from_millis(27),
                    host: Duration::ZERO,
                    jitter: Duration::ZERO,
                }),
            ),
            device(
                "hsm",
                4,
                DeviceConfig::Pkcs11 {
                    module: at("module.so"),
                    token: "oarlock".to_owned(),
                    pin: Secret::File(at("pin")),
                },
            ),
            device(
                "library",
                1,
                DeviceConfig::Library {
                    path: at("module.so"),
                    options: "a=b".to_owned(),
                },
            ),
        ],
        keys: vec![
            KeyConfig::File {
                id: "web".to_owned(),
                path: at("web.pem"),
                passphrase: Some(Secret::Variable("PATH".to_owned())),
            },
            KeyConfig::File {
                id: "other".to_owned(),
                path: at("web.key"),
                passphrase: Some(Secret::File(at("passphrase"))),
            },
            KeyConfig::Directory {
                path: at("keys.d"),
                passphrase: None,
                is_managed: true,
            },
            KeyConfig::Token {
                device: "hsm".to_owned(),
                key: Some(TokenKey {
                    label: "root".to_owned(),
                    id: "root".to_owned(),
                }),
            },
            KeyConfig::Token {
                device: "hsm".to_owned(),
                key: None,
            },
        ],
        clients: vec![ClientConfig {
            identity: Pattern::new("web-*.example"),
            keys: vec![Pattern::new("web"), Pattern::new("batch-*")],
            operations: vec![
                Operation::Sign,
                Operation::Decrypt,
                Operation::RawPrivate,
                Operation::ModExp,
                Operation::Random,
                Operation::List,
                Operation::Create,
                Operation::Rotate,
                Operation::Disable,
                Operation::Enable,
            ],
            weight: 7,
            keys_max: 11,
        }],
        metrics: Some("127.0.0.1:9464".parse().unwrap()),
        audit: Some(AuditConfig {
            output: AuditOutput::File(at("audit.jsonl")),
            is_required: false,
        }),
    };
    assert_eq!(config, expected);
}

#[test]
fn what_is_left_out_has_its_default() {
    let folder = folder();
    let config = Config::parse(&format!("{HEAD}{CLIENT}"), folder.path()).unwrap();
    assert_eq!(config.io_threads, 1);
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.devices.len(), 1);
    assert_eq!(config.devices[0].device, DeviceConfig::Cpu);
    assert_eq!(config.clients[0].weight, 1);
    assert_eq!((config.metrics, config.audit), (None, None));
    let text = format!("listen = ['[::1]:0']\nplaintext = true\n{CLIENT}[audit]\nfile = '-'");
    let config = Config::parse(&text, folder.path()).unwrap();
    assert_eq!(config.tls, None);
    let audit = AuditConfig {
        output: AuditOutput::StandardError,
        is_required: true,
    };
    assert_eq!(config.audit, Some(audit));
}

#[test]
fn one_client_has_half_of_few_connections_unless_it_is_said() {
    let limits = |text: &str| {
        let text = format!("{HEAD}{CLIENT}[limits]\n{text}");
        Config::parse(&text, folder().path()).unwrap().limits
    };
    assert_eq!(limits("").client_connections_max, 256);
    assert_eq!(limits("connections_max = 511").client_connections_max, 256);
    assert_eq!(limits("connections_max = 510").client_connections_max, 255);
    assert_eq!(limits("connections_max = 5").client_connections_max, 3);
    assert_eq!(
        limits("client_connections_max = 5").client_connections_max,
        5
    );
}

/// Each text follows a head of two lines; with it is the error it causes.
#[test]
fn errors_name_line_and_column() {
    let errors = [
        (
            "lisden = 1",
            "3:1: unknown setting lisden: choose listen, io_threads, plaintext, tls, \
             limits, device, key, client, metrics, audit",
        ),
        (
            "[limits]\nqueue = 1",
            "4:1: unknown setting queue: choose queue_max, per_client_max, per_stream_max, \
             connections_max, client_connections_max, handshake_timeout_ms, idle_timeout_ms, connection_age_ms, message_bytes_max, \
             timeout_ms_max, drain_ms, keys_max, key_changes_per_minute",
        ),
        ("io_threads = 0", "3:14: io_threads = 0: choose 1 to 256"),
        (
            "io_threads = -1",
            "3:14: -1: expected a whole number from 0 on",
        ),
        (
            "[limits]\nqueue_max = 'é'",
            "4:13: \"é\": expected a whole number from 0 on",
        ),
        (
            "[limits]\n  message_bytes_max = 1000000000",
            "4:23: message_bytes_max = 1000000000: choose 4096 to 67108864",
        ),
        (
            "io_threads = ",
            "3:14: string values must be quoted, expected literal string",
        ),
        (
            "plaintext = true",
            "3:13: plaintext and [tls]: remove one of them",
        ),
        ("[[device]]\nworkers = 1", "3:1: kind is missing"),
        (
            "[[device]]\nkind = 'gpu'",
            "4:8: unknown kind \"gpu\": choose cpu, software, simulated, pkcs11 or library",
        ),
        (
            "[[device]]\nkind = 'cpu'\n[[device]]\nkind = 'cpu'",
            "6:8: a second device named \"cpu\", after the one in line 4: rename one of them",
        ),
        (
            "[[device]]\nkind = 'cpu'\npreset = 'axl200'",
            "5:10: a device of kind cpu has no preset: remove it",
        ),
        (
            "[[device]]\nkind = 'cpu'\nworkers = 5000",
            "5:11: workers = 5000: choose 1 to 1024",
        ),
        (
            "[[device]]\nkind = 'simulated'\npreset = 'axl300'",
            "5:10: unknown preset \"axl300\": choose axl200 or nfast300",
        ),
        (
            "[[device]]\nkind = 'simulated'\npreset = 'axl200'\nlatency_ms = 3",
            "6:14: latency_ms and preset exclude each other: remove one of them",
        ),
        (
            "[[device]]\nkind = 'simulated'\ncoprocessors = 1",
            "3:1: latency_ms is missing: how long an operation of 1024 bits takes",
        ),
        (
            "[[device]]\nkind = 'simulated'\ncoprocessors = 1\nlatency_ms = nan",
            "6:14: latency_ms = NaN: choose 0 to 60000",
        ),
        (
            "[[device]]\nkind = 'pkcs11'\ntoken = 't'\npin_env = 'PATH'",
            "3:1: module is missing: the path of the PKCS#11 module",
        ),
        (
            "[[device]]\nkind = 'pkcs11'\ntoken = 't'\nmodule = 'module.so'",
            "3:1: pin_file or pin_env is missing: the PIN of its user",
        ),
        (
            "[[device]]\nkind = 'pkcs11'\ntoken = 't'\nmodule = 'module.so'\npin_env = 'OARLOCK_NOT_SET'",
            "7:11: environment variable OARLOCK_NOT_SET is not set: set it, or give a file",
        ),
        (
            "[[device]]\nkind = 'library'\npath = 'none.so'",
            "5:8: none.so cannot be read: No such file or directory (os error 2)",
        ),
        (
            "[[key]]\nfile = 'none.pem'",
            "4:8: none.pem cannot be read: No such file or directory (os error 2)",
        ),
        (
            "[[key]]\nfile = 'keys.d'",
            "4:8: keys.d cannot be read: it is a directory",
        ),
        (
            "[[key]]\nfile = '/dev/null'",
            "4:8: /dev/null cannot be read: it is not a regular file",
        ),
        (
            "[[key]]\nfile = '*.pem'",
            "4:8: the file's name cannot be an id: give id",
        ),
        (
            "[[key]]\nfile = 'web.pem'\nid = 'a*'",
            "5:6: id \"a*\": 1 to 255 bytes, without * and control characters",
        ),
        (
            "[[key]]\nfile = 'web.pem'\n[[key]]\nfile = 'web.key'",
            "6:8: a second key named \"web\", after the one in line 4: rename one of them",
        ),
        (
            "[[key]]\nfile = 'web.pem'\ndirectory = 'keys.d'",
            "3:1: give one of file, directory and token",
        ),
        (
            "[[key]]\ndirectory = 'web.pem'",
            "4:13: web.pem is not a directory: create it",
        ),
        (
            "[[key]]\nfile = 'web.pem'\npassphrase_file = 'pin'\npassphrase_env = 'PATH'",
            "6:18: passphrase_file and passphrase_env: remove one of them",
        ),
        ("[[key]]\ntoken = 'hsm'", "4:9: no device is named \"hsm\""),
        (
            "[[device]]\nkind = 'cpu'\n[[key]]\ntoken = 'cpu'",
            "6:9: device \"cpu\" holds no keys: name one of kind pkcs11",
        ),
        (
            "[[client]]\noperations = ['sign']",
            "3:1: identity is missing",
        ),
        (
            "[[client]]\nidentity = '*'\noperations = ['sing']",
            "5:15: unknown value sing: choose sign, decrypt, raw_private, unwrap, \
             mac, verify_mac, seal, open, mod_exp, random, list, create, rotate, disable, enable",
        ),
        (
            "[[key]]\nfile = 'web.pem'\nmanaged = true",
            "5:11: managed is for a directory: remove it",
        ),
        (
            "[[key]]\ndirectory = 'keys.d'\nmanaged = true\npassphrase_env = 'PATH'",
            "5:11: keys of a managed directory are written without a passphrase: remove it, or managed",
        ),
        (
            "[[key]]\ndirectory = 'keys.d'\nmanaged = true\n[[key]]\ndirectory = 'keys.d'\nmanaged = true",
            "8:11: a second managed directory: new keys go into one, so remove one of them",
        ),
        (
            "[[key]]\ndirectory = 'keys.d'\n[[client]]\nidentity = '*'\nkeys = ['*']\noperations = ['rotate']",
            "8:14: operations that change keys, but no directory for them: add managed = true to the [[key]] of one",
        ),
        (
            "[[client]]\nidentity = '*'\noperations = ['sign']",
            "5:14: operations that need keys, but no keys: give keys, [\"*\"] for all",
        ),
        (
            "[[key]]\nfile = 'web.pem'\n[[client]]\nidentity = '*'\noperations = ['sign']\nkeys = ['*', 'wep*']",
            "8:14: no key matches \"wep*\": there are web",
        ),
        (
            "[[client]]\nidentity = '*'\noperations = ['random']\nweight = 0",
            "6:10: weight = 0: choose 1 to 1000",
        ),
        (
            "metrics = { listen = 'localhost' }\n[[client]]\nidentity = '*'\noperations = ['random']",
            "3:22: \"localhost\" is not an IP address with a port, such as 127.0.0.1:7443 or [::1]:7443",
        ),
        (
            "audit.file = 'none/audit'\n[[client]]\nidentity = '*'\noperations = ['random']",
            "3:14: none/audit cannot be a file: name one in an existing directory",
        ),
        (
            "",
            "1:1: no [[client]], so nobody has access: give identity, keys and operations",
        ),
    ];
    for (text, expected) in errors {
        let given = error(&format!("{HEAD}{text}"));
        let given = given.strip_prefix("cryptoserver.toml:");
        assert_eq!(given, Some(expected), "{text}");
    }
}

#[test]
fn plaintext_is_for_loopback_and_tls_for_all_others() {
    let errors = [
        (
            format!("listen = []\nplaintext = true\n{CLIENT}"),
            "1:10: no address: give one, such as [\"127.0.0.1:7443\"]",
        ),
        (
            format!("listen = ['127.0.0.1:1', '0.0.0.0:1']\nplaintext = true\n{CLIENT}"),
            "2:13: plaintext needs loopback addresses, and 0.0.0.0:1 is not one: give [tls]",
        ),
        (
            format!("listen = ['127.0.0.1:1']\nplaintext = false\n{CLIENT}"),
            "1:1: no [tls]: give certificate, key and client_ca, which `oarlock pki init` makes for tests",
        ),
    ];
    for (text, expected) in errors {
        assert_eq!(error(&text), format!("cryptoserver.toml:{expected}"));
    }
}

#[test]
fn a_file_is_named_as_it_was_given() {
    let folder = folder();
    let path = folder.path().join("server.toml");
    let none = Config::read(&path).unwrap_err().to_string();
    assert!(none.ends_with("server.toml: cannot be read: No such file or directory (os error 2)"));
    fs::write(&path, b"listen = ['127.0.0.1:1']\n# \xc3\xa9 \xff").unwrap();
    let broken = Config::read(&path).unwrap_err().to_string();
    assert!(broken.ends_with("server.toml:2:5: not UTF-8: save it as UTF-8"));
    fs::write(&path, format!("{HEAD}{CLIENT}")).unwrap();
    let config = Config::read(&path).unwrap();
    assert_eq!(config.tls.unwrap().client_ca, folder.path().join("ca.pem"));
}

#[test]
fn one_device_takes_the_place_of_all() {
    let folder = folder();
    let devices = "[[device]]\nname = 'hsm'\nkind = 'pkcs11'\nmodule = 'module.so'\ntoken = 't'\n\
                   pin_file = 'pin'\n";
    let config = Config::parse(&format!("{HEAD}{devices}{CLIENT}"), folder.path()).unwrap();
    let single = |name: &str, workers| config.clone().single_device(name, workers);

    let cpu = single("cpu", Some(2)).unwrap();
    let [entry] = &cpu.devices[..] else {
        panic!("{:?}", cpu.devices);
    };
    assert_eq!((&entry.name[..], entry.workers), ("cpu", 2));
    let board = single("nfast300", None).unwrap();
    assert_eq!(
        board.devices[0].device,
        DeviceConfig::Simulated(Simulation::Nfast300)
    );
    assert_eq!(single("hsm", None).unwrap().devices, config.devices);
    assert_eq!(single("hsm", Some(9)).unwrap().devices[0].workers, 9);
    assert_eq!(
        single("gpu", None).unwrap_err(),
        "no device \"gpu\": choose one of the configuration (hsm), or cpu, software, axl200 or nfast300"
    );
    assert_eq!(
        single("cpu", Some(0)).unwrap_err(),
        "workers = 0: choose 1 to 1024"
    );
    let keys = "[[key]]\ntoken = 'hsm'\n";
    let config = Config::parse(&format!("{HEAD}{devices}{keys}{CLIENT}"), folder.path()).unwrap();
    let lost = config.single_device("cpu", None).unwrap_err();
    assert!(lost.contains("held by device \"hsm\""), "{lost}");
}

#[test]
fn secrets_are_the_first_line_of_a_file_or_a_variable() {
    let folder = folder();
    let path = folder.path().join("secret");
    fs::write(&path, "one two \r\nthree\n").unwrap();
    let secret = Secret::File(path.clone());
    assert_eq!(*secret.read().unwrap(), "one two ");
    let path = std::env::var("PATH").unwrap();
    assert_eq!(*Secret::Variable("PATH".to_owned()).read().unwrap(), path);
    let none = Secret::Variable("OARLOCK_NOT_SET".to_owned());
    assert!(none.read().unwrap_err().contains("OARLOCK_NOT_SET"));
}

/// Parses the example of docs/cryptoserver.md, with every file that it names.
#[test]
fn the_example_in_the_documentation_is_right() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/cryptoserver.md");
    let page = fs::read_to_string(page).unwrap();
    let (_, example) = page.split_once("```toml\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let folder = TempDir::new().unwrap();
    for name in ["keys.d", "keys", "lib"] {
        fs::create_dir(folder.path().join(name)).unwrap();
    }
    for name in [
        "server.pem",
        "server.key",
        "ca.pem",
        "crl.pem",
        "keys/web.pem",
        "keys/old.pem",
        "keys/old.pass",
        "hsm.pin",
        "lib/libmodule.so",
        "lib/libboard.so",
    ] {
        fs::write(folder.path().join(name), "").unwrap();
    }
    let config = Config::parse(example, folder.path()).unwrap();
    assert_eq!(config.limits, Limits::default());
    assert_eq!(config.devices.len(), 5);
    assert_eq!(config.keys.len(), 4);
    assert_eq!(config.clients.len(), 2);
}
