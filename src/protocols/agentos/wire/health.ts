/** Fields that AgentOS clients expect in `GET /health`, a path that all protocols of a server share. */
export function agentOsHealth(startedAt: string): Readonly<Record<string, unknown>> {
  return { instantiated_at: startedAt }
}
