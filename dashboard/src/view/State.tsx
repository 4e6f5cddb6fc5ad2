import { word } from "../format";

/** A mark beside the word: colour is never alone. */
const MARKS: Record<string, [string, string]> = {
  ready: ["●", "good"],
  slow_start: ["◔", "mild"],
  saturated: ["◆", "mild"],
  draining: ["▽", "mild"],
  disabled: ["○", "quiet"],
  unhealthy: ["▲", "bad"],
  ejected: ["▲", "bad"],
};

/** How an endpoint stands. */
export function State({ state }: { state: string }) {
  const [mark, kind] = MARKS[state] ?? ["·", "quiet"];
  return (
    <span class={`state ${kind}`}>
      <span aria-hidden="true">{mark}</span> {word(state)}
    </span>
  );
}
