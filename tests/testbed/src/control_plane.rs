//! etcd, the API server, the controllers and the scheduler.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use crate::address::{MOST_NODES, SERVICE_RANGE, node_address};
use crate::program::run;
use crate::testbed::Plan;
use crate::wait::wait_for;
use crate::{Error, Part, file, kubeconfig, node};

const ETCD: &str = "http://127.0.0.1:2379";

/// A client of the API server: its user, the file of its kubeconfig, and its groups.
struct Client {
    user: String,
    file: PathBuf,
    groups: &'static str,
}

impl Plan<'_> {
    /// Starts etcd and the API server.
    pub(crate) fn start_api(&self) -> Result<(), Error> {
        let directory = self.place.control_plane();
        file::create_directory(&directory)?;
        self.start_etcd()?;
        let key = directory.join("service-account.key");
        let mut openssl = Command::new("openssl");
        openssl.args(["genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]);
        run(openssl.arg("-out").arg(&key))?;
        let public_key = directory.join("service-account.pub");
        let mut openssl = Command::new("openssl");
        run(openssl.args(["pkey", "-pubout", "-in"]).arg(&key).arg("-out").arg(&public_key))?;
        let mut tokens = String::new();
        for client in self.clients() {
            let token = random_token()?;
            // The groups are quoted because they may be several, with commas.
            let Client { user, groups, file } = &client;
            let _ = writeln!(tokens, "{token},{user},{user},\"{groups}\"");
            file::write(&file.with_added_extension("token"), token.as_bytes())?;
        }
        file::write(&directory.join("tokens.csv"), tokens.as_bytes())?;
        self.start_part(
            Part::ApiServer,
            &self.programs.kubernetes("kube-apiserver"),
            &[
                format!("--advertise-address={}", node_address(0)),
                "--allow-privileged=true".into(),
                "--authorization-mode=Node,RBAC".into(),
                "--bind-address=0.0.0.0".into(),
                format!("--cert-dir={}", directory.display()),
                "--enable-admission-plugins=NodeRestriction".into(),
                // The address of the service is on `lo` of the namespace, so nobody has to route to
                // endpoints.
                "--endpoint-reconciler-type=none".into(),
                format!("--etcd-servers={ETCD}"),
                format!("--feature-gates={}=true", node::VOLUME_DIGEST_GATE),
                "--kubelet-preferred-address-types=InternalIP".into(),
                "--profiling=false".into(),
                "--secure-port=443".into(),
                format!("--service-account-key-file={}", public_key.display()),
                format!("--service-account-signing-key-file={}", key.display()),
                "--service-account-issuer=https://kubernetes.default.svc".into(),
                format!("--service-cluster-ip-range={SERVICE_RANGE}"),
                format!("--token-auth-file={}", directory.join("tokens.csv").display()),
            ],
        )
    }

    /// Waits for the certificate that the API server creates, and writes all kubeconfigs.
    pub(crate) fn write_kubeconfigs(&self) -> Result<(), Error> {
        let path = self.certificate();
        let certificate = wait_for("the API server's certificate", Duration::from_mins(1), || {
            self.place.check_alive(Part::ApiServer)?;
            // The API server writes it with one call, but does not rename it into place.
            let text = file::read(&path)?;
            Ok(text.filter(|text| text.trim_end().ends_with("-----END CERTIFICATE-----")))
        })?;
        for client in self.clients() {
            let token = file::read(&client.file.with_added_extension("token"))?.unwrap_or_default();
            kubeconfig::write(&client.file, &self.place.system_name(), &certificate, &token)?;
        }
        Ok(())
    }

    /// Starts the controllers and the scheduler.
    pub(crate) fn start_controllers(&self) -> Result<(), Error> {
        let directory = self.place.control_plane();
        let kubeconfig = |name: &str| format!("--kubeconfig={}", directory.join(name).display());
        let key = directory.join("service-account.key");
        self.start_part(
            Part::ControllerManager,
            &self.programs.kubernetes("kube-controller-manager"),
            &[
                kubeconfig("kube-controller-manager.kubeconfig"),
                "--bind-address=127.0.0.1".into(),
                format!("--cert-dir={}", directory.join("kube-controller-manager").display()),
                // With the default of 20, the default service account appears several seconds late.
                "--kube-api-qps=500".into(),
                "--kube-api-burst=500".into(),
                "--leader-elect=false".into(),
                "--profiling=false".into(),
                format!("--root-ca-file={}", self.certificate().display()),
                format!("--service-account-private-key-file={}", key.display()),
                "--use-service-account-credentials=true".into(),
            ],
        )?;
        self.start_part(
            Part::Scheduler,
            &self.programs.kubernetes("kube-scheduler"),
            &[
                kubeconfig("kube-scheduler.kubeconfig"),
                "--bind-address=127.0.0.1".into(),
                format!("--cert-dir={}", directory.join("kube-scheduler").display()),
                "--leader-elect=false".into(),
                "--profiling=false".into(),
            ],
        )
    }

    fn start_etcd(&self) -> Result<(), Error> {
        let data = self.place.control_plane().join("etcd");
        let peer = "http://127.0.0.1:2380";
        self.start_part(
            Part::Etcd,
            &self.programs.etcd(),
            &[
                format!("--data-dir={}", data.display()),
                format!("--listen-client-urls={ETCD}"),
                format!("--advertise-client-urls={ETCD}"),
                format!("--listen-peer-urls={peer}"),
                format!("--initial-advertise-peer-urls={peer}"),
                format!("--initial-cluster=default={peer}"),
                // The data need not survive a power failure, so etcd does not wait for the disk.
                "--unsafe-no-fsync=true".into(),
            ],
        )
    }

    fn clients(&self) -> Vec<Client> {
        let directory = self.place.control_plane();
        let central = |name: &str| Client {
            user: format!("system:{name}"),
            file: directory.join(format!("{name}.kubeconfig")),
            groups: "",
        };
        let admin = Client {
            user: "admin".into(),
            file: self.place.kubeconfig(),
            groups: "system:masters",
        };
        let node = |index| {
            let name = node::name(index);
            let file = self.place.kubelet_kubeconfig(&name);
            Client { user: format!("system:node:{name}"), file, groups: "system:nodes" }
        };
        let mut clients =
            vec![admin, central("kube-controller-manager"), central("kube-scheduler")];
        // The server reads the tokens once, at its start, so nodes that join later already have
        // one.
        clients.extend((0..MOST_NODES).map(node));
        clients
    }

    /// Returns the self-signed serving certificate of the API server, which clients trust.
    fn certificate(&self) -> PathBuf {
        self.place.control_plane().join("apiserver.crt")
    }
}

fn random_token() -> Result<String, Error> {
    use std::io::Read;
    let path = PathBuf::from("/dev/urandom");
    let mut bytes = [0; 16];
    let mut read = || std::fs::File::open(&path)?.read_exact(&mut bytes);
    read().map_err(Error::file("read", &path))?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}
