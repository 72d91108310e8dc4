package main

import (
	"strings"
	"testing"
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
	if want := (counts{requests: 10, bytes: 2501000}); err != nil || got != want {
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
