package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"

	"github.com/operator-framework/operator-registry/pkg/configmap"
	"github.com/operator-framework/operator-registry/pkg/lib/encoding"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// measure measures within this process. Each line of input is `WORK TIMES LIST`: what is measured,
// how often it is repeated, and a file with the paths of the inputs, one in a line. The response is
// a line with the processor time of the work alone, in seconds, and the number of bytes of its
// results. loader/benches/rate.rs is the same for our code.
func measure(in io.Reader, out io.Writer) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		words := strings.SplitN(lines.Text(), " ", 3)
		if len(words) != 3 {
			return fmt.Errorf("not a request: %q", lines.Text())
		}
		times, err := strconv.Atoi(words[1])
		if err != nil {
			return err
		}
		inputs, err := readList(words[2])
		if err != nil {
			return err
		}
		seconds, size, err := measureWork(words[0], times, inputs)
		if err != nil {
			return err
		}
		fmt.Fprintln(out, seconds, size)
	}
	return lines.Err()
}

func readList(list string) ([][]byte, error) {
	paths, err := os.ReadFile(list)
	if err != nil {
		return nil, err
	}
	var inputs [][]byte
	for _, path := range strings.Split(strings.TrimSpace(string(paths)), "\n") {
		input, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		inputs = append(inputs, input)
	}
	return inputs, nil
}

func measureWork(work string, times int, inputs [][]byte) (float64, int, error) {
	switch work {
	case "load":
		var configMaps []*corev1.ConfigMap
		for _, input := range inputs {
			var configMap corev1.ConfigMap
			if err := json.Unmarshal(input, &configMap); err != nil {
				return 0, 0, err
			}
			configMaps = append(configMaps, &configMap)
		}
		// It logs each object at a lower level.
		logger := logrus.New()
		logger.SetLevel(logrus.ErrorLevel)
		loader := configmap.NewBundleLoaderWithLogger(logrus.NewEntry(logger))
		return timed(times, configMaps, func(configMap *corev1.ConfigMap) (int, error) {
			bundle, err := loader.Load(configMap)
			if err != nil {
				return 0, err
			}
			size := 0
			for _, object := range bundle.Object {
				size += len(object)
			}
			return size, nil
		})
	case "json":
		return timed(times, inputs, func(text []byte) (int, error) {
			// Files that are not YAML take time, too, but have no result.
			converted, _ := yaml.YAMLToJSON(text)
			return len(converted), nil
		})
	case "encode":
		return timed(times, inputs, func(text []byte) (int, error) {
			encoded, err := encoding.GzipBase64Encode(text)
			return len(encoded), err
		})
	}
	return 0, 0, fmt.Errorf("unknown work: %s", work)
}

func timed[T any](times int, inputs []T, work func(T) (int, error)) (float64, int, error) {
	// What was allocated before is not part of the work.
	runtime.GC()
	size := 0
	start, err := processorTime()
	if err != nil {
		return 0, 0, err
	}
	for range times {
		for _, input := range inputs {
			done, err := work(input)
			if err != nil {
				return 0, 0, err
			}
			size += done
		}
	}
	end, err := processorTime()
	return end - start, size, err
}

// processorTime returns what this process has used so far, in seconds.
func processorTime() (float64, error) {
	var usage syscall.Rusage
	err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	microseconds := func(time syscall.Timeval) float64 { return float64(time.Sec)*1e6 + float64(time.Usec) }
	return (microseconds(usage.Utime) + microseconds(usage.Stime)) / 1e6, err
}
