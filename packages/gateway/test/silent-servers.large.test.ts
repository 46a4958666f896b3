import { setTimeout as pause } from "node:timers/promises";
import { expect, it } from "vitest";
import { leaksOf, openWorld, useBank } from "../../../test/support/hostile-world.ts";
import { SILENT_SHAPES } from "../../../test/support/silent-shapes.ts";

/** Less than the timeout of a call, and more than four lists wait for a server. */
const MAX_MS = 100_000;

it("a server that leaves requests open does not take others down", async () => {
  const outcomes = await Promise.all(
    SILENT_SHAPES.map(async (shape) => {
      const world = await openWorld(shape);
      void shape.attack?.(world).catch(() => undefined);
      const used = useBank(world).then(
        () => undefined,
        (error: unknown) => `${shape.title}: ${String(error)}`,
      );
      const late = pause(MAX_MS, `${shape.title}: no answer in time`, { ref: false });
      const failure = await Promise.race([used, late]);
      await world.gateway.close();
      return { failure, leaks: leaksOf(world) };
    }),
  );
  const failures = outcomes.flatMap(({ failure }) => failure ?? []);
  const leaks = outcomes.flatMap((one) => one.leaks);
  expect(leaks).toEqual([]);
  expect(failures).toEqual([]);
});
