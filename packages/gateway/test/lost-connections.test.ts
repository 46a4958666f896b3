import { InMemoryTransport, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { expect, it, vi } from "vitest";
import { startGateway } from "../../../test/support/gateway.ts";
import { textIn } from "../../../test/support/gateway-process.ts";
import { toolServer } from "../../../test/support/raw-server.ts";

const make = () =>
  toolServer(["ping", "leave", "wait"], ({ name }, wire) =>
    name === "leave" ? wire.close() : { content: [{ type: "text", text: "pong" }] },
  );

it("a connection that was lost is opened again by the next call, without a pause", async () => {
  const { call } = await startGateway([{ name: "shop", make }]);
  expect((await call("leave")).isError).toBe(true);
  expect(textIn(await call("ping"))).toBe("pong");
});

it("a failure of an earlier connection does not end the next one", async () => {
  let fail: ((error: Error) => void) | undefined;
  let opened = 0;
  const open = () => {
    const isFirst = ++opened === 1;
    const [near, far] = InMemoryTransport.createLinkedPair();
    void make().connect(far);
    const send = near.send.bind(near);
    near.send = async (message, options) => {
      const name = "method" in message && message.params?.name;
      if (!isFirst || typeof name !== "string") return send(message, options);
      if (name === "wait") return new Promise<void>((_, reject) => (fail = reject));
      const unknown = { status: 404, statusText: "Not Found" };
      throw new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, "No session", unknown);
    };
    return near;
  };
  const { call } = await startGateway([{ name: "shop", make, open }]);
  const waiting = call("wait");
  await vi.waitFor(() => expect(fail).toBeDefined());
  expect(textIn(await call("ping"))).toBe("pong");
  expect(opened).toBe(2);
  fail?.(new TypeError("fetch failed"));
  expect((await waiting).isError).toBe(true);
  expect(textIn(await call("ping"))).toBe("pong");
  expect(opened).toBe(2);
});
