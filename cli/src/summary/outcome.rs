//! The table at the end of a launch of many images.

use std::time::Duration;

use super::inventory::or_none;
use crate::{
    progress,
    screen::Screen,
    table::{Align, Table},
};

/// The outcome of the launch of one image.
#[derive(Debug, Clone)]
pub(crate) struct Outcome {
    pub(crate) image: String,
    /// `Unpacked`, `Reused`, `Unpacking`, `NotStarted`, `NotLoaded`, or why the launch failed.
    pub(crate) status: String,
    pub(crate) config_map: Option<String>,
    pub(crate) package: Option<String>,
    pub(crate) version: Option<String>,
    pub(crate) took: Option<Duration>,
}

/// Formats the outcome for each image, in the order of the list.
pub(crate) fn format_outcomes(outcomes: &[Outcome], screen: &Screen) -> String {
    let mut table = Table::new([
        ("IMAGE", Align::Left),
        ("STATUS", Align::Left),
        ("CONFIGMAP", Align::Left),
        ("PACKAGE", Align::Left),
        ("VERSION", Align::Left),
        ("TIME", Align::Right),
    ]);
    for outcome in outcomes {
        let Outcome { image, status, config_map, package, version, took } = outcome;
        table.push([
            image,
            status,
            or_none(config_map.as_deref()),
            or_none(package.as_deref()),
            or_none(version.as_deref()),
            &took.map(progress::seconds).unwrap_or_default(),
        ]);
    }
    let mut text = String::new();
    table.write(&mut text, None, &screen.out);
    text
}
