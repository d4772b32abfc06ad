//! The examples that the help of each subcommand ends with.

/// Subcommand and examples. `{unlade}` is what people type, `{binary}` what shells complete.
pub(super) const ALL: [(&str, &str); 8] = [
    (
        "unpack",
        "  # Look at a bundle.
  {unlade} unpack examples/hello-operator

  # Make its ConfigMap on a cluster. Not `apply`, which would keep a second copy in an annotation.
  {unlade} unpack oci-archive:bundle.tar -n operators -o yaml | kubectl create -f -

  # See what OLM will make of it.
  {unlade} unpack examples/hello-operator -o yaml | {unlade} load
",
    ),
    (
        "load",
        "  # A ConfigMap of a cluster.
  kubectl get configmap NAME -o yaml | {unlade} load

  # All that OLM has unpacked, a line each.
  kubectl get configmaps -A -l olm.managed=true -o json | {unlade} load -o json
",
    ),
    (
        "launch",
        "  # Unpack an image on the cluster, and look at the bundle.
  {unlade} launch registry.example/bundles/etcd:0.9.4 -n operators

  # With credentials, and its ConfigMap for another program.
  {unlade} launch registry.example/bundles/etcd:0.9.4 --pull-secret my-registry -o yaml

  # Many images, four at a time; run it again, and finished ones are not repeated.
  {unlade} launch -f images.txt --concurrency 4 --keep-going

  # What would be made.
  {unlade} launch registry.example/bundles/etcd:0.9.4 --dry-run=client
",
    ),
    (
        "check",
        "  # Whether launches in this namespace would go well, and what to do if not.
  {unlade} check -n operators

  # The same for an image, with what it is to be launched with.
  {unlade} check registry.example/bundles/etcd:0.9.4 -n operators --pull-secret my-registry
",
    ),
    (
        "get",
        "  # What launches made in this namespace, and in all of them.
  {unlade} get
  {unlade} get -A -o wide

  # The bundles in them, a line each.
  {unlade} get -o json | {unlade} load -o json
",
    ),
    (
        "describe",
        "  # Why it failed.
  {unlade} describe NAME
",
    ),
    (
        "delete",
        "  # One of them with its Jobs, pods and rights.
  {unlade} delete NAME

  # All of this namespace.
  {unlade} delete --all
",
    ),
    (
        "completion",
        "  source <({binary} completion bash)
  {binary} completion zsh > ~/.zfunc/_{binary}
  {binary} completion fish > ~/.config/fish/completions/{binary}.fish
",
    ),
];
