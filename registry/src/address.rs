//! The addresses to which a registry may send a client.
//!
//! A registry names other hosts: where a blob is, where a token is issued, and where an upload
//! goes. A hostile registry can name a host that the client reaches, but the registry does not: the
//! metadata service of a cloud, a service on the user's machine, or one in the user's network. So a
//! host that a registry names must not be nearer to the client than the registry itself.

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};

use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{DefaultResolver, ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::NextTimeout;

/// The metadata services of clouds that are not in a link-local network.
const METADATA: [IpAddr; 3] = [
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
];

/// How far away an address is. The order matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Distance {
    /// This machine.
    Loopback,
    /// A network that is not the Internet.
    Private,
    /// The Internet.
    Public,
}

/// An address that a client does not connect to.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[non_exhaustive]
pub enum Forbidden {
    /// The address is link-local, which includes the metadata services of clouds, or is not the
    /// address of a host.
    #[error("{host} has the address {address}, which is not allowed for a registry")]
    Unusable {
        /// The host.
        host: String,
        /// Its address.
        address: IpAddr,
    },
    /// The registry refers to a host whose address is more private than its own. An address of this
    /// machine is the most private one, and an address on the Internet the least private one.
    #[error(
        "the registry refers to {host}, whose address {address} is more private than that of the \
         registry"
    )]
    Nearer {
        /// The host.
        host: String,
        /// Its address.
        address: IpAddr,
    },
}

/// Resolves the names of hosts, and refuses forbidden addresses. The client connects to the
/// addresses that it returns, so a later response of the name server has no effect.
#[derive(Clone)]
pub(crate) struct Guard(Arc<State>);

struct State {
    inner: DefaultResolver,
    /// The host of the registry, without a port.
    registry: String,
    /// The address of the proxy.
    proxy: Option<Uri>,
    /// The distances of the nearest and of the farthest address of the registry, once they are
    /// known.
    distance: Mutex<Option<(Distance, Distance)>>,
}

impl Guard {
    pub(crate) fn new(registry: &Uri, proxy: Option<&Uri>) -> Self {
        let host = |uri: &Uri| uri.host().unwrap_or_default().to_ascii_lowercase();
        Self(Arc::new(State {
            inner: DefaultResolver::default(),
            registry: host(registry),
            proxy: proxy.cloned(),
            distance: Mutex::new(None),
        }))
    }

    /// Checks a host that the registry names by its address. A proxy connects to it without asking
    /// [`Guard::resolve`].
    pub(crate) fn check_literal(&self, uri: &Uri) -> Result<(), Forbidden> {
        let host = uri.host().unwrap_or_default();
        match host.trim_start_matches('[').trim_end_matches(']').parse() {
            Ok(address) => self.check(host, &[address]),
            Err(_) => Ok(()),
        }
    }

    /// Checks whether `uri` is the proxy, and not another service on the same host.
    fn is_proxy(&self, uri: &Uri) -> bool {
        self.0.proxy.as_ref().is_some_and(|proxy| {
            let is_host = proxy
                .host()
                .unwrap_or_default()
                .eq_ignore_ascii_case(uri.host().unwrap_or_default());
            is_host && proxy.scheme() == uri.scheme() && proxy.port_u16() == uri.port_u16()
        })
    }

    fn check(&self, host: &str, addresses: &[IpAddr]) -> Result<(), Forbidden> {
        let (mut nearest, mut farthest) = (Distance::Public, Distance::Loopback);
        for &address in addresses {
            let found = distance(address)
                .ok_or_else(|| Forbidden::Unusable { host: host.to_owned(), address })?;
            (nearest, farthest) = (nearest.min(found), farthest.max(found));
        }
        let mut known = self.0.distance.lock().unwrap_or_else(PoisonError::into_inner);
        let least = if host.eq_ignore_ascii_case(&self.0.registry) {
            // If the addresses of the registry change, the new ones must not be nearer than the
            // first ones.
            known.get_or_insert((nearest, farthest)).0
        } else {
            // Compare with the farthest address: a single near address of the registry must not
            // allow other near hosts. If the distance is unknown, the registry is behind a proxy
            // and counts as public.
            known.map_or(Distance::Public, |(_, farthest)| farthest)
        };
        let nearer = addresses.iter().find(|address| distance(**address) < Some(least));
        nearer.map_or(Ok(()), |&address| Err(Forbidden::Nearer { host: host.to_owned(), address }))
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").field("registry", &self.0.registry).finish_non_exhaustive()
    }
}

impl Resolver for Guard {
    fn resolve(
        &self,
        uri: &Uri,
        config: &Config,
        timeout: NextTimeout,
    ) -> Result<ResolvedSocketAddrs, ureq::Error> {
        let resolved = self.0.inner.resolve(uri, config, timeout)?;
        // The user chose the proxy.
        if self.is_proxy(uri) {
            return Ok(resolved);
        }
        let host = uri.host().unwrap_or_default();
        let addresses: Vec<_> = resolved.iter().map(SocketAddr::ip).collect();
        self.check(host, &addresses).map_err(|error| ureq::Error::Other(Box::new(error)))?;
        Ok(resolved)
    }
}

/// Returns how far away an address is. Returns `None` if no registry can have the address.
fn distance(address: IpAddr) -> Option<Distance> {
    if METADATA.contains(&address) {
        return None;
    }
    match address {
        IpAddr::V4(address) => distance_v4(address),
        IpAddr::V6(address) => match embedded(address) {
            Some(embedded) => distance(IpAddr::V4(embedded)),
            None => distance_v6(address),
        },
    }
}

fn distance_v4(address: Ipv4Addr) -> Option<Distance> {
    let [first, second, ..] = address.octets();
    let is_reserved = first == 0 || first >= 240;
    if address.is_link_local() || address.is_multicast() || is_reserved {
        None
    } else if address.is_loopback() {
        Some(Distance::Loopback)
    // 100.64.0.0/10 is shared by the customers of a provider (RFC 6598).
    } else if address.is_private() || (first == 100 && second & 0xc0 == 64) {
        Some(Distance::Private)
    } else {
        Some(Distance::Public)
    }
}

fn distance_v6(address: Ipv6Addr) -> Option<Distance> {
    if address.is_unicast_link_local() || address.is_multicast() || address.is_unspecified() {
        None
    } else if address.is_loopback() {
        Some(Distance::Loopback)
    // fec0::/10 was for sites (RFC 3879).
    } else if address.is_unique_local() || matches!(address.segments(), [0xfec0..=0xfeff, ..]) {
        Some(Distance::Private)
    } else {
        Some(Distance::Public)
    }
}

/// Returns the IPv4 address that an IPv6 address stands for: mapped (`::ffff:0:0/96`), translated
/// (`64:ff9b::/96`, RFC 6052, and `64:ff9b:1::/48`, RFC 8215), compatible (`::/96`) or through 6to4
/// (`2002::/16`).
fn embedded(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let v4 = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Ipv4Addr::new(a, b, c, d)
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        | [0x2002, high, low, ..] => Some(v4(high, low)),
        [0, 0, 0, 0, 0, 0, high, low] if high != 0 => Some(v4(high, low)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard(registry: Option<Distance>) -> Guard {
        let guard = Guard::new(&"https://registry.example:5000".parse().unwrap(), None);
        *guard.0.distance.lock().unwrap() = registry.map(|distance| (distance, distance));
        guard
    }

    #[test]
    fn a_host_nearer_than_the_registry_is_forbidden() {
        let [loopback, private, public] = ["127.0.0.1", "10.1.2.3", "198.51.100.1"];
        for (registry, allowed) in [
            (Some(Distance::Loopback), &[loopback, private, public][..]),
            (Some(Distance::Private), &[private, public]),
            (Some(Distance::Public), &[public]),
            (None, &[public]),
        ] {
            let guard = guard(registry);
            for address in [loopback, private, public] {
                let checked = guard.check("cdn.example", &[address.parse().unwrap()]);
                assert_eq!(checked.is_ok(), allowed.contains(&address), "{registry:?} {address}");
            }
            // One of several addresses is enough.
            let both = [public, loopback].map(|address| address.parse().unwrap());
            assert_eq!(guard.check("cdn.example", &both).is_ok(), allowed.contains(&loopback));
        }
    }

    #[test]
    fn only_the_proxy_itself_is_exempt_and_not_its_host() {
        let uri = |text: &str| text.parse::<Uri>().unwrap();
        let proxy = uri("http://proxy.example:3128");
        let guard = Guard::new(&uri("https://registry.example"), Some(&proxy));
        assert!(guard.is_proxy(&uri("http://Proxy.example:3128/")));
        for other in ["http://proxy.example:80", "https://proxy.example", "http://a.example:3128"] {
            assert!(!guard.is_proxy(&uri(other)), "{other}");
        }
    }

    #[test]
    fn no_host_is_at_a_link_local_address() {
        for address in [
            "169.254.169.254",
            "0.0.0.0",
            "100.100.100.200",
            "255.255.255.255",
            "224.0.0.1",
            "::",
            "fe80::1",
            "fd00:ec2::254",
            "::ffff:169.254.169.254",
            "64:ff9b::a9fe:a9fe",
            "64:ff9b:1::a9fe:a9fe",
            "::a9fe:a9fe",
            "168.63.129.16",
            "2002:a9fe:a9fe::1",
        ] {
            let address: IpAddr = address.parse().unwrap();
            for host in ["cdn.example", "registry.example"] {
                let refused = guard(Some(Distance::Loopback)).check(host, &[address]).unwrap_err();
                assert!(matches!(refused, Forbidden::Unusable { .. }), "{address}: {refused}");
            }
        }
    }

    #[test]
    fn a_near_address_of_the_registry_beside_others_does_not_allow_near_hosts() {
        let guard = guard(None);
        let both = ["198.51.100.1", "127.0.0.1"].map(|address| address.parse().unwrap());
        guard.check("registry.example", &both).unwrap();
        guard.check("cdn.example", &["127.0.0.1".parse().unwrap()]).unwrap_err();
    }

    #[test]
    fn the_first_addresses_of_the_registry_decide() {
        let guard = guard(None);
        guard.check("Registry.example", &["198.51.100.1".parse().unwrap()]).unwrap();
        guard.check("registry.example", &["10.0.0.1".parse().unwrap()]).unwrap_err();
        guard.check("cdn.example", &["10.0.0.1".parse().unwrap()]).unwrap_err();
        let uri = "https://[::1]:8080/x".parse().unwrap();
        assert!(matches!(guard.check_literal(&uri), Err(Forbidden::Nearer { .. })));
        guard.check_literal(&"https://cdn.example/".parse().unwrap()).unwrap();
    }
}
