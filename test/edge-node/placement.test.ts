import { expect, it } from "vitest";
import { objectIn } from "../../src/edge/conversation-of.ts";

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

it.each<readonly [object, string | undefined, object]>([
  [{ JURISDICTION: "eu" }, undefined, { jurisdiction: "eu" }],
  [{ LOCATION_HINT: "apac-ne" }, undefined, { locationHint: "apac-ne" }],
  [
    { LOCATION_HINT: "enam", JURISDICTION: "eu" },
    undefined,
    { locationHint: "enam", jurisdiction: "eu" },
  ],
  // That of the object that calls comes first: the setting may have changed since.
  [{ JURISDICTION: "eu" }, "us", { jurisdiction: "us" }],
])(
  "with %j and the caller's jurisdiction %s, an object lives in %j",
  (env, jurisdiction, place) => {
    const { asked, namespace } = recording();
    objectIn(env, namespace, "name", jurisdiction);
    expect(asked).toEqual([{ name: "name", ...place }]);
  },
);
