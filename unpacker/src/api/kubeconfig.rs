//! Reads a kubeconfig, for use outside a pod.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper::Uri;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use unlade_yaml::{self as yaml, Scalars, json::Value};

use super::credential::{self, Access, MAX_SIZE, Tls, Token, certificates, read, tls_config};

/// A context of a kubeconfig.
#[derive(Debug)]
pub(crate) struct Kubeconfig {
    pub(crate) access: Access,
    /// The namespace of the context.
    pub(crate) namespace: Option<String>,
    /// Whether the user has credentials that are not used, because the connection has no TLS.
    /// kubectl does not send them either (`ClientConfig` of client-go's clientcmd).
    pub(crate) withholds_credentials: bool,
}

/// Why a kubeconfig is not usable.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub(crate) enum Error {
    #[error("{} is not YAML", path.display())]
    Yaml { path: PathBuf, source: yaml::Error },
    #[error("the kubeconfig has no current-context, and --context was not given")]
    NoContext,
    #[error("the kubeconfig has no {kind} {name:?}")]
    NoEntry { kind: &'static str, name: String },
    #[error("the cluster {cluster:?} has no {field}")]
    NoField { cluster: String, field: &'static str },
    #[error("the server {server:?} is not a URL")]
    Url { server: String },
    #[error("the server {server:?} has a host name, and the unpacker does not resolve names")]
    Name { server: String },
    #[error("{field} is not supported")]
    Unsupported { field: &'static str, hint: &'static str },
    #[error("{field} is not base64")]
    Base64 { field: &'static str },
    #[error("the tls-server-name {name:?} is not a host name")]
    ServerName { name: String },
    #[error(transparent)]
    Credential(#[from] credential::Error),
}

impl Error {
    /// Returns what the user can do about the error, if that is known.
    pub(crate) fn hint(&self) -> Option<&'static str> {
        match self {
            Self::Name { .. } => {
                Some("use the IP address, and put the name of the certificate into tls-server-name")
            }
            Self::Unsupported { hint, .. } => Some(hint),
            Self::Credential(error) => error.hint(),
            _ => None,
        }
    }
}

/// The fields that need another program or are not safe, with hints.
const UNSUPPORTED: [(&str, &str); 5] = [
    ("exec", "put a token into the kubeconfig: kubectl create token NAME"),
    ("auth-provider", "put a token into the kubeconfig: kubectl create token NAME"),
    (
        "username",
        "use a token or a client certificate: Kubernetes no longer supports basic authentication",
    ),
    ("insecure-skip-tls-verify", "set certificate-authority-data"),
    ("proxy-url", "use an address that can be reached without a proxy"),
];

impl Kubeconfig {
    /// Reads `context`, or the current context, from the kubeconfig at `path`.
    pub(crate) fn read(path: &Path, context: Option<&str>) -> Result<Self, Error> {
        let text = read(path)?;
        let limits = yaml::Limits::default().with_input(MAX_SIZE);
        let document = yaml::read(&text, Scalars::Resolved, &limits)
            .map_err(|source| Error::Yaml { path: path.to_owned(), source })?;
        let root = document.tree.root();
        let context = context
            .or_else(|| string(root, "current-context"))
            .filter(|context| !context.is_empty())
            .ok_or(Error::NoContext)?;
        let context = entry(root, "contexts", "context", context)?;
        let cluster_name = string(context, "cluster").unwrap_or_default();
        let cluster = entry(root, "clusters", "cluster", cluster_name)?;
        let user = match string(context, "user").filter(|user| !user.is_empty()) {
            Some(name) => Some(entry(root, "users", "user", name)?),
            None => None,
        };
        for (field, hint) in UNSUPPORTED {
            if [Some(cluster), user].into_iter().flatten().any(|entry| is_set(entry, field)) {
                return Err(Error::Unsupported { field, hint });
            }
        }
        // Paths in a kubeconfig are relative to it.
        let directory = path.parent().unwrap_or(Path::new(""));
        let access = access(cluster, cluster_name, user, directory)?;
        let has_credentials = |user| CREDENTIALS.iter().any(|field| is_set(user, field));
        let withholds_credentials = access.tls.is_none() && user.is_some_and(has_credentials);
        let namespace = string(context, "namespace").filter(|namespace| !namespace.is_empty());
        let namespace = namespace.map(|name| credential::namespace(name.to_owned())).transpose()?;
        Ok(Self { access, namespace, withholds_credentials })
    }
}

fn access(
    cluster: Value<'_>,
    cluster_name: &str,
    user: Option<Value<'_>>,
    directory: &Path,
) -> Result<Access, Error> {
    let missing = |field| Error::NoField { cluster: cluster_name.to_owned(), field };
    let server = string(cluster, "server").ok_or_else(|| missing("server"))?;
    let url = || Error::Url { server: server.to_owned() };
    let uri: Uri = server.parse().map_err(|_| url())?;
    let (Some(scheme), Some(authority)) = (uri.scheme_str(), uri.authority()) else {
        return Err(url());
    };
    let port = match scheme {
        "https" => authority.port_u16().unwrap_or(443),
        "http" => authority.port_u16().unwrap_or(80),
        _ => return Err(url()),
    };
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let (ip, name) = if host == "localhost" {
        let name = ServerName::try_from("localhost").map_err(|_| url())?;
        (IpAddr::V4(Ipv4Addr::LOCALHOST), name)
    } else {
        let ip = host.parse().map_err(|_| Error::Name { server: server.to_owned() })?;
        (ip, ServerName::from(ip))
    };
    let tls = if scheme == "https" {
        let name = match string(cluster, "tls-server-name").filter(|name| !name.is_empty()) {
            None => name,
            Some(name) => ServerName::try_from(name.to_owned())
                .map_err(|_| Error::ServerName { name: name.to_owned() })?,
        };
        let authority = bytes(cluster, "certificate-authority", AUTHORITY_DATA, directory)?
            .ok_or_else(|| missing("certificate-authority"))?;
        let client = user.map(|user| client(user, directory)).transpose()?.flatten();
        let config = tls_config(&authority, "certificate-authority", client)?;
        Some(Tls { config: Arc::new(config), name })
    } else {
        None
    };
    Ok(Access {
        address: SocketAddr::new(ip, port),
        host: authority.to_string(),
        base: uri.path().trim_end_matches('/').to_owned(),
        token: user.filter(|_| tls.is_some()).map_or(Token::None, |user| token(user, directory)),
        tls,
    })
}

/// The fields of a user that contain or name a secret.
const CREDENTIALS: [&str; 4] = ["token", "tokenFile", "client-certificate", CERTIFICATE_DATA];

const AUTHORITY_DATA: &str = "certificate-authority-data";
const CERTIFICATE_DATA: &str = "client-certificate-data";
const KEY_DATA: &str = "client-key-data";

/// A client certificate with its chain, and its key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

fn client(user: Value<'_>, directory: &Path) -> Result<Option<Identity>, Error> {
    let Some(chain) = bytes(user, "client-certificate", CERTIFICATE_DATA, directory)? else {
        return Ok(None);
    };
    let no_key = || credential::Error::NoKey { what: "client-key".to_owned() };
    let key = bytes(user, "client-key", KEY_DATA, directory)?.ok_or_else(no_key)?;
    let key = PrivateKeyDer::from_pem_slice(&key).map_err(|_| no_key())?;
    let chain = certificates(&chain);
    if chain.is_empty() {
        let what = "client-certificate".to_owned();
        return Err(credential::Error::NoCertificate { what }.into());
    }
    Ok(Some((chain, key)))
}

/// Returns the token of `user`. As in Kubernetes, the file is preferred, because it may be rotated.
fn token(user: Value<'_>, directory: &Path) -> Token {
    match (string(user, "tokenFile"), string(user, "token")) {
        (Some(file), _) if !file.is_empty() => Token::File(directory.join(file)),
        (_, Some(token)) if !token.is_empty() => Token::Fixed(token.to_owned()),
        _ => Token::None,
    }
}

/// Returns the bytes that the field `data` contains as base64, or those of the file that the field
/// `file` names.
fn bytes(
    entry: Value<'_>,
    file: &str,
    data: &'static str,
    directory: &Path,
) -> Result<Option<Vec<u8>>, Error> {
    if let Some(text) = string(entry, data).filter(|text| !text.is_empty()) {
        let text: String = text.split_ascii_whitespace().collect();
        return STANDARD.decode(text).map(Some).map_err(|_| Error::Base64 { field: data });
    }
    match string(entry, file).filter(|path| !path.is_empty()) {
        Some(path) => Ok(Some(read(&directory.join(path))?)),
        None => Ok(None),
    }
}

/// Returns the field `kind` of the entry `name` in `list`.
fn entry<'a>(
    root: Value<'a>,
    list: &str,
    kind: &'static str,
    name: &str,
) -> Result<Value<'a>, Error> {
    root.get(list)
        .into_iter()
        .flat_map(|list| list.items())
        .find(|item| string(*item, "name") == Some(name))
        .and_then(|item| item.get(kind))
        .ok_or_else(|| Error::NoEntry { kind, name: name.to_owned() })
}

fn string<'a>(entry: Value<'a>, field: &str) -> Option<&'a str> {
    entry.get(field)?.as_str()
}

fn is_set(entry: Value<'_>, field: &str) -> bool {
    use unlade_yaml::json::Kind;
    entry.get(field).is_some_and(|value| {
        !matches!(value.kind(), Kind::Null | Kind::Bool(false) | Kind::String(""))
    })
}
