// Command pod reads the description of a pod from its standard input with Kubernetes' own types, and prints the sysctls
// of its security context, NAME=VALUE in a line each. It refuses what an API server refuses of them: fields that are
// not known, names that are not a sysctl's, and a name given twice.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// SysctlContainSlashFmt of pkg/apis/core/validation in Kubernetes, which no module is to be imported for.
var name = regexp.MustCompile(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

// SysctlMaxLength, there.
const nameBytesMax = 253

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	text, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	var pod corev1.Pod
	// Two steps, as with an API server: at once, a number would become the text that a field wants.
	object, err := yaml.YAMLToJSONStrict(text)
	if err != nil {
		return err
	}
	unknown, err := json.UnmarshalStrict(object, &pod)
	if err := errors.Join(append(unknown, err)...); err != nil {
		return err
	}
	if pod.Spec.SecurityContext == nil {
		return errors.New("no security context")
	}
	seen := map[string]bool{}
	for _, sysctl := range pod.Spec.SecurityContext.Sysctls {
		if len(sysctl.Name) > nameBytesMax || !name.MatchString(sysctl.Name) {
			return fmt.Errorf("invalid name %q", sysctl.Name)
		}
		if seen[sysctl.Name] {
			return fmt.Errorf("duplicate name %q", sysctl.Name)
		}
		seen[sysctl.Name] = true
		fmt.Printf("%s=%s\n", sysctl.Name, sysctl.Value)
	}
	return nil
}
