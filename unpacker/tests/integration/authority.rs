//! A certificate authority and the certificates that it signs.

use std::sync::Arc;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair,
};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS12;
use rustls::{DEFAULT_VERSIONS, RootCertStore, ServerConfig, SupportedProtocolVersion};

/// A certificate authority.
pub(crate) struct Authority {
    issuer: CertifiedIssuer<'static, KeyPair>,
}

/// A certificate and its key, both in PEM.
pub(crate) struct Signed {
    pub(crate) certificate: String,
    pub(crate) key: String,
}

impl Authority {
    pub(crate) fn new() -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, "authority");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        Self { issuer }
    }

    /// Returns the certificate in PEM, as `ca.crt` holds it.
    pub(crate) fn pem(&self) -> String {
        self.issuer.pem()
    }

    /// Signs a certificate for these names and addresses.
    pub(crate) fn sign(&self, names: &[&str]) -> Signed {
        self.sign_for(names, Vec::new())
    }

    fn sign_for(&self, names: &[&str], purposes: Vec<ExtendedKeyUsagePurpose>) -> Signed {
        let names: Vec<_> = names.iter().map(|&name| name.to_owned()).collect();
        let key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(names).unwrap();
        params.extended_key_usages = purposes;
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Signed { certificate: certificate.pem(), key: key.serialize_pem() }
    }

    /// Configures a server whose certificate is for these names and addresses.
    pub(crate) fn server(&self, names: &[&str]) -> ServerConfig {
        let signed = self.sign(names);
        builder(None, DEFAULT_VERSIONS).with_single_cert(chain(&signed), key(&signed)).unwrap()
    }

    /// Configures such a server that uses TLS 1.2.
    pub(crate) fn old_server(&self, names: &[&str]) -> ServerConfig {
        let signed = self.sign(names);
        builder(None, &[&TLS12]).with_single_cert(chain(&signed), key(&signed)).unwrap()
    }

    /// Configures such a server whose certificate is only for clients.
    pub(crate) fn server_with_certificate_of_client(&self, names: &[&str]) -> ServerConfig {
        let signed = self.sign_for(names, vec![ExtendedKeyUsagePurpose::ClientAuth]);
        builder(None, DEFAULT_VERSIONS).with_single_cert(chain(&signed), key(&signed)).unwrap()
    }

    /// Configures such a server that requires a client certificate of this authority.
    pub(crate) fn demanding_server(&self, names: &[&str]) -> ServerConfig {
        let signed = self.sign(names);
        builder(Some(self), DEFAULT_VERSIONS)
            .with_single_cert(chain(&signed), key(&signed))
            .unwrap()
    }
}

fn builder(
    clients: Option<&Authority>,
    versions: &[&'static SupportedProtocolVersion],
) -> rustls::ConfigBuilder<ServerConfig, rustls::server::WantsServerCert> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let builder = ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(versions)
        .unwrap();
    let Some(authority) = clients else { return builder.with_no_client_auth() };
    let mut roots = RootCertStore::empty();
    roots.add(authority.issuer.der().clone()).unwrap();
    let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
    builder.with_client_cert_verifier(verifier.build().unwrap())
}

fn chain(signed: &Signed) -> Vec<CertificateDer<'static>> {
    vec![CertificateDer::from_pem_slice(signed.certificate.as_bytes()).unwrap()]
}

fn key(signed: &Signed) -> PrivateKeyDer<'static> {
    PrivateKeyDer::from_pem_slice(signed.key.as_bytes()).unwrap()
}
