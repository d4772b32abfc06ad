//! [`Push`]: a repository of a registry as a destination.

use std::io::Read;

use unlade_name::{ImageReference, image::DEFAULT_TAG};
use unlade_oci::copy::{self, BoxError, Destination};
use unlade_oci::{Descriptor, Digest, Source};
use ureq::http::{StatusCode, header::LOCATION};

use crate::client::{Client, Target, resolve};
use crate::connection::API;
use crate::locate::names_registry;
use crate::request::Request;
use crate::{Error, Options};

/// Copies the image or index in `source` into a registry, with all platforms, and returns its
/// digest.
///
/// # Errors
///
/// Returns an error if the reference is not `HOST[:PORT]/REPOSITORY[:TAG]`, if the image cannot be
/// read or is not valid, or if the registry cannot be reached or refuses it.
pub fn push(source: &Source, image: &ImageReference, options: &Options) -> Result<Digest, Error> {
    let push = Push::new(image, options)?;
    let all = copy::Options::default().with_all(true);
    match copy::copy(source, &push, &all) {
        Ok(copied) => Ok(copied.digest),
        Err(copy::Error::Destination(error)) => Err(match error.downcast::<Error>() {
            Ok(error) => *error,
            Err(error) => Error::Image(error),
        }),
        Err(error) => Err(Error::Image(Box::new(error))),
    }
}

/// A repository of a registry, and the tag that the root of the copy gets.
pub(crate) struct Push {
    client: Client,
}

impl Push {
    pub(crate) fn new(image: &ImageReference, options: &Options) -> Result<Self, Error> {
        // An image is only pushed where the reference says, not to the default registry.
        if image.is_digest() || !names_registry(image) {
            return Err(Error::Reference { image: image.to_string() });
        }
        let endpoint = options.rules()?.destination(image)?;
        let client = Client::open(&Target::new(&endpoint, options)?, "pull,push", options)?;
        // An upload cannot be sent again after a challenge, so ask for the challenge first.
        let url = client.root();
        client.send(&Request::get(&url, API))?;
        Ok(Self { client })
    }

    fn upload(&self, blob: &Descriptor, reader: &mut dyn Read) -> Result<(), Error> {
        let client = &self.client;
        let digest = blob.digest();
        let what = format!("the blob {digest} of {}", client.image);
        let url = client.url("blobs/uploads/");
        let response = client.expect(client.send(&Request::post(&url, &what))?, &[202], &what)?;
        let invalid = || Error::Invalid {
            what: what.clone(),
            problem: "it does not contain the location for the upload".to_owned(),
        };
        let place = response.headers().get(LOCATION).and_then(|place| place.to_str().ok());
        // The registry may name a place of its own, with a query or without.
        let place = place.and_then(|place| resolve(&url, place)).ok_or_else(invalid)?;
        client.check(&place, &what)?;
        let separator = if place.contains('?') { '&' } else { '?' };
        let url = format!("{place}{separator}digest={digest}");
        let kind = ("application/octet-stream", blob.size());
        let response = match &client.progress {
            Some(progress) => {
                let mut reader = progress.watch(digest, blob.size(), reader);
                client.upload(&url, &what, kind, &mut reader)?
            }
            None => client.upload(&url, &what, kind, reader)?,
        };
        client.expect(response, &[201], &what).map(drop)
    }

    fn put(&self, manifest: &Descriptor, bytes: &[u8], is_root: bool) -> Result<(), Error> {
        let client = &self.client;
        let digest = manifest.digest().to_string();
        let reference = if is_root { client.image.tag().unwrap_or(DEFAULT_TAG) } else { &digest };
        let url = client.url(&format!("manifests/{reference}"));
        let what = format!("the manifest {digest} of {}", client.image);
        let media_type = manifest.media_type().to_string();
        let size = bytes.len() as u64;
        let upload = || client.upload(&url, &what, (&media_type, size), &mut &*bytes);
        let logins = client.logins();
        let mut response = upload()?;
        // A token can expire during the uploads of large blobs.
        if response.status() == StatusCode::UNAUTHORIZED {
            client.log_in(response.headers(), logins)?;
            response = upload()?;
        }
        client.expect(response, &[201], &what).map(drop)
    }
}

impl Destination for Push {
    fn has(&self, blob: &Descriptor) -> Result<bool, BoxError> {
        let digest = blob.digest();
        let what = format!("the blob {digest} of {}", self.client.image);
        let url = self.client.url(&format!("blobs/{digest}"));
        let response = self.client.send(&Request::head(&url, &what))?;
        // Any other status says nothing about the blob. skopeo fails too (`blobExists` of
        // containers/image).
        if response.status() == StatusCode::NOT_FOUND {
            return Ok(false);
        }
        self.client.expect(response, &[200], &what)?;
        Ok(true)
    }

    fn blob(&self, blob: &Descriptor, reader: &mut dyn Read) -> Result<(), BoxError> {
        Ok(self.upload(blob, reader)?)
    }

    fn manifest(&self, manifest: &Descriptor, bytes: &[u8], is_root: bool) -> Result<(), BoxError> {
        Ok(self.put(manifest, bytes, is_root)?)
    }
}
