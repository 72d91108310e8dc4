package trainingoperator_test

import (
	"slices"

	kubeflow "github.com/kubeflow/training-operator/pkg/apis/kubeflow.org/v1"
	corev1 "k8s.io/api/core/v1"
)

// training is the command of all workers that are told what to do.
var training = []string{"python3", "/test/worker"}

// replicas are pods that run the command under gangrun.
func replicas(container string, count int32, policy kubeflow.RestartPolicy, flags, command []string) *kubeflow.ReplicaSpec {
	return &kubeflow.ReplicaSpec{
		Replicas: &count, RestartPolicy: policy,
		Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: container, Image: "example.com/training",
			Command: slices.Concat([]string{"gangrun", "run"}, flags, []string{"--"}), Args: command,
		}}}},
	}
}

// quick are flags by which these jobs do not wait longer than they need to.
var quick = []string{"--restart-backoff", "1ms:2ms", "--restart-grace", "1s", "--fence-timeout", "16s"}

// pytorchJob is a job with a master and so many workers.
func pytorchJob(workers int32, policy kubeflow.RestartPolicy, flags ...string) *kubeflow.PyTorchJob {
	job := &kubeflow.PyTorchJob{}
	job.Name = "bert"
	flags = slices.Concat(quick, flags)
	job.Spec.PyTorchReplicaSpecs = map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec{
		kubeflow.PyTorchJobReplicaTypeMaster: replicas("pytorch", 1, policy, flags, training),
	}
	if workers > 0 {
		job.Spec.PyTorchReplicaSpecs[kubeflow.PyTorchJobReplicaTypeWorker] = replicas("pytorch", workers, policy, flags, training)
	}
	return job
}

// elasticJob is a job of workers, at least one and at most so many.
func elasticJob(workers int32, flags ...string) *kubeflow.PyTorchJob {
	job := &kubeflow.PyTorchJob{}
	job.Name = "bert"
	job.Spec.ElasticPolicy = &kubeflow.ElasticPolicy{MinReplicas: new(int32(1)), MaxReplicas: &workers, RDZVBackend: new(kubeflow.BackendC10D)}
	job.Spec.PyTorchReplicaSpecs = map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec{
		kubeflow.PyTorchJobReplicaTypeWorker: replicas("pytorch", workers, kubeflow.RestartPolicyExitCode, slices.Concat(quick, flags), training),
	}
	return job
}

// tfJob is a job of these replicas, as many of each.
func tfJob(counts map[kubeflow.ReplicaType]int32, flags ...string) *kubeflow.TFJob {
	job := &kubeflow.TFJob{}
	job.Name = "mnist"
	job.Spec.TFReplicaSpecs = map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec{}
	for kind, count := range counts {
		job.Spec.TFReplicaSpecs[kind] = replicas("tensorflow", count, kubeflow.RestartPolicyExitCode, slices.Concat(quick, flags), training)
	}
	return job
}

// claim gives all pods a volume that outlives them, at /checkpoints.
func claim(specs map[kubeflow.ReplicaType]*kubeflow.ReplicaSpec) {
	for _, spec := range specs {
		pod := &spec.Template.Spec
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "checkpoints", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "checkpoints"},
		}})
		pod.Containers[0].VolumeMounts = append(pod.Containers[0].VolumeMounts, corev1.VolumeMount{Name: "checkpoints", MountPath: "/checkpoints"})
	}
}
