//! The examples at the end of the help of each subcommand.

/// Each subcommand with its examples. `{unlade}` stands for the command as users type it, and
/// `{binary}` for the binary that shells complete.
pub(super) const ALL: [(&str, &str); 9] = [
    (
        "unpack",
        "  # Show a summary of a bundle.
  {unlade} unpack examples/hello-operator

  # Show a summary of a bundle in a registry, with the login of podman or docker.
  {unlade} unpack docker://registry.example/bundles/etcd:0.9.4

  # Create its ConfigMap on a cluster. `apply` would store a second copy in an annotation.
  {unlade} unpack oci-archive:bundle.tar -n operators -o yaml | kubectl create -f -

  # Show what OLM will load from it.
  {unlade} unpack examples/hello-operator -o yaml | {unlade} load
",
    ),
    (
        "load",
        "  # Load a ConfigMap from a cluster.
  kubectl get configmap NAME -o yaml | {unlade} load

  # Load all bundles that OLM has unpacked, one per line.
  kubectl get configmaps -A -l olm.managed=true -o json | {unlade} load -o json
",
    ),
    (
        "catalog",
        "  # Check a catalog, and report all problems at once.
  {unlade} catalog validate catalog

  # List the heads of all channels.
  {unlade} catalog list channels catalog

  # Write the problems for a code review system, and fail for warnings too.
  {unlade} catalog validate catalog -o sarif --strict > catalog.sarif
",
    ),
    (
        "launch",
        "  # Unpack an image on the cluster, and show a summary of the bundle.
  {unlade} launch registry.example/bundles/etcd:0.9.4 -n operators

  # Pull the image with credentials, and write the ConfigMap for another program.
  {unlade} launch registry.example/bundles/etcd:0.9.4 --pull-secret my-registry -o yaml

  # Unpack many images, four at a time. A second run reuses the content of images with a digest.
  {unlade} launch -f images.txt --concurrency 4 --keep-going

  # Show what would be created.
  {unlade} launch registry.example/bundles/etcd:0.9.4 --dry-run=client
",
    ),
    (
        "check",
        "  # Check whether launches in this namespace would succeed.
  {unlade} check -n operators

  # Check the launch of an image with the given options.
  {unlade} check registry.example/bundles/etcd:0.9.4 -n operators --pull-secret my-registry
",
    ),
    (
        "get",
        "  # List the ConfigMaps of launches in this namespace, and in all namespaces.
  {unlade} get
  {unlade} get -A -o wide

  # Load the bundles from these ConfigMaps, and write one JSON document per line.
  {unlade} get -o json | {unlade} load -o json
",
    ),
    (
        "describe",
        "  # Show why a launch failed.
  {unlade} describe NAME
",
    ),
    (
        "delete",
        "  # Delete a ConfigMap with its Jobs, pods, service account, Role and RoleBinding.
  {unlade} delete NAME

  # Delete all ConfigMaps of launches in this namespace.
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
