//! A cryptoserver in `oarlock top`.

use oarlock_testing::until_some;
use serde_json::Value;

use super::{Home, Served};
use crate::common::{oarlock, run, stderr};

#[test]
fn clients_and_devices_of_a_server_are_seen() {
    let home = Home::new();
    home.configure(|text| {
        text + "\n[[device]]\nname = \"board\"\nkind = \"simulated\"\npreset = \"nfast300\"\n"
    });
    let server = Served::start_with(&home.config(), &[("XDG_RUNTIME_DIR", home.path())]);
    let file = home.path().join("message");
    std::fs::write(&file, "message").unwrap();
    let seen = until_some("a signature for the client", || {
        let mut sign = home.sign(server.address, "web");
        let output = run(sign.args(["-o", "/dev/null"]).arg(&file), b"");
        assert!(output.status.success(), "{}", stderr(&output));
        let mut top = oarlock();
        top.args(["top", "--json", "--interval", "0.1"]);
        let output = run(top.env("XDG_RUNTIME_DIR", home.path()), b"");
        assert!(output.status.success(), "{}", stderr(&output));
        let reading: Value = serde_json::from_slice(&output.stdout).unwrap();
        let all = reading["processes"].as_array().unwrap().clone();
        let row = all
            .into_iter()
            .find(|one| one["process"] == server.child.id())?;
        let clients = row["server"]["clients"].as_array()?;
        clients
            .iter()
            .any(|one| one["operation"] == "sign")
            .then_some(row)
    });
    assert_eq!(seen["server"]["error"], Value::Null, "{seen}");
    assert_eq!(seen["server"]["unwell"], Value::Null, "{seen}");
    let devices = seen["devices"].as_array().unwrap();
    let names: Vec<_> = devices
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert!(names.contains(&"board"), "{names:?}");
    assert!(devices.iter().all(|one| one["health"] == "up"), "{seen}");

    let mut listed = oarlock();
    listed.args(["devices", "--config"]).arg(home.config());
    let output = run(listed.env("XDG_RUNTIME_DIR", home.path()), b"");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("\nboard "), "{text}");
    assert!(text.contains("simulated board: nfast300"), "{text}");
    assert!(text.contains(" cryptoserver\n"), "{text}");
    assert!(
        text.lines().all(|line| line.chars().count() <= 100),
        "{text}"
    );
}
