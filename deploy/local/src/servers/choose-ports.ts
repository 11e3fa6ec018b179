import { randomInt } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { z } from 'zod'

const portsSchema = z.record(z.string(), z.number().int().min(1).max(65_535))
// Below the range that systems give to outgoing connections, so none of those takes a port meanwhile.
const FIRST_PORT = 15_000
const LAST_PORT = 32_000
const ATTEMPTS = 200

/**
 * Ports on 127.0.0.1 for `names`: those of the last time where they are still free, others where not, and
 * says so. Remembers them in `file`.
 */
export async function choosePorts<N extends string>(options: {
  file: string
  names: readonly N[]
  /** A port that is somebody else's, though nobody may listen on it yet. */
  except?: number
  say(line: string): void
}): Promise<Record<N, number>> {
  const { file, names, except, say } = options
  const remembered = readPorts(file)
  const chosen: Record<string, number> = {}
  for (const name of names) {
    const last = remembered[name]
    const taken = [...Object.values({ ...remembered, ...chosen }), ...(except === undefined ? [] : [except])]
    if (last !== undefined && last !== except && (await isFree(last))) chosen[name] = last
    else chosen[name] = await findFreePort(taken)
    if (last !== undefined && last !== chosen[name]) {
      say(`Port ${last} of ${name} is taken by another program; using ${chosen[name]} instead.`)
    }
  }
  await writeFile(file, JSON.stringify({ ...remembered, ...chosen }, null, 2))
  return chosen as Record<N, number>
}

/** Why a port of 127.0.0.1 can't be listened on (`EADDRINUSE`, `EACCES`, …); undefined when it can. */
export function portProblem(port: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? error.message))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(undefined)))
  })
}

async function isFree(port: number): Promise<boolean> {
  return (await portProblem(port)) === undefined
}

/** A remembered port is only a preference, so a damaged file counts as none. */
function readPorts(file: string): Record<string, number> {
  try {
    return portsSchema.parse(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    return {}
  }
}

/** A port of 127.0.0.1 that is free now and not in `taken`. */
export async function findFreePort(taken: number[]): Promise<number> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const port = randomInt(FIRST_PORT, LAST_PORT)
    if (!taken.includes(port) && (await isFree(port))) return port
  }
  throw new Error(`No free port between ${FIRST_PORT} and ${LAST_PORT}`)
}
