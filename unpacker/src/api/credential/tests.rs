use std::fs;

use super::*;

/// Creates a service account as the kubelet mounts it.
fn account() -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let params = rcgen::CertificateParams::default();
    let key = rcgen::KeyPair::generate().unwrap();
    let authority = params.self_signed(&key).unwrap().pem();
    fs::write(directory.path().join("ca.crt"), authority).unwrap();
    fs::write(directory.path().join("token"), "one\n").unwrap();
    fs::write(directory.path().join("namespace"), "olm").unwrap();
    directory
}

fn variables<'a>(host: &'a str, port: &'a str) -> impl Fn(&str) -> Option<OsString> + 'a {
    move |name| match name {
        "KUBERNETES_SERVICE_HOST" => Some(host.into()),
        "KUBERNETES_SERVICE_PORT" => Some(port.into()),
        other => panic!("{other} was asked for"),
    }
}

#[test]
fn pod_connects_to_the_address_of_the_service_only() {
    let account = account();
    for (host, port, expected) in
        [("10.96.0.1", "443", "10.96.0.1:443"), ("fd00::1", "6443", "[fd00::1]:6443")]
    {
        let access = Access::from_pod(variables(host, port), account.path()).unwrap();
        assert_eq!(access.address.to_string(), expected);
        assert_eq!(access.host, expected);
        let name = access.tls.unwrap().name;
        assert_eq!(name, ServerName::from(host.parse::<IpAddr>().unwrap()));
    }
    for (host, port) in [("kubernetes", "443"), ("", "443"), ("10.0.0.1", "https"), ("::1", "")] {
        let error = Access::from_pod(variables(host, port), account.path()).unwrap_err();
        assert!(matches!(error, Error::Variable { .. }), "{error}");
    }
    let error = Access::from_pod(|_| None, account.path()).unwrap_err();
    assert!(matches!(error, Error::NotInPod { variable: "KUBERNETES_SERVICE_HOST" }), "{error}");
    assert_eq!(namespace_of_pod(account.path()).unwrap(), "olm");
    for namespace in ["", "a/../b", "a b", "A"] {
        fs::write(account.path().join("namespace"), namespace).unwrap();
        let error = namespace_of_pod(account.path()).unwrap_err();
        assert!(matches!(error, Error::Namespace { .. }), "{error}");
    }
}

#[test]
fn a_pod_without_its_service_account_gets_a_hint() {
    let missing = Path::new(ACCOUNT).join("no-such-directory");
    let error = Access::from_pod(variables("10.96.0.1", "443"), &missing).unwrap_err();
    assert!(error.hint().unwrap().contains("automountServiceAccountToken"), "{error}");
    assert!(read(Path::new("/no-such-file")).unwrap_err().hint().is_none());
}

#[test]
fn token_is_read_each_time_and_never_shown() {
    let account = account();
    let token = Token::File(account.path().join("token"));
    assert_eq!(token.read().unwrap().as_deref(), Some("one"));
    fs::write(account.path().join("token"), "two").unwrap();
    assert_eq!(token.read().unwrap().as_deref(), Some("two"));
    assert!(!format!("{:?}", Token::Fixed("secret".to_owned())).contains("secret"));
    fs::remove_file(account.path().join("token")).unwrap();
    assert!(matches!(token.read(), Err(Error::File { .. })));
}

#[test]
fn authority_without_a_certificate_is_an_error() {
    let account = account();
    for text in ["", "not PEM", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"] {
        fs::write(account.path().join("ca.crt"), text).unwrap();
        let error = Access::from_pod(variables("10.0.0.1", "443"), account.path()).unwrap_err();
        assert!(matches!(error, Error::NoCertificate { .. }), "{error}");
    }
}
