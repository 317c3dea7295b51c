//! Many connections, repeatedly.

use super::*;

#[test]
fn three_hundred_connections_leave_nothing_behind() {
    let home = Home::new();
    home.configure(|text| text + "\n[limits]\nclient_connections_max = 300\n");
    let server = home.serve();
    let runtime = runtime();
    let before = server.descriptors();
    let round = || {
        let settings = Settings {
            connections: 300,
            ..home.settings(&[server.address])
        };
        let client = connected(&runtime, settings, 300);
        assert_eq!(server.metric("oarlock_connections"), 300);
        let load = Load::start(&runtime, &client, home.public(), 100);
        let began = Instant::now();
        let mut mixed = 0;
        while mixed < 200 || began.elapsed() < Duration::from_secs(1) {
            let sign = proto::Sign {
                key_id: "web".into(),
                scheme: proto::SignatureScheme::RsaPssSha256.into(),
                digest: vec![mixed as u8; 32],
            };
            let power = proto::ModExp {
                base: vec![3; 64],
                exponent: vec![5; 8],
                modulus: vec![0x91; 64],
                base_is_negative: false,
                byte_order: 0,
                crt: None,
            };
            for operation in [
                Operation::Sign(sign),
                Operation::ModExp(power),
                Operation::Random(proto::Random { bytes: 4096 }),
            ] {
                let done = runtime.block_on(client.call(operation, CallOptions::default()));
                assert!(done.is_ok(), "{done:?}");
                mixed += 1;
            }
        }
        let (_, errors) = load.end(&runtime);
        assert!(errors.is_empty(), "{errors:?}");
        drop(client);
        until("no connection", || {
            server.metric("oarlock_connections") == 0
        });
        // The connection for the page itself may still exist.
        until("descriptors as before", || {
            server.descriptors() <= before + 1
        });
    };
    round();
    let first = server.memory_kib();
    round();
    round();
    // The server returns memory some seconds later.
    until("memory as after the first round", || {
        server.memory_kib() < first * 5 / 4 + 8192
    });
}
