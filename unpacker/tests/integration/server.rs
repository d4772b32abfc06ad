//! A test API server: it stores ConfigMaps, speaks HTTP or TLS, and has faults on request.

use std::collections::{BTreeMap, VecDeque};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rustls::{ServerConfig, ServerConnection, StreamOwned};
use serde_json::{Value, json};

/// A fault in one request.
#[derive(Debug, Clone)]
pub(crate) enum Fault {
    /// No fault.
    None,
    /// These bytes, after which the connection is closed.
    Raw(Vec<u8>),
    /// The first bytes once, and the second ones without end.
    Endless(&'static str, String),
    /// This status, with a header if there is one.
    Status(u16, Option<&'static str>),
    /// The connection is closed without a response.
    Close,
    /// No response comes.
    Silence,
    /// A byte of the response at a time, for ever.
    Trickle,
    /// A response without end.
    Flood,
    /// Headers without end.
    HeaderFlood,
    /// A response that is not HTTP.
    Noise,
    /// The write is done, but its response is lost.
    LoseResponse,
    /// Another client writes first.
    Race,
}

/// The state of the server.
#[derive(Debug, Default)]
pub(crate) struct State {
    /// ConfigMaps by path.
    pub(crate) objects: BTreeMap<String, Value>,
    /// Faults for the next requests, in order.
    pub(crate) faults: VecDeque<Fault>,
    /// After the faults: this one for every request.
    pub(crate) always: Option<Fault>,
    /// The required token, if any.
    pub(crate) token: Option<String>,
    /// `METHOD path` of every request.
    pub(crate) requests: Vec<String>,
    /// The number of writes.
    pub(crate) writes: usize,
}

/// A running server. Its threads end with the test process.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    state: Arc<Mutex<State>>,
}

impl Server {
    /// Starts a server without TLS.
    pub(crate) fn start() -> Self {
        Self::listen("127.0.0.1:0", None)
    }

    /// Starts a server with TLS.
    pub(crate) fn start_tls(address: &str, config: ServerConfig) -> Self {
        Self::listen(address, Some(Arc::new(config)))
    }

    fn listen(address: &str, tls: Option<Arc<ServerConfig>>) -> Self {
        let listener = TcpListener::bind(address).unwrap();
        let server = Self { address: listener.local_addr().unwrap(), state: Arc::default() };
        let accepting = server.clone();
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let server = accepting.clone();
                let tls = tls.clone();
                thread::spawn(move || match tls {
                    None => server.response(stream),
                    Some(config) => {
                        let connection = ServerConnection::new(config).unwrap();
                        server.response(StreamOwned::new(connection, stream));
                    }
                });
            }
        });
        server
    }

    pub(crate) fn with<T>(&self, look: impl FnOnce(&mut State) -> T) -> T {
        look(&mut self.state.lock().unwrap())
    }

    /// Creates an empty ConfigMap as OLM does.
    pub(crate) fn create(&self, namespace: &str, name: &str) {
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": name, "namespace": namespace, "uid": "u", "resourceVersion": "1",
                "labels": {"olm.managed": "true", "team": "blue"},
                "annotations": {"example.com/owner": "us"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "CatalogSource", "name": "c", "uid": "o"}],
            },
        });
        self.with(|state| state.objects.insert(path(namespace, name), object));
    }

    pub(crate) fn object(&self, namespace: &str, name: &str) -> Value {
        self.with(|state| state.objects[&path(namespace, name)].clone())
    }

    pub(crate) fn requests(&self) -> usize {
        self.with(|state| state.requests.len())
    }

    fn response(&self, stream: impl Read + Write) {
        let mut reader = BufReader::new(stream);
        let Some(request) = Request::read(&mut reader) else { return };
        let fault = self.with(|state| {
            state.requests.push(format!("{} {}", request.method, request.path));
            state.faults.pop_front().or_else(|| state.always.clone())
        });
        let stream = reader.get_mut();
        let _ = match fault {
            None | Some(Fault::None) => send(stream, &self.with(|state| state.handle(&request))),
            Some(Fault::Raw(bytes)) => stream.write_all(&bytes),
            Some(Fault::Endless(head, rest)) => {
                let _ = stream.write_all(head.as_bytes());
                repeat(stream, rest.as_bytes(), Duration::ZERO)
            }
            Some(Fault::Status(status, header)) => {
                let body = json!({"kind": "Status", "message": "a\nfault", "code": status});
                let header = header.map(|header| format!("{header}\r\n")).unwrap_or_default();
                write!(
                    stream,
                    "HTTP/1.1 {status} X\r\n{header}Content-Length: {}\r\n\r\n{body}",
                    body.to_string().len()
                )
            }
            Some(Fault::Close) => Ok(()),
            Some(Fault::Silence) => {
                thread::park();
                Ok(())
            }
            Some(Fault::Trickle) => {
                let _ = write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n");
                repeat(stream, b" ", Duration::from_millis(20))
            }
            Some(Fault::Flood) => {
                let _ = write!(stream, "HTTP/1.1 200 OK\r\n\r\n");
                repeat(stream, &[b' '; 1 << 13], Duration::ZERO)
            }
            Some(Fault::HeaderFlood) => {
                let _ = write!(stream, "HTTP/1.1 200 OK\r\n");
                repeat(stream, b"X-Filler: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\r\n", Duration::ZERO)
            }
            Some(Fault::Noise) => stream.write_all(b"SSH-2.0-OpenSSH_9.2\r\n"),
            Some(Fault::LoseResponse) => {
                self.with(|state| state.handle(&request));
                Ok(())
            }
            Some(Fault::Race) => send(
                stream,
                &self.with(|state| {
                    let object = state.objects.get_mut(&request.path).unwrap();
                    object["metadata"]["resourceVersion"] = json!("77");
                    object["metadata"]["labels"]["late"] = json!("yes");
                    state.handle(&request)
                }),
            ),
        };
        let _ = stream.flush();
    }
}

fn path(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/configmaps/{name}")
}

struct Request {
    method: String,
    path: String,
    token: Option<String>,
    body: Vec<u8>,
}

impl Request {
    fn read(reader: &mut impl BufRead) -> Option<Self> {
        let mut line = String::new();
        reader.read_line(&mut line).ok()?;
        let mut words = line.split_whitespace().map(str::to_owned);
        let (method, path) = (words.next()?, words.next()?);
        let (mut token, mut length) = (None, 0);
        loop {
            let mut line = String::new();
            reader.read_line(&mut line).ok()?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "authorization" => token = value.strip_prefix("Bearer ").map(str::to_owned),
                "content-length" => length = value.parse().ok()?,
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        Some(Self { method, path, token, body })
    }
}

impl State {
    /// Responds as the API server does: with 401, 404, 409 and a new version for every write.
    fn handle(&mut self, request: &Request) -> (u16, Value) {
        if self.token.is_some() && self.token != request.token {
            return (401, status(401, "Unauthorized"));
        }
        let Some(object) = self.objects.get_mut(&request.path) else {
            return (404, status(404, "configmaps \"x\" not found"));
        };
        if request.method == "GET" {
            return (200, object.clone());
        }
        let mut new: Value = serde_json::from_slice(&request.body).unwrap();
        let version = &object["metadata"]["resourceVersion"];
        if new["metadata"]["resourceVersion"] != *version {
            return (409, status(409, "the object has been modified"));
        }
        let next = version.as_str().unwrap().parse::<u64>().unwrap() + 1;
        new["metadata"]["resourceVersion"] = json!(next.to_string());
        *object = new.clone();
        self.writes += 1;
        (200, new)
    }
}

fn status(code: u16, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "message": message, "code": code})
}

fn send(stream: &mut impl Write, (status, body): &(u16, Value)) -> std::io::Result<()> {
    // In pieces, as a real server responds to large requests.
    let body = body.to_string();
    write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"
    )?;
    for chunk in body.as_bytes().chunks(50_000) {
        write!(stream, "{:x}\r\n", chunk.len())?;
        stream.write_all(chunk)?;
        stream.write_all(b"\r\n")?;
    }
    stream.write_all(b"0\r\n\r\n")
}

/// Writes until the other side closes the connection.
fn repeat(stream: &mut impl Write, bytes: &[u8], pause: Duration) -> std::io::Result<()> {
    loop {
        stream.write_all(bytes)?;
        stream.flush()?;
        thread::sleep(pause);
    }
}

/// Returns an address on which no process listens.
pub(crate) fn closed_port() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    assert!(TcpStream::connect(address).is_err());
    address
}
