// Adds the API key to every request that the suite sends, in whichever of its ways: it knows of no keys itself.
import http from "node:http";
import { Agent, setGlobalDispatcher } from "undici";

const bearer = `Bearer ${process.env.GATEWAY_API_KEY}`;

const keyed = (headers) => {
  if (Array.isArray(headers)) return [...headers, "authorization", bearer];
  if (typeof headers?.[Symbol.iterator] === "function") return [...headers, ["authorization", bearer]];
  return { ...headers, authorization: bearer };
};

const adding = (send) => (options, handler) => send({ ...options, headers: keyed(options.headers) }, handler);
setGlobalDispatcher(new Agent().compose(adding));

const request = http.request;
http.request = (options, ...more) => request({ ...options, headers: keyed(options.headers) }, ...more);
