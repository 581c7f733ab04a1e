/** Entry point of the thread: loads the component's module and serves the host. */
import { parentPort, workerData } from 'node:worker_threads'
import { acceptModuleSyntax } from '../shared/module-syntax.ts'
import { loadComponent } from './load-component.ts'
import type { ThreadData } from './protocol.ts'
import { ThreadRun } from './thread-run.ts'

const { module, export: name } = workerData as ThreadData

acceptModuleSyntax() // module hooks do not reach from the main thread into this one

void new ThreadRun(parentPort!, () => loadComponent(module, name))
