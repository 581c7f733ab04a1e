/** A real MCP server for tests. As a program, it uses stdio. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { z } from 'zod'

/** Tools that add, fail, and return the process id. */
export function calculator(): McpServer {
  const server = new McpServer({ name: 'calculator', version: '1.0.0' })
  const numbers = { a: z.number(), b: z.number() }
  server.registerTool('add', { description: 'Adds two numbers', inputSchema: numbers }, ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }))
  server.registerTool('fail', { description: 'Fails', inputSchema: {} }, () => ({
    content: [{ type: 'text', text: 'out of order' }],
    isError: true,
  }))
  server.registerTool('pid', { description: 'Says its process id', inputSchema: {} }, () => ({
    content: [{ type: 'text', text: String(process.pid) }],
  }))
  server.registerTool('die', { description: 'Ends its process', inputSchema: {} }, () => process.exit(1))
  return server
}

if (import.meta.main) await calculator().connect(new StdioServerTransport())
