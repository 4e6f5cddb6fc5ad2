import { count, duration } from "../format";
import { clusterHistory } from "../state/history";
import { cluster, frame } from "../state/live";
import { Chart } from "./Chart";
import { Tile } from "./Tile";

/** What the cluster as a whole does: the second that has passed, and the quarter of an hour before. */
export function Figures() {
  const now = cluster.value;
  if (!now || !frame.value) return null;
  const before = clusterHistory(now.name);
  const hasErrors = now.errors_per_second > 0;
  return (
    <section aria-label="Figures" class="figures">
      <div class="tiles">
        <Tile label="requests / s" value={count(now.requests_per_second)} />
        <Tile label="errors / s" value={count(now.errors_per_second)} mark={hasErrors ? "bad" : ""} />
        <Tile label="p50" value={duration(now.latency_ms.p50)} />
        <Tile label="p99" value={duration(now.latency_ms.p99)} />
        <Tile label="in flight" value={count(now.in_flight)} />
        <Tile label="retries / s" value={count(now.retries_per_second)} />
      </div>
      <Chart
        key={`${now.name} requests`}
        title="requests and errors a second"
        cluster={now.name}
        time={before.time}
        lines={[
          { name: "requests", values: before.requests, colour: "--accent", fill: true },
          { name: "errors", values: before.errors, colour: "--bad" },
        ]}
        show={count}
      />
      <Chart
        key={`${now.name} latency`}
        title="latency, p50 and p99"
        cluster={now.name}
        time={before.time}
        lines={[
          { name: "p50", values: before.p50, colour: "--accent", fill: true },
          { name: "p99", values: before.p99, colour: "--ink-2" },
        ]}
        show={duration}
      />
    </section>
  );
}
