//! The examples that the help of each subcommand ends with.

/// Subcommand and examples. `{unlade}` is what people type, `{binary}` what shells complete.
pub(super) const ALL: [(&str, &str); 3] = [
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
        "completion",
        "  source <({binary} completion bash)
  {binary} completion zsh > ~/.zfunc/_{binary}
  {binary} completion fish > ~/.config/fish/completions/{binary}.fish
",
    ),
];
