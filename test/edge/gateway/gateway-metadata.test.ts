import { expect, it } from "vitest";
import { createRuntime, jwtAuthenticator, mcpGateway } from "../../../src/byref.ts";
import type { Agent } from "../../../src/turn/agent.ts";
import { scriptedModel } from "../../../packages/testing/src/testing.ts";

const clerk: Agent = { name: "clerk", description: "Helps.", instructions: "Help.", tools: {} };

it("names the issuer of tokens if AUTH=jwt has one", async () => {
  const { worker } = createRuntime({
    agents: [clerk],
    model: scriptedModel([]),
    gateway: mcpGateway,
    jwt: jwtAuthenticator,
  });
  const settings = {
    AUTH: "jwt",
    JWT_SECRET: "0123456789abcdef0123456789abcdef",
    JWT_TENANT_CLAIM: "sub",
    JWT_ISSUER: "https://login.example",
  };
  const context = { waitUntil: () => undefined, passThroughOnException: () => undefined };
  const at = (path: string, env: object = settings, method = "GET") =>
    worker.fetch(
      new Request(`https://byref.example${path}`, { method }),
      env as unknown as Cloudflare.Env,
      context as unknown as ExecutionContext,
    );
  const metadata = "https://byref.example/.well-known/oauth-protected-resource";
  const refused = await at("/conversations/one/mcp", settings, "POST");
  expect(refused.status).toBe(401);
  expect(refused.headers.get("www-authenticate")).toBe(
    `Bearer resource_metadata="${metadata}/conversations/one/mcp"`,
  );
  const described = await at("/.well-known/oauth-protected-resource/conversations/one/mcp");
  expect(await described.json()).toEqual({
    resource: "https://byref.example/conversations/one/mcp",
    authorization_servers: ["https://login.example"],
    bearer_methods_supported: ["header"],
  });
  expect((await at("/.well-known/oauth-protected-resource")).status).toBe(200);
  expect((await at("/agents", settings)).headers.get("www-authenticate")).toBe("Bearer");
  const open = { AUTH: "none" };
  expect((await at("/.well-known/oauth-protected-resource", open)).status).toBe(404);
});
