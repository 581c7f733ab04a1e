/** Entry point of the thread: loads the component's module and serves the host. */
import { parentPort, workerData } from 'node:worker_threads'
import { loadComponent } from './load-component.ts'
import type { ThreadData } from './protocol.ts'
import { ThreadRun } from './thread-run.ts'

const { module, export: name } = workerData as ThreadData

void new ThreadRun(parentPort!, () => loadComponent(module, name))
