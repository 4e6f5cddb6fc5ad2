"""Spans, judged by OpenTelemetry's own schema: a collector that reads what a gateway posts.

    python3 tests/traces/run.py --binary target/debug/evenkeel --room target/traces

Needs Python's package `opentelemetry-proto`, the schema as its project publishes it.
"""

import argparse
import http.client
import pathlib
import queue
import signal
import subprocess
import sys
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

from ports import free_port  # noqa: E402

# Nothing is judged by it: it ends tests that would hang.
PATIENCE = 60


class Server(ThreadingHTTPServer):
    daemon_threads = True


def serve(handler):
    """Serves on a free port, and says which."""
    server = Server(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_port


class Collector:
    """Takes spans. The first post is told to come again, as a collector under load does."""

    def __init__(self):
        self.spans = queue.Queue()
        self.posts = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                first = not collector.posts
                collector.posts.append((self.path, self.headers["content-type"]))
                if first:
                    self.send_response(503)
                    self.send_header("content-length", "0")
                    self.end_headers()
                    return
                collector.take(ExportTraceServiceRequest.FromString(body))
                answer = ExportTraceServiceResponse().SerializeToString()
                self.send_response(200)
                self.send_header("content-type", "application/x-protobuf")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass

        self.port = serve(Handler)

    def take(self, request):
        for resource in request.resource_spans:
            service = attributes(resource.resource)["service.name"]
            for scope in resource.scope_spans:
                assert scope.scope.name == "evenkeel", scope.scope
                for span in scope.spans:
                    self.spans.put((service, span))

    def trace(self, request_id, count):
        """The spans of a request, the request's own first."""
        seen = []
        while True:
            servers = [
                span
                for _, span in seen
                if attributes(span).get("evenkeel.request_id") == request_id
            ]
            if servers:
                server = servers[0]
                below = [span for _, span in seen if span.parent_span_id == server.span_id]
                if len(below) == count:
                    for other in seen:
                        if other[1] not in [server, *below]:
                            self.spans.put(other)
                    return server, below, seen[0][0]
            try:
                seen.append(self.spans.get(timeout=PATIENCE))
            except queue.Empty:
                names = [attributes(span).get("evenkeel.request_id", span.name) for _, span in seen]
                raise AssertionError(f"no {count} tries of {request_id!r} among {names}") from None


class Backend:
    """Keeps the `traceparent` of each request by its id, and answers with one status."""

    def __init__(self, status):
        self.got = {}
        backend = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                backend.got[self.headers["x-request-id"]] = self.headers.get_all("traceparent")
                self.send_response(status)
                self.send_header("content-length", "2")
                self.end_headers()
                self.wfile.write(b"ok")

            def log_message(self, *_):
                pass

        self.port = serve(Handler)


def attributes(holder):
    values = {}
    for attribute in holder.attributes:
        kind = attribute.value.WhichOneof("value")
        values[attribute.key] = getattr(attribute.value, kind)
    return values


class Gateway:
    def __init__(self, binary, room, text):
        path = room / "evenkeel.toml"
        path.write_text(text)
        command = [binary, "serve", str(path)]
        log = open(room / "log.txt", "w")
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
        self.traffic = self.address("listening on ")
        self.admin = self.address("admin on ")

    def address(self, beginning):
        for line in self.process.stdout:
            if line.startswith(beginning):
                return line[len(beginning) :].split()[0]
        raise SystemExit("the gateway did not start: see log.txt")

    def get(self, path, request_id, traceparent=None):
        client = http.client.HTTPConnection(self.traffic, timeout=PATIENCE)
        headers = {"x-request-id": request_id}
        if traceparent:
            headers["traceparent"] = traceparent
        client.request("GET", path, headers=headers)
        answer = client.getresponse()
        answer.read()
        client.close()
        return answer.status

    def end(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(timeout=PATIENCE)


def config(collector, endpoints, sample):
    listed = ", ".join(
        f'{{ id = "{name}", address = "127.0.0.1:{port}", tier = {tier} }}'
        for name, port, tier in endpoints
    )
    return f"""
[admin]
address = "127.0.0.1:0"
[log]
trace = {{ url = "http://127.0.0.1:{collector}", sample = {sample}, service = "edge" }}
[[listener]]
address = "127.0.0.1:0"
name = "front"
cluster = "web"
[cluster.web]
strategy = "round_robin"
endpoints = [{listed}]
outlier = false
[cluster.web.retry]
attempts = 2
on = ["503"]
"""


GIVEN = "4bf92f3577b34da6a3ce929d0e0e4736"


def a_trace_begins_here(gateway, collector, good):
    assert gateway.get("/a?b=c", "begins") == 200
    server, below, service = collector.trace("begins", 2)
    assert service == "edge"
    assert server.kind == Span.SPAN_KIND_SERVER and server.name == "GET"
    assert len(server.trace_id) == 16 and len(server.span_id) == 8
    assert server.parent_span_id == b""
    assert server.end_time_unix_nano >= server.start_time_unix_nano > 1_500_000_000 * 10**9
    said = attributes(server)
    assert said["url.path"] == "/a" and said["url.query"] == "b=c", said
    assert said["http.request.method"] == "GET"
    assert said["http.response.status_code"] == 200
    assert said["network.protocol.version"] == "1.1"
    assert said["client.address"] == "127.0.0.1"
    assert said["evenkeel.cluster"] == "web" and said["evenkeel.listener"] == "front"
    assert said["evenkeel.endpoint"] == "good"
    assert said["evenkeel.queue_ms"] >= 0
    assert said["http.response.body.size"] == 2
    assert server.status.code == Status.STATUS_CODE_UNSET
    # What the endpoint got continues it.
    got = good.got["begins"]
    assert got == [f"00-{server.trace_id.hex()}-{server.span_id.hex()}-01"], got
    # Each try has a span, in their order, within the request's.
    first, second = sorted(below, key=lambda span: span.start_time_unix_nano)
    for span in (first, second):
        assert span.kind == Span.SPAN_KIND_CLIENT and span.trace_id == server.trace_id
        assert server.start_time_unix_nano <= span.start_time_unix_nano
        assert span.end_time_unix_nano <= server.end_time_unix_nano
    assert first.span_id != second.span_id
    said = attributes(first)
    assert said["evenkeel.endpoint"] == "bad", said
    assert said["http.response.status_code"] == 503
    assert first.status.code == Status.STATUS_CODE_ERROR
    assert "http.request.resend_count" not in said
    said = attributes(second)
    assert said["evenkeel.endpoint"] == "good" and said["http.request.resend_count"] == 1
    assert second.status.code == Status.STATUS_CODE_UNSET


def a_trace_goes_on(gateway, collector, good):
    assert gateway.get("/", "goes-on", f"00-{GIVEN}-00f067aa0ba902b7-01") == 200
    server, _, _ = collector.trace("goes-on", 2)
    assert server.trace_id.hex() == GIVEN
    assert server.parent_span_id.hex() == "00f067aa0ba902b7"
    assert good.got["goes-on"] == [f"00-{GIVEN}-{server.span_id.hex()}-01"]


def a_trace_that_is_not_recorded_passes(gateway, good):
    given = f"00-{GIVEN}-00f067aa0ba902b7-00"
    assert gateway.get("/", "unrecorded", given) == 200
    assert good.got["unrecorded"] == [given]


def nothing_is_lost(gateway):
    with urllib.request.urlopen(f"http://{gateway.admin}/metrics", timeout=PATIENCE) as page:
        lines = page.read().decode().splitlines()
    assert 'evenkeel_log_dropped_total{log="trace"} 0' in lines, lines


def recorded(binary, room):
    good, bad, collector = Backend(200), Backend(503), Collector()
    endpoints = [("bad", bad.port, 0), ("good", good.port, 1)]
    gateway = Gateway(binary, room, config(collector.port, endpoints, 1.0))
    a_trace_begins_here(gateway, collector, good)
    a_trace_goes_on(gateway, collector, good)
    a_trace_that_is_not_recorded_passes(gateway, good)
    # What is under way when the gateway ends is sent before it does.
    assert gateway.get("/", "last") == 200
    nothing_is_lost(gateway)
    assert gateway.end() == 0
    collector.trace("last", 2)
    rest = [attributes(span).get("evenkeel.request_id") for _, span in collector.spans.queue]
    assert "unrecorded" not in rest, rest
    assert set(collector.posts) == {("/v1/traces", "application/x-protobuf")}, collector.posts


def none_begins(binary, room):
    """Without a share of their own, only those of clients are recorded."""
    good, collector = Backend(200), Collector()
    gateway = Gateway(binary, room, config(collector.port, [("good", good.port, 0)], 0.0))
    assert gateway.get("/", "untraced") == 200
    assert good.got["untraced"] is None
    assert gateway.get("/", "traced", f"00-{GIVEN}-00f067aa0ba902b7-01") == 200
    server, below, _ = collector.trace("traced", 1)
    assert server.trace_id.hex() == GIVEN and len(below) == 1
    assert gateway.end() == 0
    assert collector.spans.empty()


def nobody_takes_them(binary, room):
    """Traffic goes on, and what is lost is counted."""
    good = Backend(200)
    gateway = Gateway(binary, room, config(free_port(), [("good", good.port, 0)], 1.0))
    for number in range(20):
        assert gateway.get("/", f"lost-{number}") == 200
    for _ in range(PATIENCE * 5):
        with urllib.request.urlopen(f"http://{gateway.admin}/metrics", timeout=PATIENCE) as page:
            text = page.read().decode()
        lost = [line for line in text.splitlines() if 'dropped_total{log="trace"}' in line]
        if lost[0].split()[1] == "40":
            break
        threading.Event().wait(0.2)
    else:
        raise AssertionError(lost)
    assert gateway.end() == 0
    log = (room / "log.txt").read_text()
    assert "spans were not taken by 127.0.0.1:" in log, log


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--binary", required=True)
    parser.add_argument("--room", required=True, type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.room.mkdir(parents=True, exist_ok=True)
    for test in (recorded, none_begins, nobody_takes_them):
        try:
            test(arguments.binary, arguments.room)
        except Exception:
            print((arguments.room / "log.txt").read_text()[-4000:], file=sys.stderr)
            print(f"traces: {test.__name__} failed:", file=sys.stderr)
            raise
        print(f"{test.__name__}: ok")


main()
