package main

import (
	"strings"
	"testing"
	"time"
)

func TestReadCounts(t *testing.T) {
	const bytes = `etcd_network_client_grpc_received_bytes_total 1000
etcd_network_client_grpc_sent_bytes_total 2.5e+06
`
	const requests = `# TYPE grpc_server_msg_received_total counter
grpc_server_msg_received_total{grpc_method="LeaseKeepAlive",grpc_type="bidi_stream"} 99
grpc_server_msg_received_total{grpc_method="Txn",grpc_service="etcdserverpb.KV",grpc_type="unary"} 7
grpc_server_msg_received_total{grpc_method="Watch",grpc_service="etcdserverpb.Watch",grpc_type="bidi_stream"} 3
grpc_server_msg_sent_total{grpc_method="Txn",grpc_service="etcdserverpb.KV",grpc_type="unary"} 7
`
	got, err := readCounts(strings.NewReader(requests + bytes))
	if want := (counts{requests: 10, renewals: 99, bytes: 2501000}); err != nil || got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	for name, text := range map[string]string{
		"nothing": "", "no requests": bytes, "no number": strings.Replace(requests+bytes, "} 7", "} seven", 1),
	} {
		if got, err := readCounts(strings.NewReader(text)); err == nil {
			t.Errorf("%s: got %+v without an error", name, got)
		}
	}
}

func TestWhatAnIdleJobAsksIsTakenOff(t *testing.T) {
	start := counts{requests: 10, renewals: 5, bytes: 1000}
	idle := counts{requests: 30, renewals: 15, bytes: 3000}.since(start, 10*time.Second)
	if want := (load{requests: 2, renewals: 1, bytes: 200}); idle != want {
		t.Errorf("got %+v in a second, want %+v", idle, want)
	}
	rounds := counts{requests: 30 + 48 + 10, renewals: 15 + 5, bytes: 3000 + 4096 + 1000}
	got := rounds.above(counts{requests: 30, renewals: 15, bytes: 3000}, 5*time.Second, idle)
	if want := (counts{requests: 48, bytes: 4096}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
