//! Connections that have proved nothing yet: a bounded number, in which newcomers displace others.
//!
//! Waiting for a place would let silent connections keep everyone out. Instead a newcomer always
//! gets one, and while there is none free, the oldest connection of the network with the most
//! connections loses its own. So a flood displaces itself before it displaces anyone else.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex};

use tokio::sync::oneshot;

use super::counts::lock;

/// The connections, at most `max`.
pub(in crate::server) struct Crowd {
    max: usize,
    places: Mutex<Places>,
}

#[derive(Default)]
struct Places {
    next: u64,
    silent: Group,
    heard: Group,
}

impl Crowd {
    pub(in crate::server) fn new(max: usize) -> Arc<Self> {
        Arc::new(Self {
            max,
            places: Mutex::default(),
        })
    }

    /// Gives a newcomer a place. The receiver is ready once another newcomer has displaced it.
    pub(in crate::server) fn join(
        self: &Arc<Self>,
        peer: IpAddr,
    ) -> (Member, oneshot::Receiver<()>) {
        let (end, ended) = oneshot::channel();
        let network = network(peer);
        let mut places = lock(&self.places);
        if places.silent.len + places.heard.len >= self.max {
            let displaced = places
                .silent
                .take_oldest()
                .or_else(|| places.heard.take_oldest());
            if let Some(displaced) = displaced {
                // If this fails, it has ended already.
                let _ = displaced.send(());
            }
        }
        let number = places.next;
        places.next += 1;
        places.silent.insert(network, number, end);
        let member = Member {
            crowd: Arc::clone(self),
            network,
            number,
        };
        (member, ended)
    }
}

/// A place, which dropping gives back.
pub(in crate::server) struct Member {
    crowd: Arc<Crowd>,
    network: IpAddr,
    number: u64,
}

impl Member {
    /// What the connection is for has arrived: from now on silent ones are displaced before it.
    pub(in crate::server) fn heard(&self) {
        let mut places = lock(&self.crowd.places);
        if let Some(end) = places.silent.remove(self.network, self.number) {
            places.heard.insert(self.network, self.number, end);
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut places = lock(&self.crowd.places);
        places.silent.remove(self.network, self.number);
        places.heard.remove(self.network, self.number);
    }
}

/// Connections by network, and by age within one.
#[derive(Default)]
struct Group {
    by_network: HashMap<IpAddr, BTreeMap<u64, oneshot::Sender<()>>>,
    len: usize,
}

impl Group {
    fn insert(&mut self, network: IpAddr, number: u64, end: oneshot::Sender<()>) {
        let of_network = self.by_network.entry(network).or_default();
        of_network.insert(number, end);
        self.len += 1;
    }

    fn remove(&mut self, network: IpAddr, number: u64) -> Option<oneshot::Sender<()>> {
        let of_network = self.by_network.get_mut(&network)?;
        let end = of_network.remove(&number)?;
        self.len -= 1;
        if of_network.is_empty() {
            self.by_network.remove(&network);
        }
        Some(end)
    }

    /// Takes the oldest connection of the network with the most; of several such networks, of the
    /// one whose connection is the oldest.
    fn take_oldest(&mut self) -> Option<oneshot::Sender<()>> {
        let oldest_of = |of_network: &BTreeMap<u64, _>| of_network.keys().next().copied();
        let largest = self.by_network.iter();
        let (network, of_network) =
            largest.max_by_key(|(_, it)| (it.len(), Reverse(oldest_of(it))))?;
        let (network, number) = (*network, oldest_of(of_network)?);
        self.remove(network, number)
    }
}

/// An IPv4 address, or the first 64 bits of an IPv6 address: one machine may have all the others.
fn network(peer: IpAddr) -> IpAddr {
    match peer.to_canonical() {
        IpAddr::V4(address) => address.into(),
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            Ipv6Addr::from(network).into()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_displaced(ended: &mut oneshot::Receiver<()>) -> bool {
        ended.try_recv().is_ok()
    }

    fn join(crowd: &Arc<Crowd>, peer: &str) -> (Member, oneshot::Receiver<()>) {
        crowd.join(peer.parse().unwrap())
    }

    #[test]
    fn the_oldest_of_the_largest_network_goes_first() {
        let crowd = Crowd::new(4);
        let (_lone, mut lone) = join(&crowd, "192.0.2.1");
        // One network of IPv6, whatever the last 64 bits are.
        let (_first, mut first) = join(&crowd, "2001:db8::1");
        let (_second, mut second) = join(&crowd, "2001:db8::ffff:2");
        let (_other, mut other) = join(&crowd, "2001:db8:0:1::1");
        assert!(!is_displaced(&mut first));
        let (_third, mut third) = join(&crowd, "2001:db8::3");
        assert!(is_displaced(&mut first) && !is_displaced(&mut second));
        let (_fourth, mut fourth) = join(&crowd, "::ffff:192.0.2.1");
        assert!(is_displaced(&mut second));
        // Now the network of the lone one is the largest, and it is the oldest there.
        let (_fifth, mut fifth) = join(&crowd, "203.0.113.1");
        assert!(is_displaced(&mut lone));
        // One of each: the oldest of all.
        let (_sixth, mut sixth) = join(&crowd, "203.0.113.2");
        assert!(is_displaced(&mut other));
        for here in [&mut third, &mut fourth, &mut fifth, &mut sixth] {
            assert!(!is_displaced(here));
        }
    }

    #[test]
    fn silent_ones_go_before_those_that_were_heard() {
        let crowd = Crowd::new(3);
        let (heard, mut of_heard) = join(&crowd, "192.0.2.1");
        let (also, mut of_also) = join(&crowd, "192.0.2.1");
        let (_silent, mut of_silent) = join(&crowd, "192.0.2.2");
        heard.heard();
        also.heard();
        let (next, mut of_next) = join(&crowd, "192.0.2.3");
        assert!(is_displaced(&mut of_silent));
        next.heard();
        let (_last, _of_last) = join(&crowd, "192.0.2.3");
        assert!(is_displaced(&mut of_heard));
        assert!(!is_displaced(&mut of_also) && !is_displaced(&mut of_next));
    }

    #[test]
    fn a_place_given_back_is_free() {
        let crowd = Crowd::new(2);
        let (_stays, mut stays) = join(&crowd, "192.0.2.1");
        for is_heard in [false, true] {
            let (member, _) = join(&crowd, "192.0.2.1");
            if is_heard {
                member.heard();
            }
            drop(member);
        }
        let (_last, _) = join(&crowd, "192.0.2.1");
        assert!(!is_displaced(&mut stays));
        let places = lock(&crowd.places);
        assert_eq!((places.silent.len, places.heard.len), (2, 0));
        assert!(places.heard.by_network.is_empty());
    }
}
