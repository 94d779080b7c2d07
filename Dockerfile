# The program alone: rows are dumped with --data-only, verified, inspected and restored with --data-only, without anything else in the image. Definitions need pg_dump and
# pg_restore: build with --build-arg BASE=postgres:18-alpine (or another image that holds a client of the server's major or newer).
ARG BASE=gcr.io/distroless/static-debian12:nonroot

FROM golang:1.26 AS build
WORKDIR /src
COPY go.mod go.sum ./
RUN go mod download
COPY . .
ARG VERSION=""
RUN CGO_ENABLED=0 go build -trimpath -ldflags "-s -w -X main.version=${VERSION}" -o /pghaul ./cmd/pghaul

FROM ${BASE}
COPY --from=build /pghaul /usr/local/bin/pghaul
COPY LICENSE NOTICES.md /usr/share/doc/pghaul/
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/pghaul"]
