import { demo, setMood } from "../state/demo";

const WORDS: Record<string, string> = {
  well: "as it was",
  slow: "takes eight times as long",
  sick: "fails six of ten requests",
  full: "refuses every request",
  cold: "begins slow, warm after 30 s",
};

/** In the demo only: makes a backend slow, sick, full or cold, to see what becomes of its share. */
export function DemoBar() {
  const now = demo.value;
  if (!now) return null;
  return (
    <section aria-label="Trouble for the backends" class="panel">
      <div class="bar-above">
        <h2>Make trouble</h2>
        <span class="quiet">the backends are told, the gateway is not: watch shares, states and what happened</span>
      </div>
      <div class="moods">
        {now.backends.map((one) => (
          <div key={one.id} role="group" aria-label={one.id}>
            <strong>{one.id}</strong>
            <span class="choice">
              {now.moods.map((mood) => (
                <button
                  key={mood}
                  type="button"
                  class="small"
                  title={WORDS[mood]}
                  aria-pressed={mood === one.mood}
                  onClick={() => void setMood(one.id, mood)}
                >
                  {mood}
                </button>
              ))}
            </span>
          </div>
        ))}
      </div>
    </section>
  );
}
