//! Connections that have not authenticated yet: a bounded number, in which newcomers displace others.
//!
//! If newcomers waited for a place, silent connections could keep everyone out. Instead a newcomer always gets a place, and
//! if none is free, another connection loses its own.
//!
//! ```text
//! silent     no byte has arrived: thousands of places, since such a connection costs next to nothing
//! begun      some bytes have arrived
//! heard      the ClientHello, or the request for a page, has arrived
//! ```
//!
//! Each stage has its own places, and a connection displaces only others of the stage that it enters. So a flood of silent
//! connections ends no handshake under way, and an honest client has to survive in a stage only for the time that it takes
//! to fill that stage once.
//!
//! Within a stage, the network with the most connections loses its oldest one. An IPv4 address and an IPv6 /64 count as
//! networks, and so do the wider ones that a single customer may have: a /24, a /20, a /56, a /48. A wider network may have
//! several times more connections, since it may hold many customers. So a flood displaces itself before it displaces others.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use tokio::net::TcpStream;
use tokio::sync::oneshot;

use super::counts::lock;

/// The progress of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::server) enum Stage {
    Silent,
    Begun,
    Heard,
}

/// The number of places in each stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::server) struct Bounds {
    pub(in crate::server) silent: usize,
    pub(in crate::server) begun: usize,
    pub(in crate::server) heard: usize,
}

impl Bounds {
    /// Returns these bounds, limited to `max` in each stage.
    pub(in crate::server) fn at_most(self, max: usize) -> Self {
        Self {
            silent: self.silent.min(max),
            begun: self.begun.min(max),
            heard: self.heard.min(max),
        }
    }
}

/// The connections in all stages.
pub(in crate::server) struct Crowd(Mutex<Places>);

struct Places {
    next: u64,
    /// The groups in the order of [`Stage`].
    stages: [Group; 3],
}

impl Crowd {
    pub(in crate::server) fn new(bounds: Bounds) -> Arc<Self> {
        let stages = [bounds.silent, bounds.begun, bounds.heard].map(Group::new);
        Arc::new(Self(Mutex::new(Places { next: 0, stages })))
    }

    /// Adds a newcomer. The receiver is ready once another connection has displaced it.
    pub(in crate::server) fn join(
        self: &Arc<Self>,
        peer: IpAddr,
    ) -> (Member, oneshot::Receiver<()>) {
        let (end, ended) = oneshot::channel();
        let mut places = lock(&self.0);
        let number = places.next;
        places.next += 1;
        let place = Place {
            networks: networks(peer),
            end,
        };
        places.enter(Stage::Silent, number, place);
        let member = Member {
            crowd: Arc::clone(self),
            number,
        };
        (member, ended)
    }

    /// Displaces one connection, a silent one if there is any. Returns whether there was one.
    pub(in crate::server) fn make_room(&self) -> bool {
        let mut places = lock(&self.0);
        let displaced = places.stages.iter_mut().find_map(Group::take_one);
        displaced.is_some_and(|place| place.end.send(()).is_ok())
    }
}

impl Places {
    fn enter(&mut self, stage: Stage, number: u64, place: Place) {
        let group = &mut self.stages[stage as usize];
        if group.places.len() >= group.max
            && let Some(displaced) = group.take_one()
        {
            // This fails if it has ended already.
            let _ = displaced.end.send(());
        }
        group.insert(number, place);
    }
}

/// A member's place, which `Drop` releases.
pub(in crate::server) struct Member {
    crowd: Arc<Crowd>,
    number: u64,
}

impl Member {
    /// Waits for the connection's first byte, which stays to be read, and moves the connection to [`Stage::Begun`]. A
    /// connection that ends before takes no place there.
    ///
    /// Waiting until the socket is readable would not do: it is readable at its end too, and tokio (since 1.54) takes every
    /// accepted socket for readable until a read finds nothing.
    pub(in crate::server) async fn begins(&self, stream: &TcpStream) -> io::Result<()> {
        if stream.peek(&mut [0]).await? == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        self.reaches(Stage::Begun);
        Ok(())
    }

    /// Moves the connection to `stage`, unless it is there or further.
    pub(in crate::server) fn reaches(&self, stage: Stage) {
        let mut places = lock(&self.crowd.0);
        let earlier = &mut places.stages[..stage as usize];
        if let Some(place) = earlier.iter_mut().find_map(|it| it.remove(self.number)) {
            places.enter(stage, self.number, place);
        }
    }
}

impl Drop for Member {
    fn drop(&mut self) {
        let mut places = lock(&self.crowd.0);
        let _ = places
            .stages
            .iter_mut()
            .find_map(|it| it.remove(self.number));
    }
}

/// The place of one connection.
struct Place {
    networks: [Network; WIDTHS],
    end: oneshot::Sender<()>,
}

/// The connections of one stage.
struct Group {
    max: usize,
    /// The places by number, which is by age.
    places: BTreeMap<u64, Place>,
    /// The numbers of each network's connections.
    by_network: HashMap<Network, BTreeSet<u64>>,
    /// The networks by rank; the last one loses a place first.
    ranks: BTreeSet<Rank>,
}

/// The rank of a network: its weighted connections, then the age of its oldest one.
type Rank = (usize, Reverse<u64>, Network);

impl Group {
    fn new(max: usize) -> Self {
        Self {
            max: max.max(1),
            places: BTreeMap::new(),
            by_network: HashMap::new(),
            ranks: BTreeSet::new(),
        }
    }

    fn insert(&mut self, number: u64, place: Place) {
        for network in place.networks {
            self.change(network, |numbers| numbers.insert(number));
        }
        self.places.insert(number, place);
    }

    fn remove(&mut self, number: u64) -> Option<Place> {
        let place = self.places.remove(&number)?;
        for network in place.networks {
            self.change(network, |numbers| numbers.remove(&number));
        }
        Some(place)
    }

    /// Removes the oldest connection of the network with the most; among equals, of the network with the oldest connection.
    fn take_one(&mut self) -> Option<Place> {
        let (_, Reverse(oldest), _) = *self.ranks.last()?;
        self.remove(oldest)
    }

    fn change(&mut self, network: Network, change: impl FnOnce(&mut BTreeSet<u64>) -> bool) {
        let numbers = self.by_network.entry(network).or_default();
        if let Some(rank) = rank(network, numbers) {
            self.ranks.remove(&rank);
        }
        change(numbers);
        match rank(network, numbers) {
            Some(rank) => {
                self.ranks.insert(rank);
            }
            None => {
                self.by_network.remove(&network);
            }
        }
    }
}

fn rank(network: Network, numbers: &BTreeSet<u64>) -> Option<Rank> {
    let oldest = numbers.first()?;
    Some((numbers.len() * network.weight, Reverse(*oldest), network))
}

/// The addresses with a common prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Network {
    prefix: u128,
    /// The weight of each connection: lower in a wider network, which may have more of them.
    weight: usize,
}

/// Returns the networks that an address belongs to, the narrowest first.
fn networks(peer: IpAddr) -> [Network; WIDTHS] {
    let (address, host_bits) = match peer.to_canonical() {
        IpAddr::V4(address) => (address.to_ipv6_mapped(), IPV4_HOST_BITS),
        IpAddr::V6(address) => (address, IPV6_HOST_BITS),
    };
    let address = u128::from(address);
    let mut weight = WIDER_MAY_HAVE.pow(WIDTHS as u32);
    host_bits.map(|bits| {
        weight /= WIDER_MAY_HAVE;
        Network {
            prefix: address >> bits << bits,
            weight,
        }
    })
}

const WIDTHS: usize = 3;
/// An address, a /24 (the smallest network that is announced), a /20 (the network of a small provider).
const IPV4_HOST_BITS: [u32; WIDTHS] = [0, 8, 12];
/// A /64, which one machine may have, a /56 (the prefix of a household), a /48 (that of a site: RFC 6177).
const IPV6_HOST_BITS: [u32; WIDTHS] = [64, 72, 80];
/// A network may have this many times the connections of the next narrower one.
const WIDER_MAY_HAVE: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn crowd(silent: usize, begun: usize, heard: usize) -> Arc<Crowd> {
        Crowd::new(Bounds {
            silent,
            begun,
            heard,
        })
    }

    fn is_displaced(ended: &mut oneshot::Receiver<()>) -> bool {
        ended.try_recv().is_ok()
    }

    fn join(crowd: &Arc<Crowd>, peer: &str) -> (Member, oneshot::Receiver<()>) {
        crowd.join(peer.parse().unwrap())
    }

    #[test]
    fn the_oldest_of_the_largest_network_goes_first() {
        let crowd = crowd(4, 4, 4);
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
        // One of each: the oldest of all goes.
        let (_sixth, mut sixth) = join(&crowd, "203.0.113.2");
        assert!(is_displaced(&mut other));
        for here in [&mut third, &mut fourth, &mut fifth, &mut sixth] {
            assert!(!is_displaced(here));
        }
    }

    /// Returns the number of connections of a flood, spread over `networks` networks, that displace a lone connection which
    /// arrived first.
    fn withstood(lone: &str, flood: impl Fn(u128) -> IpAddr, networks: u128) -> usize {
        const PLACES: usize = 128;
        let crowd = crowd(PLACES, 1, 1);
        let (_lone, mut lone) = join(&crowd, lone);
        let mut members = Vec::new();
        (0..10 * PLACES)
            .take_while(|number| {
                members.push(crowd.join(flood(*number as u128 % networks)));
                !is_displaced(&mut lone)
            })
            .count()
    }

    #[test]
    fn a_flood_from_many_networks_of_one_customer_displaces_itself() {
        let v6 = |number: u128, bits: u32| {
            IpAddr::from(((0x2001_0db8_u128 << 96) | number << bits).to_be_bytes())
        };
        let v4 = |number: u128| IpAddr::from((0x0a00_0000 | number as u32).to_be_bytes());
        let lone = ["2001:db9::1", "192.0.2.1"];
        for lone in lone {
            let (of_64, of_56) = (|number| v6(number, 64), |number| v6(number, 72));
            for (what, withstood) in [
                ("the /64 of a /56", withstood(lone, of_64, 256)),
                ("the /56 of a /48", withstood(lone, of_56, 256)),
                ("the /64 of a /48", withstood(lone, of_64, 65_536)),
                ("the addresses of a /24", withstood(lone, v4, 256)),
                ("the addresses of a /20", withstood(lone, v4, 4096)),
            ] {
                assert_eq!(withstood, 1280, "{what}, next to {lone}");
            }
            // If each place belongs to another site, no network has more than the lone one.
            let of_48 = |number| v6(number, 80);
            assert_eq!(withstood(lone, of_48, 65_536), 127);
        }
    }

    #[test]
    fn a_wider_network_may_have_more_than_a_narrower_one() {
        let crowd = crowd(8, 1, 1);
        // Seven customers of one /24, and two connections of another address.
        let mut customers: Vec<_> = (1..=6)
            .map(|number| join(&crowd, &format!("192.0.2.{number}")))
            .collect();
        let (_first, mut first) = join(&crowd, "203.0.113.1");
        let (_second, _) = join(&crowd, "203.0.113.1");
        customers.push(join(&crowd, "192.0.2.7"));
        assert!(is_displaced(&mut first));
        assert!(customers.iter_mut().all(|(_, ended)| !is_displaced(ended)));
    }

    #[test]
    fn newcomers_displace_only_within_their_stage() {
        let crowd = crowd(2, 1, 1);
        let (heard, mut of_heard) = join(&crowd, "192.0.2.1");
        heard.reaches(Stage::Begun);
        heard.reaches(Stage::Heard);
        // A connection does not go back a stage.
        heard.reaches(Stage::Begun);
        let (begun, mut of_begun) = join(&crowd, "192.0.2.1");
        begun.reaches(Stage::Begun);
        let mut silent: Vec<_> = (0..10).map(|_| join(&crowd, "192.0.2.1")).collect();
        let left = |silent: &mut Vec<(Member, oneshot::Receiver<()>)>| {
            silent.retain_mut(|(_, ended)| !is_displaced(ended));
            silent.len()
        };
        assert_eq!(left(&mut silent), 2);
        assert!(!is_displaced(&mut of_heard) && !is_displaced(&mut of_begun));
        silent[0].0.reaches(Stage::Begun);
        assert!(is_displaced(&mut of_begun) && !is_displaced(&mut of_heard));
        silent[0].0.reaches(Stage::Heard);
        assert!(is_displaced(&mut of_heard));
        assert_eq!(left(&mut silent), 2);
    }

    #[test]
    fn silent_ones_make_room_before_others() {
        let crowd = crowd(2, 2, 2);
        assert!(!crowd.make_room());
        let (heard, mut of_heard) = join(&crowd, "192.0.2.1");
        heard.reaches(Stage::Heard);
        let (_silent, mut of_silent) = join(&crowd, "192.0.2.2");
        assert!(crowd.make_room() && is_displaced(&mut of_silent));
        assert!(!is_displaced(&mut of_heard));
        assert!(crowd.make_room() && is_displaced(&mut of_heard));
        assert!(!crowd.make_room());
    }

    #[test]
    fn a_place_given_back_is_free() {
        let crowd = crowd(2, 2, 2);
        let (_stays, mut stays) = join(&crowd, "192.0.2.1");
        for stage in [Stage::Silent, Stage::Begun, Stage::Heard] {
            let (member, _) = join(&crowd, "192.0.2.1");
            member.reaches(stage);
            drop(member);
        }
        let (_last, _) = join(&crowd, "192.0.2.1");
        assert!(!is_displaced(&mut stays));
        let places = lock(&crowd.0);
        let sizes = places.stages.each_ref().map(|it| it.places.len());
        assert_eq!(sizes, [2, 0, 0]);
        for group in &places.stages[1..] {
            assert!(group.by_network.is_empty() && group.ranks.is_empty());
        }
    }
}
