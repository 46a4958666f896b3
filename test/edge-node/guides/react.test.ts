import { Chat, useChat } from "@ai-sdk/react";
import { DefaultChatTransport } from "ai";
import { createRuntime } from "byref";
import { createClient } from "byref/client";
import { byrefTransport, useVariable, useVariables } from "byref/react";
import { createElement } from "react";
import { renderToStaticMarkup } from "react-dom/server";
import { expect, it } from "vitest";
import { sendTo } from "../../support/client.ts";
import { ORIGIN } from "../../support/edge.ts";
import { type OwnRuntime, withWorker } from "../../support/own-runtime.ts";
import { finish, scriptedModel, text } from "byref/testing";

const url = ORIGIN;
const shop = { name: "shop", description: "Sells.", instructions: "Help.", tools: {} };

type Order = { readonly id: string };

it("connects the AI SDK's chat, and renders on a server, without a request", async () => {
  const model = scriptedModel([[text("Hello."), finish()]]);
  await withWorker(createRuntime({ agents: [shop], model }), async (own) => {
    const asked: string[] = [];
    const options = {
      fetch: (to: string, init: RequestInit) => {
        asked.push(`${init.method} ${to}`);
        return sendTo(own as OwnRuntime)(to, init);
      },
    };
    // --- before
    const body = { agent: "shop" };
    const stock = new DefaultChatTransport({ api: `${url}/conversations`, body });
    // ---
    expect(stock).toHaveProperty("reconnectToStream");
    // --- after
    const conversation = createClient(url, options).conversation("first");
    const transport = byrefTransport(url, { ...options, agent: "shop" });

    function useShop() {
      const chat = useChat({ id: "first", transport, resume: true });
      const orders = useVariable<readonly Order[]>(conversation, "list_orders_1", "[0:50]");
      const variables = useVariables(conversation);
      return { chat, orders, variables };
    }
    // ---
    const Shop = () => {
      const { chat, orders, variables } = useShop();
      return createElement("p", {}, `${chat.status} ${orders.status} ${variables.length}`);
    };
    expect(renderToStaticMarkup(createElement(Shop))).toBe("<p>ready loading 0</p>");
    expect(asked).toEqual([]);
    const chat = new Chat({ id: "first", transport });
    await chat.sendMessage({ text: "Hi." });
    expect(JSON.stringify(chat.messages.at(-1)?.parts)).toContain("Hello.");
    expect(asked).toEqual([`POST ${url}/conversations`]);
  });
});
