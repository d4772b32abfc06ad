//! Measures loading and encoding within one process, for `cargo xtask bench rate`, which runs it
//! alternately with the same measurement of Go's code (`tests/peers/measure.go`).
//!
//! Each line on standard input is `WORK TIMES LIST`: what is measured, how often it is repeated,
//! and a file with the paths of the inputs, one in a line. The response is a line with the
//! processor time of the work alone, in seconds, and the number of bytes of its results.

#![expect(clippy::print_stdout, reason = "the responses")]

use std::{
    error, fs,
    hint::black_box,
    io::{self, Read, Write},
};

use flate2::{Compression, bufread::GzDecoder, write::GzEncoder};
use rustix::time::{ClockId, clock_gettime};
use unlade_bundle::{Content, Directory, File, Limits};
use unlade_config_map::{ConfigMap, Encoding, encode, encode::Options};
use unlade_loader::load_config_maps;
use unlade_yaml::{self as yaml, Scalars};

/// The level at which ConfigMaps are encoded.
const LEVEL: Compression = Compression::new(7);

type Error = Box<dyn error::Error>;

fn main() -> Result<(), Error> {
    for line in io::stdin().lines() {
        let line = line?;
        let mut words = line.splitn(3, ' ');
        let mut next = || words.next().ok_or_else(|| format!("not a request: {line:?}"));
        let (work, times, list) = (next()?, next()?.parse()?, next()?);
        let (seconds, n_bytes) = measure(work, times, &read(list)?)?;
        println!("{seconds} {n_bytes}");
        io::stdout().flush()?;
    }
    Ok(())
}

fn read(list: &str) -> Result<Vec<Vec<u8>>, io::Error> {
    fs::read_to_string(list)?.lines().map(fs::read).collect()
}

/// Returns the processor time in seconds, and the number of bytes of the results.
fn measure(work: &str, times: usize, inputs: &[Vec<u8>]) -> Result<(f64, usize), Error> {
    let limits = yaml::Limits::default();
    match work {
        // From the ConfigMap as an object in memory to the bundle.
        "load" => {
            let config_maps = inputs.iter().map(|input| ConfigMap::parse_json(input));
            let config_maps = config_maps.collect::<Result<Vec<_>, _>>()?;
            timed(times, &config_maps, |config_map| {
                let loaded = load_config_maps(std::slice::from_ref(config_map), &<_>::default())?;
                Ok(black_box(loaded).bundle.objects.iter().map(|object| object.bytes.len()).sum())
            })
        }
        // Files that are not YAML take time, too, but have no result.
        "json" => timed(times, inputs, |text| {
            Ok(yaml::to_json(text, &limits).map_or(0, |json| json.len()))
        }),
        // Each file alone, because upstream's function encodes one file.
        "encode" => {
            let contents =
                inputs.iter().map(|bytes| content(bytes)).collect::<Result<Vec<_>, _>>()?;
            let options = Options::default().with_encoding(Encoding::Gzip).without_marks(true);
            timed(times, &contents, |content| {
                let encoded = encode(content, &options)?;
                let values = encoded.iter().flat_map(|config_map| config_map.binary_data.values());
                Ok(values.map(|value| value.0.len()).sum())
            })
        }
        "copy" => timed(times, inputs, |bytes| Ok(black_box(bytes.clone()).len())),
        "read" => timed(times, inputs, |text| Ok(n_read(&yaml::Reader::new(&limits), text))),
        "library" => {
            timed(times, inputs, |text| Ok(n_read(&yaml::Reader::with_library_only(&limits), text)))
        }
        "deflate" => timed(times, inputs, |bytes| Ok(black_box(deflate(bytes)?).len())),
        "inflate" => {
            let streams =
                inputs.iter().map(|bytes| deflate(bytes)).collect::<Result<Vec<_>, _>>()?;
            timed(times, &streams, |stream| {
                let mut bytes = Vec::new();
                Ok(GzDecoder::new(stream.as_slice()).read_to_end(&mut bytes)?)
            })
        }
        _ => Err(format!("unknown work: {work}").into()),
    }
}

fn timed<T>(
    times: usize,
    inputs: &[T],
    mut work: impl FnMut(&T) -> Result<usize, Error>,
) -> Result<(f64, usize), Error> {
    let mut n_bytes = 0;
    let start = processor_time();
    for _ in 0..times {
        for input in inputs {
            n_bytes += work(input)?;
        }
    }
    Ok((processor_time() - start, n_bytes))
}

/// Returns the number of bytes that were read: 0 if the text is not YAML.
fn n_read(reader: &yaml::Reader, text: &[u8]) -> usize {
    reader.read(text, Scalars::Resolved).map_or(0, |document| {
        black_box(document);
        text.len()
    })
}

/// Returns a content with one file.
fn content(bytes: &[u8]) -> Result<Content, Error> {
    let file =
        File { directory: Directory::Manifests, name: "file.yaml".into(), bytes: bytes.to_vec() };
    Ok(Content::assemble(vec![file], &Limits::default())?.content)
}

fn deflate(bytes: &[u8]) -> Result<Vec<u8>, io::Error> {
    let mut encoder = GzEncoder::new(Vec::new(), LEVEL);
    encoder.write_all(bytes)?;
    encoder.finish()
}

#[expect(clippy::cast_precision_loss, reason = "less than 2^52 seconds")]
fn processor_time() -> f64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
