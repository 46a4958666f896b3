import { describe, expect, it } from "vitest";
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

function askFor(env: Readonly<Record<string, string>>, hint?: DurableObjectLocationHint) {
  const { asked, namespace } = recording();
  objectIn(namespace, "name", { settings: readSettings(env), hint });
  return asked[0];
}

describe("where an object lives", () => {
  it("is in the jurisdiction, which is part of its id", () => {
    expect(askFor({ JURISDICTION: "eu" })).toEqual({ name: "name", jurisdiction: "eu" });
  });

  it.each(locationHint.options)("is near %s if the configuration says so", (location) => {
    expect(askFor({ LOCATION_HINT: location })).toEqual({ name: "name", locationHint: location });
  });

  it("is chosen by the caller before the configuration", () => {
    const hinted = askFor({ LOCATION_HINT: "enam", JURISDICTION: "eu" }, "weur");
    expect(hinted).toEqual({ name: "name", jurisdiction: "eu", locationHint: "weur" });
  });

  it.each([{ JURISDICTION: "EU" }, { LOCATION_HINT: "europe" }])("cannot be %j", (env) => {
    const [name = ""] = Object.keys(env);
    expect(() => readSettings(env)).toThrow(new RegExp(`^${name} must be (?:eu|wnam), `));
  });
});
