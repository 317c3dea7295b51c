//! A gigabit link between two network namespaces.

use std::net::Ipv4Addr;
use std::process::Command;

use oarlock_measure::Error;
use rustix::process::geteuid;

use crate::system::child::said;

/// Two namespaces and the link between them, all removed with this value.
pub(super) struct Link {
    client: String,
    server: String,
}

impl Link {
    /// The server's address, from the block for benchmarks (RFC 2544).
    pub(super) const SERVER: Ipv4Addr = Ipv4Addr::new(198, 18, 0, 2);

    pub(super) fn new() -> Result<Self, Error> {
        if !geteuid().is_root() {
            return Err(Error::Unavailable(
                "network namespaces take root's rights".to_owned(),
            ));
        }
        let name = |end| format!("oarlock-{end}-{}", std::process::id());
        let link = Self {
            client: name("client"),
            server: name("server"),
        };
        link.lay().map_err(|error| {
            Error::Unavailable(format!(
                "no link of 1 Gbit/s can be made here (package iproute2, modules veth and \
                 sch_tbf): {error}"
            ))
        })?;
        Ok(link)
    }

    /// Returns the name of the client's namespace.
    pub(super) fn client(&self) -> &str {
        &self.client
    }

    /// Returns the name of the server's namespace.
    pub(super) fn server(&self) -> &str {
        &self.server
    }

    fn lay(&self) -> Result<(), Error> {
        let (client, server) = (&self.client, &self.server);
        let run = |line: &str| {
            let mut words = line.split(' ');
            let mut command = Command::new(words.next().unwrap_or_default());
            said(command.args(words))
        };
        run(&format!("ip netns add {client}"))?;
        run(&format!("ip netns add {server}"))?;
        run(&format!(
            "ip -netns {client} link add wire type veth peer name wire netns {server}"
        ))?;
        for (end, address) in [(client, "198.18.0.1/30"), (server, "198.18.0.2/30")] {
            run(&format!("ip -netns {end} address add {address} dev wire"))?;
            run(&format!("ip -netns {end} link set wire up"))?;
            // In each direction. The burst is what a gigabit carries in 2 ms, the timer interval of a kernel with 500 ticks
            // a second (tc-tbf(8)).
            run(&format!(
                "tc -netns {end} qdisc add dev wire root tbf rate 1gbit burst 256k latency 20ms"
            ))?;
        }
        Ok(())
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        for name in [&self.client, &self.server] {
            let _ = said(Command::new("ip").args(["netns", "delete", name]));
        }
    }
}
