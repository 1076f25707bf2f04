// Command oracle says what Kubernetes' own code makes of the Deployments of one namespace, for the tests to compare with.
//
// `oracle NAMESPACE` lists and watches Deployments (KUBECONFIG) and prints a JSON line for each object that arrives: what
// `kubectl rollout status` says of it, and the maxSurge and maxUnavailable that the Deployment controller resolves. For each
// line on standard input it prints the UIDs of a fresh list of Pods that a ReplicaSet controls.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/kubectl/pkg/polymorphichelpers"
	deploymentutil "k8s.io/kubernetes/pkg/controller/deployment/util"
)

type verdict struct {
	UID            string `json:"uid"`
	Name           string `json:"name"`
	Revision       string `json:"revision"`
	Message        string `json:"message"`
	Error          string `json:"error"`
	MaxSurge       int32  `json:"maxSurge"`
	MaxUnavailable int32  `json:"maxUnavailable"`
}

type pods struct {
	Pods []string `json:"pods"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: oracle NAMESPACE")
		os.Exit(2)
	}
	if err := run(context.Background(), os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "oracle:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, namespace string) error {
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(
		clientcmd.NewDefaultClientConfigLoadingRules(), nil).ClientConfig()
	if err != nil {
		return err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	deployments := client.AppsV1().Deployments(namespace)
	list, err := deployments.List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	watching, err := deployments.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for i := range list.Items {
		if err := say(out, &list.Items[i]); err != nil {
			return err
		}
	}
	fmt.Println(`{"watching":true}`)
	asked := make(chan struct{})
	go func() {
		lines := bufio.NewScanner(os.Stdin)
		for lines.Scan() {
			asked <- struct{}{}
		}
		close(asked)
	}()
	for {
		select {
		case event, open := <-watching.ResultChan():
			if !open {
				return fmt.Errorf("the watch ended")
			}
			deployment, ok := event.Object.(*appsv1.Deployment)
			if !ok || event.Type == watch.Deleted {
				continue
			}
			if err := say(out, deployment); err != nil {
				return err
			}
		case _, open := <-asked:
			if !open {
				return nil
			}
			if err := listPods(ctx, client, namespace, out); err != nil {
				return err
			}
		}
	}
}

func say(out *json.Encoder, deployment *appsv1.Deployment) error {
	object, err := runtime.DefaultUnstructuredConverter.ToUnstructured(deployment)
	if err != nil {
		return err
	}
	viewer := polymorphichelpers.DeploymentStatusViewer{}
	message, _, failed := viewer.Status(&unstructured.Unstructured{Object: object}, 0)
	said := verdict{
		UID:            string(deployment.UID),
		Name:           deployment.Name,
		Revision:       deployment.Annotations[deploymentutil.RevisionAnnotation],
		Message:        message,
		MaxSurge:       deploymentutil.MaxSurge(*deployment),
		MaxUnavailable: deploymentutil.MaxUnavailable(*deployment),
	}
	if failed != nil {
		said.Error = failed.Error()
	}
	return out.Encode(said)
}

func listPods(ctx context.Context, client *kubernetes.Clientset, namespace string, out *json.Encoder) error {
	list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err
	}
	found := pods{Pods: []string{}}
	for i := range list.Items {
		owner := metav1.GetControllerOf(&list.Items[i])
		if owner != nil && owner.Kind == "ReplicaSet" {
			found.Pods = append(found.Pods, string(list.Items[i].UID))
		}
	}
	return out.Encode(found)
}
