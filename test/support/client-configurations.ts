/** Realistic configurations of clients, by their path in a folder. */
export const CLIENT_CONFIGURATIONS = {
  ".mcp.json": `{
  "mcpServers": {
    "github": { "type": "http", "url": "https://mcp.example/github", "headers": { "Authorization": "Bearer \${GITHUB_TOKEN}" } },
    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "."] }
  }
}
`,
  ".claude.json": `{
  "numStartups": 184,
  "installMethod": "native",
  "mcpServers": {
    "linear": {
      "type": "sse",
      "url": "https://mcp.example/linear/sse"
    }
  },
  "projects": {
    "/home/ada/shop": {
      "allowedTools": [],
      "mcpContextUris": [],
      "mcpServers": {
        "db": {
          "type": "stdio",
          "command": "uvx",
          "args": [
            "postgres-mcp",
            "--access-mode=restricted"
          ],
          "env": {
            "DATABASE_URI": "postgresql://ada@localhost/shop"
          }
        }
      },
      "hasTrustDialogAccepted": true
    },
    "/home/ada/notes": {
      "allowedTools": [],
      "mcpServers": {},
      "lastCost": 0.12
    }
  },
  "userID": "5f1c"
}`,
  ".cursor/mcp.json": `{\n\t"mcpServers": {\n\t\t"memory": {\n\t\t\t"command": "npx",\n\t\t\t"args": ["-y", "@modelcontextprotocol/server-memory"],\n\t\t\t"env": {"MEMORY_FILE_PATH": "\${userHome}/é.json"}\n\t\t},\n\t\t"docs": {"url": "https://mcp.example/docs"}\n\t}\n}`,
  ".vscode/mcp.json": `{
    // Asked for once.
    "inputs": [
        { "id": "key", "type": "promptString", "description": "Key", "password": true },
    ],
    "servers": {
        /* Searches. */
        "perplexity": {
            "type": "stdio",
            "command": "npx",
            "args": ["-y", "server-perplexity", "--root=\${workspaceFolder}"],
            "env": { "API_KEY": "\${input:key}" } // Never written down.
        },
        "local": { "command": "python", "args": ["server.py"], "envFile": "\${workspaceFolder}/.env" },
    }
}
`,
  "claude_desktop_config.json": `{\r\n  "globalShortcut": "Ctrl+Space",\r\n  "mcpServers": {\r\n    "sqlite": {\r\n      "command": "uvx",\r\n      "args": ["mcp-server-sqlite", "--db-path", "C:\\\\data\\\\a.db"]\r\n    }\r\n  },\r\n  "theme": "dark"\r\n}\r\n`,
} as const;
