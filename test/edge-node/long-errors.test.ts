import { beforeAll, expect, it } from "vitest";
import { planSupport } from "../../packages/plans/src/http/plan-support.ts";
import { transfers } from "../../src/edge/routes/transfer.ts";
import { csvRecords } from "../../src/byref.ts";
import { ByrefError, messageOf } from "../../src/errors.ts";
import { maxReasonChars } from "../../src/limits.ts";
import { capabilityWorkflows } from "../../packages/plan-formats/src/capability/capability-workflows.ts";
import { templates } from "../../packages/plan-formats/src/template/templates.ts";
import { scriptedModel } from "../../packages/testing/src/testing.ts";
import { NodeRuntime } from "../support/node-runtime.ts";

const LONG = "x".repeat(1_000_000);

let runtime: NodeRuntime;

beforeAll(async () => {
  runtime = new NodeRuntime({
    agents: [{ name: "a", description: "", instructions: "", tools: {} }],
    model: scriptedModel([]),
    csv: csvRecords,
    plans: planSupport(templates, capabilityWorkflows),
    transfer: transfers,
  });
  const headers = { "content-type": "application/json" };
  const body = JSON.stringify({ [LONG]: 1 });
  await runtime.ask("PUT", "/conversations/c/variables/a", { headers, body });
});

type Sent = readonly [method: string, path: string, body?: string, type?: string];

const variable = `/conversations/c/variables/a`;
const text = JSON.stringify(LONG);

it.each<[what: string, sent: Sent]>([
  ["an unknown route", ["GET", `/${LONG}`]],
  ["an unknown route of a conversation", ["GET", `/conversations/c/${LONG}`]],
  ["a conversation's id", ["GET", `/conversations/${LONG}`]],
  ["a variable's name", ["GET", `/conversations/c/variables/${LONG}`]],
  ["a key that does not exist, beside a long one", ["GET", `${variable}?path=.y`]],
  ["a long key that does not exist", ["GET", `${variable}?path=.${LONG}y`]],
  ["a path", ["GET", `${variable}?path=${LONG}`]],
  ["a parameter", ["GET", `/conversations/c/messages?limit=${LONG}`]],
  ["a mode", ["PUT", `${variable}?mode=${LONG}`, "1"]],
  ["a media type", ["PUT", variable, "1", LONG]],
  ["a charset", ["PUT", variable, "1", `text/csv; charset=${LONG}`]],
  ["an unknown key of metadata", ["PATCH", variable, `{${text}:1}`]],
  ["an unknown key of a message", ["POST", "/conversations/c/messages", `{${text}:1}`]],
  ["an agent", ["POST", "/conversations/c/messages", `{"message":"x","agent":${text}}`]],
  [
    "an unknown part",
    ["POST", "/conversations/c/messages", `{"message":{"parts":[{"type":${text}}]}}`],
  ],
  ["text that is not JSON", ["PUT", variable, LONG]],
  ["a record that is not JSON", ["PUT", variable, LONG, "application/x-ndjson"]],
  ["a cell", ["PUT", variable, `a\n"${LONG}"${LONG}`, "text/csv"]],
  ["a header of a CSV", ["PUT", variable, `${LONG}\n${LONG},1`, "text/csv"]],
  ["a tool of a plan", ["POST", "/conversations/c/plans", `{"calls":[{"_tool":${text}}]}`]],
  ["an unknown key of a plan", ["POST", "/conversations/c/plans", `{${text}:1,"calls":[]}`]],
  ["a workflow", ["POST", "/conversations/c/plans", `<${LONG}>`, "application/xml"]],
  [
    "a capability",
    [
      "POST",
      "/conversations/c/plans",
      `<workflow><capability name="${LONG}"/></workflow>`,
      "application/xml",
    ],
  ],
  ["a directive", ["POST", "/conversations/c/plans", `## x\n@${LONG}\ny`, "text/markdown"]],
  ["a plan's id", ["GET", `/conversations/c/plans/${LONG}`]],
  ["an approval's id", ["POST", `/conversations/c/approvals/${LONG}`, '{"approved":true}']],
  [
    "an import's type",
    ["POST", "/conversations/import", `{"type":${text}}`, "application/x-ndjson"],
  ],
])(
  "an error quotes at most a line: %s",
  async (_, [method, path, body, type = "application/json"]) => {
    const headers = { "content-type": type };
    const response = await runtime.ask(method, path, body === undefined ? {} : { headers, body });
    expect(response.status).toBeGreaterThanOrEqual(400);
    expect(response.status).not.toBe(500);
    expect((await response.text()).length).toBeLessThan(5 * maxReasonChars);
  },
);

it("an error keeps the start and the end of its message, and of each text in its details", () => {
  const error = new ByrefError("bad_name", `There is no ${LONG}. Read the list.`, {
    list: [{ [LONG]: LONG, maximum: 3, isOpen: true, none: null }],
  });
  expect(error.message).toMatch(/^There is no x+… \(\+\d+ more\) …x+\. Read the list\.$/u);
  expect(error.message.length).toBeLessThanOrEqual(maxReasonChars);
  expect(JSON.stringify(error.details).length).toBeLessThan(2.5 * maxReasonChars);
  expect(error.details).toMatchObject({ list: [{ maximum: 3, isOpen: true, none: null }] });
  expect(messageOf(new Error(LONG)).length).toBeLessThanOrEqual(maxReasonChars);
  expect(messageOf({ LONG }).length).toBeLessThanOrEqual(maxReasonChars);
  const exact = "y".repeat(maxReasonChars);
  expect(new ByrefError("bad_name", exact).message).toBe(exact);
});
