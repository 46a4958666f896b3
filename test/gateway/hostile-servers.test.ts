import { describe, expect, it } from "vitest";
import { leaksOf, openWorld, useBank } from "../support/hostile-world.ts";
import { OFFERED_SHAPES } from "../support/offered-shapes.ts";
import { SAID_SHAPES } from "../support/said-shapes.ts";
import { figure } from "../support/scorecard.ts";

describe.each([...OFFERED_SHAPES, ...SAID_SHAPES])("$title", (shape) => {
  it("reaches nobody else, and takes nobody down", async () => {
    const world = await openWorld(shape);
    const { attack = ({ take }) => take(), isSealed = false } = shape;
    // Attacks may fail.
    await attack(world).catch(() => undefined);
    const failure: unknown = await useBank(world).then(
      () => undefined,
      (error: unknown) => error,
    );
    const leaks = leaksOf(world, { isTaken: isSealed, isSealed });
    figure("S22", {
      shapes: 1,
      "values, tokens and headers that reached another": leaks.length,
      "servers taken down": failure === undefined ? 0 : 1,
    });
    expect(leaks).toEqual([]);
    expect(failure).toBeUndefined();
  });
});
