/** Options shared by all front ends for written streams, and the streams that they open. */
import { HoldfastError } from '../core/model/errors.ts'
import type { Component } from '../core/ports/component.ts'
import type { Holdfast } from '../mount/holdfast.ts'
import { streamInstance } from '../mount/local-streams.ts'
import type { HoldfastOptions } from '../mount/options.ts'
import { WrittenStreams } from './written-streams.ts'

/** Store of the streams. */
export interface WrittenStreamsOptions {
  /** Separates the streams of several applications in one store. Default: the id of the component. */
  readonly keyPrefix?: string
  /**
   * As in `holdfast()`. Processes that read each other's streams at the same time need PostgreSQL or NATS.
   * Default: a SQLite file below `.holdfast`.
   */
  readonly store?: HoldfastOptions['store']
  /** Instead of `store`: your own instance that has the component of these streams among its components. Default: an instance of its own on `store`. */
  readonly holdfast?: Pick<Holdfast, 'runs'>
}

export interface OpenedStreams {
  readonly streams: WrittenStreams
  readonly runs: Holdfast['runs']
  /** Waits up to ten seconds for streams in progress, ends all others, and closes the store unless it belongs to `holdfast`. */
  readonly close: () => Promise<void>
}

/** Opens nothing yet. `names`: the valid options of `caller`. Throws `invalid_request` for invalid ones. */
export function openStreams(
  caller: string,
  component: Component,
  options: WrittenStreamsOptions,
  names: readonly string[],
): OpenedStreams {
  const wrong = (message: string): HoldfastError => new HoldfastError('invalid_request', `${caller}(): ${message}`)
  for (const name of Object.keys(options))
    if (!names.includes(name)) throw wrong(`unknown option ${name}: use ${names.join(', ')}`)
  const { store, holdfast, keyPrefix = component.id } = options
  if (store !== undefined && holdfast !== undefined)
    throw wrong('store and holdfast cannot be combined: pass one of them')
  const own =
    holdfast === undefined ? streamInstance(component, store ?? `sqlite:.holdfast/${component.id}.db`) : undefined
  const { runs } = holdfast ?? own!
  const streams = new WrittenStreams(component, runs, keyPrefix)
  return {
    streams,
    runs,
    async close() {
      await own?.close()
      streams.close(new HoldfastError('unavailable', `what ${caller}() returned was closed`))
    },
  }
}
