//! The folders below `/run` of root's processes: that of the daemons' sockets, which everybody may enter, and that of live
//! figures, which only root may.

use std::path::Path;
use std::process::Command;

use oarlock_testing::{is_root, lossy};

use super::Home;
use crate::common::{run, stderr};

/// Varies which process creates its folder first, the umask of that process, and whether an earlier version left a folder.
#[test]
fn live_figures_of_root_keep_nobody_from_the_daemons() {
    if !is_root("a folder of its own in place of /run") {
        return;
    }
    let home = Home::new();
    let commands = Path::new(env!("CARGO_BIN_EXE_oarlock")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let mut shell = Command::new("unshare");
    shell
        .args(["--mount", "timeout", "120", "bash", "-c", SCRIPT, "bash"])
        .arg(home.config())
        .arg(home.path())
        .env("PATH", format!("{}:{path}", commands.display()))
        .env_remove("XDG_RUNTIME_DIR");
    let output = run(&mut shell, b"");
    let said = lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", stderr(&output));
    assert_eq!(said.matches("both connected").count(), 8, "{said}");
}

const SCRIPT: &str = r#"
set -eu
config=$1
pki=$2
mount -t tmpfs tmpfs /run
pids=
trap 'kill $pids 2>/dev/null || true' EXIT
until_is() { # a condition, for 20 s
    for _ in $(seq 400); do if eval "$1"; then return; fi; sleep 0.05; done
    echo "never: $1"; exit 1
}
connects() {
    setpriv --reuid=65534 --clear-groups /usr/bin/python3 -c \
        'import socket, sys; socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET).connect(sys.argv[1])' "$1"
}
for mask in 022 077; do
    for order in "serve local relay" "local serve relay" "relay local serve" "left serve local relay"; do
        umask $mask
        rm -rf /run/oarlock /run/oarlock-live /run/out
        pids=
        for one in $order; do
            case $one in
            left) mkdir -m 700 /run/oarlock ;;
            serve)
                oarlock serve --config "$config" >/run/out 2>&1 &
                pids="$pids $!"
                until_is 'ls /run/oarlock-live/*.live >/dev/null 2>&1 || ls /run/oarlock/*.live >/dev/null 2>&1'
                ;;
            local)
                oarlock local --allow nobody 2>/dev/null &
                pids="$pids $!"
                until_is '[ -S /run/oarlock/local.sock ]'
                ;;
            relay)
                oarlock relay --remote 127.0.0.1:9 --pki "$pki" --allow nobody 2>/dev/null &
                pids="$pids $!"
                until_is '[ -S /run/oarlock/relay.sock ]'
                ;;
            esac
        done
        until_is 'connects /run/oarlock/local.sock 2>/dev/null'
        until_is 'connects /run/oarlock/relay.sock 2>/dev/null'
        [ "$(stat -c %a /run/oarlock-live)" = 700 ] || { echo "live figures: $mask, $order"; exit 1; }
        echo "both connected: $mask, $order"
        kill $pids
        wait $pids 2>/dev/null || true
        pids=
    done
done
"#;
