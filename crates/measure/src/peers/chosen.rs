//! The peers of a run.

use super::own;
use super::subject::{Peer, PeerFactory, Presence};
use crate::error::Error;

/// A peer of this run.
pub(crate) struct ChosenPeer {
    pub(crate) name: &'static str,
    pub(crate) peer: Box<dyn Peer>,
}

impl ChosenPeer {
    /// Returns its threads for a cipher's request if Oarlock has `ours`.
    pub(crate) fn threads(&self, ours: usize) -> usize {
        if own::HAS_THREADS.contains(&self.name) {
            ours
        } else {
            1
        }
    }

    /// Returns its threads for public-key requests if Oarlock has `ours`.
    pub(crate) fn public_key_threads(&self, ours: usize) -> usize {
        if self.name == own::ON_ONE_THREAD {
            1
        } else {
            ours
        }
    }

    /// Returns the number of those threads that submit requests.
    pub(crate) fn public_key_callers(&self, ours: usize) -> usize {
        if self.name == own::JOB {
            1
        } else {
            self.public_key_threads(ours)
        }
    }
}

/// Opens the peers of a run: those `named`, or else those whose [`Presence`] includes them. Passes the reason for each
/// omitted peer to `note`.
pub(crate) fn choose(
    factories: &[PeerFactory],
    named: &[String],
    threads: usize,
    note: &mut dyn FnMut(&str),
) -> Result<Vec<ChosenPeer>, Error> {
    let all: Vec<&PeerFactory> = factories.iter().chain(own::PEERS).collect();
    let mut chosen: Vec<ChosenPeer> = Vec::new();
    for name in named {
        let factory = all
            .iter()
            .find(|factory| factory.name == name)
            .ok_or_else(|| {
                let names: Vec<_> = all.iter().map(|factory| factory.name).collect();
                Error::Usage(format!(
                    "unknown peer {name:?}: there are {}",
                    names.join(", ")
                ))
            })?;
        if chosen.iter().all(|earlier| earlier.name != factory.name) {
            chosen.push(ChosenPeer {
                name: factory.name,
                peer: (factory.open)(threads)?,
            });
        }
    }
    if !named.is_empty() {
        return Ok(chosen);
    }
    for factory in all {
        let wanted = match factory.presence {
            Presence::Always | Presence::WhereAvailable => true,
            Presence::ManyThreads => threads > 1,
            Presence::Named => false,
        };
        if !wanted {
            continue;
        }
        match (factory.open)(threads) {
            Ok(peer) => chosen.push(ChosenPeer {
                name: factory.name,
                peer,
            }),
            Err(Error::Unavailable(why)) if factory.presence == Presence::WhereAvailable => {
                note(&format!("without {}: {why}", factory.name));
            }
            Err(error) => return Err(error),
        }
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_and_missing_peers() {
        let missing = PeerFactory {
            name: "missing",
            presence: Presence::WhereAvailable,
            open: |_| Err(Error::Unavailable("fetch it".to_owned())),
        };
        let choose = |named: &[&str], threads| {
            let named: Vec<_> = named.iter().map(|name| (*name).to_owned()).collect();
            let mut notes = Vec::new();
            let chosen = super::choose(&[missing], &named, threads, &mut |note| {
                notes.push(note.to_owned());
            });
            let names = chosen.map(|all| all.iter().map(|one| one.name).collect::<Vec<_>>());
            (names, notes)
        };

        let (names, notes) = choose(&[], 2);
        assert_eq!(names.unwrap(), ["inline"]);
        assert_eq!(notes, ["without missing: fetch it"]);
        assert_eq!(
            choose(&["kernel", "inline", "kernel"], 1).0.unwrap(),
            ["kernel", "inline"]
        );
        assert!(matches!(
            choose(&["missing"], 1).0,
            Err(Error::Unavailable(_))
        ));
        let message = choose(&["nobody"], 1).0.unwrap_err().to_string();
        assert_eq!(
            message,
            "unknown peer \"nobody\": there are missing, inline, stripe, prefetch, job, kernel"
        );
    }
}
