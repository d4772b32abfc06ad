//! [`Remote`]: an image in a registry, for the reader of images.

use std::collections::HashSet;
use std::error::Error as StdError;
use std::io::{self, Read};
use std::sync::{Mutex, OnceLock, PoisonError};

use unlade_name::{ImageReference, image::DEFAULT_TAG};
use unlade_oci::limit::TRANSFERS;
use unlade_oci::origin::{Kind, Origin, Part, Root};
use unlade_oci::{Digest, digest};
use unlade_text::chain;
use ureq::http::HeaderMap;
use ureq::http::header::CONTENT_TYPE;

use crate::blob::Blob;
use crate::client::{Client, Target, read_body};
use crate::configuration::Endpoints;
use crate::request::Request;
use crate::{Error, Options};

/// The media types of what an image can be (image-spec and Docker's schema 2).
const DOCUMENTS: &str = "application/vnd.oci.image.index.v1+json, \
    application/vnd.oci.image.manifest.v1+json, \
    application/vnd.docker.distribution.manifest.list.v2+json, \
    application/vnd.docker.distribution.manifest.v2+json";
/// Media types that say nothing about a document.
const GENERIC: [&str; 3] = ["application/json", "application/octet-stream", "text/plain"];
/// The header with the digest of a document.
const CONTENT_DIGEST: &str = "Docker-Content-Digest";

/// An image or an index in a registry.
///
/// It is read when it is first used. Each part is requested at most a few times, and a part that
/// breaks off is requested again from there.
#[derive(Debug)]
pub struct Remote {
    mirrors: Vec<Target>,
    registry: Target,
    options: Options,
    /// `None` before anything is read.
    found: OnceLock<Found>,
    /// The manifest that was read last, for an image that is read twice.
    last: Mutex<Option<(Digest, Vec<u8>)>>,
    limit: u64,
}

/// The document at the root, and the client that read it.
#[derive(Debug)]
struct Found {
    root: Root,
    bytes: Vec<u8>,
    client: Client,
}

impl Remote {
    /// Prepares to read `image`. Sends no request.
    ///
    /// # Errors
    ///
    /// Returns an error if the reference does not lead to a valid address, if a file with rules or
    /// certificates cannot be read, or if the registry is blocked.
    pub fn new(image: &ImageReference, options: &Options) -> Result<Self, Error> {
        let endpoints = options.rules()?.endpoints(image)?;
        Self::from_endpoints(&endpoints, options)
    }

    /// Prepares to read an image from the first of these places that has it.
    pub(crate) fn from_endpoints(endpoints: &Endpoints, options: &Options) -> Result<Self, Error> {
        let target = |endpoint| Target::new(endpoint, options);
        Ok(Self {
            mirrors: endpoints.mirrors.iter().map(target).collect::<Result<_, _>>()?,
            registry: target(&endpoints.registry)?,
            options: options.clone(),
            found: OnceLock::new(),
            last: Mutex::default(),
            limit: unlade_oci::limit::JSON,
        })
    }

    /// Returns the name of the image at the place from which it is read: a mirror, or the registry
    /// itself. Returns `None` before anything is read.
    pub fn place(&self) -> Option<&ImageReference> {
        self.found.get().map(|found| &found.client.image)
    }

    /// Requests the root from the first place that has it, unless this was done.
    fn find(&self) -> Result<&Found, Error> {
        if let Some(found) = self.found.get() {
            return Ok(found);
        }
        let found = self.request_anywhere()?;
        Ok(self.found.get_or_init(|| found))
    }

    fn request_anywhere(&self) -> Result<Found, Error> {
        let mut mirrors = Vec::new();
        for mirror in &self.mirrors {
            match self.request_root(mirror) {
                Ok(found) => return Ok(found),
                Err(error) => {
                    mirrors.push(format!("{}: {}", mirror.endpoint.image, chain(&error)));
                }
            }
        }
        self.request_root(&self.registry).map_err(|error| match mirrors.as_slice() {
            [] => error,
            _ => Error::Mirrors { mirrors, source: Box::new(error) },
        })
    }

    /// Requests a manifest or an index.
    fn document(
        &self,
        client: &Client,
        reference: &str,
        what: &str,
    ) -> Result<(HeaderMap, Vec<u8>), Error> {
        let url = client.url(&format!("manifests/{reference}"));
        let mut response = client.fetch(&Request::get(&url, what).accept(DOCUMENTS), &[200])?;
        let headers = std::mem::take(response.headers_mut());
        Ok((headers, read_body(&mut response, self.limit, what)?))
    }

    fn request_root(&self, target: &Target) -> Result<Found, Error> {
        let client = Client::open(target, "pull", &self.options)?;
        let image = &client.image;
        let reference = image.digest().or(image.tag()).unwrap_or(DEFAULT_TAG);
        let what = format!("the image {image}");
        let (headers, bytes) = self.document(&client, reference, &what)?;
        let invalid = |problem: String| Error::Invalid { what: what.clone(), problem };
        let computed = digest::sha256(&bytes).map_err(|error| invalid(error.to_string()))?;
        let digest: Digest = match image.digest() {
            // The reader verifies the bytes against it.
            Some(digest) => {
                digest.parse().map_err(|_| invalid("its digest is not valid".into()))?
            }
            None => computed.clone(),
        };
        let announced = headers.get(CONTENT_DIGEST).and_then(|value| value.to_str().ok());
        if let Some(announced) = announced.filter(|announced| announced.starts_with("sha256:"))
            && announced != computed.to_string()
        {
            let problem =
                format!("its digest is {computed}, but the registry announces {announced:?}");
            return Err(invalid(problem));
        }
        let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.and_then(|text| text.split(';').next()).map(str::trim);
        let media_type = media_type.filter(|text| !GENERIC.contains(text)).map(str::to_owned);
        let root = Root { digest, size: bytes.len() as u64, media_type };
        Ok(Found { root, bytes, client })
    }
}

impl Origin for Remote {
    fn root(&self) -> Result<Root, Box<dyn StdError + Send + Sync>> {
        Ok(self.find()?.root.clone())
    }

    fn open(&self, part: &Part<'_>) -> Result<Box<dyn Read + '_>, Box<dyn StdError + Send + Sync>> {
        let digest = part.digest;
        let Found { root, bytes, client } = self.find()?;
        match part.kind {
            Kind::Manifest => {
                if root.digest == *digest {
                    return Ok(Box::new(bytes.as_slice()));
                }
                let last = || self.last.lock().unwrap_or_else(PoisonError::into_inner);
                let known = last().as_ref().filter(|(of, _)| of == digest).cloned();
                let (_, bytes) = if let Some(known) = known {
                    known
                } else {
                    let what = format!("the manifest {digest}");
                    let (_, bytes) = self.document(client, digest.as_ref(), &what)?;
                    last().insert((digest.clone(), bytes)).clone()
                };
                Ok(Box::new(io::Cursor::new(bytes)))
            }
            Kind::Blob => {
                let cache = client.cache.as_ref().zip(part.size);
                if let Some(file) = cache.and_then(|(cache, size)| cache.open(digest, size)) {
                    return Ok(Box::new(file));
                }
                let url = client.url(&format!("blobs/{digest}"));
                let what = format!("the blob {digest}");
                let size = part.size.unwrap_or(self.limit);
                let blob = Blob::open(client, url, what, size)?;
                let blob: Box<dyn Read> = match &client.progress {
                    Some(progress) => Box::new(progress.watch(digest, size, blob)),
                    None => Box::new(blob),
                };
                Ok(match cache {
                    Some((cache, size)) => cache.store(digest, size, blob),
                    None => blob,
                })
            }
        }
    }

    /// Reads blobs into the cache at the same time, as far as they may fill it. Without a cache,
    /// nothing but memory could hold them.
    fn prepare(&self, parts: &[Part<'_>]) {
        let Ok(Found { client, .. }) = self.find() else { return };
        let Some(cache) = &client.cache else { return };
        let transfers = self.max_readers();
        // With a single transfer, reading in advance saves no time.
        if transfers == 1 {
            return;
        }
        let mut left = cache.max_size() / self.options.images_at_once.get() as u64;
        let mut seen = HashSet::new();
        let mut wanted = Vec::new();
        for part in parts {
            let size = part.size.unwrap_or(u64::MAX);
            if size <= left && seen.insert(part.digest) && !cache.has(part.digest, size) {
                left -= size;
                wanted.push(part);
            }
        }
        // Blobs that are not kept would be read twice.
        if wanted.is_empty() || !cache.is_usable() {
            return;
        }
        // The first error stops this. The reader of the image encounters it again, and reports it.
        _ = unlade_parallel::each(&wanted, transfers, |part, turn| {
            let mut blob = turn.reader(self.open(part)?);
            let mut buffer = vec![0; 16 << 10];
            while !cache.has_failed() {
                if blob.read(&mut buffer)? == 0 {
                    return Ok(());
                }
            }
            Err(Box::<dyn StdError + Send + Sync>::from("the blob is not kept"))
        });
    }

    fn max_readers(&self) -> usize {
        (TRANSFERS / self.options.images_at_once).max(1)
    }
}
