//! Converts every bundle of the corpus from a directory to content, to a ConfigMap and to a bundle,
//! in every encoding, and compares the result with that of upstream's Go code.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use unlade_bundle::{Limits, Reading};
use unlade_config_map::{
    ConfigMap, Encoding, encode,
    encode::{Options as EncodeOptions, unread_manifests},
};
use unlade_loader::{Loaded, Options, load, load_config_maps};
use unlade_tests::corpus::{self, Sample};

mod compare;
mod upstream;

use compare::compare;

/// Bundles that we refuse and upstream accepts: it drops files with the same key, writes keys that
/// no API server accepts, or follows a link out of the bundle.
const REFUSED: [&str; 6] = [
    "crafted/name-dotdot",
    "crafted/name-long",
    "crafted/names-collide",
    "crafted/names-collide-plain",
    "crafted/names-odd",
    "crafted/symlink-outside",
];

#[test]
fn every_crafted_bundle_loads_as_upstream_loads_it_in_every_encoding() {
    load_in_every_encoding(&corpus::crafted(), 33, 98);
}

#[test]
#[ignore = "needs the published bundles"]
fn every_published_bundle_loads_as_upstream_loads_it_in_every_encoding() {
    load_in_every_encoding(&corpus::published(), 181, 535);
}

/// Other tests compare all digests; the full texts also show what differs.
#[test]
fn whole_texts_are_those_of_upstream() {
    let mut differences = Vec::new();
    let mut n_bundles = 0;
    for sample in &corpus::crafted_with_texts() {
        if let Some(reading) = read(sample, &mut differences) {
            n_bundles += 1;
            let loaded = load(&reading, &Options::default()).unwrap();
            differences.extend(compare(sample, &loaded));
        }
    }
    assert_no_differences("bundles", n_bundles, 29, &differences);
}

#[test]
fn a_config_map_that_upstream_wrote_of_a_crafted_bundle_loads_as_its_own_loader_loads_it() {
    load_as_upstream_wrote(&corpus::crafted(), 71);
}

#[test]
#[ignore = "needs the published bundles"]
fn a_config_map_that_upstream_wrote_of_a_published_bundle_loads_as_its_own_loader_loads_it() {
    load_as_upstream_wrote(&corpus::published(), 354);
}

/// Asserts that `wanted_bundles` of the samples can be read, and that they give `wanted_loads`
/// ConfigMaps.
fn load_in_every_encoding(samples: &[Sample], wanted_bundles: usize, wanted_loads: usize) {
    let mut differences = Vec::new();
    let (mut n_bundles, mut n_loads) = (0, 0);
    for sample in samples {
        let Some(reading) = read(sample, &mut differences) else { continue };
        n_bundles += 1;
        let direct = load(&reading, &Options::default()).unwrap();
        differences.extend(compare(sample, &direct));
        for encoding in [Encoding::Plain, Encoding::Gzip, Encoding::Auto] {
            let Some(loaded) = around(sample, &reading, encoding, &mut differences) else {
                continue;
            };
            n_loads += 1;
            // More than the comparison with upstream: the results must be equal, including every
            // finding. Only manifests that OLM does not read from a plain ConfigMap are dropped.
            let mut unread = unread_manifests(&reading.content, encoding).peekable();
            let is_equal = if encoding == Encoding::Plain && unread.peek().is_some() {
                unread.all(|finding| loaded.report.contains(&finding))
            } else {
                loaded == direct
            };
            if !is_equal {
                differences.push(format!("{} {encoding}: not as from the directory", sample.name));
            }
        }
    }
    assert_no_differences("ConfigMaps", n_loads, wanted_loads, &differences);
    assert_eq!(n_bundles, wanted_bundles, "bundles that can be read");
}

fn load_as_upstream_wrote(samples: &[Sample], wanted: usize) {
    let mut differences = Vec::new();
    let mut n_loads = 0;
    for sample in samples {
        for config_map in upstream::config_maps(sample) {
            match load_config_maps(&[config_map], &Options::default()) {
                Ok(loaded) => differences.extend(compare(sample, &loaded)),
                Err(error) => differences.push(format!("{}: {error:?}", sample.name)),
            }
            n_loads += 1;
        }
    }
    assert_no_differences("ConfigMaps", n_loads, wanted, &differences);
}

/// Reads a bundle. Returns `None` if it is refused.
fn read(sample: &Sample, differences: &mut Vec<String>) -> Option<Reading> {
    let is_refused = REFUSED.contains(&sample.name.as_str());
    match (unlade_directory::read(&sample.path, &Limits::default()), &sample.golden.error) {
        (Ok(_), _) if is_refused => {
            differences.push(format!("{}: read although it is refused", sample.name));
            None
        }
        (Ok(reading), None) => Some(reading),
        (Ok(reading), Some(_)) => {
            for encoding in [Encoding::Plain, Encoding::Gzip, Encoding::Auto] {
                let options = EncodeOptions::default().with_encoding(encoding);
                if encode(&reading.content, &options).is_ok() {
                    differences.push(format!("{}: written, upstream refuses it", sample.name));
                }
            }
            None
        }
        (Err(error), None) if !is_refused => {
            differences.push(format!("{}: {error}", sample.name));
            None
        }
        (Err(_), _) => None,
    }
}

/// Loads the bundle from the JSON of the ConfigMap. Returns `None` if the bundle does not fit into
/// a ConfigMap, which must then also be the case for upstream.
fn around(
    sample: &Sample,
    reading: &Reading,
    encoding: Encoding,
    differences: &mut Vec<String>,
) -> Option<Loaded> {
    let options = EncodeOptions::default()
        .with_name("bundle".to_owned())
        .with_encoding(encoding)
        .with_findings(reading.findings.clone());
    let config_maps = match encode(&reading.content, &options) {
        Ok(config_maps) => config_maps,
        Err(error) => {
            let golden = match encoding {
                Encoding::Plain => &sample.golden.plain,
                _ => &sample.golden.gzip,
            };
            if golden.as_ref().is_some_and(|golden| golden.error.is_none()) {
                differences.push(format!("{} {encoding}: {error}", sample.name));
            }
            return None;
        }
    };
    let text = serde_json::to_string(&config_maps).unwrap();
    let config_maps: Vec<ConfigMap> = serde_json::from_str(&text).unwrap();
    match load_config_maps(&config_maps, &Options::default()) {
        Ok(loaded) => Some(loaded),
        Err(error) => {
            differences.push(format!("{} {encoding}: {error:?}", sample.name));
            None
        }
    }
}

/// Asserts the number of comparisons too, because no comparison means no difference.
fn assert_no_differences(what: &str, n: usize, wanted: usize, differences: &[String]) {
    assert!(differences.is_empty(), "{n} {what}:\n{}", differences.join("\n"));
    assert_eq!(n, wanted, "{what} that were compared");
}
