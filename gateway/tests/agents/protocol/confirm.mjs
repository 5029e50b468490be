// Posts a message with the official TypeScript client over standard input and output, and accepts the question.
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [command, channel] = process.argv.slice(2);
const client = new Client({ name: "tests", version: "1" }, { capabilities: { elicitation: { form: {} } } });
const questions = [];
client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
  questions.push(params.message);
  return { action: "accept", content: { confirm: true } };
});
await client.connect(new StdioClientTransport({ command, args: ["-m", "connector_gateway", "mcp"], env: process.env }));
const result = await client.callTool({ name: "chat_post_message", arguments: { channel, text: "Hello" } });
await client.close();
console.log(JSON.stringify({ status: result.structuredContent.status, questions }));
