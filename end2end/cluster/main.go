// Command rollcast-cluster is the control plane of the end-to-end tests in one binary: it becomes
// kube-apiserver, kube-controller-manager, kube-scheduler, kubectl or kubelet, by its first argument.
//
// `rollcast-cluster certificates DIR` writes the authority, the serving certificate and the administrator's
// client certificate into DIR. Nothing here is meant for anything but a throw-away cluster on loopback.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
	kubectl "k8s.io/kubectl/pkg/cmd"
)

func main() {
	if len(os.Args) < 2 {
		usage()
	}
	part := os.Args[1]
	os.Args = append([]string{part}, os.Args[2:]...)
	var command *cobra.Command
	switch part {
	case "kube-apiserver":
		command = apiserver.NewAPIServerCommand()
	case "kube-controller-manager":
		command = controllermanager.NewControllerManagerCommand()
	case "kube-scheduler":
		command = scheduler.NewSchedulerCommand()
	case "kubectl":
		command = kubectl.NewDefaultKubectlCommand()
	case "kubelet":
		command = kubelet.NewKubeletCommand(context.Background())
	case "certificates":
		if len(os.Args) != 2 {
			usage()
		}
		if err := writeCertificates(os.Args[1]); err != nil {
			fmt.Fprintln(os.Stderr, "rollcast-cluster certificates:", err)
			os.Exit(1)
		}
		return
	default:
		usage()
	}
	os.Exit(cli.Run(command))
}

func usage() {
	fmt.Fprintln(os.Stderr, "usage: rollcast-cluster kube-apiserver|kube-controller-manager|kube-scheduler|kubectl|kubelet|certificates [flags]")
	os.Exit(2)
}
