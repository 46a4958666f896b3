import {
  AppBridge,
  getToolUiResourceUri,
  PostMessageTransport,
} from "@modelcontextprotocol/ext-apps/app-bridge";
import type { ReadResourceResult } from "@modelcontextprotocol/client";

/** An MCP client that shows views, with the library for hosts. `test/browser/variable-app.test.ts` uses it. */

declare global {
  interface Window {
    readResource: (uri: string) => Promise<ReadResourceResult>;
    /** The address of a tool's view. */
    viewOf: typeof getToolUiResourceUri;
    showApp: (html: string, input: Record<string, unknown>, theme: "light" | "dark") => void;
  }
}

const POLICY =
  "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:";

window.viewOf = getToolUiResourceUri;

window.showApp = (html, input, theme) => {
  const frame = document.createElement("iframe");
  frame.sandbox.add("allow-scripts");
  frame.style.cssText = "width: 900px; height: 600px; border: 0";
  document.body.append(frame);
  const { contentWindow } = frame;
  if (contentWindow === null) throw new Error("The frame has no window.");
  const bridge = new AppBridge(
    null,
    { name: "test", version: "1" },
    { serverResources: {} },
    { hostContext: { theme } },
  );
  bridge.onreadresource = ({ uri }) => window.readResource(uri);
  bridge.oninitialized = () => void bridge.sendToolInput({ arguments: input });
  void bridge.connect(new PostMessageTransport(contentWindow, contentWindow)).then(() => {
    const meta = `<meta http-equiv="Content-Security-Policy" content="${POLICY}">`;
    frame.srcdoc = html.replace("<head>", () => `<head>${meta}`);
  });
};
