/** The service with an audit log entry for every command that changes something or opens a stream. */
import type { Audit } from './audit.ts'
import type { ClientLogCommands } from '../scheduling/client-logs.ts'
import type { StartCommand } from '../scheduling/draft-run.ts'
import type { ForgetRequest } from './forget.ts'
import { ownerKey, type Principal } from '../model/principal.ts'
import {
  type ForgetResult,
  type KnownRun,
  type PassedRequest,
  Service,
  type ServiceOptions,
  type StartedRun,
} from '../service.ts'
import type { Share, ShareRequest } from './share-links.ts'
import type { StoredRun } from '../ports/store.ts'
import type { Sink, Subscription } from '../delivery/subscription.ts'

export class AuditedService extends Service {
  readonly #audit: Audit

  constructor(options: ServiceOptions, audit: Audit) {
    super(options)
    this.#audit = audit
  }

  override start(principal: Principal, request: StartCommand): Promise<StartedRun> {
    const { component } = request
    const work = (): Promise<StartedRun> => super.start(principal, request)
    return this.#audit.around(principal, 'start', { component }, work, ({ stored: { run } }) => ({
      run: run.id,
      session: run.session,
    }))
  }

  override get clientLogs(): ClientLogCommands {
    const logs = super.clientLogs
    const around = this.#audit.around.bind(this.#audit)
    return {
      permitCreate: (principal, component) => logs.permitCreate(principal, component),
      create: (principal, draft) =>
        around(
          principal,
          'start',
          { component: draft.component },
          () => logs.create(principal, draft),
          ({ stored: { run } }) => ({ run: run.id, session: run.session }),
        ),
      append: (principal, id, kind, work) =>
        around(principal, 'append', about(id), () => logs.append(principal, id, kind, work)),
      remove: (principal, id, reason) =>
        around(principal, 'remove', about(id), () => logs.remove(principal, id, reason)),
    }
  }

  override stop(principal: Principal, id: string, reason?: string): Promise<StoredRun> {
    return this.#audit.around(principal, 'stop', about(id), () => super.stop(principal, id, reason))
  }

  override answer(principal: Principal, run: KnownRun, answers: Readonly<Record<string, unknown>>): Promise<StoredRun> {
    return this.#audit.around(principal, 'answer', about(idOf(run)), () => super.answer(principal, run, answers))
  }

  override delete(principal: Principal, id: string): Promise<void> {
    return this.#audit.around(principal, 'remove', about(id), () => super.delete(principal, id))
  }

  override removeSession(principal: Principal, session: string): Promise<void> {
    const work = (): Promise<void> => super.removeSession(principal, session)
    return this.#audit.around(principal, 'remove session', { session: session.slice(0, CHARS_MAX) }, work)
  }

  override share(
    principal: Principal,
    id: string,
    request: ShareRequest,
  ): Promise<{ readonly share: Share; readonly token: string }> {
    return this.#audit.around(principal, 'share', about(id), () => super.share(principal, id, request))
  }

  override revokeShare(principal: Principal, id: string, share: string): Promise<void> {
    return this.#audit.around(principal, 'revoke share', about(id), () => super.revokeShare(principal, id, share))
  }

  override forget(principal: Principal, who: Principal, request: ForgetRequest): Promise<ForgetResult> {
    const work = (): Promise<ForgetResult> => super.forget(principal, who, request)
    const action = request.dryRun ? 'forget (dry run)' : 'forget'
    return this.#audit.around(principal, action, { subject: ownerKey(who).slice(0, CHARS_MAX) }, work)
  }

  /** Records an entry as soon as the upstream responds: its response may be a stream that never ends. */
  override async pass(
    principal: Principal,
    request: PassedRequest,
    work: (onStatus: (status: number) => void) => Promise<void>,
  ): Promise<void> {
    const responded = Promise.withResolvers<number>()
    const passed = work(responded.resolve)
    passed.catch(responded.reject)
    const { upstream, method, path } = request
    const target = { upstream, request: `${method} /${path}`.slice(0, CHARS_MAX) }
    await this.#audit.around(
      principal,
      'pass',
      target,
      () => responded.promise,
      (status) => ({ status }),
    )
    await passed
  }

  override subscribe(principal: Principal, run: KnownRun, after: number, sink: Sink): Promise<Subscription> {
    return this.#audit.around(principal, 'read', about(idOf(run)), () => super.subscribe(principal, run, after, sink))
  }

  override startReading(principal: Principal, id: string): Promise<StoredRun> {
    return this.#audit.around(principal, 'read', about(id), () => super.startReading(principal, id))
  }

  override startReadingSession(principal: Principal, session: string): Promise<void> {
    const work = (): Promise<void> => super.startReadingSession(principal, session)
    return this.#audit.around(principal, 'read', { session: session.slice(0, CHARS_MAX) }, work)
  }
}

/** Names come from clients, so their length is bounded. */
const CHARS_MAX = 256

function idOf(run: KnownRun): string {
  return typeof run === 'string' ? run : run.run.id
}

function about(run: string): { readonly run: string } {
  return { run: run.slice(0, CHARS_MAX) }
}
