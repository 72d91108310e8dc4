package etcd

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
)

// tokenHeader carries the token that a store within gangrun asks for. etcd has one of its own, of users.
const tokenHeader = "gangrun-token"

// bearer adds a token to every request.
type bearer string

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (b bearer) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{tokenHeader: string(b)}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials. Without TLS the token is as safe as the network.
func (bearer) RequireTransportSecurity() bool { return false }

// AskForToken makes a server refuse whoever does not know the token.
func AskForToken(token string) []grpc.ServerOption {
	want := sha256.Sum256([]byte(token))
	knows := func(ctx context.Context) error {
		for _, said := range metadata.ValueFromIncomingContext(ctx, tokenHeader) {
			if got := sha256.Sum256([]byte(said)); subtle.ConstantTimeCompare(got[:], want[:]) == 1 {
				return nil
			}
		}
		return status.Error(codes.Unauthenticated, "the store asks for a token, and this is not its own")
	}
	return []grpc.ServerOption{
		grpc.ChainUnaryInterceptor(
			func(ctx context.Context, req any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
				if err := knows(ctx); err != nil {
					return nil, err
				}
				return next(ctx, req)
			}),
		grpc.ChainStreamInterceptor(
			func(srv any, stream grpc.ServerStream, _ *grpc.StreamServerInfo, next grpc.StreamHandler) error {
				if err := knows(stream.Context()); err != nil {
					return err
				}
				return next(srv, stream)
			}),
	}
}
