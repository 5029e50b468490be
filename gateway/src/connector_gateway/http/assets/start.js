// Calls go to where this page came from, whatever stands before its path, and nothing is asked of anybody else.
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
