//! Handshakes that are cut while the relay is asked for the key.

use oarlock_engine::costs::published;
use oarlock_testing::Attacked;
use oarlock_testing::until;
use rustix::process::Signal;

use super::relay::{Site, below, descriptors_below};

/// Handshakes are cut while the relay is asked: by their clients, before, during and after the pause of their jobs, and by
/// the server, which waits at most a second for a client while the cryptoserver hangs. The provider's tests have the same
/// attack on local keys.
#[test]
fn handshakes_that_are_cut_while_the_relay_is_asked_leave_nothing_behind() {
    let site = Site::new();
    let _relay = site.relay(&[]);
    outlives_cut_handshakes(&site);

    let (haproxy, port, _) = site.haproxy_with(300, 1);
    site.serves_clients(port, 4, 1);
    let descriptors = || descriptors_below(&haproxy.0);
    let before = descriptors();
    let server = site.server.as_ref().unwrap();
    server.signal(Signal::STOP);
    assert_eq!(site.failures(port, 60, 60, "TLSv1_3"), 60);
    server.signal(Signal::CONT);
    until("descriptors are closed", || descriptors() <= before + 2);
    until("it goes on", || site.failures(port, 4, 2, "TLSv1_3") == 0);
    site.serves_clients(port, 20, 4);
}

/// Jobs pause for other keys than RSA's in code of their own.
#[test]
fn handshakes_with_p256_that_are_cut_leave_nothing_behind() {
    let site = Site::with("p256");
    let _relay = site.relay(&[]);
    outlives_cut_handshakes(&site);
}

fn outlives_cut_handshakes(site: &Site) {
    let (haproxy, port, plain) = site.haproxy_with(300, 10);
    let process = below(&haproxy.0);
    let attacked = Attacked {
        port,
        certificate: &site.path().join("cert.pem"),
        process,
        serves: &|| site.serves_clients(port, 40, 16),
        pauses: &|| site.serves_meanwhile(port, plain),
    };
    assert!(site.serves_meanwhile(port, plain));
    attacked.outlives_cut_handshakes();
    assert_eq!(below(&haproxy.0), process, "it was not restarted");
    let running = published::running().into_iter();
    let mut figures = running.filter_map(|found| found.figures.ok());
    let shown = figures.find(|figures| figures.process == process).unwrap();
    assert!(shown.abandoned > 0, "they are shown");
}
