// Peer runs the Go code that unlade replaces, for measurements and comparisons:
// operator-registry's ConfigMap writer (what `opm alpha bundle extract` runs in
// the bundle's pod) and its loader (what OLM runs), without a cluster between.
//
//	peer fill DIR    a bundle directory -> the ConfigMap that the writer makes of it, as YAML
//	peer load FILE   such a ConfigMap -> the bundle that the loader makes of it, as JSON
//	peer measure     requests on standard input, see measure.go
//	peer answer      requests on standard input, one JSON a line -> answers, see answer.go
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/operator-framework/operator-registry/pkg/configmap"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	typed "k8s.io/client-go/kubernetes/typed/core/v1"
	"sigs.k8s.io/yaml"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "fill":
		return fill(args[1])
	case len(args) == 2 && args[0] == "load":
		return load(args[1])
	case len(args) == 1 && args[0] == "measure":
		return measure(os.Stdin, os.Stdout)
	case len(args) == 1 && args[0] == "answer":
		return answer(os.Stdin, os.Stdout)
	}
	return fmt.Errorf("usage: peer fill DIR | peer load FILE | peer measure | peer answer")
}

func fill(dir string) error {
	cluster := &cluster{}
	// The writer joins paths by putting them together.
	dir = strings.TrimSuffix(dir, "/") + "/"
	// As in the Job that OLM makes: compressed. Its limit is not what is measured.
	writer := configmap.NewConfigMapLoaderWithClient("peer", "default", dir, true, cluster)
	if err := writer.Populate(math.MaxUint64); err != nil {
		return err
	}
	text, err := yaml.Marshal(cluster.configMap)
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(text)
	return err
}

func load(file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var filled corev1.ConfigMap
	if err := yaml.Unmarshal(text, &filled); err != nil {
		return err
	}
	bundle, err := configmap.NewBundleLoader().Load(&filled)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(bundle)
}

// cluster is as much of a cluster as the writer uses: one ConfigMap.
type cluster struct {
	kubernetes.Interface
	configMap corev1.ConfigMap
}

func (c *cluster) CoreV1() typed.CoreV1Interface { return core{cluster: c} }

type core struct {
	typed.CoreV1Interface
	cluster *cluster
}

func (c core) ConfigMaps(string) typed.ConfigMapInterface { return configMaps{cluster: c.cluster} }

type configMaps struct {
	typed.ConfigMapInterface
	cluster *cluster
}

func (c configMaps) Get(context.Context, string, metav1.GetOptions) (*corev1.ConfigMap, error) {
	return c.cluster.configMap.DeepCopy(), nil
}

func (c configMaps) Update(_ context.Context, filled *corev1.ConfigMap, _ metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	filled.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}
	c.cluster.configMap = *filled
	return filled, nil
}
