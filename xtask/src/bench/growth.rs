//! `cargo xtask bench growth`: how time and memory grow with the size of a bundle and
//! with the number of bundles.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use flate2::{Compression, write::GzEncoder};
use serde_json::json;
use unlade_yaml::base64;

use super::{
    Report, directory,
    fit::{self, Line},
    goal::{Bound, Goal, digits},
    plot, rate,
    side::{self, Pair, Side},
};
use crate::{command::Error, workspace};

/// The number of bytes that each measurement processes at least, by repeating its work.
const WORK: usize = 8_000_000;
/// The size of a bundle of median size, in bytes.
const MEDIAN: usize = 62_000;
/// The deviation from a line that is allowed.
const DEVIATION: f64 = 0.1;

/// A bundle that is made, and how often it is processed.
#[derive(Clone, Copy)]
struct Point {
    n_files: usize,
    file_size: usize,
    n_bundles: usize,
}

impl Point {
    /// Returns how often a single bundle is processed, so that its time can be measured.
    fn repetitions(&self) -> usize {
        (WORK / (self.n_files * self.file_size)).max(1)
    }
}

/// What grows.
struct Axis {
    /// The name of its plot.
    name: &'static str,
    what: &'static str,
    unit: &'static str,
    points: Vec<Point>,
    x: fn(&Point) -> usize,
    works: &'static [&'static str],
    /// What zlib-rs alone does with the same files, by which a deviation can be judged.
    floors: &'static [&'static str],
}

fn axes() -> [Axis; 3] {
    [
        Axis {
            name: "files",
            what: "files of 10 kB in a bundle",
            unit: "files",
            points: [1, 10, 50, 100, 200, 400]
                .map(|n_files| Point { n_files, file_size: 10_000, n_bundles: 1 })
                .to_vec(),
            x: |point| point.n_files,
            works: &["load", "encode"],
            floors: &["inflate", "deflate"],
        },
        Axis {
            name: "size",
            what: "bytes in a bundle of 10 files",
            unit: "bytes",
            points: [10_000, 100_000, 1_000_000, 3_000_000, 10_000_000]
                .map(|size| Point { n_files: 10, file_size: size / 10, n_bundles: 1 })
                .to_vec(),
            x: |point| point.n_files * point.file_size,
            works: &["load", "encode"],
            floors: &["inflate", "deflate"],
        },
        Axis {
            name: "bundles",
            what: "bundles of median size, one after the other",
            unit: "bundles",
            points: [1, 10, 100, 1_000]
                .map(|n_bundles| Point { n_files: 10, file_size: MEDIAN / 10, n_bundles })
                .to_vec(),
            x: |point| point.n_bundles,
            works: &["load"],
            floors: &[],
        },
    ]
}

pub(super) fn run(n_rounds: usize) -> Result<Report, Error> {
    let programs = side::programs()?;
    let directory = directory("growth")?;
    let mut goals = Vec::new();
    let (mut rows, mut images) = (HEADING.to_owned(), String::new());
    for axis in axes() {
        // New processes, because their peak memory is shown.
        let mut sides = side::start(&programs)?;
        let mut lines = Vec::new();
        for work in axis.works {
            let [ours, theirs] = measure(&axis, work, &mut sides, &directory, n_rounds)?;
            let line = fit::line(&ours.times);
            for (whose, series) in [("ours", &ours), ("Go's", &theirs)] {
                rows += &row(&axis, work, whose, series);
                lines.push((format!("{work}, {whose}"), series.times.clone()));
            }
            let what = format!("{work}: deviation from linear in the number of {}", axis.what);
            goals.push(Goal::ratio(what, line.deviation, Bound::AtMost(DEVIATION)));
            if let (true, [first, .., last]) = (axis.name == "bundles", ours.peaks.as_slice()) {
                let what = "load: peak memory for 1,000 bundles, compared with 1";
                goals.push(Goal::ratio(what, last / first, Bound::AtMost(1.0 + DEVIATION)));
            }
        }
        for floor in axis.floors {
            let series = measure_floor(&axis, floor, &mut sides, &directory, n_rounds)?;
            rows += &row(&axis, floor, "zlib-rs alone", &series);
        }
        let path = workspace::root().join(format!("docs/benchmarks/{}.svg", axis.name));
        let y = "CPU time in milliseconds";
        plot::draw(
            &path,
            &format!("CPU time by the number of {}", axis.what),
            axis.unit,
            y,
            &lines,
        )?;
        _ = writeln!(
            images,
            "![CPU time by the number of {}](benchmarks/{}.svg)\n",
            axis.what, axis.name
        );
    }
    let text = include_str!("note/growth.md.in").replace("{growth}", &rows);
    Ok(Report { goals, text: text.replace("{plots}", images.trim_end()) })
}

/// What one side measured: milliseconds for each number of things, and its peak memory in MiB
/// after each.
#[derive(Default)]
struct Series {
    times: Vec<(f64, f64)>,
    peaks: Vec<f64>,
}

fn measure(
    axis: &Axis,
    work: &str,
    sides: &mut Pair<Side>,
    directory: &Path,
    n_rounds: usize,
) -> Result<Pair<Series>, Error> {
    let mut series = Pair::<Series>::default();
    for point in &axis.points {
        let list = write(point, work, directory)?;
        // Short work is repeated, and a bundle that is not repeated is measured more often.
        let is_repeated = axis.name != "bundles";
        let times = if is_repeated { point.repetitions() } else { point.n_bundles };
        let n_rounds = if is_repeated { n_rounds } else { n_rounds.max(50 / times) };
        let measured = side::alternate(sides, work, times, &list, n_rounds)?;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        for ((series, measured), side) in series.iter_mut().zip(measured).zip(&*sides) {
            let repetitions = if is_repeated { times as f64 } else { 1.0 };
            let milliseconds = measured.seconds * 1e3 / repetitions;
            series.times.push(((axis.x)(point) as f64, milliseconds));
            series.peaks.push(side.peak()?);
        }
    }
    Ok(series)
}

/// Measures what zlib-rs alone does with the same files, with our side only.
fn measure_floor(
    axis: &Axis,
    work: &str,
    [ours, _]: &mut Pair<Side>,
    directory: &Path,
    n_rounds: usize,
) -> Result<Series, Error> {
    let mut series = Series::default();
    for point in &axis.points {
        let list = write(point, work, directory)?;
        let times = point.repetitions();
        let shortest = ours.measure_shortest(work, times, &list, n_rounds)?;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^52")]
        series.times.push(((axis.x)(point) as f64, shortest * 1e3 / times as f64));
        series.peaks.push(ours.peak()?);
    }
    Ok(series)
}

const HEADING: &str = "\
| work | grows with the number of | code | deviation | constant | for each 1,000 | \
peak memory after the first | after the last |
|---|---|---|--:|--:|--:|--:|--:|
";

fn row(axis: &Axis, work: &str, whose: &str, Series { times, peaks }: &Series) -> String {
    let Line { constant, slope, deviation } = fit::line(times);
    let (first, last) = (peaks.first().unwrap_or(&f64::NAN), peaks.last().unwrap_or(&f64::NAN));
    format!(
        "| {work} | {} | {whose} | {:.1} % | {} ms | {} ms | {} MiB | {} MiB |\n",
        axis.what,
        deviation * 100.0,
        digits(constant),
        digits(slope * 1e3),
        digits(*first),
        digits(*last)
    )
}

/// Writes the bundle of a point, and returns the list of the inputs of `work`: a ConfigMap with all
/// its files, or each file.
fn write(point: &Point, work: &str, directory: &Path) -> Result<PathBuf, Error> {
    let texts: Vec<_> =
        (0..point.n_files).map(|number| manifest(number, point.file_size)).collect();
    let put = |name: String, bytes: &[u8]| {
        let path = directory.join(name);
        fs::write(&path, bytes).map_err(Error::file(&path)).map(|()| path)
    };
    let files = if work == "load" {
        let mut values = serde_json::Map::new();
        for (number, text) in texts.iter().enumerate() {
            // The value is base64 already, and JSON encodes bytes as base64.
            let value = base64::encode(base64::encode(compress(text.as_bytes())?));
            values.insert(format!("{number}.yaml"), value.into());
        }
        let annotations = json!({"olm.contentEncoding": "gzip+base64"});
        let config_map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "binaryData": values,
            "metadata": {"name": "bench", "annotations": annotations},
        });
        vec![put("config-map.json".into(), config_map.to_string().as_bytes())?]
    } else {
        let put = |(number, text): (usize, &String)| put(format!("{number}.yaml"), text.as_bytes());
        texts.iter().enumerate().map(put).collect::<Result<_, _>>()?
    };
    let list = directory.join("list");
    rate::write_list(&list, files.iter().map(PathBuf::as_path))?;
    Ok(list)
}

fn compress(bytes: &[u8]) -> Result<Vec<u8>, Error> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    let written = encoder.write_all(bytes).and_then(|()| encoder.finish());
    written.map_err(Error::file(Path::new("a compressed manifest")))
}

/// Returns a manifest of about `size` bytes: the first is a CSV, and the others are CRDs with many
/// described fields. The texts of all files are equally easy to compress.
fn manifest(number: usize, size: usize) -> String {
    let mut text = if number == 0 {
        "apiVersion: operators.coreos.com/v1alpha1\nkind: ClusterServiceVersion\n\
         metadata:\n  name: bench.v1.0.0\nspec:\n  version: 1.0.0\n  properties:\n"
            .to_owned()
    } else {
        format!(
            "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\n\
             metadata:\n  name: kinds{number}.example.com\nspec:\n  group: example.com\n  \
             properties:\n"
        )
    };
    let mut field = 0;
    while text.len() < size {
        _ = write!(
            text,
            "    field{field}:\n      description: Sets how many of the replicas of group {} are \
             kept for {} seconds.\n      type: string\n",
            (field * 37 + number * 101) % 997,
            (field * 31 + number * 17) % 1009
        );
        field += 1;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manifests_have_the_requested_size_and_are_yaml() {
        for (number, size) in [(0, 1_000), (3, 100_000)] {
            let text = manifest(number, size);
            assert!((size..size + 200).contains(&text.len()));
            assert!(unlade_yaml::to_json(text.as_bytes(), &unlade_yaml::Limits::default()).is_ok());
        }
    }
}
