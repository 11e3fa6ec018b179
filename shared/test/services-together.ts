import express from 'express'
import { Registry } from 'prom-client'
import { z } from 'zod'
import type { ServiceName } from '../src/internal-token.ts'
import { hosted, serveTogether } from '../src/serve.ts'

/** A service that says what happens to it, and throws where nobody catches it when it is asked to. */
const service = (name: ServiceName) =>
  hosted({
    name,
    config: { GREETING: z.string() },
    build: async ({ GREETING }, log) => {
      const app = express()
      const built = performance.now()
      app.locals.isReady = async () => performance.now() - built > 200
      app.get('/', async (_req, res) => void res.json({ GREETING, ready: await app.locals.isReady() }))
      app.get('/wake-ups', (_req, res) => void res.json(process.resourceUsage().voluntaryContextSwitches))
      app.get('/throw', () => setImmediate(() => log.error(undefined, fail())))
      return { app, registry: new Registry(), close: async () => log.info('closed') }
    },
  })

function fail(): string {
  throw new Error('nobody catches this')
}

/** A process with two services and a gateway. */
await serveTogether([service('gateway'), service('webhook'), service('identity')])
