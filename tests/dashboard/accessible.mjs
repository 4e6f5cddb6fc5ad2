// axe-core's judgement of a page as it stands.

import assert from "node:assert/strict";

/** Fails with every violation that axe-core finds. */
export async function judge(page, axe, where) {
  // Not as a script element: the page's own policy refuses those, as it should.
  const found = await page.evaluate(`${axe};axe.run(document)`);
  const told = found.violations.flatMap((one) => one.nodes.map((node) => `${one.id}: ${node.html} (${node.failureSummary})`));
  assert.deepEqual(told, [], where);
  assert.ok(found.passes.length > 10, `${where}: axe-core looked at little`);
}
