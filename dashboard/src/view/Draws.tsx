/** 2 to the 64th: draws and hashes are 64 bits, in hexadecimal. */
const WHOLE = 2 ** 64;

/** What chance gave, or the hash of the key, on a line from nothing to all. */
export function Draws({ draws, hash, cursor }: { draws: string[]; hash: string | null; cursor: number | null }) {
  const points = [...draws.map((bits) => ({ bits, name: "draw" })), ...(hash ? [{ bits: hash, name: "hash of the key" }] : [])];
  if (points.length === 0 && cursor === null) return null;
  return (
    <div class="draws">
      {points.map(({ bits, name }, at) => (
        <p key={at}>
          <span class="quiet">{name}</span>
          <span class="line" aria-hidden="true">
            <i style={{ left: `${((Number(`0x${bits}`) / WHOLE) * 100).toFixed(2)}%` }} />
          </span>
          <span class="mono">{bits}</span>
        </p>
      ))}
      {cursor !== null && <p class="quiet">place {cursor} of the schedule</p>}
    </div>
  );
}
