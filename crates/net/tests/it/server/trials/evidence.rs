//! Clients whose numbers make every device fail, which must count against no device.

use std::sync::Arc;
use std::time::Duration;

use num_bigint::BigUint;
use oarlock::device::{
    BlockingDevice, CpuDevice, Host, SimulatedBoard, SimulatedDevice, SoftwareDevice, visible_cpu,
};
use oarlock_net::client::Operation;
use oarlock_net::proto;
use oarlock_net::server::Server;
use oarlock_net::server::dispatch::DeviceWorkers;
use tonic::Code;

use super::super::host::{EVERYTHING, Home, call};
use super::{metric, page};

/// Returns a power with consistent numbers whose p and q are composite.
fn composite() -> proto::ModExp {
    let [p, q] = [(3u8, 323), (11, 148)].map(|(base, power)| BigUint::from(base).pow(power));
    let [p1, q1] = [&p - 1u8, &q - 1u8];
    let e = BigUint::from(65537u32);
    let d = e.modinv(&(&p1 * &q1)).unwrap();
    proto::ModExp {
        base: vec![0x30, 0x39],
        exponent: d.to_bytes_be(),
        modulus: (&p * &q).to_bytes_be(),
        crt: Some(proto::Crt {
            public_exponent: e.to_bytes_be(),
            dp: (&d % &p1).to_bytes_be(),
            dq: (&d % &q1).to_bytes_be(),
            qinv: q.modinv(&p).unwrap().to_bytes_be(),
            p: p.to_bytes_be(),
            q: q.to_bytes_be(),
        }),
        base_is_negative: false,
        byte_order: 0,
    }
}

/// Returns the same power with an exponent that contradicts the other numbers.
fn contradictory() -> proto::ModExp {
    let mut numbers = composite();
    numbers.crt.as_mut().unwrap().dp[20] ^= 1;
    numbers
}

fn devices() -> [Arc<dyn BlockingDevice>; 3] {
    let cpu = visible_cpu().unwrap();
    let board = SimulatedBoard {
        coprocessors: 2,
        latency: Duration::from_millis(1),
        latency_with_crt: None,
        host: Host::default(),
        jitter: 0.0,
        faults: Vec::new(),
        seed: 7,
    };
    [
        Arc::new(CpuDevice::new(cpu)),
        Arc::new(SoftwareDevice::new()),
        Arc::new(SimulatedDevice::new("board", board).unwrap()),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clients_own_numbers_shut_nobody_out() {
    let home = Home::new(&["alice", "mallory"]);
    let sign = || {
        Operation::Sign(proto::Sign {
            key_id: "rsa2048".into(),
            scheme: proto::SignatureScheme::RsaPkcs1Sha256.into(),
            digest: vec![7; 32],
        })
    };
    for device in devices() {
        let name = device.name().to_owned();
        let drivers = vec![DeviceWorkers {
            device,
            workers: 2,
            is_host: false,
        }];
        let rest = format!("{EVERYTHING}[metrics]\nlisten = \"127.0.0.1:0\"\n");
        let server = Server::start_with(home.config(&rest), drivers)
            .await
            .unwrap();
        let alice = home.client("alice", &[&server]).await;
        let mallory = home.client("mallory", &[&server]).await;
        for _ in 0..4 {
            let (bad, one, two) = tokio::join!(
                call(&mallory, Operation::ModExp(composite())),
                call(&alice, sign()),
                call(&alice, sign()),
            );
            let error = bad.unwrap_err();
            assert_eq!(error.code, Code::InvalidArgument, "{name}: {error:?}");
            let says = |what| error.message.contains(what);
            assert!(says("failed its check") && says("primes"), "{error:?}");
            assert_eq!(one.unwrap(), two.unwrap(), "{name}");
        }
        let error = call(&mallory, Operation::ModExp(contradictory())).await;
        let error = error.unwrap_err();
        assert_eq!(error.code, Code::InvalidArgument, "{name}: {error:?}");
        assert!(error.message.contains("CRT"), "{error:?}");
        call(&alice, sign()).await.unwrap();
        assert_eq!(metric(&server, "oarlock_device_up", &[&name]).await, 1);
        let failures = metric(&server, "oarlock_device_failures", &[&name]).await;
        assert_eq!(failures, 0, "{name}");
        assert_eq!(page(server.metrics().unwrap(), "/healthz").await.0, 200);
        assert_eq!(server.stop().await, 0);
    }
}
