//! A registry in this process, which responds as a test asks.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;

use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// The size of a body, in bytes, above which the server decides about a request before it reads the
/// body.
const LARGE: usize = 1 << 20;

/// A request.
#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: String,
    /// The path with the query.
    pub(crate) path: String,
    headers: Vec<(String, String)>,
    pub(crate) body: Vec<u8>,
}

impl Ask {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }
}

/// A response.
#[derive(Debug, Clone, Default)]
pub(crate) struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    end: End,
}

/// What happens after the body.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
enum End {
    #[default]
    None,
    /// The connection closes after this number of bytes of the body.
    Cut(usize),
    /// The body is one chunk, and the connection closes without the last, empty chunk.
    Unfinished,
    /// The body is repeated until the client closes the connection.
    Endless,
    /// Nothing is sent until the client closes the connection.
    Silence,
    /// The connection closes before the response.
    Nothing,
}

impl Response {
    pub(crate) fn new(status: u16) -> Self {
        Self { status, ..Self::default() }
    }

    pub(crate) fn body(body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..Self::new(200) }
    }

    /// Returns a challenge that names the token server at `address`.
    pub(crate) fn bearer(address: &str) -> Self {
        let challenge = format!(r#"Bearer realm="http://{address}/token",service="here""#);
        Self::new(401).with("WWW-Authenticate", challenge)
    }

    /// Returns a redirect to the same path at `address`.
    pub(crate) fn redirect(address: &str, ask: &Ask) -> Self {
        Self::new(307).with("Location", format!("http://{address}{}", ask.path))
    }

    pub(crate) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    pub(crate) fn with_status(self, status: u16) -> Self {
        Self { status, ..self }
    }

    pub(crate) fn cut(self, after: usize) -> Self {
        Self { end: End::Cut(after), ..self }
    }

    pub(crate) fn unfinished(self) -> Self {
        Self { end: End::Unfinished, ..self }
    }

    pub(crate) fn endless(self) -> Self {
        Self { end: End::Endless, ..self }
    }

    /// Returns no response: the connection closes.
    pub(crate) fn none() -> Self {
        Self { end: End::Nothing, ..Self::new(200) }
    }

    pub(crate) fn silent() -> Self {
        Self { end: End::Silence, ..Self::new(200) }
    }
}

/// A server, and the requests that it got.
pub(crate) struct Server {
    pub(crate) address: String,
    asks: Arc<Mutex<Vec<Ask>>>,
    connections: Arc<AtomicUsize>,
}

impl Server {
    /// Starts a server without TLS. `response` gets its address and each request. It gets a request
    /// with a body of more than [`LARGE`] bytes twice, at first without the body, and returns the
    /// status 100 if it wants the body.
    pub(crate) fn start(response: impl Fn(&str, &Ask) -> Response + Send + Sync + 'static) -> Self {
        Self::serve(|stream| stream, response)
    }

    pub(crate) fn start_tls(
        tls: Arc<ServerConfig>,
        response: impl Fn(&str, &Ask) -> Response + Send + Sync + 'static,
    ) -> Self {
        let open = move |stream| {
            StreamOwned::new(ServerConnection::new(Arc::clone(&tls)).unwrap(), stream)
        };
        Self::serve(open, response)
    }

    /// Starts a server without TLS that does not respond to the handshake of TLS.
    pub(crate) fn start_silent_to_tls(
        response: impl Fn(&str, &Ask) -> Response + Send + Sync + 'static,
    ) -> Self {
        let open = |stream: TcpStream| {
            let mut first = [0];
            stream.peek(&mut first).unwrap();
            // The type of a record of a handshake (RFC 8446, section 5.1).
            if first == [22] {
                // Until the client closes the connection.
                io::copy(&mut &stream, &mut io::sink()).unwrap_or_default();
            }
            stream
        };
        Self::serve(open, response)
    }

    fn serve<S: Read + Write>(
        open: impl Fn(TcpStream) -> S + Send + Sync + 'static,
        response: impl Fn(&str, &Ask) -> Response + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let asks: Arc<Mutex<Vec<Ask>>> = Arc::default();
        let both = Arc::new((open, response));
        let connections: Arc<AtomicUsize> = Arc::default();
        let (host, kept) = (address.clone(), Arc::clone(&asks));
        let count = Arc::clone(&connections);
        thread::spawn(move || {
            for stream in listener.incoming() {
                count.fetch_add(1, Ordering::SeqCst);
                let (host, kept, both) = (host.clone(), Arc::clone(&kept), Arc::clone(&both));
                thread::spawn(move || {
                    let mut stream = both.0(stream.unwrap());
                    let respond = |ask: &Ask| {
                        kept.lock().unwrap().push(ask.clone());
                        both.1(&host, ask)
                    };
                    while let Some(ask) = receive(&mut stream, respond) {
                        let response = respond(&ask);
                        if send(&mut stream, &response, ask.method == "HEAD").is_none() {
                            break;
                        }
                    }
                });
            }
        });
        Self { address, asks, connections }
    }

    /// Returns the requests so far.
    pub(crate) fn asks(&self) -> Vec<Ask> {
        self.asks.lock().unwrap().clone()
    }

    /// Returns the number of connections so far.
    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }

    /// Returns the requests whose path contains `part`.
    pub(crate) fn asks_for(&self, part: &str) -> Vec<Ask> {
        self.asks().into_iter().filter(|ask| ask.path.contains(part)).collect()
    }
}

/// Returns the next request; `None` at the end of the connection. `respond` gets a request with a
/// large body also before the body is read. If the status is then not 100, the connection closes
/// after that response.
fn receive(stream: &mut impl ReadWrite, respond: impl Fn(&Ask) -> Response) -> Option<Ask> {
    let mut reader = BufReader::new(stream);
    let mut lines = Vec::new();
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        if line == "\r\n" {
            break;
        }
        lines.push(line.trim_end().to_owned());
    }
    let mut words = lines[0].split(' ').map(str::to_owned);
    let (method, path) = (words.next().unwrap(), words.next().unwrap());
    let headers = lines.iter().filter_map(|line| line.split_once(": "));
    let headers = headers.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
    let mut ask = Ask { method, path, headers, body: Vec::new() };
    assert!(ask.header("transfer-encoding").is_none(), "registries refuse chunks");
    let size = ask.header("content-length").map_or(0, |size| size.parse().unwrap());
    if size > LARGE {
        let early = respond(&ask);
        if early.status != 100 {
            send(*reader.get_mut(), &early, false);
            return None;
        }
        if ask.header("expect").is_some() && early.end != End::Silence {
            send(*reader.get_mut(), &early, true)?;
        }
    }
    ask.body = vec![0; size];
    reader.read_exact(&mut ask.body).ok()?;
    Some(ask)
}

/// Sends a response; `None` if the connection has to be closed.
fn send(stream: &mut impl ReadWrite, response: &Response, is_head: bool) -> Option<()> {
    let Response { status, headers, body, end } = response;
    if *end == End::Silence {
        _ = stream.read(&mut [0]);
        return None;
    }
    if *end == End::Nothing {
        return None;
    }
    let mut lines = vec![format!("HTTP/1.1 {status} Status")];
    lines.extend(headers.iter().map(|(name, value)| format!("{name}: {value}")));
    // It is followed by another response, so it has no body.
    if *status != 100 {
        lines.push(match end {
            End::Endless => "Connection: close".to_owned(),
            End::Unfinished => "Transfer-Encoding: chunked".to_owned(),
            _ => format!("Content-Length: {}", body.len()),
        });
    }
    let head = lines.join("\r\n") + "\r\n";
    stream.write_all((head + "\r\n").as_bytes()).ok()?;
    match end {
        End::Cut(after) => {
            stream.write_all(&body[..*after]).ok()?;
            stream.flush().ok()?;
            return None;
        }
        End::Unfinished => {
            stream.write_all(format!("{:x}\r\n", body.len()).as_bytes()).ok()?;
            stream.write_all(body).ok()?;
            stream.write_all(b"\r\n").ok()?;
            stream.flush().ok()?;
            return None;
        }
        End::Endless => loop {
            stream.write_all(body).ok()?;
        },
        _ if !is_head => stream.write_all(body).ok()?,
        _ => {}
    }
    stream.flush().ok()
}

trait ReadWrite: Read + Write {}

impl<T: Read + Write> ReadWrite for T {}
