import { createServer } from 'node:http'
import { parseConfig } from '@parley/shared/config'
import { stopWithParent } from '../processes/owned.ts'
import { buildSimulator } from './app.ts'
import { config } from './config.ts'

// Longer than callers leave a connection idle.
const KEEP_ALIVE_MS = 65_000
const SHUTDOWN_MS = 5_000

const { HOST, PORT, DIRECTORY } = parseConfig(config, process.env)
const simulator = await buildSimulator({ directory: DIRECTORY })
const server = createServer(simulator.app)
server.keepAliveTimeout = KEEP_ALIVE_MS
server.listen(PORT, HOST)

stopWithParent(() => {
  // Stalled responses would delay the end of the process for as long as they stall.
  setTimeout(() => process.exit(0), SHUTDOWN_MS).unref()
  server.close(() => void simulator.close().then(() => process.exit(0)))
  server.closeIdleConnections()
})
