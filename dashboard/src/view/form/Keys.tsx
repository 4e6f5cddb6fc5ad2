import { dialog } from "../../state/dialog";
import { KEYS } from "../../state/keys";
import { Drawer } from "../Drawer";

/** What the keys do. */
export function Keys() {
  return (
    <Drawer title="Keys" kind="box" close={() => (dialog.value = null)}>
      <dl class="facts keys">
        {KEYS.map((one) => (
          <div key={one.key}>
            <dt>
              <kbd>{one.key}</kbd>
            </dt>
            <dd>{one.does}</dd>
          </div>
        ))}
        <div>
          <dt>
            <kbd>Esc</kbd>
          </dt>
          <dd>close what lies over the page</dd>
        </div>
      </dl>
    </Drawer>
  );
}
