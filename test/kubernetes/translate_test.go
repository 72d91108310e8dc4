package kubernetes_test

import (
	"os"
	"path/filepath"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/fieldpath"
	"k8s.io/kubernetes/third_party/forked/golang/expansion"

	"github.com/gangrun/gangrun/test/kubelet"
)

// translate makes of a pod what package kubelet runs.
func (r *runningPod) translate() kubelet.Pod {
	spec := r.api.Spec
	p := kubelet.Pod{
		Name: r.api.Name, Hostname: spec.Hostname, Subdomain: spec.Subdomain, RestartPolicy: kubelet.RestartPolicy(spec.RestartPolicy),
		RestartDelay: time.Second, GracePeriod: time.Duration(*spec.TerminationGracePeriodSeconds) * time.Second,
	}
	if len(spec.InitContainers) > 0 {
		r.node.t.Errorf("%s has init containers", r.api.Name)
	}
	for _, c := range spec.Containers {
		env := r.environment(c)
		p.Containers = append(p.Containers, kubelet.Container{
			Name: c.Name, Command: expand(c.Command, env), Args: expand(c.Args, env), WorkingDir: c.WorkingDir,
			Env: append(assignments(c, env), r.node.mark()), Mounts: append(r.directories(c), r.node.mounts...),
		})
	}
	return p
}

// mark is a variable by which processes of this namespace's pods are found.
func (n *node) mark() string { return "TRIAL=" + n.namespace }

// environment is a container's variables, made as the kubelet does.
func (r *runningPod) environment(c corev1.Container) map[string]string {
	env := map[string]string{}
	for _, v := range c.Env {
		switch {
		case v.ValueFrom == nil:
			env[v.Name] = expansion.Expand(v.Value, expansion.MappingFuncFor(env))
		case v.ValueFrom.FieldRef != nil:
			switch v.ValueFrom.FieldRef.FieldPath { // what package fieldpath leaves to the kubelet
			case "status.podIP":
				env[v.Name] = r.address
				continue
			case "spec.nodeName":
				env[v.Name] = r.api.Spec.NodeName
				continue
			}
			value, err := fieldpath.ExtractFieldPathAsString(r.api, v.ValueFrom.FieldRef.FieldPath)
			if err != nil {
				r.node.t.Error(err)
			}
			env[v.Name] = value
		default:
			r.node.t.Errorf("variable %s comes from nowhere", v.Name)
		}
	}
	return env
}

func expand(words []string, env map[string]string) (expanded []string) {
	for _, word := range words {
		expanded = append(expanded, expansion.Expand(word, expansion.MappingFuncFor(env)))
	}
	return expanded
}

func assignments(c corev1.Container, env map[string]string) (all []string) {
	for _, v := range c.Env {
		all = append(all, v.Name+"="+env[v.Name])
	}
	return all
}

// directories are the container's volumes.
func (r *runningPod) directories(c corev1.Container) (mounts []kubelet.Mount) {
	for _, m := range c.VolumeMounts {
		i := slices.IndexFunc(r.api.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		dir := filepath.Join(r.node.volumes, string(r.api.UID), m.Name)
		if claim := r.api.Spec.Volumes[i].PersistentVolumeClaim; claim != nil {
			dir = filepath.Join(r.node.volumes, claim.ClaimName)
		}
		if err := os.MkdirAll(dir, 0o777); err != nil {
			r.node.t.Error(err)
		}
		mounts = append(mounts, kubelet.Mount{Host: dir, Path: m.MountPath, ReadOnly: m.ReadOnly})
	}
	return mounts
}
