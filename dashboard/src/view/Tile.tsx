/** A figure with its name. */
export function Tile({ label, value, mark = "" }: { label: string; value: string; mark?: string }) {
  return (
    <div class="tile">
      <span class="label">{label}</span>
      <span class={`value ${mark}`}>
        {mark === "bad" && <span aria-hidden="true">▲ </span>}
        {value}
      </span>
    </div>
  );
}
