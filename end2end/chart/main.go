// Reads manifests from standard input, and decodes those of kinds that Kubernetes does not have into the Go types of the
// projects that define them. An unknown field, or one of another type, is an error.
package main

import (
	"bytes"
	"fmt"
	"io"
	"os"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	gateway "sigs.k8s.io/gateway-api/apis/v1"
	"sigs.k8s.io/yaml"
)

// New values of each kind, by apiVersion and kind.
var kinds = map[string]func() any{
	"gateway.networking.k8s.io/v1 HTTPRoute":  func() any { return &gateway.HTTPRoute{} },
	"monitoring.coreos.com/v1 PrometheusRule": func() any { return &monitoring.PrometheusRule{} },
	"monitoring.coreos.com/v1 ServiceMonitor": func() any { return &monitoring.ServiceMonitor{} },
}

// checked decodes one document; false where it is of another kind.
func checked(document []byte) (string, bool, error) {
	var head struct {
		APIVersion string `json:"apiVersion"`
		Kind       string `json:"kind"`
	}
	if err := yaml.Unmarshal(document, &head); err != nil {
		return "", false, err
	}
	name := head.APIVersion + " " + head.Kind
	made, isKnown := kinds[name]
	if !isKnown {
		return name, false, nil
	}
	return name, true, yaml.UnmarshalStrict(document, made())
}

func main() {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	hasFailed := false
	for _, document := range bytes.Split(text, []byte("\n---\n")) {
		name, isChecked, err := checked(document)
		if err != nil {
			fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
			hasFailed = true
		} else if isChecked {
			fmt.Println(name)
		}
	}
	if hasFailed {
		os.Exit(1)
	}
}
