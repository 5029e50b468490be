// What a vendor's library makes of refusals: node errors.mjs APPLICATION, told as one line of JSON.
const { upstreams, examples } = JSON.parse(process.env.SANDBOX);
const [application] = process.argv.slice(2);
const { base_url: url, key, token } = upstreams[application];
const known = examples[application];

// For each application: how an object is read with a token, which of them there are not, and how errors are told.
const libraries = {
  async notes() {
    const { Client } = await import("@notionhq/client");
    const read = (auth, page_id) => new Client({ auth, baseUrl: url, retry: false }).pages.retrieve({ page_id });
    return [read, known.page_id, "00000000-0000-4000-8000-000000000000", ({ code }) => code];
  },
  async boards() {
    const { default: trello } = await import("trello.js");
    const read = (token, id) => {
      const client = new trello.TrelloClient({ key, token });
      client.instance.defaults.baseURL = `${url}/1`;
      return client.cards.getCard({ id });
    };
    return [read, known.card_id, "5f0000000000000000000000", (error) => error.status ?? error.response?.status];
  },
  async mail() {
    const { auth, gmail } = await import("@googleapis/gmail");
    const read = (access_token, id) => {
      const client = new auth.OAuth2();
      client.setCredentials({ access_token });
      const { messages } = gmail({ version: "v1", auth: client, rootUrl: `${url}/` }).users;
      return messages.get({ userId: "me", id }, { retry: false });
    };
    return [read, known.message_id, "1a1a755d76c80000", ({ status }) => status];
  },
  async chat() {
    const { WebClient } = await import("@slack/web-api");
    const options = { slackApiUrl: `${url}/api/`, retryConfig: { retries: 0 }, rejectRateLimitedCalls: true };
    const read = (token, channel) => new WebClient(token, options).conversations.info({ channel });
    return [read, known.channel_id, "C00NOWHERE0", (error) => error.data?.error ?? error.retryAfter ?? error.statusCode];
  },
  async crm() {
    const { Client } = await import("@hubspot/api-client");
    const read = (accessToken, id) => {
      const client = new Client({ accessToken, basePath: url, numberOfApiCallRetries: 0 });
      return client.crm.contacts.basicApi.getById(id);
    };
    return [read, known.contact_id, "1", ({ code }) => code];
  },
  async tables() {
    const { default: Airtable } = await import("airtable");
    const read = (apiKey, id) => {
      const airtable = new Airtable({ apiKey, endpointUrl: url, noRetryIfRateLimited: true });
      return airtable.base(known.base_id)(known.table).find(id);
    };
    return [read, known.record_id, "rec00000000000000", ({ error }) => error];
  },
};

const [read, there, missing, told] = await libraries[application]();
const refused = (token, id) =>
  read(token, id).then(
    () => "nothing",
    (error) => [error.constructor.name, told(error)],
  );
const seen = {
  dead: await refused("dead", there),
  missing: await refused(token, missing),
  throttled: await refused("throttled", there),
  failing: await refused("failing", there),
};
console.log(JSON.stringify(seen));
