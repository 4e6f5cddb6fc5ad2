import { notice, undoLast } from "../state/changes";

/** What was just done, and its undoing; stays until it is put away, since nobody should have to hurry. */
export function Notice() {
  const now = notice.value;
  return (
    <div class="notice-place" role="status">
      {now && (
        <p class={`notice ${now.isError ? "bad" : ""}`}>
          <span>{now.words}</span>
          {now.undo && (
            <button type="button" onClick={() => void undoLast()}>
              Undo
            </button>
          )}
          <button type="button" class="plain" aria-label="Put away" onClick={() => (notice.value = null)}>
            ✕
          </button>
        </p>
      )}
    </div>
  );
}
