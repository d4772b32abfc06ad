//! Copying an image into a registry over plain HTTP.

use std::collections::BTreeSet;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::Error;
use crate::archive::{Archive, parse};

/// The longest head of an answer that is read, in bytes.
const MOST_HEAD: u64 = 64 << 10;

/// How long the registry may take for one answer.
const PATIENCE: Duration = Duration::from_mins(1);

/// Pushes the image of an archive and gives its digest.
pub(super) fn push(
    archive: &Path,
    registry: &str,
    repository: &str,
    tag: &str,
) -> Result<String, Error> {
    let archive = Archive::open(archive)?;
    let root = archive.root()?;
    let mut push = Push { archive, registry, repository, done: BTreeSet::new() };
    push.manifest(&root, Some(tag))?;
    push.archive.digest_of(&root).map(str::to_owned)
}

struct Push<'a> {
    archive: Archive,
    registry: &'a str,
    repository: &'a str,
    done: BTreeSet<String>,
}

struct Reply {
    status: String,
    location: Option<String>,
}

impl Push<'_> {
    /// Pushes a manifest or index and first all that it refers to.
    fn manifest(&mut self, descriptor: &Value, tag: Option<&str>) -> Result<(), Error> {
        let bytes = self.archive.manifest(descriptor)?;
        let digest = self.archive.digest_of(descriptor)?.to_owned();
        // A manifest can't hold its own digest, so this ends.
        let manifest = parse(&bytes).ok_or_else(|| self.archive.bad("a manifest is not JSON"))?;
        let list = |key| manifest.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        for child in list("manifests") {
            self.manifest(&child, None)?;
        }
        for blob in manifest.get("config").cloned().into_iter().chain(list("layers")) {
            self.blob(&blob)?;
        }
        let media_type = descriptor.get("mediaType").or(manifest.get("mediaType"));
        let media_type = media_type
            .and_then(Value::as_str)
            .ok_or_else(|| self.archive.bad("a manifest has no media type"))?;
        let path = format!("/v2/{}/manifests/{}", self.repository, tag.unwrap_or(&digest));
        let size = bytes.len() as u64;
        let reply = self.request("PUT", &path, media_type, &mut bytes.as_slice(), size)?;
        self.expect(&reply, "201", &format!("manifest {digest}"))
    }

    fn blob(&mut self, descriptor: &Value) -> Result<(), Error> {
        let digest = self.archive.digest_of(descriptor)?.to_owned();
        if !self.done.insert(digest.clone()) {
            return Ok(());
        }
        let path = format!("/v2/{}/blobs/{digest}", self.repository);
        if self.request("HEAD", &path, "", &mut io::empty(), 0)?.status.starts_with("200") {
            return Ok(());
        }
        let what = format!("blob {digest}");
        let start = format!("/v2/{}/blobs/uploads/", self.repository);
        let reply = self.request("POST", &start, "", &mut io::empty(), 0)?;
        self.expect(&reply, "202", &what)?;
        let no_place =
            || Error::Registry { what: what.clone(), answer: "no Location header".into() };
        let place = reply.location.ok_or_else(no_place)?;
        let place = place.strip_prefix("http://").map_or(place.as_str(), |rest| {
            rest.find('/').and_then(|slash| rest.get(slash..)).unwrap_or("/")
        });
        let separator = if place.contains('?') { '&' } else { '?' };
        let path = format!("{place}{separator}digest={digest}");
        let (mut reader, size) = self.archive.blob(descriptor)?;
        let reply = self.request("PUT", &path, "application/octet-stream", &mut reader, size)?;
        self.expect(&reply, "201", &what)
    }

    fn expect(&self, reply: &Reply, status: &str, what: &str) -> Result<(), Error> {
        if reply.status.starts_with(status) {
            return Ok(());
        }
        let what = format!("{what} of {}", self.repository);
        Err(Error::Registry { what, answer: reply.status.clone() })
    }

    fn request(
        &self,
        method: &str,
        path: &str,
        media_type: &str,
        body: &mut dyn Read,
        size: u64,
    ) -> Result<Reply, Error> {
        let mut exchange = || {
            let mut stream = TcpStream::connect(self.registry)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            let host = self.registry;
            let kind = if media_type.is_empty() {
                String::new()
            } else {
                format!("Content-Type: {media_type}\r\n")
            };
            write!(
                stream,
                "{method} {path} HTTP/1.1\r\nHost: {host}\r\n{kind}Content-Length: {size}\r\n\
                 Connection: close\r\n\r\n"
            )?;
            io::copy(body, &mut stream)?;
            reply(stream)
        };
        exchange().map_err(Error::kernel(format!("{method} {path} at {}", self.registry)))
    }
}

fn reply(stream: TcpStream) -> io::Result<Reply> {
    let mut lines = BufReader::new(stream.take(MOST_HEAD)).lines();
    let first = lines.next().transpose()?.unwrap_or_default();
    let status = first.split_once(' ').map(|(_, status)| status.to_owned()).unwrap_or_default();
    let mut location = None;
    for line in lines {
        let line = line?;
        match line.split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("location") => {
                location = Some(value.trim().to_owned());
            }
            Some(_) => {}
            None => break,
        }
    }
    Ok(Reply { status, location })
}
