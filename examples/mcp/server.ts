/** An MCP server with one tool, over standard input and output. Any such program works, in any language. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

const server = new McpServer({ name: 'tides', version: '1.0.0' })
server.registerTool(
  'high_water',
  { description: 'When the water is highest at a harbour today', inputSchema: { harbour: z.string() } },
  ({ harbour }) => ({ content: [{ type: 'text', text: `${harbour}: 14:20` }] }),
)
await server.connect(new StdioServerTransport())
