/** What clients of AgentOS look for in `GET /health`, a path that all protocols of a server share. */
export function agentOsHealth(startedAt: string): Readonly<Record<string, unknown>> {
  return { instantiated_at: startedAt }
}
