"""Tests of what reads and compares figures; run by `cargo xtask test`."""

import contextlib
import io
import unittest

import load
import proxies
import report

WRK = """Running 3s test @ http://127.0.0.1:8001/
  1 threads and 64 connections
  Thread Stats   Avg      Stdev     Max   +/- Stdev
    Latency     1.02ms  340.00us   9.90ms   91.00%
    Req/Sec    62.10k     3.20k   66.00k    80.00%
  Latency Distribution
     50%    0.98ms
     75%    1.09ms
     90%    1.20ms
     99%    2.05ms
  186300 requests in 3.00s, 38.00MB read
{errors}Requests/sec:  62100.50
Transfer/sec:     12.66MB
"""
ERRORS = "  Socket errors: connect 0, read 2, write 0, timeout 1\n  Non-2xx or 3xx responses: 40\n"


def result(cost, **more):
    """One measurement of a system that needed `cost`."""
    return {"us_per_request": cost, "rps": 1.0, "p99_us": 1.0, "rss_mib": 1.0, "failed": 0,
            "others_cpu": 0.0, **more}


class Reading(unittest.TestCase):
    """What the load generator says."""

    def test_a_report_is_read(self):
        figures = load.read_wrk(WRK.format(errors=""))
        self.assertEqual(figures["requests"], 186300)
        self.assertAlmostEqual(figures["p99_us"], 2050)
        self.assertEqual(figures["failed"], 0)

    def test_failures_of_both_kinds_are_counted(self):
        self.assertEqual(load.read_wrk(WRK.format(errors=ERRORS))["failed"], 43)

    def test_a_report_without_answers_is_an_error(self):
        with self.assertRaises(RuntimeError):
            load.read_wrk("unable to connect to 127.0.0.1:8001 Connection refused")


class ReadingHttp2(unittest.TestCase):
    """What the load generator for HTTP/2 says."""

    SAID = ("requests: 1200 total, 1264 started, 1200 done, 1190 succeeded, 10 failed, 0 errored, "
            "0 timeout\nstatus codes: 1190 2xx, 0 3xx, 10 4xx, 0 5xx\n")

    def test_a_report_is_read(self):
        figures = load.read_h2load(self.SAID, 2)
        self.assertEqual((figures["requests"], figures["rps"]), (1190, 595))
        self.assertEqual(figures["failed"], 10)

    def test_a_report_without_answers_is_an_error(self):
        with self.assertRaises(RuntimeError):
            load.read_h2load("could not connect", 2)


class Comparing(unittest.TestCase):
    """Rows from rounds."""

    def test_ratios_are_taken_within_a_round(self):
        # The second round was slow for both; ours to theirs is one half in each.
        rounds = [{"evenkeel": result(10.0), "nginx": result(20.0)},
                  {"evenkeel": result(30.0), "nginx": result(60.0)},
                  {"evenkeel": result(11.0)}]
        ours, nginx = report.rows("get", rounds, ["evenkeel", "nginx", "caddy"])
        self.assertEqual(ours["us_per_request"], 11.0)
        self.assertEqual((nginx["us_per_request"], nginx["ratio"]), (40.0, 0.5))
        self.assertNotIn("ratio", ours)

    def test_the_worst_round_is_told_beside_the_median(self):
        rounds = [{"evenkeel": result(1.0, p99_us=p99)} for p99 in (900.0, 2400.0, 1000.0)]
        (ours,) = report.rows("rate", rounds, ["evenkeel"])
        self.assertEqual((ours["p99_us"], ours["p99_worst_us"]), (1000, 2400))

    def test_idle_is_compared_by_memory(self):
        rounds = [{"evenkeel": result(0.0, kib_per_connection=2.0),
                   "nginx": result(0.0, kib_per_connection=0.5)}]
        self.assertEqual(report.rows("idle", rounds, ["nginx"])[0]["ratio"], 4.0)

    def test_failed_requests_are_pointed_out(self):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            report.rows("get", [{"nginx": result(1.0, failed=3)}], ["nginx"])
        self.assertIn("3 requests failed", said.getvalue())


class Starting(unittest.TestCase):
    """The systems."""

    def test_every_configuration_is_there(self):
        for system in proxies.RIVALS.values():
            with self.subTest(system.name):
                self.assertTrue((proxies.HERE / "configs" / system.config).exists())

    def test_a_rival_is_known_by_its_name(self):
        self.assertEqual([system.name for system in proxies.RIVALS.values()], list(proxies.RIVALS))


if __name__ == "__main__":
    unittest.main()
