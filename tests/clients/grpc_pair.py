"""A gRPC server and a client of it: every kind of call through the gateway, statuses, cancellation, deadlines.

    grpc_pair.py serve NAME PORT
    grpc_pair.py call ADDRESS
"""

import sys
import threading
import time
from concurrent import futures

import grpc

SERVICE = "evenkeel.Test"
# Larger than any window, so that flow control has to work.
LARGE = bytes(range(256)) * 8192


class Calls(grpc.GenericRpcHandler):
    """The methods, by name; messages are bytes."""

    def __init__(self, name):
        self.name = name.encode()
        self.begun = 0
        self.ended = 0

    def service(self, details):
        """Finds the method of a call."""
        kinds = {
            "Unary": grpc.unary_unary_rpc_method_handler(self.unary),
            "Fail": grpc.unary_unary_rpc_method_handler(self.fail),
            "Down": grpc.unary_stream_rpc_method_handler(self.down),
            "DownFail": grpc.unary_stream_rpc_method_handler(self.down_fail),
            "Up": grpc.stream_unary_rpc_method_handler(self.up),
            "Both": grpc.stream_stream_rpc_method_handler(self.both),
            "Slow": grpc.unary_stream_rpc_method_handler(self.slow),
            "Slows": grpc.unary_unary_rpc_method_handler(self.slows),
        }
        return kinds.get(details.method.rsplit("/", 1)[1])

    def unary(self, message, context):
        """The message and who answers; metadata goes both ways."""
        asked = dict(context.invocation_metadata())
        context.send_initial_metadata((("x-first", asked.get("x-asked", "")),))
        context.set_trailing_metadata((("x-last", "end"), ("x-raw-bin", b"\0\xff")))
        return self.name + b":" + message

    def fail(self, _message, context):
        """No message, but a status."""
        context.abort(grpc.StatusCode.FAILED_PRECONDITION, "not \u00fcberall")

    def down(self, message, _context):
        """As many messages as are asked for."""
        for number in range(int(message)):
            yield str(number).encode()

    def down_fail(self, _message, context):
        """Two messages, and then a status."""
        yield b"one"
        yield b"two"
        context.abort(grpc.StatusCode.ABORTED, "enough")

    def up(self, messages, _context):
        """How many there were, and how long they were together."""
        lengths = [len(message) for message in messages]
        return f"{len(lengths)} {sum(lengths)}".encode()

    def both(self, messages, _context):
        """Each message, at once."""
        yield from messages

    def slow(self, _message, context):
        """A message, and then none until the client leaves."""
        left = threading.Event()
        self.begun += 1
        context.add_callback(left.set)
        yield b"first"
        self.ended += left.wait(60)

    def slows(self, _message, _context):
        """How many slow calls there were, and how many of them the client left."""
        return self.name + f" {self.begun} {self.ended}".encode()


def serve(name, port):
    """Serves until it is ended."""
    server = grpc.server(futures.ThreadPoolExecutor(16), handlers=[Calls(name)],
                         options=[("grpc.max_receive_message_length", -1)])
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


def check(what, got, wanted):
    """Ends the run when something is not as it should be."""
    if got != wanted:
        sys.exit(f"grpc: {what}: got {got!r}, not {wanted!r}")


def status(call):
    """The status that a call ends with, and its details."""
    try:
        list(call())
    except grpc.RpcError as error:
        return error.code(), error.details()
    return grpc.StatusCode.OK, ""


def unary(channel):
    """Both endpoints answer; metadata and large messages pass."""
    method = channel.unary_unary(f"/{SERVICE}/Unary")
    answers = {method(b"hello", timeout=60) for _ in range(40)}
    check("both endpoints answer", answers, {b"a:hello", b"b:hello"})
    answer, call = method.with_call(b"x", metadata=(("x-asked", "7"),), timeout=60)
    check("the answer", answer[1:], b":x")
    check("fields before it", dict(call.initial_metadata())["x-first"], "7")
    trailing = dict(call.trailing_metadata())
    check("fields behind it", (trailing["x-last"], trailing["x-raw-bin"]), ("end", b"\0\xff"))
    check("a large message", method(LARGE, timeout=60)[2:] == LARGE, True)
    calls = [method.future(str(number).encode(), timeout=60) for number in range(200)]
    for number, call in enumerate(calls):
        check("one of many at once", call.result()[2:], str(number).encode())


def statuses(channel):
    """Statuses with and without messages."""
    failed = channel.unary_unary(f"/{SERVICE}/Fail")
    code = status(lambda: [failed(b"", timeout=60)])
    check("a status", code, (grpc.StatusCode.FAILED_PRECONDITION, "not \u00fcberall"))
    unknown = channel.unary_unary(f"/{SERVICE}/Nothing")
    code, _ = status(lambda: [unknown(b"", timeout=60)])
    check("trailers only", code, grpc.StatusCode.UNIMPLEMENTED)
    got = []
    down = channel.unary_stream(f"/{SERVICE}/DownFail")
    code = status(lambda: map(got.append, down(b"", timeout=60)))
    check("a status behind messages", (got, code), ([b"one", b"two"],
                                                    (grpc.StatusCode.ABORTED, "enough")))


def streams(channel):
    """Streams down, up and both ways, turn by turn."""
    down = channel.unary_stream(f"/{SERVICE}/Down")
    check("a stream down", len(list(down(b"1000", timeout=60))), 1000)
    check("an empty stream", list(down(b"0", timeout=60)), [])
    up = channel.stream_unary(f"/{SERVICE}/Up")
    check("a stream up", up(iter([LARGE] * 5), timeout=60), f"5 {5 * len(LARGE)}".encode())
    turn = threading.Semaphore(1)

    def messages():
        for number in range(50):
            turn.acquire(timeout=60)
            yield str(number).encode()

    both = channel.stream_stream(f"/{SERVICE}/Both")
    got = []
    for message in both(messages(), timeout=60):
        got.append(message)
        turn.release()
    check("turn by turn", got, [str(number).encode() for number in range(50)])


def endings(channel):
    """A call that is cancelled or too late ends at the endpoint too."""
    slow = channel.unary_stream(f"/{SERVICE}/Slow")
    call = slow(b"", timeout=60)
    check("the first message", next(call), b"first")
    call.cancel()
    code, _ = status(lambda: call)
    check("a cancelled call", code, grpc.StatusCode.CANCELLED)
    late = slow(b"", timeout=8)
    check("the first message", next(late), b"first")
    code, _ = status(lambda: late)
    check("a deadline", code, grpc.StatusCode.DEADLINE_EXCEEDED)
    told = channel.unary_unary(f"/{SERVICE}/Slows")
    end, seen = time.monotonic() + 60, {}
    while time.monotonic() < end and seen.get("ended") != 2:
        answers = {tuple(told(b"", timeout=60).decode().split()) for _ in range(8)}
        counts = {name: (int(begun), int(ended)) for name, begun, ended in answers}
        seen = {"begun": sum(begun for begun, _ in counts.values()),
                "ended": sum(ended for _, ended in counts.values())}
    check("endpoints are told of both", seen, {"begun": 2, "ended": 2})


def call(address):
    """Makes all calls."""
    options = [("grpc.max_receive_message_length", -1), ("grpc.enable_http_proxy", 0)]
    with grpc.insecure_channel(address, options=options) as channel:
        for part in (unary, statuses, streams, endings):
            part(channel)
    print("grpc: unary, streams, statuses, cancellation and deadlines")


if __name__ == "__main__":
    {"serve": serve, "call": call}[sys.argv[1]](*sys.argv[2:])
