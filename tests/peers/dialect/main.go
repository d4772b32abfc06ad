// Dialect says what Go's own readers find in layers and in documents of images, the ones that
// every engine uses, and what the libraries of Kubernetes and OLM find in other texts (text.go),
// and writes layers with Go's own writer. Each case of the standard input is a letter for its
// kind, its length in four bytes, most significant first, and its bytes; each answer is a line of
// JSON.
package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/opencontainers/image-spec/specs-go/v1"
)

func main() {
	if err := dialect(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func dialect(in io.Reader, out io.Writer) error {
	reader, writer := bufio.NewReader(in), bufio.NewWriter(out)
	answers := json.NewEncoder(writer)
	for {
		kind, err := reader.ReadByte()
		if errors.Is(err, io.EOF) {
			return writer.Flush()
		} else if err != nil {
			return err
		}
		var length uint32
		if err := binary.Read(reader, binary.BigEndian, &length); err != nil {
			return err
		}
		text := make([]byte, length)
		if _, err := io.ReadFull(reader, text); err != nil {
			return err
		}
		found, err := read(kind, text)
		answer := struct {
			Found any    `json:"found"`
			Error string `json:"error"`
		}{Found: found}
		if err != nil {
			answer.Found, answer.Error = nil, err.Error()
		}
		if err := answers.Encode(answer); err != nil {
			return err
		}
	}
}

// read reads a case. A panic of a reader is an error.
func read(kind byte, text []byte) (found any, err error) {
	defer func() {
		if failed := recover(); failed != nil {
			found, err = nil, fmt.Errorf("panic: %v", failed)
		}
	}()
	switch kind {
	case 't':
		return entries(bytes.NewReader(text))
	case 'h':
		return headers(bytes.NewReader(text)), nil
	case 'w':
		return written(text)
	case 'l':
		var layout v1.ImageLayout
		err := json.Unmarshal(text, &layout)
		return layout.Version, err
	case 'm':
		var manifest v1.Manifest
		err := json.Unmarshal(text, &manifest)
		return []any{descriptor(manifest.Config), descriptors(manifest.Layers)}, err
	case 'i':
		var index v1.Index
		err := json.Unmarshal(text, &index)
		return descriptors(index.Manifests), err
	case 'c':
		var image v1.Image
		err := json.Unmarshal(text, &image)
		return map[string]any{
			"os": image.OS, "architecture": image.Architecture, "variant": image.Variant,
			"labels": orEmpty(image.Config.Labels), "diffIds": image.RootFS.DiffIDs,
		}, err
	case 'd':
		// moby's image/tarexport.
		var items []struct {
			Config       string
			RepoTags     []string
			Layers       []string
			Parent       string                   `json:",omitempty"`
			LayerSources map[string]v1.Descriptor `json:",omitempty"`
		}
		err := json.Unmarshal(text, &items)
		found := []any{}
		for _, item := range items {
			found = append(found, []any{item.Config, item.RepoTags, item.Layers})
		}
		return found, err
	case 'y':
		return document(text)
	case 'r':
		return inRange(text)
	case 'n':
		return image(text)
	case 'p':
		return pullSecret(text)
	}
	return nil, fmt.Errorf("unknown kind %q", kind)
}

func descriptors(all []v1.Descriptor) []any {
	found := []any{}
	for _, one := range all {
		found = append(found, descriptor(one))
	}
	return found
}

func descriptor(one v1.Descriptor) any {
	var platform any
	if p := one.Platform; p != nil {
		platform = []string{p.OS, p.Architecture, p.Variant}
	}
	return map[string]any{
		"mediaType": one.MediaType, "digest": one.Digest, "size": one.Size,
		"annotations": orEmpty(one.Annotations), "artifactType": one.ArtifactType,
		"platform": platform,
	}
}

func orEmpty(texts map[string]string) map[string]string {
	if texts == nil {
		return map[string]string{}
	}
	return texts
}

// entry is an entry of a tar; names and targets are in hex.
type entry struct {
	Name   string `json:"name"`
	Kind   string `json:"kind"`
	Link   string `json:"link"`
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
}

func entries(in io.Reader) ([]entry, error) {
	found := []entry{}
	reader := tar.NewReader(in)
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found, nil
		} else if err != nil {
			return nil, err
		}
		one := entry{Name: hex.EncodeToString([]byte(header.Name)), Kind: kind(header)}
		switch one.Kind {
		case "symlink", "hardlink":
			one.Link = hex.EncodeToString([]byte(header.Linkname))
		case "sparse":
			// Holes are as large as their header says.
			if _, err := io.CopyN(io.Discard, reader, 1<<20); err != nil && !errors.Is(err, io.EOF) {
				return nil, err
			}
		case "file", "other":
			digest := sha256.New()
			if one.Size, err = io.Copy(digest, reader); err != nil {
				return nil, err
			}
			one.Digest = hex.EncodeToString(digest.Sum(nil))
		}
		found = append(found, one)
	}
}

// headers reads headers up to the first error, and no data.
func headers(in io.Reader) []entry {
	found := []entry{}
	reader := tar.NewReader(in)
	for {
		header, err := reader.Next()
		if err != nil {
			return found
		}
		found = append(found, entry{
			Name: hex.EncodeToString([]byte(header.Name)),
			Kind: kind(header),
			Link: hex.EncodeToString([]byte(header.Linkname)),
			Size: header.Size,
		})
	}
}

// wanted is an entry to write. It has data of the size, unless the size is too large.
type wanted struct {
	tar.Header
	// JSON has no bytes that are not UTF-8, so these are in hex.
	NameHex, LinkHex string
}

// written is a layer in hex. Without the data of an entry, the layer ends.
func written(text []byte) (any, error) {
	var all []wanted
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, err
	}
	var layer bytes.Buffer
	writer := tar.NewWriter(&layer)
	for _, one := range all {
		name, err := hex.DecodeString(one.NameHex)
		if err != nil {
			return nil, err
		}
		link, err := hex.DecodeString(one.LinkHex)
		if err != nil {
			return nil, err
		}
		one.Name, one.Linkname = string(name), string(link)
		if err := writer.WriteHeader(&one.Header); err != nil {
			return nil, err
		}
		if one.Size > 1<<20 {
			return hex.EncodeToString(layer.Bytes()), nil
		}
		if _, err := writer.Write(bytes.Repeat([]byte("d"), int(one.Size))); err != nil {
			return nil, err
		}
	}
	if err := writer.Close(); err != nil {
		return nil, err
	}
	return hex.EncodeToString(layer.Bytes()), nil
}

func kind(header *tar.Header) string {
	switch header.Typeflag {
	case tar.TypeReg:
		for key := range header.PAXRecords {
			if strings.HasPrefix(key, "GNU.sparse.") {
				return "sparse"
			}
		}
		return "file"
	case tar.TypeGNUSparse:
		return "sparse"
	case tar.TypeDir:
		return "directory"
	case tar.TypeSymlink:
		return "symlink"
	case tar.TypeLink:
		return "hardlink"
	case tar.TypeChar, tar.TypeBlock:
		return "device"
	case tar.TypeFifo:
		return "fifo"
	case tar.TypeXGlobalHeader:
		return "global"
	}
	return "other"
}
