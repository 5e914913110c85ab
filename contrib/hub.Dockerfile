# An image with the hub of a fleet and nothing else. From the root of the repository:
#
#   docker build -f contrib/hub.Dockerfile -t qsniff-hub .
#
# It takes no right. What it writes is in /var/lib/qsniff-hub.

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
RUN CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o /out/qsniff-hub ./cmd/qsniff-hub && cp LICENSE NOTICE /out && mkdir -p /empty

FROM scratch
COPY --from=build /out/ /
COPY --from=build --chown=65534:65534 /empty/ /var/lib/qsniff-hub/
COPY --from=build --chown=65534:65534 /empty/ /creds/
USER 65534:65534
ENTRYPOINT ["/qsniff-hub"]
CMD ["run", "--config", "/etc/qsniff/hub.toml"]
