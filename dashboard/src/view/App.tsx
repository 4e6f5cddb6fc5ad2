import { cluster, frame } from "../state/live";
import { route } from "../state/route";
import { tokenIsWanted } from "../state/token";
import { ClusterHead } from "./ClusterHead";
import { DemoBar } from "./DemoBar";
import { Decisions } from "./Decisions";
import { Dialogs } from "./form/Dialogs";
import { TokenForm } from "./form/TokenForm";
import { EndpointPanel } from "./EndpointPanel";
import { EndpointTable } from "./EndpointTable";
import { Figures } from "./Figures";
import { HashRing } from "./HashRing";
import { Header } from "./Header";
import { Notice } from "./Notice";
import { RequestPanel } from "./RequestPanel";
import { Shadows } from "./Shadows";
import { Timeline } from "./Timeline";

export function App() {
  return (
    <>
      <Header />
      <main id="main">{tokenIsWanted.value ? <TokenForm /> : <Body />}</main>
      {route.value.endpoint && <EndpointPanel id={route.value.endpoint} />}
      {route.value.request && <RequestPanel request={route.value.request} />}
      <Dialogs />
      <Notice />
    </>
  );
}

function Body() {
  if (!frame.value) return <p class="waits">Waiting for the first second of figures…</p>;
  if (!cluster.value) return <p class="waits">This gateway has no clusters.</p>;
  return (
    <>
      <ClusterHead />
      <Figures />
      <DemoBar />
      <EndpointTable />
      <HashRing />
      <Shadows />
      <div class="pair">
        <Decisions />
        <Timeline />
      </div>
    </>
  );
}
