//! The examples at the end of the help of each subcommand.

/// Each subcommand with its examples. `{unlade}` stands for the command as users type it, and
/// `{binary}` for the binary that shells complete.
pub(super) const ALL: [(&str, &str); 10] = [
    (
        "unpack",
        "  # Show a summary of a bundle.
  {unlade} unpack examples/hello-operator

  # Show a summary of a bundle in a registry, with the credentials of podman or docker.
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
        "copy",
        "  # Copy an image for another machine, with the credentials of podman or docker.
  {unlade} copy docker://registry.example/bundles/etcd:0.9.4 oci-archive:etcd.tar

  # Copy it from there into another registry.
  {unlade} copy oci-archive:etcd.tar docker://mirror.example/bundles/etcd:0.9.4

  # Copy the images for all platforms.
  {unlade} copy --all docker://registry.example/tools/opm:v1 oci:tools:opm
",
    ),
    (
        "catalog",
        "  # Check a catalog, and report all problems at once.
  {unlade} catalog validate catalog

  # List the heads of all channels.
  {unlade} catalog list channels catalog

  # Show what a change of a catalog means, as a comment for a pull request.
  {unlade} catalog diff main/catalog catalog -o markdown

  # Add a new version to a channel, with the edges of its ClusterServiceVersion.
  {unlade} catalog add catalog docker://registry.example/bundles/etcd:0.9.4 -c stable

  # Build the image of a catalog, and push it.
  {unlade} catalog build catalog -t docker://registry.example/catalogs/etcd:v1

  # Draw the upgrade graphs of a package.
  {unlade} catalog graph catalog -p etcd -o svg > etcd.svg

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

  # Let the nodes pull the image with the credentials of podman or docker on this machine.
  {unlade} launch registry.example/bundles/etcd:0.9.4 --pull-secret-from-login

  # Unpack many images, four at a time. A second run reuses the content of images with a digest.
  {unlade} launch -f images.txt --concurrency 4 --keep-going

  # Show what would be created.
  {unlade} launch registry.example/bundles/etcd:0.9.4 --dry-run=client
",
    ),
    (
        "check",
        "  # Check from which mirror this machine reads an image, and with which credentials.
  {unlade} check --registry registry.example/bundles/etcd:0.9.4

  # Check whether launches in this namespace would succeed.
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
