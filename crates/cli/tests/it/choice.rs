//! With `--keep-choice`, programs that choose their own providers get what they get without Oarlock, however they reach its
//! configuration. OpenSSL loads its default provider at the first fetch unless a provider was loaded before. A configuration
//! that activated the default provider would give `AES-256-GCM` and `SHA2-256` to a program that loaded `base` to avoid
//! them.

use std::fs;
use std::process::{Command, Output};

use oarlock_testing::lossy;

use crate::common::{oarlock, provider, stderr};

/// Runs programs, each in a process of its own. Their steps, in order: `+NAME` loads a provider, `?NAME` prints whether it
/// is available, `-NAME` unloads it, `|NAME` loads it unless it is available, `fetch` prints what can be fetched, `list`
/// prints the providers.
const PROGRAM: &str = "\
import ctypes, os, sys
def program(steps):
    c = ctypes.CDLL('libcrypto.so.3')
    P, S = ctypes.c_void_p, ctypes.c_char_p
    for name, result, arguments in (
            ('OSSL_PROVIDER_load', P, [P, S]), ('OSSL_PROVIDER_unload', ctypes.c_int, [P]),
            ('OSSL_PROVIDER_available', ctypes.c_int, [P, S]), ('OSSL_PROVIDER_get0_name', S, [P]),
            ('EVP_CIPHER_fetch', P, [P, S, S]), ('EVP_CIPHER_get0_provider', P, [P]), ('EVP_CIPHER_free', None, [P]),
            ('EVP_MD_fetch', P, [P, S, S]), ('EVP_MD_get0_provider', P, [P]), ('EVP_MD_free', None, [P]),
            ('EVP_SIGNATURE_fetch', P, [P, S, S]), ('EVP_SIGNATURE_get0_provider', P, [P]),
            ('EVP_SIGNATURE_free', None, [P]), ('OSSL_LIB_CTX_new', P, []), ('OSSL_LIB_CTX_free', None, [P]),
            ('OSSL_LIB_CTX_load_config', ctypes.c_int, [P, S]),
            ('ERR_peek_error', ctypes.c_ulong, []), ('ERR_clear_error', None, [])):
        getattr(c, name).restype, getattr(c, name).argtypes = result, arguments
    context = None
    if sys.argv[1] == 'own':
        context = c.OSSL_LIB_CTX_new()
        conf = os.environ['OPENSSL_CONF'].encode()
        print('configured', c.OSSL_LIB_CTX_load_config(context, conf), c.ERR_peek_error())
    loaded = {}
    def load(name):
        loaded[name] = c.OSSL_PROVIDER_load(context, name)
        print('loaded', name, bool(loaded[name]))
    def fetch():
        for kind, names in (('CIPHER', b'AES-256-GCM AES-128-CBC CHACHA20-POLY1305 DES-CBC NULL'),
                ('MD', b'SHA2-256 MD5 MD4'), ('SIGNATURE', b'RSA')):
            for name in names.split():
                made = getattr(c, 'EVP_%s_fetch' % kind)(context, name, None)
                of = c.OSSL_PROVIDER_get0_name(getattr(c, 'EVP_%s_get0_provider' % kind)(made)) if made else None
                if made: getattr(c, 'EVP_%s_free' % kind)(made)
                print(name, of)
        c.ERR_clear_error()
    for step in steps.split():
        name = step[1:].encode()
        if step[0] == '+': load(name)
        elif step[0] == '-': print('unloaded', c.OSSL_PROVIDER_unload(loaded[name]))
        elif step[0] == '?': print('there', name, c.OSSL_PROVIDER_available(context, name))
        elif step[0] == '|':
            if not c.OSSL_PROVIDER_available(context, name): load(name)
        elif step == 'fetch': fetch()
        elif step == 'list':
            told = ctypes.CFUNCTYPE(ctypes.c_int, P, P)
            names = []
            c.OSSL_PROVIDER_do_all.argtypes = [P, told, P]
            c.OSSL_PROVIDER_do_all(context, told(lambda p, _: names.append(c.OSSL_PROVIDER_get0_name(p)) or 1), None)
            print(sorted(name for name in names if name != b'oarlock'))
    if context: c.OSSL_LIB_CTX_free(context)
for steps in sys.argv[2:]:
    print('#', steps, flush=True)
    child = os.fork()
    if child == 0:
        program(steps)
        sys.exit()
    assert os.waitpid(child, 0)[1] == 0
";

/// The steps of programs, and whether they have the default provider at the end, so that Oarlock takes part.
const PROGRAMS: [(&str, bool); 18] = [
    ("fetch", true),
    ("?default fetch", true),
    ("list fetch", true),
    ("+base fetch list ?default", false),
    ("+null fetch ?default", false),
    ("+legacy fetch list", false),
    ("+legacy +base ?default fetch", false),
    ("+no-such-provider fetch", false),
    // The first fetch makes the choice.
    ("fetch +base fetch list", true),
    ("list +base fetch", true),
    ("?base +base fetch", true),
    ("+default fetch", true),
    ("+legacy +default fetch list", true),
    ("+default +base ?default fetch", true),
    // A common way to ensure that the default provider is available.
    ("+legacy |default fetch list", true),
    ("+base fetch +default fetch", true),
    ("+base list -base fetch", false),
    ("+base -base ?default fetch", false),
];

#[test]
fn programs_that_choose_get_what_they_get_without() {
    let folder = tempfile::tempdir().unwrap();
    for (number, text) in [
        "",
        "openssl_conf = i\n[i]\nproviders = p\n[p]\ndefault = d\n[d]\n# activate = 1\n",
        "openssl_conf = i\n[i]\nssl_conf = s\n[s]\nsystem_default = d\n[d]\nMinProtocol = TLSv1.2\n",
        // The user has chosen, so a program that loads nothing has no cipher.
        "openssl_conf = i\n[i]\nproviders = p\n[p]\nbase = b\n[b]\nactivate = 1\n",
    ]
    .into_iter()
    .enumerate()
    {
        let has_chosen = number == 3;
        let user = folder.path().join(format!("{number}.cnf"));
        fs::write(&user, text).unwrap();
        let installed = folder.path().join(format!("installed-{number}.cnf"));
        fs::copy(&user, &installed).unwrap();
        let modules = folder.path().join(format!("modules-{number}"));
        fs::create_dir(&modules).unwrap();
        let mut install = oarlock();
        install.args(["provider", "install", "--yes", "--no-calibrate", "--keep-choice"]);
        install.arg("--provider");
        install.arg(provider()).arg("--config").arg(&installed);
        let output = install.arg("--module-dir").arg(&modules).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        for context in ["default", "own"] {
            let program = || {
                let mut python = Command::new("/usr/bin/python3");
                python.args(["-c", PROGRAM, context]);
                python.args(PROGRAMS.map(|(steps, _)| steps));
                python.env("OPENSSL_CONF", &user);
                python
            };
            let stock = said(program().output().unwrap());
            let under = |mut command: Command| {
                command.args(["run", "--keep-choice", "--provider"]);
                command.arg(provider()).arg("--");
                let python = program();
                command.arg(python.get_program()).args(python.get_args());
                command.env("OPENSSL_CONF", &user);
                said(command.output().unwrap())
            };
            let mut outer = oarlock();
            outer.args(["run", "--keep-choice", "--provider"]);
            outer.arg(provider()).arg("--");
            outer.arg(env!("CARGO_BIN_EXE_oarlock"));
            let mut python = program();
            python
                .env("OPENSSL_CONF", &installed)
                .env("OARLOCK_OPTIONS", "offer=all");
            for (way, ours) in [
                ("run", under(oarlock())),
                ("run in a run", under(outer)),
                ("install", said(python.output().unwrap())),
            ] {
                let about = format!("{way}, {context} context, {text:?}");
                assert_eq!(ours.replace("b'oarlock'", "b'default'"), stock, "{about}");
                let each = ours.split("# ").skip(1).zip(stock.split("# ").skip(1));
                assert_eq!(each.clone().count(), PROGRAMS.len());
                for ((ours, stock), (steps, has_default)) in each.zip(PROGRAMS) {
                    let takes_part = stock.contains("AES-256-GCM' b'default'");
                    assert_eq!(ours.contains("AES-256-GCM' b'oarlock'"), takes_part, "{about}: {ours}");
                    // With a choice of the user's it depends on the first call: OSSL_PROVIDER_available(3) looks for the
                    // default provider before it reads a configuration.
                    if !has_chosen {
                        assert_eq!(takes_part, has_default, "{about}: {steps}: {ours}");
                    }
                }
            }
        }
    }
}

#[test]
fn contexts_that_go_leave_nothing() {
    let program = "\
import ctypes, os
c = ctypes.CDLL('libcrypto.so.3')
c.OSSL_LIB_CTX_new.restype = ctypes.c_void_p
c.EVP_CIPHER_fetch.restype = ctypes.c_void_p
conf = os.environ['OPENSSL_CONF'].encode()
def size(): return int(open('/proc/self/statm').read().split()[1]) * os.sysconf('SC_PAGE_SIZE')
def go():
    context = ctypes.c_void_p(c.OSSL_LIB_CTX_new())
    # Twice, as old programs do.
    for _ in range(2): assert c.OSSL_LIB_CTX_load_config(context, conf) == 1
    cipher = ctypes.c_void_p(c.EVP_CIPHER_fetch(context, b'AES-256-GCM', b'PROPERTIES'))
    assert cipher.value
    c.EVP_CIPHER_free(cipher)
    c.OSSL_LIB_CTX_free(context)
for _ in range(100): go()
before = size()
for _ in range(400): go()
print((size() - before) // 400)
";
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty.cnf");
    fs::write(&empty, "").unwrap();
    let left = |mut command: Command, properties: &str| -> i64 {
        let program = program.replace("PROPERTIES", properties);
        command.args(["/usr/bin/python3", "-c", &program]);
        let output = command.env("OPENSSL_CONF", &empty).output().unwrap();
        said(output).trim().parse().unwrap()
    };
    let mut ours = oarlock();
    ours.args(["run", "--keep-choice", "--provider"]);
    ours.arg(provider()).arg("--");
    // OpenSSL itself leaks some.
    let (stock, ours) = (
        left(Command::new("env"), ""),
        left(ours, "provider=oarlock"),
    );
    assert!(
        ours < stock + 2048,
        "each context leaves {ours} bytes, and {stock} without Oarlock"
    );
}

#[track_caller]
fn said(output: Output) -> String {
    assert!(
        output.status.success() && output.stderr.is_empty(),
        "{}",
        stderr(&output)
    );
    lossy(&output.stdout)
}
