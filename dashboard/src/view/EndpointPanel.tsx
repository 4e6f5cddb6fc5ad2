import type { ComponentChildren } from "preact";
import { useEffect } from "preact/hooks";
import type { Endpoint } from "../api/types";
import { ago, clock, count, duration, percent, sentence } from "../format";
import { endpoints } from "../state/details";
import { decisions, decisionsOf } from "../state/decisions";
import { dialog } from "../state/dialog";
import { eventsHere } from "../state/events";
import { clusterName } from "../state/live";
import { go } from "../state/route";
import { rowOf } from "../state/rows";
import { DecisionList } from "./DecisionList";
import { Drawer } from "./Drawer";
import { EventList } from "./EventList";
import { Explain } from "./Explain";
import { State } from "./State";

/** All about one endpoint: why it gets what it gets, what happened to it, and what may be done to it. */
export function EndpointPanel({ id }: { id: string }) {
  const endpoint = endpoints.value.get(id);
  const close = () => go(clusterName.value);
  useEffect(() => {
    decisionsOf.value = id;
    return () => {
      decisionsOf.value = "";
    };
  }, [id]);
  if (!endpoint) {
    return (
      <Drawer title={id} kind="edge" close={close}>
        <p>The cluster {clusterName.value} has no endpoint of this id now.</p>
      </Drawer>
    );
  }
  return (
    <Drawer title={id} kind="edge" close={close}>
      <Why endpoint={endpoint} />
      <Actions endpoint={endpoint} />
      <Facts endpoint={endpoint} />
      <h3>Would a request go here now?</h3>
      <Explain of={id} />
      <h3>What happened to it</h3>
      <EventList events={eventsHere.value.filter((one) => one.endpoint === id).slice(0, 30)} />
      <h3>Latest decisions for it</h3>
      <DecisionList decisions={decisions.value.slice(0, 12)} />
    </Drawer>
  );
}

function Why({ endpoint }: { endpoint: Endpoint }) {
  return (
    <p class="lead">
      <State state={rowOf(endpoint.id)?.stats.state ?? endpoint.state} />
      <br />
      {sentence(endpoint.reason)}
      <span class="quiet">
        {" "}
        since {clock(endpoint.since)}, {ago(endpoint.since, Date.now())}
      </span>
    </p>
  );
}

function Actions({ endpoint }: { endpoint: Endpoint }) {
  const admin = (wanted: Endpoint["admin"]) => () => (dialog.value = { kind: "admin", endpoint, admin: wanted });
  return (
    <div class="buttons">
      {endpoint.admin !== "enabled" && (
        <button type="button" onClick={admin("enabled")}>
          Enable…
        </button>
      )}
      {endpoint.admin !== "draining" && (
        <button type="button" onClick={admin("draining")}>
          Drain…
        </button>
      )}
      {endpoint.admin !== "disabled" && (
        <button type="button" onClick={admin("disabled")}>
          Disable…
        </button>
      )}
      <button type="button" onClick={() => (dialog.value = { kind: "weight", endpoint })}>
        Weight…
      </button>
      <button type="button" onClick={() => (dialog.value = { kind: "remove", endpoint })}>
        Remove…
      </button>
    </div>
  );
}

function Facts({ endpoint }: { endpoint: Endpoint }) {
  const row = rowOf(endpoint.id);
  const labels = Object.entries(endpoint.labels).map(([name, value]) => `${name}=${value}`);
  return (
    <dl class="facts">
      <Fact name="share">{row ? `${percent(row.share)}, by weight ${percent(row.ideal)}` : "–"}</Fact>
      <Fact name="weight">
        {endpoint.weight}
        {endpoint.effective_weight !== endpoint.weight && `, decisions use ${endpoint.effective_weight}`}
      </Fact>
      <Fact name="address">{endpoint.address}</Fact>
      <Fact name="health">{endpoint.health}</Fact>
      <Fact name="in flight">
        {row?.stats.in_flight ?? endpoint.in_flight}
        {endpoint.capacity !== null && ` of ${endpoint.capacity}`}
      </Fact>
      <Fact name="latency">
        p50 {duration(row?.stats.latency_ms.p50)}, p99 {duration(row?.stats.latency_ms.p99)}
      </Fact>
      <Fact name="since the start">
        {count(endpoint.requests)} requests, {count(endpoint.failures)} failures
      </Fact>
      <Fact name="zone, tier">
        {endpoint.zone ?? "no zone"}, tier {endpoint.tier}
      </Fact>
      {labels.length > 0 && <Fact name="labels">{labels.join(", ")}</Fact>}
    </dl>
  );
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
