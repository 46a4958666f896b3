import { expect, it } from "vitest";
import { locationHint, objectIn } from "../../src/edge/placement.ts";
import { readSettings } from "../../src/edge/settings.ts";

/** Records the requested jurisdictions and locations, because local workerd has no jurisdictions and one location. */
function recording() {
  const asked: unknown[] = [];
  const namespaceIn = (jurisdiction?: string): DurableObjectNamespace =>
    ({
      jurisdiction: namespaceIn,
      idFromName: (name: string) => ({ name, jurisdiction }),
      get: (id: object, options: object) => asked.push({ ...id, ...options }),
    }) as unknown as DurableObjectNamespace;
  return { asked, namespace: namespaceIn() };
}

it.each<readonly [object, DurableObjectLocationHint | undefined, object]>([
  [{ JURISDICTION: "eu" }, undefined, { jurisdiction: "eu" }],
  ...locationHint.options.map(
    (hint) => [{ LOCATION_HINT: hint }, undefined, { locationHint: hint }] as const,
  ),
  // The caller's comes first.
  [
    { LOCATION_HINT: "enam", JURISDICTION: "eu" },
    "weur",
    { locationHint: "weur", jurisdiction: "eu" },
  ],
])("with %j and the hint %s, an object lives in %j", (env, hint, place) => {
  const { asked, namespace } = recording();
  objectIn(namespace, "name", { settings: readSettings({ ...env }), hint });
  expect(asked).toEqual([{ name: "name", ...place }]);
});
