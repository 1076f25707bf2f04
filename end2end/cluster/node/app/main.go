// Command app is the only program that containers of the test node run. Its arguments say how it lives:
//
//	ready=S      /ready answers 503 until S seconds after the start
//	startup=S    /startup answers 503 until S seconds after the start
//	live=S       /live answers 500 from S seconds after the start on
//	flap=S       /ready answers 503 in every second period of S seconds
//	exit=CODE@S  exits with CODE after S seconds
//	term=S       takes S seconds to end after SIGTERM; term=ignore never ends
//	fill=MB      writes so much to /state/filled after 5 seconds
//	eat=MB       allocates so much memory, 16 MB every 100 ms
//	fail=N       exits with 1 the first N times and with 0 after them, counted in /state/tries
//	port=N       serves on this port instead of 8080
//
// `app pause` waits for a signal, `app image FILE` writes the image archive, `app registry ADDRESS SECURE`
// serves images, at SECURE with a certificate that nobody knows.
package main

import (
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const tries = "/state/tries"

func main() {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "pause":
			pause()
			return
		case "image":
			check(writeArchive(os.Args[2]))
			return
		case "registry":
			check(serveRegistry(os.Args[2], os.Args[3]))
			return
		}
	}
	live(os.Args[1:])
}

// pause holds the namespaces of a pod, and reaps processes whose parents are gone.
func pause() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGCHLD)
	for received := range signals {
		if received != syscall.SIGCHLD {
			return
		}
		for pid := 1; pid > 0; {
			pid, _ = syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
		}
	}
}

func live(arguments []string) {
	started := time.Now()
	since := func(seconds float64) bool { return time.Since(started).Seconds() >= seconds }
	values := map[string]string{}
	for _, argument := range arguments {
		name, value, _ := strings.Cut(argument, "=")
		values[name] = value
	}
	seconds := func(name string) float64 {
		value, err := strconv.ParseFloat(values[name], 64)
		if values[name] != "" && values[name] != "ignore" {
			check(err)
		}
		return value
	}
	if values["fail"] != "" {
		failFirst(int(seconds("fail")))
	}
	go endAtSignal(values["term"] == "ignore", seconds("term"))
	if code, after, isGiven := strings.Cut(values["exit"], "@"); isGiven {
		values["exit"] = after
		delay := time.Duration(seconds("exit") * float64(time.Second))
		status, err := strconv.Atoi(code)
		check(err)
		time.AfterFunc(delay, func() {
			fmt.Printf("exiting with code %d\n", status)
			os.Exit(status)
		})
	}
	go eat(int(seconds("eat")))
	if values["fill"] != "" {
		time.AfterFunc(5*time.Second, func() {
			check(os.WriteFile("/state/filled", make([]byte, int(seconds("fill"))<<20), 0o600))
		})
	}
	ready, startup, liveUntil, flap := seconds("ready"), seconds("startup"), seconds("live"), seconds("flap")
	answer := func(path string, failure int, isWell func() bool) {
		http.HandleFunc(path, func(response http.ResponseWriter, _ *http.Request) {
			if !isWell() {
				response.WriteHeader(failure)
			}
		})
	}
	answer("/ready", http.StatusServiceUnavailable, func() bool {
		return since(ready) && (flap == 0 || int(time.Since(started).Seconds()/flap)%2 == 0)
	})
	answer("/startup", http.StatusServiceUnavailable, func() bool { return since(startup) })
	answer("/live", http.StatusInternalServerError, func() bool { return liveUntil == 0 || !since(liveUntil) })
	port := values["port"]
	if port == "" {
		port = "8080"
	}
	check(http.ListenAndServe(":"+port, nil))
}

func failFirst(times int) {
	before, _ := os.ReadFile(tries) // none before the first time
	check(os.WriteFile(tries, append(before, '.'), 0o600))
	if len(before) < times {
		fmt.Printf("failing, time %d of %d\n", len(before)+1, times)
		os.Exit(1)
	}
	os.Exit(0)
}

func endAtSignal(isIgnored bool, seconds float64) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM)
	for range signals {
		if !isIgnored {
			time.Sleep(time.Duration(seconds * float64(time.Second)))
			os.Exit(0)
		}
	}
}

func eat(megabytes int) {
	var eaten [][]byte
	for megabytes > 0 {
		chunk := make([]byte, 16<<20)
		for index := 0; index < len(chunk); index += 4096 {
			chunk[index] = 1 // a page is only there once it was written
		}
		eaten = append(eaten, chunk)
		megabytes -= 16
		time.Sleep(100 * time.Millisecond)
	}
	if eaten != nil {
		fmt.Println("holding", len(eaten)*16, "MB")
		select {}
	}
}

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "app:", err)
		os.Exit(3)
	}
}
