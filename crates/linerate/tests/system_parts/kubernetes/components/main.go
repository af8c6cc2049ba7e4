// Every component of a Kubernetes as one program, for the name by which it is called: what they share, which is most of
// each, is compiled and linked once.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/component-base/cli"
	kubectl "k8s.io/kubectl/pkg/cmd"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllers "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	proxy "k8s.io/kubernetes/cmd/kube-proxy/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
	kubelet "k8s.io/kubernetes/cmd/kubelet/app"
)

var components = map[string]func() *cobra.Command{
	"etcd":                    etcd,
	"kube-apiserver":          apiserver.NewAPIServerCommand,
	"kube-controller-manager": controllers.NewControllerManagerCommand,
	"kube-proxy":              proxy.NewProxyCommand,
	"kube-scheduler":          func() *cobra.Command { return scheduler.NewSchedulerCommand() },
	"kubectl":                 kubectl.NewDefaultKubectlCommand,
	"kubelet":                 func() *cobra.Command { return kubelet.NewKubeletCommand(context.Background()) },
}

func main() {
	name := filepath.Base(os.Args[0])
	component := components[name]
	if component == nil {
		fmt.Fprintf(os.Stderr, "no component is called %s: call this by a link of the name of one\n", name)
		os.Exit(2)
	}
	os.Exit(cli.Run(component()))
}

// One member whose data need not survive the machine: nothing waits for a disk.
func etcd() *cobra.Command {
	config := embed.NewConfig()
	command := &cobra.Command{Use: "etcd", SilenceUsage: true}
	command.Flags().StringVar(&config.Dir, "data-dir", "", "folder of its data")
	command.RunE = func(*cobra.Command, []string) error {
		config.UnsafeNoFsync = true
		// Not set, every request is slow.
		config.WarningUnaryRequestDuration = embed.DefaultWarningUnaryRequestDuration
		config.LogLevel = "warn"
		server, err := embed.StartEtcd(config)
		if err != nil {
			return err
		}
		return <-server.Err()
	}
	return command
}
