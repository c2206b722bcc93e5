//! Whether an address is one of this machine.

use std::net::IpAddr;

use url::{Host, Url};

/// Whether the host of a URL is this machine. Such hosts need no proxy.
pub fn is_loopback(url: &Url) -> bool {
    let is_local = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        Some(Host::Ipv4(ip)) => is_local(ip.into()),
        Some(Host::Ipv6(ip)) => is_local(ip.into()),
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loopback_hosts_are_known() {
        for (url, expected) in [
            ("http://localhost:1", true),
            ("http://a.localhost", true),
            ("http://127.9.9.9", true),
            ("http://[::1]:80", true),
            ("http://0.0.0.0:80", true),
            ("http://localhost.example.com", false),
            ("http://192.168.1.1", false),
            ("data:text", false),
        ] {
            let parsed = Url::parse(url).expect(url);
            assert_eq!(is_loopback(&parsed), expected, "{url}");
        }
    }
}
