//! The arguments that select the cluster, the namespace and the user.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args as Group;

use super::Time;
use crate::log::LogFormat;

#[derive(Debug, Clone, Group)]
#[command(next_help_heading = "Cluster")]
pub(crate) struct Connection {
    /// Namespace; the default is the namespace of the context
    #[arg(short, long, value_name = "NAMESPACE", value_parser = crate::object_name::parse_namespace)]
    pub(crate) namespace: Option<String>,

    /// Context of the kubeconfig; the default is its current context
    #[arg(long, value_name = "NAME")]
    pub(crate) context: Option<String>,

    /// Kubeconfig; the default is KUBECONFIG, else ~/.kube/config, else the service account of the
    /// pod
    #[arg(long, value_name = "FILE")]
    pub(crate) kubeconfig: Option<PathBuf>,

    /// User to impersonate
    #[arg(long = "as", value_name = "USER", hide_short_help = true)]
    pub(crate) as_user: Option<String>,

    /// Group to impersonate; can be given several times
    #[arg(long, value_name = "GROUP", hide_short_help = true, requires = "as_user")]
    pub(crate) as_group: Vec<String>,

    /// Maximum time for one response of the API server, such as `30s`; 0 means no limit
    ///
    /// A watch only has to start within this time; it lasts as long as it is needed.
    #[arg(long, value_name = "TIME", default_value = "30s", hide_short_help = true)]
    pub(crate) request_timeout: Time,

    /// Log phases and decisions to standard error; `-vv` also logs requests and watches
    ///
    /// The log replaces the lines that show the phases. Credentials are never logged.
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = "Log", hide_short_help = true)]
    pub(crate) verbose: u8,

    /// Format of the log lines
    #[arg(long, value_enum, default_value_t, value_name = "FORMAT", help_heading = "Log")]
    #[arg(hide_short_help = true)]
    pub(crate) log_format: LogFormat,
}

impl Default for Connection {
    /// Returns the connection of a command without such arguments.
    fn default() -> Self {
        Self {
            namespace: None,
            context: None,
            kubeconfig: None,
            as_user: None,
            as_group: Vec::new(),
            request_timeout: Time(Duration::from_secs(30)),
            verbose: 0,
            log_format: LogFormat::default(),
        }
    }
}
