import { expect } from "vitest";
import { walkAtRandom } from "../support/random-walk.ts";
import { it } from "../support/page-test.ts";

it("a short random walk over all views meets no uncaught error", async ({ chromium, demo }) => {
  const opened = await chromium.open(demo.url);
  try {
    const { errors } = await walkAtRandom(opened, { actions: 200, seed: 28 });
    expect(errors).toEqual([]);
  } finally {
    await opened.close();
  }
});
