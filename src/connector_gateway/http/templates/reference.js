// Calls go to where this page came from, and nothing is asked of anybody else.
Scalar.createApiReference("#reference", {
  url: "/openapi.json",
  servers: [{ url: location.origin }],
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
  documentDownloadType: "json",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  orderRequiredPropertiesFirst: true,
});
