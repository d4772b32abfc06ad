//! The proxy in front of the registry, which causes its faults.
//!
//! Each connection has one request: the proxy tells both sides to close the connection after it,
//! so that it can forward all bytes after the head of the request, whatever their framing.

use std::collections::HashMap;
use std::convert::Infallible;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;

use super::fault::{Answer, CREDENTIALS, Faults, Numbered};
use crate::{Error, file};

/// The longest head of a request that is read, in bytes.
const MOST_HEAD: u64 = 64 << 10;

/// The number of pieces per second in which a slow response is sent.
const PIECES: u32 = 10;

/// Serves forever, and writes a line for each request to standard output.
pub(crate) fn serve(listen: &str, registry: &str, faults: &Path) -> Result<Infallible, Error> {
    let listener = TcpListener::bind(listen)
        .map_err(|source| Error::Kernel { action: format!("listen on {listen}"), source })?;
    let proxy = Arc::new(Proxy {
        registry: registry.to_owned(),
        faults: faults.to_path_buf(),
        seen: Mutex::new(HashMap::new()),
    });
    loop {
        let Ok((client, _)) = listener.accept() else {
            // The process has no file descriptors left. Some become free when requests end.
            thread::sleep(Duration::from_millis(100));
            continue;
        };
        let proxy = Arc::clone(&proxy);
        thread::spawn(move || {
            if let Err(error) = proxy.handle(&client) {
                println!("a connection ended early: {error}");
            }
        });
    }
}

struct Proxy {
    registry: String,
    faults: PathBuf,
    /// The number of the fault that a repository was last seen with, and how many requests had it.
    seen: Mutex<HashMap<String, (u64, u32)>>,
}

impl Proxy {
    fn handle(&self, client: &TcpStream) -> io::Result<()> {
        let mut reader = BufReader::new(client);
        let Some(head) = Head::read(&mut reader)? else { return Ok(()) };
        let repository = repository(&head.target).unwrap_or_default();
        let fault = self.fault(repository);
        let answer = fault.map(|fault| fault.fault.answer);
        println!("{} {} {answer:?}", head.method, head.target);
        match answer {
            Some(Answer::Private) if !head.has_credentials() => refuse(401, &head, reader, client),
            Some(Answer::Status(status)) => refuse(status, &head, reader, client),
            Some(Answer::Hang) => self.hang(reader, client, repository, fault),
            Some(Answer::Trickle(rate)) => {
                self.pass(&head, reader, client, |from, to| trickle(from, to, rate))
            }
            Some(Answer::Cut(n_bytes)) => self.pass(&head, reader, client, |from, to| {
                io::copy(&mut from.take(n_bytes), to).map(drop)
            }),
            Some(Answer::Private) | None => {
                self.pass(&head, reader, client, |from, to| io::copy(from, to).map(drop))
            }
        }
    }

    /// Sends no response until the client gives up or the fault ends; the client may then retry.
    fn hang(
        &self,
        mut reader: BufReader<&TcpStream>,
        client: &TcpStream,
        repository: &str,
        fault: Option<Numbered>,
    ) -> io::Result<()> {
        client.set_read_timeout(Some(Duration::from_millis(200)))?;
        let mut buffer = [0; 1024];
        while self.set(repository) == fault {
            match reader.read(&mut buffer) {
                Ok(0) => break,
                Err(error) if error.kind() != io::ErrorKind::WouldBlock => return Err(error),
                _ => {}
            }
        }
        Ok(())
    }

    /// Returns the fault that is set for a repository.
    fn set(&self, repository: &str) -> Option<Numbered> {
        match file::read_json::<Faults>(&self.faults) {
            Ok(faults) => faults?.get(repository),
            Err(error) => {
                println!("the faults are not played: {error}");
                None
            }
        }
    }

    /// Returns the fault that applies to this request of a repository.
    fn fault(&self, repository: &str) -> Option<Numbered> {
        let set = self.set(repository)?;
        let Numbered { number, fault } = set;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (seen_number, n_requests) = seen.entry(repository.to_owned()).or_insert((number, 0));
        if *seen_number != number {
            (*seen_number, *n_requests) = (number, 0);
        }
        if fault.times.is_some_and(|times| *n_requests >= times) {
            return None;
        }
        *n_requests += 1;
        Some(set)
    }

    /// Forwards a request, and the response as `answer` says.
    fn pass(
        &self,
        head: &Head,
        mut client_reader: BufReader<&TcpStream>,
        client: &TcpStream,
        answer: impl FnOnce(&mut TcpStream, &mut TcpStream) -> io::Result<()>,
    ) -> io::Result<()> {
        let mut registry = TcpStream::connect(&self.registry)?;
        registry.write_all(&head.to_bytes())?;
        let mut to_registry = registry.try_clone()?;
        let mut to_client = client.try_clone()?;
        thread::scope(|scope| {
            scope.spawn(move || {
                // This ends when the client closes the connection, or below, after the response.
                let _ = io::copy(&mut client_reader, &mut to_registry);
            });
            let outcome = answer(&mut registry, &mut to_client);
            let _ = registry.shutdown(Shutdown::Both);
            let _ = client.shutdown(Shutdown::Both);
            outcome
        })
    }
}

/// The first line and the header lines of a request.
struct Head {
    method: String,
    target: String,
    lines: Vec<String>,
}

impl Head {
    /// Reads the head of a request. Returns `None` if the client closes without a request.
    fn read(reader: &mut impl BufRead) -> io::Result<Option<Self>> {
        let mut lines = Vec::new();
        let mut limited = reader.take(MOST_HEAD);
        loop {
            let mut line = String::new();
            if limited.read_line(&mut line)? == 0 {
                return Ok(None);
            }
            let line = line.trim_end_matches(['\r', '\n']).to_owned();
            if line.is_empty() {
                break;
            }
            lines.push(line);
        }
        let mut words = lines.first().into_iter().flat_map(|line| line.split(' '));
        let [method, target] = [(); 2].map(|()| words.next().unwrap_or_default().to_owned());
        Ok(Some(Self { method, target, lines }))
    }

    /// Checks whether the request has the credentials [`CREDENTIALS`].
    fn has_credentials(&self) -> bool {
        let (user, password) = CREDENTIALS;
        let wanted = format!("Basic {}", BASE64_STANDARD.encode(format!("{user}:{password}")));
        let headers = self.lines.iter().filter_map(|line| line.split_once(':'));
        let mut values = headers.filter(|(name, _)| name.eq_ignore_ascii_case("authorization"));
        values.any(|(_, value)| value.trim() == wanted)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let lines = self.lines.iter().filter(|line| {
            !line.split(':').next().unwrap_or_default().eq_ignore_ascii_case("connection")
        });
        let mut text: String = lines.flat_map(|line| [line.as_str(), "\r\n"]).collect();
        text.push_str("Connection: close\r\n\r\n");
        text.into_bytes()
    }
}

/// Returns the repository in a path such as `/v2/bundles/etcd/manifests/1.0`.
fn repository(target: &str) -> Option<&str> {
    let path = target.split('?').next()?.strip_prefix("/v2/")?;
    // The last of these words counts, because a repository may have one of them in its name.
    let ends = ["/manifests/", "/blobs/", "/tags/", "/referrers/"];
    let end = ends.iter().filter_map(|word| path.rfind(word)).max()?;
    path.get(..end)
}

/// Responds to a request without the registry.
fn refuse(
    status: u16,
    head: &Head,
    reader: BufReader<&TcpStream>,
    client: &TcpStream,
) -> io::Result<()> {
    // A body that nobody reads would make the kernel reset the connection before the client has
    // read the response. Clients of a faulty repository send none, or wait.
    (&*client).write_all(refusal(status, head.method == "HEAD").as_bytes())?;
    client.shutdown(Shutdown::Write)?;
    client.set_read_timeout(Some(Duration::from_secs(2)))?;
    let _ = io::copy(&mut reader.take(MOST_HEAD), &mut io::sink());
    Ok(())
}

fn refusal(status: u16, without_body: bool) -> String {
    // The container runtime quotes the text of the first line.
    let (words, code, extra) = match status {
        401 => ("Unauthorized", "UNAUTHORIZED", "WWW-Authenticate: Basic realm=\"testbed\"\r\n"),
        403 => ("Forbidden", "DENIED", ""),
        404 => ("Not Found", "MANIFEST_UNKNOWN", ""),
        429 => ("Too Many Requests", "TOOMANYREQUESTS", "Retry-After: 1\r\n"),
        500 => ("Internal Server Error", "UNKNOWN", ""),
        502 => ("Bad Gateway", "UNKNOWN", ""),
        503 => ("Service Unavailable", "UNAVAILABLE", ""),
        504 => ("Gateway Timeout", "UNKNOWN", ""),
        _ => ("Fault", "UNKNOWN", ""),
    };
    let body = format!(r#"{{"errors":[{{"code":"{code}","message":"played by the testbed"}}]}}"#);
    let length = body.len();
    let body = if without_body { "" } else { &body };
    format!(
        "HTTP/1.1 {status} {words}\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\
         {extra}Connection: close\r\n\r\n{body}"
    )
}

fn trickle(from: &mut TcpStream, to: &mut TcpStream, rate: u32) -> io::Result<()> {
    let piece = usize::try_from((rate / PIECES).max(1)).unwrap_or(1);
    let mut buffer = vec![0; piece];
    loop {
        let n_bytes = from.read(&mut buffer)?;
        if n_bytes == 0 {
            return Ok(());
        }
        to.write_all(buffer.get(..n_bytes).unwrap_or_default())?;
        // This does not wait for a condition: the response must be slow.
        thread::sleep(Duration::from_secs(1) / PIECES);
    }
}

#[cfg(test)]
mod tests;
