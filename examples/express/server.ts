/** The application that main.ts kills: a page of its own, and agents below /api/agents. */
import express from 'express'
import { holdfast } from 'holdfast'
import { counter } from '../hello/agents.ts'

const [, , path = 'runs.db', port = '7788'] = process.argv
const hf = holdfast({ components: [counter], store: `sqlite:${path}`, basePath: '/api/agents' })
await hf.ready() // continues runs that a crash interrupted

const app = express()
app.get('/', (_request, response) => void response.send('My application'))
app.use('/api/agents', hf.node)
hf.attach(app.listen(Number(port)))
