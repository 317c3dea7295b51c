//! NSS, by its tools.

use std::fs;
use std::process::Command;

use oarlock_testing::noise;

use crate::common::{Home, module, succeeds};

#[test]
fn nss_finds_certificates_and_signs_with_their_keys() {
    let home = Home::with(&["rsa", "p256"]);
    let database = format!("sql:{}/nss", home.path().display());
    fs::create_dir(home.path().join("nss")).unwrap();
    let mut create = home.program("certutil");
    succeeds(create.args(["-N", "--empty-password", "-d", &database]));
    let mut add = home.program("modutil");
    add.args(["-force", "-dbdir", &database, "-add", "oarlock", "-libfile"]);
    succeeds(add.arg(module()));
    let mut list = home.program("modutil");
    let modules = succeeds(list.args(["-dbdir", &database, "-list", "oarlock"]));
    assert!(modules.contains("Token Name: files"), "{modules}");
    let mut list = home.program("certutil");
    let certificates = succeeds(list.args(["-L", "-d", &database, "-h", "files"]));
    let mut list = home.program("certutil");
    let keys = succeeds(list.args(["-K", "-d", &database, "-h", "files"]));
    fs::write(home.path().join("letter"), noise(3000)).unwrap();
    for name in ["rsa", "p256"] {
        assert!(
            certificates.contains(&format!("files:{name}")),
            "{certificates}"
        );
        assert!(keys.contains(name), "{keys}");
        // A certificate that signed itself is trusted if the user says so.
        let nickname = format!("files:{name}");
        let mut trust = home.program("certutil");
        succeeds(trust.args(["-M", "-d", &database, "-n", &nickname, "-t", "CTu,Cu,Cu"]));
        let mut sign = home.program("cmsutil");
        sign.args(["-S", "-d", &database, "-N", &nickname]);
        succeeds(sign.args(["-i", "letter", "-o", "signed"]));
        let mut verify = Command::new("openssl");
        verify
            .current_dir(home.path())
            .args(["cms", "-verify", "-binary", "-inform", "DER"]);
        succeeds(verify.args(["-in", "signed", "-noverify", "-out", "opened"]));
        let opened = fs::read(home.path().join("opened")).unwrap();
        assert_eq!(opened, fs::read(home.path().join("letter")).unwrap());
    }
}
