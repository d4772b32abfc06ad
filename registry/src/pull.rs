//! [`Remote`]: an image in a registry, for the reader of images.

use std::cell::RefCell;
use std::error::Error as StdError;
use std::io::Read;

use unlade_name::{ImageReference, image::DEFAULT_TAG};
use unlade_oci::origin::{Kind, Origin, Part, Root};
use unlade_oci::{Digest, digest};
use ureq::http::HeaderMap;
use ureq::http::header::CONTENT_TYPE;

use crate::blob::Blob;
use crate::client::{Ask, Client};
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
    client: Client,
    /// The document at the root, with its bytes.
    root: RefCell<Option<(Root, Vec<u8>)>>,
    limit: u64,
}

impl Remote {
    /// Prepares to read `image`. Sends no request.
    ///
    /// # Errors
    ///
    /// Returns an error if the reference does not lead to a valid address.
    pub fn new(image: &ImageReference, options: &Options) -> Result<Self, Error> {
        let client = Client::new(image, "pull", options)?;
        Ok(Self { client, root: RefCell::default(), limit: unlade_oci::limit::JSON })
    }

    /// Requests a manifest or an index.
    fn document(&self, reference: &str, what: &str) -> Result<(HeaderMap, Vec<u8>), Error> {
        let url = self.client.url(&format!("manifests/{reference}"));
        let ask = Ask { method: "GET", url: &url, what, accept: DOCUMENTS, from: 0, size: 0 };
        let answer = self.client.ask(&ask)?;
        let mut answer = self.client.expect(answer, &[200], what)?;
        let headers = std::mem::take(answer.headers_mut());
        let body = answer.body_mut().with_config().limit(self.limit).read_to_vec();
        let body = body.map_err(|error| match error {
            ureq::Error::BodyExceedsLimit(limit) => {
                Error::TooLarge { what: what.to_owned(), limit }
            }
            error => Error::http(what.to_owned())(error),
        })?;
        Ok((headers, body))
    }

    fn fetch_root(&self) -> Result<(Root, Vec<u8>), Error> {
        let image = &self.client.image;
        let reference = image.digest().or(image.tag()).unwrap_or(DEFAULT_TAG);
        let what = format!("image {image}");
        let (headers, bytes) = self.document(reference, &what)?;
        let invalid = |problem: String| Error::Invalid { what: what.clone(), problem };
        let computed = digest::sha256(&bytes).map_err(|error| invalid(error.to_string()))?;
        let digest: Digest = match image.digest() {
            // The reader verifies the bytes against it.
            Some(digest) => {
                digest.parse().map_err(|_| invalid("its digest is not valid".into()))?
            }
            None => computed.clone(),
        };
        let said = headers.get(CONTENT_DIGEST).and_then(|value| value.to_str().ok());
        if let Some(said) = said.filter(|said| said.starts_with("sha256:"))
            && said != computed.to_string()
        {
            let problem = format!("its digest is {computed}, but the registry announces {said:?}");
            return Err(invalid(problem));
        }
        let media_type = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let media_type = media_type.and_then(|text| text.split(';').next()).map(str::trim);
        let media_type = media_type.filter(|text| !GENERIC.contains(text)).map(str::to_owned);
        Ok((Root { digest, size: bytes.len() as u64, media_type }, bytes))
    }
}

impl Origin for Remote {
    fn root(&self) -> Result<Root, Box<dyn StdError + Send + Sync>> {
        if let Some((root, _)) = &*self.root.borrow() {
            return Ok(root.clone());
        }
        let (root, bytes) = self.fetch_root()?;
        self.root.replace(Some((root.clone(), bytes)));
        Ok(root)
    }

    fn open(&self, part: &Part<'_>) -> Result<Box<dyn Read + '_>, Box<dyn StdError + Send + Sync>> {
        let digest = part.digest;
        match part.kind {
            Kind::Manifest => {
                if let Some((root, bytes)) = &*self.root.borrow()
                    && root.digest == *digest
                {
                    return Ok(Box::new(std::io::Cursor::new(bytes.clone())));
                }
                let (_, bytes) = self.document(digest.as_ref(), &format!("manifest {digest}"))?;
                Ok(Box::new(std::io::Cursor::new(bytes)))
            }
            Kind::Blob => {
                let url = self.client.url(&format!("blobs/{digest}"));
                let what = format!("blob {digest}");
                Ok(Box::new(Blob::open(&self.client, url, what, part.size.unwrap_or(self.limit))?))
            }
        }
    }
}
