package main

import (
	"archive/tar"
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
)

// Names of the images. No registry answers for this host, so any other tag of it cannot be pulled.
var (
	appTags   = []string{"registry.local/app:v1", "registry.local/app:v2"}
	pauseTags = []string{"registry.local/pause:3.10"}
)

type file struct {
	name string
	data []byte
	mode int64
}

// layer returns a layer that holds this program as /app, and more files.
func layer(more ...file) ([]byte, error) {
	path, err := os.Executable()
	if err != nil {
		return nil, err
	}
	program, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return archive(append([]file{{"app", program, 0o755}}, more...))
}

// config returns an image configuration for the layer.
func config(layer []byte, entrypoint ...string) ([]byte, error) {
	return json.Marshal(map[string]any{
		"architecture": runtime.GOARCH, "os": "linux",
		"config": map[string]any{"Entrypoint": entrypoint},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digest(layer)}},
	})
}

// writeArchive writes an archive of both images, as `ctr images import` reads it.
func writeArchive(path string) error {
	layer, err := layer()
	if err != nil {
		return err
	}
	app, err := config(layer, "/app")
	if err != nil {
		return err
	}
	pause, err := config(layer, "/app", "pause")
	if err != nil {
		return err
	}
	image := func(config string, tags []string) map[string]any {
		return map[string]any{"Config": config, "RepoTags": tags, "Layers": []string{"layer.tar"}}
	}
	manifest, err := json.Marshal([]any{image("app.json", appTags), image("pause.json", pauseTags)})
	if err != nil {
		return err
	}
	whole, err := archive([]file{
		{"manifest.json", manifest, 0o644}, {"app.json", app, 0o644}, {"pause.json", pause, 0o644}, {"layer.tar", layer, 0o644},
	})
	if err != nil {
		return err
	}
	return os.WriteFile(path, whole, 0o644)
}

func archive(files []file) ([]byte, error) {
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	for _, file := range files {
		header := &tar.Header{Name: file.name, Mode: file.mode, Size: int64(len(file.data))}
		if err := writer.WriteHeader(header); err != nil {
			return nil, err
		}
		if _, err := writer.Write(file.data); err != nil {
			return nil, err
		}
	}
	err := writer.Close()
	return buffer.Bytes(), err
}

func digest(data []byte) string {
	return fmt.Sprintf("sha256:%x", sha256.Sum256(data))
}
