package main

import (
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// slowPull is how long a blob of the repository "slow" takes.
const slowPull = 25 * time.Second

// serveRegistry serves repositories, each of which answers in its own way: "absent" 404, "private" 401 as a registry that
// wants a sign-in, "limited" 429, "broken" 503; "slow" holds the image, and takes its time. At the second address it does so
// with a certificate of an authority that nobody knows.
func serveRegistry(address, secure string) error {
	layer, err := layer(file{"slow", []byte("not the layer that is there already"), 0o644})
	if err != nil {
		return err
	}
	configuration, err := config(layer, "/app")
	if err != nil {
		return err
	}
	part := func(media string, data []byte) map[string]any {
		return map[string]any{"mediaType": media, "digest": digest(data), "size": len(data)}
	}
	const manifestType = "application/vnd.oci.image.manifest.v1+json"
	manifest, err := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": part("application/vnd.oci.image.config.v1+json", configuration),
		"layers": []any{part("application/vnd.oci.image.layer.v1.tar", layer)},
	})
	if err != nil {
		return err
	}
	refuse := func(response http.ResponseWriter, status int, code, message string) {
		response.Header().Set("Content-Type", "application/json")
		response.WriteHeader(status)
		fmt.Fprintf(response, `{"errors":[{"code":%q,"message":%q}]}`, code, message)
	}
	http.HandleFunc("/token", func(response http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(response, `{"token":"anonymous"}`)
	})
	http.HandleFunc("/v2/", func(response http.ResponseWriter, request *http.Request) {
		repository, rest, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/v2/"), "/")
		switch repository {
		case "private":
			challenge := fmt.Sprintf(`Bearer realm="http://%s/token",service="registry"`, address)
			if request.Header.Get("Authorization") != "" {
				challenge += `,error="insufficient_scope"`
			}
			response.Header().Set("WWW-Authenticate", challenge)
			refuse(response, http.StatusUnauthorized, "UNAUTHORIZED", "authentication required")
		case "limited":
			refuse(response, http.StatusTooManyRequests, "TOOMANYREQUESTS", "You have reached your pull rate limit.")
		case "broken":
			refuse(response, http.StatusServiceUnavailable, "UNAVAILABLE", "the storage of this registry does not answer")
		case "slow":
			for _, data := range [][]byte{manifest, configuration, layer} {
				if strings.HasSuffix(rest, digest(data)) || (data[0] == '{' && strings.Contains(rest, "manifests/v")) {
					send(response, request, manifestType, data, strings.HasSuffix(rest, digest(layer)))
					return
				}
			}
			refuse(response, http.StatusNotFound, "BLOB_UNKNOWN", "blob unknown to registry")
		default:
			refuse(response, http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown")
		}
	})
	listener, err := net.Listen("tcp", secure)
	if err != nil {
		return err
	}
	unknown := httptest.Server{Listener: listener, Config: &http.Server{Handler: http.DefaultServeMux}}
	unknown.StartTLS()
	return http.ListenAndServe(address, nil)
}

func send(response http.ResponseWriter, request *http.Request, media string, data []byte, isSlow bool) {
	response.Header().Set("Content-Type", media)
	response.Header().Set("Content-Length", fmt.Sprint(len(data)))
	response.Header().Set("Docker-Content-Digest", digest(data))
	if request.Method == http.MethodHead {
		return
	}
	if isSlow {
		time.Sleep(slowPull)
	}
	_, _ = response.Write(data) // who asked may be gone
}
