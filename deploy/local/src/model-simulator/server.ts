import { createServer } from 'node:http'
import { integer, parseConfig } from '@parley/shared/config'
import { z } from 'zod'
import { stopWithParent } from '../processes/owned.ts'
import { buildModelSimulator } from './app.ts'

/** The model simulator's environment. */
const config = z.object({
  HOST: z.string().default('127.0.0.1').describe('Address to listen on'),
  PORT: integer({ min: 0, max: 65_535 }).describe('Port to listen on; 0 takes a free one'),
})

// Longer than callers leave a connection idle.
const KEEP_ALIVE_MS = 65_000
const SHUTDOWN_MS = 1_000

const { HOST, PORT } = parseConfig(config, process.env)
const server = createServer(buildModelSimulator())
server.keepAliveTimeout = KEEP_ALIVE_MS
server.listen(PORT, HOST)

stopWithParent(() => {
  // Delayed responses would delay the end of the process for as long.
  setTimeout(() => process.exit(0), SHUTDOWN_MS).unref()
  server.close(() => process.exit(0))
  server.closeIdleConnections()
})
