import { describe, expect, it } from "vitest";
import { clientVariablesIn, readConfiguration } from "../src/configuration.ts";

/** Returns the environment that a client with these values starts the gateway with. */
function passedOn(texts: readonly string[], values: Readonly<Record<string, string>>) {
  return Object.fromEntries(
    Object.entries(clientVariablesIn(texts)).map(([name, written]) => [name, values[written]]),
  );
}

describe("variables that the client fills in", () => {
  it("reach the servers behind the gateway through its environment", () => {
    const args = ["${workspaceFolder}/src", "--home=${userHome}", "${env:home_dir}", "${/}"];
    const env = { KEY: "Bearer ${input:api-key}" };
    const values = {
      "${workspaceFolder}": "/w",
      "${userHome}": "/h",
      "${env:home_dir}": "/e",
      "${/}": "/",
      "${input:api-key}": "secret",
    };
    const text = JSON.stringify({ servers: { one: { command: "x", args, env } } });
    const [one] = readConfiguration(text, passedOn([...args, env.KEY], values));
    expect(one?.address).toEqual({
      command: "x",
      args: ["/w/src", "--home=/h", "/e", "/"],
      env: { KEY: "Bearer secret" },
    });
  });

  it("exclude those that the gateway or a shell fills in", () => {
    expect(clientVariablesIn(["${TOKEN} ${env:TOKEN:-none} ${lower} $HOME $(pwd)"])).toEqual({});
  });
});
