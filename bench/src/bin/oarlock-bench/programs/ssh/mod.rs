//! OpenSSH: a file in memory through private connections.
//!
//! Each connection is accepted here and passed to an `sshd -i`, as inetd did. The server is therefore a child of this
//! process like the client, and `wait4` returns the exact CPU time of both ends and all that they start, whatever else the
//! machine does: procfs loses processes that have ended, and `/proc/stat` counts every process. (The kernel's work for a
//! connection in interrupts is charged to the interrupted process, as for any program.)

mod connection;
mod suite;

use std::fs;
use std::path::Path;

use oarlock_measure::Error;

use super::compared::{Compared, Quantity, STOCK, in_turn};
use super::data::{TMPFS, are_alike, make};
use super::link::Link;
use super::setup::{Setup, Side};
use super::speed::operation;
use crate::system::surroundings::on_one_cpu;
use connection::{Connection, SshHosts, SshPrograms, Transfer};
pub(crate) use suite::{Setting, Suite, TransferKind};

pub(crate) use connection::hpn_client;

/// A cipher and MAC, a kind of transfer, and a setting.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ssh {
    pub(crate) suite: &'static Suite,
    pub(crate) kind: TransferKind,
    pub(crate) setting: Setting,
}

impl Ssh {
    pub(crate) fn measure(&self, setup: &Setup) -> Result<Vec<Compared>, Error> {
        let hosts = SshHosts::new(setup)?;
        let link = match self.setting {
            Setting::Gigabit => Some(Link::new()?),
            Setting::Here | Setting::OneCpu => None,
        };
        let folder = tempfile::tempdir_in(TMPFS).map_err(Error::io(TMPFS))?;
        let data = folder.path().join("data");
        let copy = folder.path().join("copy");
        let link = link.as_ref();
        let stock = SshPrograms::stock()?;
        self.verify(setup, &hosts, &stock, link, [&data, &copy])?;

        let bytes = self.bytes(setup);
        make(&data, bytes, SEED)?;
        let hpn = setup.hpn_ssh.as_deref().map(SshPrograms::hpn).transpose()?;
        let transfer = |programs: &SshPrograms, side| {
            let to = match self.kind {
                TransferKind::Download | TransferKind::Upload => Path::new("/dev/null"),
                TransferKind::Scp => {
                    // Outside the measured time: freeing the old pages takes as long as writing some.
                    let _ = fs::remove_file(&copy);
                    &copy
                }
            };
            self.transfer(setup, &hosts, programs, link, side, [&data, to])
        };
        let sides = if hpn.is_some() { 3 } else { 2 };
        let mut samples = in_turn(setup.rounds(9, 3), sides, |side| match (side, &hpn) {
            (0, _) => transfer(&stock, Side::Oarlock),
            (2, Some(hpn)) => transfer(hpn, Side::Stock),
            _ => transfer(&stock, Side::Stock),
        })?
        .into_iter();
        let ours = samples.next().unwrap_or_default();
        let others = [STOCK, "hpn-ssh"].into_iter().zip(samples);
        Ok(others
            .flat_map(|(vs, theirs)| compared(bytes, vs, &ours, &theirs))
            .collect())
    }

    /// Sends random bytes between an accelerated client and each server, and checks that they arrive and went through
    /// Oarlock. A stock server that accepts the client's data and checks its MAC proves that the stream itself is standard.
    fn verify(
        &self,
        setup: &Setup,
        hosts: &SshHosts,
        programs: &SshPrograms,
        link: Option<&Link>,
        [data, copy]: [&Path; 2],
    ) -> Result<(), Error> {
        make(data, VERIFIED_BYTES, SEED)?;
        let operation = operation(self.suite.operation)?;
        for (server, ends) in [(Side::Stock, 1), (Side::Oarlock, 2)] {
            let connection = Connection {
                server,
                ..self.connection(programs, link, Side::Oarlock)
            };
            let through = setup.bytes_through(operation, || {
                hosts.transfer(setup, &connection, [data, copy]).map(drop)
            })?;
            if through == 0 {
                return Err(Error::NotOffered(format!(
                    "the provider leaves {} to OpenSSL on this CPU",
                    self.suite.operation
                )));
            }
            if through < ends * VERIFIED_BYTES as u64 {
                return Err(Error::Failed(format!(
                    "of {VERIFIED_BYTES} bytes through {ends} accelerated ends, {through} went \
                     through Oarlock"
                )));
            }
            if !are_alike(data, copy)? {
                return Err(Error::Mismatch(format!(
                    "{}: what arrived is not what was sent",
                    self.suite.name()
                )));
            }
            fs::remove_file(copy).map_err(Error::io(copy.display()))?;
        }
        Ok(())
    }

    fn transfer(
        &self,
        setup: &Setup,
        hosts: &SshHosts,
        programs: &SshPrograms,
        link: Option<&Link>,
        side: Side,
        files: [&Path; 2],
    ) -> Result<Transfer, Error> {
        let connection = self.connection(programs, link, side);
        let work = || hosts.transfer(setup, &connection, files);
        match self.setting {
            Setting::OneCpu => on_one_cpu(work),
            Setting::Here | Setting::Gigabit => work(),
        }
    }

    fn connection<'a>(
        &self,
        programs: &'a SshPrograms,
        link: Option<&'a Link>,
        side: Side,
    ) -> Connection<'a> {
        Connection {
            programs,
            suite: self.suite,
            kind: self.kind,
            link,
            client: side,
            server: side,
        }
    }

    fn bytes(&self, setup: &Setup) -> usize {
        let bytes = match self.setting {
            // More takes longer and shows nothing more, because the link limits the rate.
            Setting::Gigabit => 256 << 20,
            Setting::Here | Setting::OneCpu => 1 << 30,
        };
        if setup.quick { bytes / 4 } else { bytes }
    }
}

fn compared(
    bytes: usize,
    vs: &'static str,
    ours: &[Transfer],
    theirs: &[Transfer],
) -> [Compared; 2] {
    let of = |figure, sample: &dyn Fn(&Transfer) -> f64| Compared {
        figure,
        bytes,
        vs,
        threads: None,
        ours: ours.iter().map(sample).collect(),
        theirs: theirs.iter().map(sample).collect(),
    };
    let gib = bytes as f64 / f64::from(1 << 30);
    [
        of(Quantity::Rate, &|transfer| {
            bytes as f64 / transfer.seconds / 1e9
        }),
        of(Quantity::CpuSeconds, &|transfer| transfer.cpu_seconds / gib),
    ]
}

const SEED: u64 = 1;
const VERIFIED_BYTES: usize = 16 << 20;

#[cfg(test)]
mod tests {
    use super::*;

    const SUITE: Suite = Suite {
        cipher: "aes128-ctr",
        mac: Some("umac-64-etm@openssh.com"),
        operation: "aes-128-ctr",
    };

    /// Uses the sshd, ssh and scp of this machine.
    #[test]
    fn a_file_arrives_whichever_way_it_goes() {
        let setup = Setup::of_stock();
        let (hosts, stock) = (
            SshHosts::new(&setup).unwrap(),
            SshPrograms::stock().unwrap(),
        );
        let (data, copy) = (setup.file("data"), setup.file("copy"));
        make(&data, 3 << 20, SEED).unwrap();
        for kind in [
            TransferKind::Download,
            TransferKind::Upload,
            TransferKind::Scp,
        ] {
            let ssh = Ssh {
                suite: &SUITE,
                kind,
                setting: Setting::Here,
            };
            let connection = ssh.connection(&stock, None, Side::Stock);
            let took = hosts.transfer(&setup, &connection, [&data, &copy]).unwrap();
            assert!(are_alike(&data, &copy).unwrap(), "{kind:?}");
            assert!(took.cpu_seconds > 0.0 && took.seconds > 0.0, "{took:?}");
            fs::remove_file(&copy).unwrap();
        }
        let ssh = Ssh {
            suite: &SUITE,
            kind: TransferKind::Download,
            setting: Setting::Here,
        };
        let connection = ssh.connection(&stock, None, Side::Stock);
        let missing = setup.file("missing");
        let error = hosts.transfer(&setup, &connection, [&missing, &copy]);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("No such file"), "{error}");
    }
}
