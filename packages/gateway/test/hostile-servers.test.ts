import { describe, expect, it } from "vitest";
import { leaksOf, openWorld, useBank } from "../../../test/support/hostile-world.ts";
import { OFFERED_SHAPES } from "../../../test/support/offered-shapes.ts";
import { SAID_SHAPES } from "../../../test/support/said-shapes.ts";

describe.each([...OFFERED_SHAPES, ...SAID_SHAPES])("$title", (shape) => {
  it("reaches nobody else, and takes nobody down", async () => {
    const world = await openWorld(shape);
    const { attack = ({ take }) => take(), isSealed = false, isForBank = false } = shape;
    // Attacks may fail.
    await attack(world).catch(() => undefined);
    const failure: unknown = await useBank(world).then(
      () => undefined,
      (error: unknown) => error,
    );
    const leaks = leaksOf(world, { isTaken: isSealed, isSealed, isForBank });
    expect(leaks).toEqual([]);
    expect(failure).toBeUndefined();
  });
});
