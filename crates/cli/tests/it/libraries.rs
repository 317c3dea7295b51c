//! Programs with TLS libraries of every kind, as `oarlock run` and `oarlock provider install` configure them: they end and
//! print as without. The libraries are real ones, from the Python package index.
//!
//! ```text
//! OpenSSL 1.0.2    libcrypto of psycopg2-binary 2.7.5      like LibreSSL, it does not know .include and .pragma
//! OpenSSL 1.1.1    node 14 and 16 of nodejs-bin            end if nodejs_conf names a module that they do not know
//!                  libcrypto of psycopg2-binary 2.9.3
//! OpenSSL 3.0      node and libcrypto of this machine
//! ```

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::common::{oarlock, provider, stderr};

/// A way for a program to get a configuration of ours.
enum Way {
    /// `oarlock run -- PROGRAM`.
    Run,
    /// `oarlock run` within a run, whose configuration is then the user's.
    NestedRun,
    /// `oarlock run -- sh -c PROGRAM`, as in a build.
    Grandchild,
    /// The configuration that `oarlock provider install` writes.
    Installed,
}

const WAYS: [Way; 4] = [Way::Run, Way::NestedRun, Way::Grandchild, Way::Installed];

/// Configurations of users. If an older library fails with one, it must fail as before.
const CONFIGURATIONS: [&str; 5] = [
    "",
    "openssl_conf = it\nnodejs_conf = it\n[it]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\nMinProtocol = TLSv1.2\n",
    "openssl_conf = it\nnodejs_conf = it\n[it]\nproviders = p\n[p]\ndefault = d\n[d]\nactivate = 1\n",
    "name = it\nopenssl_conf = $name\n[it]\n[req]\ndistinguished_name = names\n[names]\n",
    "\u{feff}openssl_conf = it\n[it]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\nMinProtocol = TLSv1.2",
];

#[test]
fn node_of_every_version_ends_and_prints_as_without() {
    let script = "const c = require('crypto'), t = require('tls'); \
        console.log(c.createHash('sha256').update('a').digest('hex'), t.DEFAULT_MIN_VERSION); \
        t.createSecureContext({}); console.log(process.versions.openssl)";
    let older = ["14.19.3a4", "16.15.1a4"].map(|version| {
        let wheel = wheel(&format!("nodejs-bin=={version}"), &["--python-version=38"]);
        let node = wheel.join("nodejs/bin/node");
        let mut executable = Command::new("chmod");
        assert!(executable.arg("+x").arg(&node).status().unwrap().success());
        node
    });
    for node in older
        .iter()
        .map(PathBuf::as_path)
        .chain([Path::new("node")])
    {
        for arguments in [
            &["-e", script][..],
            &["--openssl-shared-config", "-e", script],
        ] {
            for text in CONFIGURATIONS {
                says_the_same(node, arguments, Some(text));
            }
            says_the_same(node, arguments, None);
        }
    }
}

#[test]
fn older_libraries_read_what_the_user_wrote() {
    // Prints what an application's section and openssl_conf load, strictly, and the values.
    let script = "\
import ctypes, os, sys
lib = ctypes.CDLL(sys.argv[1])
lib.OPENSSL_load_builtin_modules()
conf = os.environ.get('OPENSSL_CONF', '/dev/null').encode()
for flags in (0, 0x20):
    lib.CONF_modules_load_file.argtypes = [ctypes.c_char_p, ctypes.c_char_p, ctypes.c_ulong]
    print(lib.CONF_modules_load_file(conf, b'nodejs_conf', flags))
lib.NCONF_new.restype = ctypes.c_void_p
read = ctypes.c_void_p(lib.NCONF_new(None))
loaded = lib.NCONF_load(read, conf, None)
print(loaded)
# 1.0 takes no byte order mark.
if loaded <= 0: sys.exit()
lib.NCONF_get_string.restype = ctypes.c_char_p
for section, name in ((None, b'openssl_conf'), (None, b'nodejs_conf'), (b'it', b'ssl_conf'), (b'it', b'providers'), \
        (b'it', b'oarlock'), (b'd', b'MinProtocol'), (b'req', b'distinguished_name')):
    print(section, name, lib.NCONF_get_string(read, section, name))
";
    let older = [
        ("2.7.5", "36", "psycopg2/.libs"),
        ("2.9.3", "38", "psycopg2_binary.libs"),
    ];
    for (version, python, folder) in older {
        let python = format!("--python-version={python}");
        let wheel = wheel(
            &format!("psycopg2-binary=={version}"),
            &[
                &python,
                "--platform=manylinux1_x86_64",
                "--platform=manylinux2014_x86_64",
            ],
        );
        let folder = wheel.join(folder);
        let libraries = fs::read_dir(&folder).unwrap();
        let mut libraries = libraries.map(|entry| entry.unwrap().path());
        let is_libcrypto = |path: &PathBuf| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("libcrypto-")
        };
        let libcrypto = libraries.find(is_libcrypto).unwrap();
        let libcrypto = libcrypto.to_str().unwrap();
        for text in CONFIGURATIONS {
            let env = Path::new("env");
            let loader = format!("LD_LIBRARY_PATH={}", folder.display());
            let arguments = [&loader, "/usr/bin/python3", "-c", script, libcrypto];
            says_the_same(env, &arguments, Some(text));
        }
    }
}

/// Checks with a configuration of the user's, or none in the environment. The machine's own is never changed.
#[track_caller]
fn says_the_same(program: &Path, arguments: &[&str], text: Option<&str>) {
    let folder = tempfile::tempdir().unwrap();
    // A configuration that not everybody may read is not copied, and a library without .include would not see it.
    fs::set_permissions(folder.path(), Permissions::from_mode(0o755)).unwrap();
    let conf = folder.path().join("user.cnf");
    fs::write(&conf, text.unwrap_or_default()).unwrap();
    let with = |command: &mut Command| -> Output {
        match text {
            Some(_) => command.env("OPENSSL_CONF", &conf),
            None => command.env_remove("OPENSSL_CONF"),
        };
        command.output().unwrap()
    };
    let stock = with(Command::new(program).args(arguments));
    // A program within a program behaves as alone, whatever configuration the user has.
    let is_whole = CONFIGURATIONS[..2].iter().any(|it| Some(*it) == text);
    for way in WAYS {
        if !is_whole && matches!(way, Way::NestedRun | Way::Grandchild) {
            continue;
        }
        let ran = || {
            let mut ran = oarlock();
            ran.args(["run", "--provider"]).arg(provider()).arg("--");
            ran
        };
        let mut command = match way {
            Way::Run => ran(),
            Way::NestedRun => {
                let mut outer = ran();
                outer.arg(ran().get_program()).args(ran().get_args());
                outer
            }
            Way::Grandchild => {
                let mut ran = ran();
                ran.args(["sh", "-c", "\"$@\"; exit $?", "sh"]);
                ran
            }
            // The configuration of this machine is for its own OpenSSL.
            Way::Installed if text.is_none() => continue,
            Way::Installed => {
                let modules = folder.path().join("modules");
                fs::create_dir(&modules).unwrap();
                let mut install = oarlock();
                install.args([
                    "provider",
                    "install",
                    "--yes",
                    "--no-calibrate",
                    "--provider",
                ]);
                install.arg(provider()).arg("--config").arg(&conf);
                let installed = install.arg("--module-dir").arg(&modules).output().unwrap();
                assert!(installed.status.success(), "{}", stderr(&installed));
                let mut command = Command::new(program);
                command.env("OARLOCK_OPTIONS", "offer=all");
                command.args(arguments);
                command
            }
        };
        if !matches!(way, Way::Installed) {
            command.arg(program).args(arguments);
        }
        let output = with(&mut command);
        let said = |output: &Output| {
            (
                output.status.code(),
                String::from_utf8_lossy(&output.stdout).into_owned(),
                without_addresses(&stderr(output)),
            )
        };
        assert_eq!(
            said(&output),
            said(&stock),
            "{} {arguments:?} {text:?}",
            program.display()
        );
    }
}

/// Removes the thread's address at the beginning of OpenSSL's error lines.
fn without_addresses(text: &str) -> String {
    let lines = text.lines().map(|line| match line.split_once(":error:") {
        Some((_, said)) => said,
        None => line,
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Returns the folder with a wheel's files, which pip fetches once.
fn wheel(requirement: &str, arguments: &[&str]) -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let target = test.ancestors().nth(3).unwrap();
    let folder = target.join(format!("wheel-{requirement}"));
    if folder.exists() {
        return folder;
    }
    let made = tempfile::tempdir_in(target).unwrap();
    let mut pip = Command::new("python3");
    pip.args(["-m", "pip", "download", "--quiet", "--no-deps"]);
    pip.args(["--only-binary", ":all:", "--implementation", "cp"]);
    pip.args(arguments)
        .arg(requirement)
        .arg("--dest")
        .arg(made.path());
    let output = pip.output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let unpack = "import glob, sys, zipfile; \
        [zipfile.ZipFile(file).extractall(sys.argv[1] + '/all') for file in glob.glob(sys.argv[1] + '/*.whl')]";
    let mut python = Command::new("python3");
    let output = python
        .args(["-c", unpack])
        .arg(made.path())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    // Another test may have been faster.
    let _ = fs::rename(made.path().join("all"), &folder);
    folder
}
