// Requests go to the origin and base path of this page, and to no other server.
Scalar.createApiReference("#reference", {
  url: "openapi.json",
  servers: [{ url: new URL(".", location.href).href.replace(/\/$/, "") }],
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  hideModels: true,
  showDeveloperTools: "never",
  documentDownloadType: "json",
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  orderRequiredPropertiesFirst: true,
});
