/** Serves the components of `npm start -- --lab` inside Express at /api/agents. */
import { once } from 'node:events'
import { createServer } from 'node:http'
import express from 'express'
import { labComponents } from '../../../src/agents/lab/kinds.ts'
import { demoComponents } from '../../../src/cli/demo/components.ts'
import { demoModel } from '../../../src/cli/demo/model.ts'
import { holdfast } from '../../../src/mount/holdfast.ts'

const [, , port = '', database = ''] = process.argv
const components = [...demoComponents(demoModel({}, {})), ...labComponents()]
const hf = holdfast({ components, store: `sqlite:${database}`, basePath: '/api/agents' })
await hf.ready()
const server = createServer(express().use('/api/agents', hf.node)).listen(Number(port), '127.0.0.1')
hf.attach(server)
await once(server, 'listening')
console.log(`It listens at http://127.0.0.1:${port}\nIt is process ${process.pid}`)
