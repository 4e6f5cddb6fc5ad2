#!/usr/bin/env bash
# curl against the gateway at $1; $2 is a folder for what it leaves.
set -euo pipefail

readonly URL=$1 TMP=$2

# The version to ask in; none: curl's own choice.
version=()

# ask ARGUMENTS: curl, quiet, with a limit.
ask() { curl --silent --show-error --noproxy '*' --max-time 120 "${version[@]}" "$@"; }

# check WHAT GOT WANTED
check() {
    [ "$2" = "$3" ] || { echo "curl: $1: got $2, not $3" >&2; exit 1; }
}

# field NAME: a value of the JSON on stdin.
field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

keep_alive() {
    local connects
    connects=$(ask -o /dev/null -o /dev/null -o /dev/null -w '%{num_connects} ' "$URL/a" "$URL/b" "$URL/c")
    check "three requests take one connection" "$connects" "1 0 0 "
}

head_only() {
    check HEAD "$(ask --head -o /dev/null -w '%{http_code} %{size_download}' "$URL/large")" "200 0"
}

uploads() {
    head -c 3000000 /dev/urandom > "$TMP/body"
    local hash
    hash=$(sha256sum < "$TMP/body" | cut -d' ' -f1)
    check "a POST of a file" "$(ask --data-binary "@$TMP/body" "$URL/post" | field sha256)" "$hash"
    check "a chunked PUT" "$(ask -T - "$URL/put" < "$TMP/body" | field sha256)" "$hash"
    check "it was chunked" "$(ask -T - "$URL/put" < "$TMP/body" | field chunked)" True
    check "a form" "$(ask -F "file=@$TMP/body" -F a=b "$URL/form" | field method)" POST
}

# With a body above 1 MiB curl expects 100 by itself and waits for it.
expect() {
    local trace
    trace=$(ask -v --data-binary "@$TMP/body" -H 'Expect: 100-continue' "$URL/post" 2>&1 > /dev/null)
    check "100 Continue" "$(grep -c '< HTTP/1.1 100' <<< "$trace")" 1
    trace=$(ask -v --data-binary "@$TMP/body" -H 'Expect: 100-continue' "$URL/refuse" 2>&1 > /dev/null)
    check "417 at once" "$(grep -cE '< HTTP/1.1 (100|417)' <<< "$trace")" 1
    grep -q '< HTTP/1.1 417' <<< "$trace"
}

downloads() {
    check "32 MiB" "$(ask "$URL/large" | sha256sum)" "$(ask "$URL/large?chunked" | sha256sum)"
    check "its size" "$(ask -o /dev/null -w '%{size_download}' "$URL/large")" 33554432
    check "a slow download" "$(ask --limit-rate 8M -o /dev/null -w '%{size_download}' "$URL/large")" 33554432
}

events() {
    check "five events" "$(ask -N "$URL/events" | grep -c '^data: event')" 5
}

sticky() {
    local jar="$TMP/jar" first
    first=$(ask -c "$jar" "$URL/sticky" | field endpoint)
    check "a cookie came" "$(grep -c $'\tek\t' "$jar")" 1
    for _ in $(seq 10); do
        check "the endpoint is kept" "$(ask -b "$jar" "$URL/sticky" | field endpoint)" "$first"
    done
}

# The port of http is not that of https, so it is left out.
redirects() {
    check "by the gateway" "$(ask -o /dev/null -w '%{http_code} %{redirect_url}' "$URL/secure?a=b")" \
        "308 https://127.0.0.1/secure?a=b"
    check "by the endpoint, followed" "$(ask -L "$URL/moved" | field path)" "/echo?moved"
}

old_versions() {
    check "HTTP/1.0" "$(ask --http1.0 "$URL/large" | wc -c)" 33554432
    check "offers HTTP/2" "$(ask --http2 -o /dev/null -w '%{http_code} %{http_version}' "$URL/a")" "200 1.1"
}

# The same on HTTP/2; not what takes a connection twice: curl 7.88 fails there with any server ("Error in the
# HTTP2 framing layer").
http2() {
    version=(--http2-prior-knowledge)
    check "HTTP/2" "$(ask -o /dev/null -w '%{http_version}' "$URL/a")" 2
    for part in head_only uploads downloads events sticky; do
        $part
    done
    check "by the gateway" "$(ask -o /dev/null -w '%{http_code}' "$URL/secure")" 308
    version=()
}

for part in keep_alive head_only uploads expect downloads events sticky redirects old_versions http2; do
    $part
done
echo "curl: ok ($(curl --version | cut -d' ' -f2 | head -1))"
