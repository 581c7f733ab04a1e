/** Builds the notification for an event, in the version of its configuration. */
import { fromSend } from '../legacy/result.ts'
import type { TaskFrame } from '../view/projection.ts'
import type { StoredPushConfig } from './configs.ts'
import { taskOf } from '../view/task.ts'
import type { Notification } from '../../../http/webhooks/post.ts'

/** Undefined if the event needs no notification: 0.3 sends the whole task, only on status changes. */
export function notificationOf(frame: TaskFrame, { config, version }: StoredPushConfig): Notification | undefined {
  const update = version === '1.0' ? frame.update : legacyUpdate(frame)
  if (update === undefined) return undefined
  const { url, token, authentication } = config
  const { scheme = '', credentials = '' } = authentication ?? {}
  return {
    url,
    headers: {
      'content-type': version === '1.0' ? 'application/a2a+json' : 'application/json',
      'user-agent': 'holdfast',
      // Stable across retries, so that receivers can deduplicate.
      'idempotency-key': `${config.taskId}/${config.id}/${frame.sequence}`.replaceAll(/[^\x20-\x7e]/g, '_'),
      ...(version === '1.0' && { 'a2a-version': version }),
      ...(token !== undefined && token !== '' && { 'x-a2a-notification-token': token }),
      ...(credentials !== '' && { authorization: `${scheme} ${credentials}` }),
    },
    body: JSON.stringify(update),
  }
}

function legacyUpdate({ update, fold }: TaskFrame): object | undefined {
  if ('message' in update) return fromSend(update)
  return 'artifactUpdate' in update ? undefined : fromSend({ task: taskOf(fold) })
}
