/** Asks the agent over a socket, like its client: `npm run ask -- "How many tickets are open?"`. */
export async function ask(url: string, question: string): Promise<string> {
  const socket = new WebSocket(`${url.replace("http", "ws")}/agents/chat/first`);
  await new Promise((resolve, reject) => {
    const none = new Error(`No agent answers at ${url}: start it with npm run dev.`);
    socket.addEventListener("open", resolve, { once: true });
    socket.addEventListener("error", () => reject(none), { once: true });
  });
  const [id, message] = [crypto.randomUUID(), crypto.randomUUID()];
  const parts = [{ type: "text", text: question }];
  const body = JSON.stringify({ messages: [{ id: message, role: "user", parts }] });
  const init = { method: "POST", body };
  const answer = new Promise<string>((resolve, reject) => {
    let text = "";
    socket.addEventListener("message", ({ data }) => {
      const frame = JSON.parse(String(data));
      if (frame.type !== "cf_agent_use_chat_response" || frame.id !== id) return;
      if (frame.error) reject(new Error(frame.body));
      const chunk = JSON.parse(frame.body || "{}");
      if (chunk.type === "text-delta") text += chunk.delta;
      if (frame.done) resolve(text);
    });
  });
  socket.send(JSON.stringify({ id, type: "cf_agent_use_chat_request", init }));
  return answer.finally(() => socket.close());
}

const [, program, question = "How many tickets are open?", url = "http://localhost:8787"] =
  process.argv;
if (program?.endsWith("ask.ts")) console.log(await ask(url, question));
