/** Describes a component's capabilities in AG-UI format. */
import type { Component } from '../../../core/ports/component.ts'

export function capabilitiesOf({ id, kind, name = id, description, version, info }: Component): object {
  const members = info?.members ?? []
  return {
    identity: {
      name,
      type: kind,
      ...(description !== undefined && { description }),
      ...(version !== undefined && { version }),
      provider: 'holdfast',
    },
    transport: { streaming: true, websocket: false, httpBinary: false, pushNotifications: false, resumable: true },
    tools: { supported: true, clientProvided: info?.model !== undefined },
    state: { snapshots: true, deltas: true, persistentState: true },
    multiAgent: {
      supported: members.length > 0,
      subagents: members.map((member) => ({
        name: member.id,
        ...(member.description !== undefined && { description: member.description }),
      })),
    },
    reasoning: { supported: true, streaming: true, encrypted: false },
    humanInTheLoop: { supported: true, approvals: true, interrupts: true },
  }
}
