import { MCPClient } from "@mastra/mcp";

/** Calls one tool of `byref mcp` with the result of another, as an application with Mastra does. */
const [command, ...args] = process.argv.slice(2);
const client = new MCPClient({ servers: { byref: { command, args } } });
try {
  const tools = await client.listTools();
  const echo = (message) => tools.byref_echo.execute({ message }, {});
  const first = await echo("mastra ".repeat(400));
  const second = await echo("$echo_1");
  const part = await tools.byref_read_variable.execute(
    { name: "echo_2", offset: 0, limit: 20 },
    {},
  );
  console.log(JSON.stringify({ names: Object.keys(tools), first, second, part }));
} finally {
  await client.disconnect();
}
