import type { Context } from "hono";
import { describePrompt } from "../../turn/describe-prompt.ts";
import type { AppEnv } from "../app-env.ts";
import { identityHeader, identityIn } from "../auth/forwarded-identity.ts";
import { conversationOf, mutableResponse, unusedObject } from "../conversation-of.ts";
import type { ConversationParts } from "../conversation-parts.ts";
import { type Endpoint, endpoint } from "../http/endpoint.ts";
import { text } from "../http/parameters.ts";
import * as schemas from "../openapi/schemas.ts";

const route = "GET /agents/:name/prompt";
const operation = {
  summary: "Returns what a model is sent, with sizes in characters",
  query: { conversation: text.optional() },
  answers: { 200: { "application/json": schemas.prompt } },
};

/** Only an object has the services that a turn has. */
export const promptEndpoint: Endpoint<Context<AppEnv>> = endpoint(
  route,
  operation,
  async ({ query: { conversation }, request: { url } }, context) => {
    const object =
      conversation === undefined ? unusedObject(context) : conversationOf(context, conversation);
    const headers = [identityHeader(context.get("identity"))];
    return mutableResponse(await object.fetch(url, { headers }));
  },
);

/** The same route, in a conversation's object. */
export const objectPromptEndpoint: Endpoint<ConversationParts> = endpoint(
  route,
  operation,
  async ({ params: { name }, query: { conversation = "" }, request }, { context }) => {
    const history = conversation === "" ? undefined : context.requireExisting().history;
    const asked = context.askedBy(identityIn(request.headers, context), conversation);
    const { model, equip } = context.chooseAgent({ name, asked });
    const equipped = await equip(request.signal);
    try {
      const { store } = context;
      const services = context.servicesFor(asked);
      const { agent } = equipped;
      return Response.json(await describePrompt({ agent, model, store, services, history }));
    } finally {
      // The response does not wait until sessions are closed.
      void equipped.close();
    }
  },
);
