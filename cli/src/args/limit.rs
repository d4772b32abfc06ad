//! The arguments that limit what is read.

use clap::Args as Group;
use unlade_bundle::Limits as BundleLimits;
use unlade_yaml as yaml;

use super::{Size, number};

#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Limits")]
pub(crate) struct Limits {
    /// Maximum number of files in a bundle
    #[arg(id = "max-files", long, value_name = "NUMBER", hide_short_help = true)]
    #[arg(default_value_t = BundleLimits::default().files, value_parser = number::parse::<usize>)]
    files: usize,

    /// Maximum size of a file
    #[arg(id = "max-file-size", long, value_name = "SIZE", hide_short_help = true)]
    #[arg(default_value_t = Size(BundleLimits::default().file_size))]
    file_size: Size,

    /// Maximum total size of all files of a bundle, decoded
    #[arg(id = "max-total-size", long, value_name = "SIZE", hide_short_help = true)]
    #[arg(default_value_t = Size(BundleLimits::default().total_size))]
    total_size: Size,

    /// Maximum number of decoded bytes for each byte of a compressed value
    #[arg(id = "max-ratio", long, value_name = "NUMBER", hide_short_help = true)]
    #[arg(default_value_t = BundleLimits::default().ratio, value_parser = number::parse::<usize>)]
    ratio: usize,

    /// Maximum nesting depth of YAML
    #[arg(id = "max-yaml-depth", long, value_name = "NUMBER", hide_short_help = true)]
    #[arg(default_value_t = BundleLimits::default().yaml.depth, value_parser = number::parse::<usize>)]
    yaml_depth: usize,

    /// Maximum size of a YAML file after its aliases are expanded
    #[arg(id = "max-yaml-size", long, value_name = "SIZE", hide_short_help = true)]
    #[arg(default_value_t = Size(BundleLimits::default().yaml.output))]
    yaml_size: Size,
}

impl From<Limits> for BundleLimits {
    fn from(limits: Limits) -> Self {
        let Limits { files, file_size, total_size, ratio, yaml_depth, yaml_size } = limits;
        let defaults = yaml::Limits::default();
        // The YAML reader has a limit of its own, which must not refuse a file of this size.
        let input = defaults.input.max(file_size.0);
        let yaml = defaults.with_depth(yaml_depth).with_output(yaml_size.0).with_input(input);
        Self::default()
            .with_files(files)
            .with_file_size(file_size.0)
            .with_total_size(total_size.0)
            .with_ratio(ratio)
            .with_yaml(yaml)
    }
}
