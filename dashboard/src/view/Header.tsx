import { clock } from "../format";
import { dialog } from "../state/dialog";
import { clusterName, frame, isPaused, lostSince } from "../state/live";
import { linkTo } from "../state/route";
import { switchTheme, theme } from "../state/theme";

export function Header() {
  return (
    <header class="top">
      <a class="brand" href="#/">
        <Mark />
        Evenkeel
      </a>
      <Clusters />
      <Connection />
      <div class="buttons">
        <button type="button" aria-pressed={isPaused.value} onClick={() => (isPaused.value = !isPaused.value)}>
          {isPaused.value ? "Resume" : "Pause"}
        </button>
        <button type="button" onClick={switchTheme}>
          {theme.value === "dark" ? "Light" : "Dark"}
        </button>
        <button type="button" class="wide-only" aria-label="Keys" onClick={() => (dialog.value = { kind: "keys" })}>
          ?
        </button>
      </div>
    </header>
  );
}

function Mark() {
  return (
    <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
      <path d="M5 18h22c-1 6-5 9-11 9S6 24 5 18z" fill="currentColor" />
      <path d="M16 4v12M5 14.500h22" stroke="currentColor" stroke-width="2.200" stroke-linecap="round" />
    </svg>
  );
}

function Clusters() {
  const all = frame.value?.clusters ?? [];
  return (
    <nav aria-label="Clusters">
      {all.map((one) => (
        <a key={one.name} href={linkTo(one.name)} aria-current={one.name === clusterName.value ? "page" : undefined}>
          {one.name}
          {one.panic && <span class="bad"> panic</span>}
        </a>
      ))}
    </nav>
  );
}

function Connection() {
  const lost = lostSince.value;
  if (lost) {
    return (
      <p class="connection bad" role="status">
        ▲ no connection since {clock(lost)}
      </p>
    );
  }
  return (
    <p class="connection" role="status">
      {isPaused.value ? "❚❚ stands still at " : "● "}
      {!isPaused.value && <span class="wide-only">this instance, </span>}
      {/* A clock that is read out each second would drown everything else. */}
      <span aria-live="off">{frame.value ? clock(frame.value.time) : "–"}</span>
    </p>
  );
}
