//! Which cluster, and as whom.

use std::path::PathBuf;

use clap::Args as Group;

use super::Time;
use crate::log::LogFormat;

#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Connection {
    /// The namespace; by default that of the context
    #[arg(short, long, value_name = "NAMESPACE", value_parser = crate::name::parse_namespace)]
    pub(crate) namespace: Option<String>,

    /// The context of the kubeconfig; by default its current one
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// The kubeconfig; by default what KUBECONFIG names, else ~/.kube/config, else the pod's own
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// The user to impersonate
    #[arg(long = "as", value_name = "USER", hide_short_help = true)]
    pub(crate) as_user: Option<String>,

    /// A group to impersonate; can be given several times
    #[arg(long, value_name = "GROUP", hide_short_help = true, requires = "as_user")]
    pub(crate) as_group: Vec<String>,

    /// How long one answer of the API server may take, such as `30s`; 0 is for ever
    ///
    /// Watches, which go on for as long as they are needed, only have to begin within it.
    #[arg(long, value_name = "TIME", default_value = "30s", hide_short_help = true)]
    pub(crate) request_timeout: Time,

    /// Log phases and decisions on standard error; twice: requests and watches too
    ///
    /// The log takes the place of the lines that show the phases. Credentials are never logged.
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Log", hide_short_help = true)]
    pub(crate) verbose: u8,

    /// How log lines are written
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Log")]
    #[arg(hide_short_help = true)]
    pub(crate) log_format: LogFormat,
}
