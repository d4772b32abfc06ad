package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/operator-framework/operator-registry/pkg/api"
	"github.com/operator-framework/operator-registry/pkg/configmap"
	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// request is one line of input; one of its fields is set.
type request struct {
	// Fill asks for what the writer makes of a directory.
	Fill *fillRequest `json:"fill"`
	// Load asks for what the loader makes of a ConfigMap.
	Load *corev1.ConfigMap `json:"load"`
	// Check asks whether the API server takes a ConfigMap.
	Check *corev1.ConfigMap `json:"check"`
}

type fillRequest struct {
	Dir   string `json:"dir"`
	Gzip  bool   `json:"gzip"`
	Limit uint64 `json:"limit"`
	// Image is CONTAINER_IMAGE.
	Image string `json:"image"`
	// Existing is the ConfigMap that is there beforehand.
	Existing corev1.ConfigMap `json:"existing"`
}

// response is one line of output.
type response struct {
	ConfigMap *corev1.ConfigMap `json:"configMap,omitempty"`
	Bundle    *api.Bundle       `json:"bundle,omitempty"`
	// Digests are those of the bundle's objects, whose bytes JSON may not be able to hold.
	Digests []string `json:"digests,omitempty"`
	Error   string   `json:"error,omitempty"`
}

func answer(in io.Reader, out io.Writer) error {
	requests, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var asked request
		if err := requests.Decode(&asked); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		given, err := asked.answer()
		if err != nil {
			given = response{Error: err.Error()}
		}
		if err := answers.Encode(given); err != nil {
			return err
		}
	}
}

func (r request) answer() (response, error) {
	switch {
	case r.Fill != nil:
		filled, err := r.Fill.answer()
		return response{ConfigMap: filled}, err
	case r.Check != nil:
		return response{}, check(r.Check)
	}
	bundle, err := configmap.NewBundleLoader().Load(r.Load)
	if err != nil {
		return response{}, err
	}
	digests := []string{}
	for _, object := range bundle.Object {
		digest := sha256.Sum256([]byte(object))
		digests = append(digests, hex.EncodeToString(digest[:]))
	}
	return response{Bundle: bundle, Digests: digests}, nil
}

func (r fillRequest) answer() (*corev1.ConfigMap, error) {
	if err := os.Setenv(configmap.EnvContainerImage, r.Image); err != nil {
		return nil, err
	}
	cluster := &cluster{configMap: r.Existing}
	dir := strings.TrimSuffix(r.Dir, "/") + "/"
	name, namespace := r.Existing.Name, r.Existing.Namespace
	writer := configmap.NewConfigMapLoaderWithClient(name, namespace, dir, r.Gzip, cluster)
	if err := writer.Populate(r.Limit); err != nil {
		return nil, err
	}
	return &cluster.configMap, check(&cluster.configMap)
}

// check refuses what the API server refuses of a ConfigMap (ValidateConfigMap of
// k8s.io/kubernetes, which can't be imported, with the functions that it calls).
func check(configMap *corev1.ConfigMap) error {
	var problems []string
	size := 0
	for key, value := range configMap.Data {
		if _, twice := configMap.BinaryData[key]; twice {
			problems = append(problems, fmt.Sprintf("%q: it is in data and binaryData", key))
		}
		for _, problem := range validation.IsConfigMapKey(key) {
			problems = append(problems, fmt.Sprintf("%q: %s", key, problem))
		}
		size += len(value)
	}
	for key, value := range configMap.BinaryData {
		for _, problem := range validation.IsConfigMapKey(key) {
			problems = append(problems, fmt.Sprintf("%q: %s", key, problem))
		}
		size += len(value)
	}
	if size > corev1.MaxSecretSize {
		problems = append(problems, fmt.Sprintf("%d bytes are too long", size))
	}
	path := field.NewPath("metadata", "annotations")
	for _, problem := range apivalidation.ValidateAnnotations(configMap.Annotations, path) {
		problems = append(problems, problem.Error())
	}
	if len(problems) == 0 {
		return nil
	}
	slices.Sort(problems)
	return fmt.Errorf("the API server refuses it: %s", strings.Join(problems, "; "))
}
