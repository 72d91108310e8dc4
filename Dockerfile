# The image of gangrun: the program and nothing else. How to build and use it: docs/images.md
ARG GO_IMAGE=docker.io/library/golang:1.26

# On the machine that builds, whatever the image is for: Go needs no emulator to build for another one.
FROM --platform=$BUILDPLATFORM ${GO_IMAGE} AS build
WORKDIR /src
# A layer of their own: the modules stay while only the code changes.
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG TARGETOS
ARG TARGETARCH
ARG VERSION=unknown
RUN --mount=type=cache,target=/root/.cache/go-build \
    GOOS=$TARGETOS GOARCH=$TARGETARCH make build VERSION=$VERSION BIN=/gangrun

FROM scratch
ARG VERSION=unknown
LABEL org.opencontainers.image.title="gangrun" \
      org.opencontainers.image.description="Runs a distributed training job from inside its containers" \
      org.opencontainers.image.source="https://github.com/gangrun/gangrun" \
      org.opencontainers.image.licenses="Apache-2.0" \
      org.opencontainers.image.version="$VERSION"
COPY --from=build /gangrun /gangrun
# Nothing else is on the path here, so that "gangrun" is found by its name, too.
ENV PATH=/
USER 65532:65532
ENTRYPOINT ["/gangrun"]
