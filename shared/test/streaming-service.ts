import type { ServerResponse } from 'node:http'
import express from 'express'
import { Registry } from 'prom-client'
import { serve } from '../src/serve.ts'

const open = new Set<ServerResponse>()

/** A process with a response that does not end by itself. */
await serve({
  name: 'webhook',
  config: {},
  build: async () => {
    const app = express()
    app.get('/stream', (_req, res) => {
      open.add(res)
      res.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n')
    })
    const endStreams = () => {
      for (const res of open) res.end()
    }
    return { app, registry: new Registry(), endStreams, close: async () => undefined }
  },
})
