use std::io::{self, Read};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

use serde_json::json;
use unlade_oci::copy::{BoxError, Destination, Options, copy_from};
use unlade_oci::origin::{Kind, Origin, Part, Root};
use unlade_oci::{Descriptor, digest};

/// The time after which a reader ends that should have been stopped.
const PATIENCE: Duration = Duration::from_secs(20);

/// An image whose configuration does not exist, and whose layer takes longer than [`PATIENCE`].
struct Slow {
    manifest: Vec<u8>,
    /// Whether the layer is being read.
    is_begun: Mutex<bool>,
    begun: Condvar,
    is_stopped: AtomicBool,
}

impl Slow {
    fn new() -> Self {
        let blob = |media_type: &str, text: &str, size: u64| {
            let media_type = format!("application/vnd.oci.image.{media_type}");
            let digest = digest::sha256(text.as_bytes()).unwrap().to_string();
            json!({"mediaType": media_type, "digest": digest, "size": size})
        };
        let manifest = json!({
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": blob("config.v1+json", "{}", 2),
            "layers": [blob("layer.v1.tar", "", 1 << 40)],
        });
        Self {
            manifest: serde_json::to_vec(&manifest).unwrap(),
            is_begun: Mutex::default(),
            begun: Condvar::new(),
            is_stopped: AtomicBool::new(true),
        }
    }
}

impl Origin for Slow {
    fn root(&self) -> Result<Root, BoxError> {
        let digest = digest::sha256(&self.manifest)?;
        Ok(Root { digest, size: self.manifest.len() as u64, media_type: None })
    }

    fn open(&self, part: &Part<'_>) -> Result<Box<dyn Read + '_>, BoxError> {
        match (part.kind, part.size) {
            (Kind::Manifest, _) => Ok(Box::new(self.manifest.as_slice())),
            (Kind::Blob, Some(2)) => {
                let is_begun = self.is_begun.lock().unwrap();
                drop(self.begun.wait_timeout_while(is_begun, PATIENCE, |is_begun| !*is_begun));
                Err("it does not exist".into())
            }
            (Kind::Blob, _) => Ok(Box::new(Zeros { image: self, start: Instant::now() })),
        }
    }
}

struct Zeros<'i> {
    image: &'i Slow,
    start: Instant,
}

impl Read for Zeros<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        *self.image.is_begun.lock().unwrap() = true;
        self.image.begun.notify_all();
        if self.start.elapsed() > PATIENCE {
            self.image.is_stopped.store(false, Ordering::SeqCst);
            return Err(io::Error::other("nobody stops this"));
        }
        buffer.fill(0);
        Ok(buffer.len())
    }
}

/// A destination that keeps nothing.
struct Nowhere;

impl Destination for Nowhere {
    fn has(&self, _: &Descriptor) -> Result<bool, BoxError> {
        Ok(false)
    }

    fn blob(&self, _: &Descriptor, reader: &mut dyn Read) -> Result<(), BoxError> {
        io::copy(reader, &mut io::sink())?;
        Ok(())
    }

    fn manifest(&self, _: &Descriptor, _: &[u8], _: bool) -> Result<(), BoxError> {
        Err("the manifest is stored although a blob was not copied".into())
    }
}

#[test]
fn a_blob_is_not_copied_to_its_end_after_an_earlier_one_failed() {
    let slow = Slow::new();
    let error = copy_from(&slow, &Nowhere, &Options::default()).unwrap_err();
    assert!(unlade_text::chain(&error).contains("it does not exist"), "{error}");
    assert!(slow.is_stopped.load(Ordering::SeqCst));
}
