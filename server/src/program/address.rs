//! Addresses in arguments.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

/// Parses the address of a server: an IP address, `localhost` or nothing, and a port.
pub(crate) fn parse(text: &str) -> Result<SocketAddr, String> {
    parse_or(text, Ipv4Addr::LOCALHOST.into())
}

/// Parses an address to listen on. Without an IP address, it is that of all addresses.
pub(crate) fn parse_local(text: &str) -> Result<SocketAddr, String> {
    parse_or(text, Ipv6Addr::UNSPECIFIED.into())
}

fn parse_or(text: &str, missing: IpAddr) -> Result<SocketAddr, String> {
    let (host, port) = text.rsplit_once(':').ok_or("it has no port")?;
    let port = port.parse().map_err(|_| format!("invalid port {port:?}"))?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let address = match host {
        "" => missing,
        "localhost" => Ipv4Addr::LOCALHOST.into(),
        host => {
            host.parse().map_err(|_| format!("{host:?} is neither an IP address nor localhost"))?
        }
    };
    Ok(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_have_an_ip_address_or_none() {
        assert_eq!(parse("[::1]:1").unwrap().to_string(), "[::1]:1");
        assert_eq!(parse(":50051").unwrap().to_string(), "127.0.0.1:50051");
        assert_eq!(parse_local(":8080").unwrap().to_string(), "[::]:8080");
        assert_eq!(parse_local("localhost:0").unwrap().to_string(), "127.0.0.1:0");
        for text in ["", "localhost", "example.com:1", ":65536", ":"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
