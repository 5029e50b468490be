// Authorises the official TypeScript client: prints the URL for the browser, and reads the code from standard input.
import { createInterface } from "node:readline/promises";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [endpoint, redirectUrl] = process.argv.slice(2);
const stored = {};
const authProvider = {
  redirectUrl,
  clientMetadata: { client_name: "TypeScript client", redirect_uris: [redirectUrl] },
  clientInformation: () => stored.client,
  saveClientInformation: (client) => { stored.client = client; },
  tokens: () => stored.tokens,
  saveTokens: (tokens) => { stored.tokens = tokens; },
  codeVerifier: () => stored.verifier,
  saveCodeVerifier: (verifier) => { stored.verifier = verifier; },
  redirectToAuthorization: (url) => console.log(url.href),
};
const transport = () => new StreamableHTTPClientTransport(new URL(endpoint), { authProvider });

const listTools = async () => {
  const client = new Client({ name: "tests", version: "1" });
  await client.connect(transport());
  const { tools } = await client.listTools();
  await client.close();
  return tools.map((tool) => tool.name);
};

const rejected = await listTools().then(() => null, (error) => error);
if (!(rejected instanceof UnauthorizedError)) throw rejected ?? new Error("The first request was accepted.");
const lines = createInterface({ input: process.stdin });
const code = await lines[Symbol.asyncIterator]().next();
lines.close();
await transport().finishAuth(code.value);
const names = await listTools();
const first = stored.tokens.refresh_token;
stored.tokens = { ...stored.tokens, access_token: "expired" };
await listTools();
console.log(JSON.stringify({ names, renewed: first !== stored.tokens.refresh_token }));
