package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"

	"github.com/blang/semver/v4"
	"github.com/distribution/reference"
	"sigs.k8s.io/yaml"
)

// document is the JSON of a YAML document.
func document(text []byte) (any, error) {
	json, err := yaml.YAMLToJSON(text)
	return string(json), err
}

// inRange says whether a range, which a line end and a version follow, contains the version. The
// error is that of the range.
func inRange(text []byte) (any, error) {
	first, second, _ := strings.Cut(string(text), "\n")
	contains, err := semver.ParseRange(first)
	if err != nil {
		return nil, err
	}
	version, err := semver.Parse(second)
	if err != nil {
		return "not a version", nil
	}
	return contains(version), nil
}

// image is the registry, the repository and the whole name of an image, as the kubelet reads it.
func image(text []byte) (any, error) {
	named, err := reference.ParseNormalizedNamed(string(text))
	if err != nil {
		return nil, err
	}
	whole := reference.TagNameOnly(named).String()
	return []string{reference.Domain(named), reference.Path(named), whole}, nil
}

// pullSecret says whether a pull secret is valid. Its types and rules are those of the kubelet
// (k8s.io/kubernetes/pkg/credentialprovider), which cannot be imported.
func pullSecret(text []byte) (any, error) {
	var secret struct {
		Auths map[string]struct{ Username, Password, Email, Auth string }
	}
	if err := json.Unmarshal(text, &secret); err != nil {
		return nil, err
	}
	for _, entry := range secret.Auths {
		if entry.Auth == "" {
			continue
		}
		encoding := base64.RawStdEncoding
		if strings.HasSuffix(strings.TrimSpace(entry.Auth), "=") {
			encoding = base64.StdEncoding
		}
		decoded, err := encoding.DecodeString(entry.Auth)
		if err != nil {
			return nil, err
		}
		if !strings.Contains(string(decoded), ":") {
			return nil, errors.New("an entry has no colon")
		}
	}
	return "valid", nil
}
